"""The page that is published: what a run found is put into it, each part between two marks of its own."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.torture.rows import Defect, Meter, Row

PAGE = Path(__file__).parents[2] / "docs/reliability.md"


def table(lines: Sequence[str], asked: str) -> str:
    """Return the table of a run, under what was asked for, when and where."""
    return (
        f"`{asked}`, {_today()}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.release().split('-')[0]}:\n\n"
        "| # | promise | tried | passes with | verdict | took | more |\n|---|---|---|---|---|---|---|\n"
        + "\n".join(lines)
    )


def line(row: Row, meter: Meter, seconds: float) -> str:
    """Return one row of the table; one that was not tried as often as it should be says so."""
    tried = f"{meter.trials:,}" + ("" if meter.trials >= row.long else f" of {row.long:,}")
    told = "; ".join([*(f"{name}: {value}" for name, value in meter.figures.items()), *meter.left_out])
    cells = (str(row.number), row.promise, tried, row.passes, verdict(meter), f"{seconds / 60:.1f} min", told)
    return f"| {' | '.join(cells)} |"


def verdict(meter: Meter) -> str:
    if meter.broken:
        return f"NOT KEPT {len(meter.broken):,} times"
    return "kept" if meter.trials else "not tried"


def defects(found: Sequence[tuple[Row, Defect, str]]) -> str:
    """Return the list of defects, with what the row that should see each said of it."""
    head = f"Tried {_today()}:\n\n| row | defect | in | seen |\n|---|---|---|---|\n"
    rows = (
        f"| {row.number} | {defect.says} | `{defect.file}` | {outcome} |" for row, defect, outcome in found
    )
    return head + "\n".join(rows)


def put(page: Path, mark: str, body: str) -> None:
    """Put a part into the page, between its marks."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    text = page.read_text("utf-8")
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"{page} has no marks for {mark}")
    page.write_text(f"{before}{begin}\n{body}\n{end}{after}", "utf-8")


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"
