"""The page that is published: what was found is put into it row by row, and what was found before stays.

Each part stands between two marks of its own. A line is known by its first cells, and says of which run it is: one that is
cut short, or that tries one row only, loses nothing of the others.
"""

import fcntl
import platform
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.torture.rows import Defect, Meter, Row

PAGE = Path(__file__).parents[2] / "docs/reliability.md"
_ROWS = ("#", "promise", "tried", "passes with", "verdict", "run", "more")
_DEFECTS = ("row", "defect", "in", "seen", "run")


def put_row(page: Path, row: Row, meter: Meter, *, seconds: float, seed: int) -> None:
    """Put what came of a row into the table of the page; one that was not tried as often as it should be says so."""
    tried = f"{meter.trials:,}" + ("" if meter.trials >= row.long else f" of {row.long:,}")
    told = "; ".join([*(f"{name}: {value}" for name, value in meter.figures.items()), *meter.left_out])
    run = f"{_now()}, seed {seed}, {seconds / 60:.1f} min"
    cells = (str(row.number), row.promise, tried, row.passes, verdict(meter), run, told)
    _put(page, "table", _ROWS, cells, lambda old: old[0] != cells[0])


def put_defect(page: Path, row: Row, defect: Defect, outcome: str) -> None:
    """Put into the page what a row said of one of its defects; those that it has no more go."""
    cells = (str(row.number), defect.says, f"`{defect.file}`", outcome, _now())
    others = {each.says for each in row.defects} - {defect.says}
    _put(page, "defects", _DEFECTS, cells, lambda old: old[0] != cells[0] or old[1] in others)


def verdict(meter: Meter) -> str:
    if meter.fault:
        return f"BROKE OFF ({meter.fault}), NOT KEPT {len(meter.broken):,} times before"
    if meter.broken:
        return f"NOT KEPT {len(meter.broken):,} times"
    return "kept" if meter.trials else "not tried"


def _put(
    page: Path,
    mark: str,
    head: tuple[str, ...],
    new: tuple[str, ...],
    stays: Callable[[tuple[str, ...]], bool],
) -> None:
    """Put a line into a table of the page, which other runs may do at the same time, and leave those that stay."""
    with page.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before, begin, rest = file.read().partition(f"<!-- {mark} -->\n")
        body, end, after = rest.partition(f"<!-- end of {mark} -->")
        if not (begin and end):
            raise SystemExit(f"{page} has no marks for {mark}")
        lines = [_cells(line) for line in body.splitlines() if line.startswith("| ")]
        kept = [line for line in lines if line[0].isdecimal() and stays(line)]
        rows = sorted([*kept, tuple(map(_plain, new))], key=lambda line: int(line[0]))
        table = "".join(map(_line, (head, ("---",) * len(head), *rows)))
        file.seek(0)
        file.write(f"{before}{begin}{table}{end}{after}")
        file.truncate()


def _cells(line: str) -> tuple[str, ...]:
    return tuple(line[2:-2].split(" | "))


def _plain(cell: str) -> str:
    """Return what neither ends a cell nor a line."""
    return " ".join(cell.replace("|", "\\|").split())


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _now() -> str:
    """When, where and of what this is: the day, the commit, and the system."""
    commit = _git("rev-parse", "--short=10", "HEAD") or "no commit"
    changed = " and changes" if _git("status", "--porcelain", "--", "src", "tests") else ""
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    return f"{datetime.now(UTC):%Y-%m-%d}, {commit}{changed}, Python {platform.python_version()}, {system}"


def _git(*words: str) -> str:
    asked = ("git", "-C", str(PAGE.parents[1]), *words)
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
