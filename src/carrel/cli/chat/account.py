"""What a call of a conversation cost: how full the window is, how much was cached, what was recalled."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, to_builtins

from carrel.context.report import Report, Row


class Account(Struct, frozen=True, kw_only=True):
    """Tokens of one call; `cached` are those that begin the call before too, so that a provider has them."""

    window: int
    used: int
    cached: int
    recalled: int
    percent: float | None = None
    """How full the window is, tools included, and in how many turns it is saved and compacted; if known."""
    turns_to_flush: int | None = None
    turns_to_compact: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as an event shows it."""
        return to_builtins(self)


def account_of(report: Report, before: Sequence[Row]) -> Account:
    """Return the account of a call that follows one with these sections."""
    foretold = report.forecast
    return Account(
        window=report.tokens.window,
        used=report.tokens.used,
        cached=unchanged(before, report.sections),
        recalled=sum(bool(hit["kept"]) for hit in report.recall),
        percent=foretold.percent if foretold else None,
        turns_to_flush=foretold.turns_to_flush if foretold else None,
        turns_to_compact=foretold.turns_to_compact if foretold else None,
    )


def unchanged(before: Sequence[Row], now: Sequence[Row]) -> int:
    """Return the tokens of the sections with which both calls begin, by what the model reads of them."""
    old = [row.sha256 for row in before if row.sha256]
    new = [row for row in now if row.sha256]
    same = 0
    for was, row in zip(old, new, strict=False):
        if was != row.sha256:
            break
        same += row.tokens
    return same
