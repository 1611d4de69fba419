"""All promises, tried for as long as one likes: `make torture MINUTES=30`, or `python -m tests.torture`."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.torture import defects, lanes, page
from tests.torture.defects import BROKE_OFF, NOT_KEPT, SEEN, TOO_FEW
from tests.torture.desk import share_what_is_loaded
from tests.torture.rows import Meter, Row, Watch, held
from tests.torture.table import ROWS

_QUICK_SECONDS = 600
"""After which a row of the quick tier breaks off, and then was not tried often enough."""

_EVERY = 0.2
"""Seconds between two looks at how far a row is."""


def main() -> int:
    chosen = _chosen()
    share_what_is_loaded()
    rows = [row for row in ROWS if not chosen.only or row.number in chosen.only]
    if chosen.defects:
        return _try_defects(rows, chosen.write)
    if len(rows) == 1 or chosen.quick:
        return worst([_try_row(row, chosen) for row in rows])
    words = ["--seed", str(chosen.seed), *(["--write", str(chosen.write)] if chosen.write else [])]
    return worst(lanes.try_all(rows, chosen.minutes * 60, lanes.in_process(words, _say)))


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="for all rows, which share them out")
    parser.add_argument("--only", type=int, action="append", metavar="ROW")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="only as often as `make test` does, and no less")
    parser.add_argument("--part", type=int, help="only this part of the quick tier, from 1 on")
    parser.add_argument("--defects", action="store_true", help="see that each row can fail")
    parser.add_argument("--write", type=_page, metavar="FILE", help="put what is found into this page")
    return parser.parse_args()


def _page(named: str) -> Path:
    """Return where a page is, for rows that work in folders of their own; a wrong name is told before hours have passed."""
    found = Path(named).resolve()
    if not found.is_file():
        raise argparse.ArgumentTypeError(f"there is no page {named}")
    return found


def _try_row(row: Row, chosen: argparse.Namespace) -> int:
    wanted, seconds, seed = row.long, chosen.minutes * 60, chosen.seed
    if chosen.quick:
        wanted, seconds = row.quick, _QUICK_SECONDS
    if chosen.part:
        wanted, seed = -(-row.quick // row.parts), chosen.part
    began = time.monotonic()
    meter = held(row, wanted, seconds, seed=seed, watch=_shown(row, wanted))
    _tell(row, meter, wanted)
    if chosen.write and (
        meter.trials or meter.broken or meter.fault
    ):  # else what an earlier run found is worth more
        page.put_row(chosen.write, row, meter, seconds=time.monotonic() - began, seed=seed)
    if meter.fault or meter.broken:
        return BROKE_OFF if meter.fault else NOT_KEPT
    return TOO_FEW if chosen.quick and meter.trials < wanted else 0


def worst(codes: Sequence[int]) -> int:
    """Return how all of it ended: a row that a signal ended, below zero, is no better than one that was not kept."""
    failed = [code for code in codes if code]
    return NOT_KEPT if NOT_KEPT in failed else max(map(abs, failed), default=0)


def _try_defects(rows: Sequence[Row], write: Path | None) -> int:
    is_seen = True
    for row in rows:
        for defect in row.defects:
            outcome = defects.tried(row, defect)
            is_seen &= outcome == SEEN
            _say(f"{row.number:>2}  {defect.says}: {outcome}\n")
            if write:
                page.put_defect(write, row, defect, outcome)
    return 0 if is_seen else NOT_KEPT


def _shown(row: Row, wanted: int) -> Watch | None:
    """On a terminal, show how far a row is, in one line that is written over."""
    if not sys.stdout.isatty():
        return None
    last = 0.0

    def watch(meter: Meter) -> None:
        nonlocal last
        if time.monotonic() - last > _EVERY:
            last = time.monotonic()
            _say(f"\r\x1b[K{row.number:>2}  {row.promise}: {meter.trials:,} of {wanted:,}")

    return watch


def _tell(row: Row, meter: Meter, wanted: int) -> None:
    begin = "\r\x1b[K" if sys.stdout.isatty() else ""
    told = (f"{row.number:>2}  {row.promise}", f"{meter.trials:,} of {wanted:,}", page.verdict(meter))
    _say(f"{begin}{': '.join(told)}\n")
    for more in (*(f"{name}: {value}" for name, value in meter.figures.items()), *meter.left_out):
        _say(f"      {more}\n")
    for wrong in filter(None, meter.broken):
        _say(f"    ! {wrong}\n")


def _say(told: str) -> None:
    sys.stdout.write(told)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
