"""All promises, tried for as long as one likes: `make torture MINUTES=30`, or `python -m tests.torture`."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.torture import defects, page
from tests.torture.defects import NOT_KEPT, SEEN
from tests.torture.rows import Meter, Row, Watch, held
from tests.torture.table import ROWS

_QUICK_SECONDS = 600
"""After which a row of the quick tier breaks off, and then was not tried often enough."""

_EVERY = 0.2
"""Seconds between two looks at how far a row is."""


def main() -> int:
    chosen = _chosen()
    rows = [row for row in ROWS if not chosen.only or row.number in chosen.only]
    if chosen.defects:
        return _try_defects(rows, chosen.write)
    return _try_rows(rows, chosen)


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="for all rows together, shared out")
    parser.add_argument("--only", type=int, action="append", metavar="ROW")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="only as often as `make test` does, and no less")
    parser.add_argument("--part", type=int, help="only this part of the quick tier, from 1 on")
    parser.add_argument("--defects", action="store_true", help="see that each row can fail")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put what was found into this page")
    return parser.parse_args()


def _try_rows(rows: Sequence[Row], chosen: argparse.Namespace) -> int:
    shares, lines, is_kept = sum(row.share for row in rows), list[str](), True
    for row in rows:
        wanted, seconds, seed = row.long, chosen.minutes * 60 * row.share / shares, chosen.seed
        if chosen.quick:
            wanted, seconds = row.quick, _QUICK_SECONDS
        if chosen.part:
            wanted, seed = row.quick // row.parts, chosen.part
        began = time.monotonic()
        meter = held(row, wanted, seconds, seed=seed, watch=_shown(row, wanted))
        lines.append(page.line(row, meter, time.monotonic() - began))
        _tell(row, meter, wanted)
        is_kept &= not meter.broken and (meter.trials >= wanted or not chosen.quick)
    if chosen.write:
        page.put(chosen.write, "table", page.table(lines, f"make torture MINUTES={chosen.minutes:g}"))
    return 0 if is_kept else NOT_KEPT


def _try_defects(rows: Sequence[Row], write: Path | None) -> int:
    found = defects.find_all(rows, _say)
    if write:
        page.put(write, "defects", page.defects(found))
    return 0 if all(outcome == SEEN for *_, outcome in found) else NOT_KEPT


def _shown(row: Row, wanted: int) -> Watch | None:
    """On a terminal, show how far a row is, in one line that is written over."""
    if not sys.stdout.isatty():
        return None
    last = 0.0

    def watch(meter: Meter) -> None:
        nonlocal last
        if time.monotonic() - last > _EVERY:
            last = time.monotonic()
            _say(f"\r\x1b[K{row.number:>2}  {row.promise}: {meter.trials:,} of {wanted:,}", end="")

    return watch


def _tell(row: Row, meter: Meter, wanted: int) -> None:
    begin = "\r\x1b[K" if sys.stdout.isatty() else ""
    told = (f"{row.number:>2}  {row.promise}", f"{meter.trials:,} of {wanted:,}", page.verdict(meter))
    _say(begin + ": ".join(told))
    for more in (*(f"{name}: {value}" for name, value in meter.figures.items()), *meter.left_out):
        _say(f"      {more}")
    for wrong in filter(None, meter.broken):
        _say(f"    ! {wrong}")


def _say(told: str, end: str = "\n") -> None:
    sys.stdout.write(told + end)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
