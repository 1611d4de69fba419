"""Plots of tables as SVG, legible on light and on dark, and the page that shows them all."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from table import Row, Table, is_own, shown

WIDE, EDGE, BAR = 760, 24, 18
TOP = 66
LETTER = 7.6
"""The width of a letter of a label, nearly enough: no font is known here."""

FIGURES_ROOM = 104
STYLE = """
svg { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; }
.card { fill: #ffffff; stroke: #e2e8f0; } .text { fill: #0f172a; }
.quiet { fill: #64748b; font-size: 11.5px; }
.title { font-size: 16px; font-weight: 600; } .group { fill: #334155; font-weight: 600; font-size: 12.5px; }
.own { fill: #0f766e; } .other { fill: #cbd5e1; } .axis { stroke: #cbd5e1; } .bold { font-weight: 600; }
@media (prefers-color-scheme: dark) {
.card { fill: #0f172a; stroke: #1e293b; } .text { fill: #e2e8f0; } .quiet { fill: #94a3b8; }
.group { fill: #cbd5e1; } .own { fill: #2dd4bf; } .other { fill: #475569; } .axis { stroke: #475569; }
}
""".strip()


def to_svg(table: Table) -> str:
    """Bars from zero with the figure at each; each group has a scale of its own, said by its heading."""
    pitch = 38 if any(row.note for row in table.rows) else 28
    labels = (max(len(row.name), 0.88 * len(row.note)) for row in table.rows)
    left = EDGE + min(320.0, max(labels, default=0) * LETTER) + 12
    drawn, y = list[str](), TOP
    for group, rows in table.groups().items():
        if group:
            drawn.append(f'<text class="group" x="{EDGE}" y="{y + 14}">{escape(group)}</text>')
            y += 26
        drawn.append(_axis(left, y - 3, y + len(rows) * pitch - 5))
        drawn += (_bar(table, row, rows, left, y + at * pitch) for at, row in enumerate(rows))
        y += len(rows) * pitch + 8
    high = y + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" role="img">'
        f"<title>{escape(table.title)}</title><style>{STYLE}</style>"
        f'<rect class="card" x="0.5" y="0.5" width="{WIDE - 1}" height="{high - 1}" rx="10"/>'
        f'<text class="text title" x="{EDGE}" y="34">{escape(table.title)}</text>'
        f'<text class="quiet" x="{EDGE}" y="53">{escape(table.unit)} · {table.better} is better</text>'
        f"{''.join(drawn)}</svg>\n"
    )


def _axis(x: float, top: float, bottom: float) -> str:
    return f'<line class="axis" x1="{x - 0.5}" x2="{x - 0.5}" y1="{top}" y2="{bottom}"/>'


def _bar(table: Table, row: Row, rows: Sequence[Row], left: float, y: float) -> str:
    most = max(each.value for each in rows) or 1
    width = max((WIDE - EDGE - FIGURES_ROOM - left) * row.value / most, 1.5)
    kind, weight = ("own", " bold") if is_own(row) else ("other", "")
    low = y + BAR / 2 + 4.5
    note = f'<text class="quiet" x="{left - 12}" y="{low + 14}" text-anchor="end">{escape(row.note)}</text>'
    times = f'<tspan class="quiet" dx="7">{_times(table, row, rows)}</tspan>'
    return (
        f'<text class="text{weight}" x="{left - 12}" y="{low}" text-anchor="end">{escape(row.name)}</text>'
        f"{note if row.note else ''}"
        f'<rect class="{kind}" x="{left}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2.5"/>'
        f'<text class="text{weight}" x="{left + width + 8:.1f}" y="{low}">{shown(row.value)}{times}</text>'
    )


def _times(table: Table, row: Row, rows: Sequence[Row]) -> str:
    """How many times as much as Carrel's, where less is better and there is something to multiply."""
    own = next((each.value for each in rows if is_own(each)), 0)
    if table.better != "less" or not own or is_own(row):
        return ""
    times = row.value / own
    return f"{times:,.0f}\u00d7" if times >= 10 else f"{times:.2g}\u00d7"


# The page


def write(folder: Path, tables: Sequence[Table], machine: Mapping[str, Any]) -> None:
    """Keep tables as JSON and SVG over those of the same name, and write the page of all that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        told = {**table.to_json(), "machine": dict(machine)}
        (folder / f"{table.name}.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")
        (folder / f"{table.name}.svg").write_text(to_svg(table), "utf-8")
    (folder / "results.md").write_text(page(folder), "utf-8")


def page(folder: Path) -> str:
    """All that is kept in a folder, as one page; a folder without figures says how they are made."""
    kept = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    made = "Written by `python bench/peers --out docs/benchmarks`; [how each is measured](index.md)."
    if not kept:
        return f"# Figures\n\n{made}\n\nNothing has been measured yet.\n"
    return "\n".join(["# Figures", "", made, *(_part(told) for told in kept)]) + "\n"


def _part(told: Mapping[str, Any]) -> str:
    table, machine = Table.from_json(told), told["machine"]
    lines = [f"\n## {table.title}", table.how]
    if table.rows:
        lines.append(f"![{table.title}]({table.name}.svg)")
    about = "{date} · {cores} cores, {processor} · {memory} · {system} · Python {python} · load {load}"
    versions = (f"{name} {version}" for name, version in machine["versions"].items())
    made = " · ".join((about.format(**machine), *versions))
    lines += [table.to_markdown(), f"`{table.command}`: {made}"]
    return "\n\n".join(lines)
