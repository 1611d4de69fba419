"""Procedures are reinforced by use: one that was recalled often and lately counts a little more in search.

    weight = 1 + 0.25 * min(1, sum of 0.5 ** (days since each use / 90) / 5)

A use is a quarter of an hour in which something of the page reached a model, however many passages did. Five
fresh uses are worth all there is, so that a well-worn procedure comes before an equal one and never before a
better answer. Nothing is stored: the weight is computed from the recalls, and fades as they grow old.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from carrel.records.recalls import QUARTER, Remembered

TIER = "procedure"
MOST = 0.25
ENOUGH = 5
HALF_LIFE = 90
"""Days after which a use counts half."""

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_DAY = timedelta(days=1)


def weights_of(recalled: Iterable[Remembered], now: datetime) -> dict[str, float]:
    """Return what each procedure's score is multiplied by, by its path; one that was never used has none."""
    uses: dict[str, set[int]] = {}
    for each in recalled:
        if each.tier == TIER:
            uses.setdefault(each.path, set()).update(each.quarters)
    return {path: 1 + MOST * min(1.0, _worth(quarters, now) / ENOUGH) for path, quarters in uses.items()}


def _worth(quarters: Iterable[int], now: datetime) -> float:
    return sum(0.5 ** (_age(quarter, now) / HALF_LIFE) for quarter in sorted(quarters))


def _age(quarter: int, now: datetime) -> float:
    """Return how many days ago a quarter of an hour was; one that is still to come is now."""
    return max((now - _EPOCH) / _DAY - quarter * QUARTER / (_DAY / timedelta(microseconds=1)), 0.0)
