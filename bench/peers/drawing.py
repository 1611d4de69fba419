"""Tables of what was measured, as Markdown, JSON and SVG."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Self

BAR, GAP, LEFT, WIDE = 22, 8, 330, 760
OWN = "carrel"


class Table:
    """One figure of each peer, with more beside it, and who was left out and why."""

    def __init__(self, name: str, title: str, unit: str, *, better: str = "less") -> None:
        self.name, self.title, self.unit, self.better = name, title, unit, better
        self.rows: list[tuple[str, float, Mapping[str, float]]] = []
        self.left_out: list[tuple[str, str]] = []

    @classmethod
    def without(cls, name: str, title: str, reason: str) -> Self:
        """A table that could not be made."""
        table = cls(name, title, "")
        table.leave_out("all", reason)
        return table

    def add(self, name: str, value: float, more: Mapping[str, float]) -> None:
        self.rows.append((name, value, more))

    def leave_out(self, name: str, reason: str) -> None:
        self.left_out.append((name, reason))

    def to_markdown(self) -> str:
        more = list(self.rows[0][2]) if self.rows else []
        head = ["", self.unit, *more]
        cells = [[name, _shown(value), *(_shown(own[key]) for key in more)] for name, value, own in self.rows]
        lines = [f"### {self.title}", ""]
        if cells:
            lines += [_line(head), _line(["---"] * len(head)), *map(_line, cells)]
        lines += [f"\nNot measured: {name}: {reason}." for name, reason in self.left_out]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "title": self.title,
            "unit": self.unit,
            "better": self.better,
            "rows": [{"name": name, "value": value, **more} for name, value, more in self.rows],
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
        }

    def to_svg(self) -> str:
        """Bars from zero, with the figure at each; the title says which way is better."""
        most = max((value for _, value, _ in self.rows), default=0) or 1
        high = 44 + len(self.rows) * (BAR + GAP)
        bars = "".join(self._bar(at, most) for at in range(len(self.rows)))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="13"><title>{escape(self.title)}</title>'
            f'<rect width="{WIDE}" height="{high}" fill="#fff"/>'
            f'<text x="8" y="24" font-size="15" fill="#222">{escape(self.title)} '
            f"({escape(self.unit)}, {self.better} is better)</text>{bars}</svg>\n"
        )

    def _bar(self, at: int, most: float) -> str:
        name, value, _ = self.rows[at]
        y, width = 40 + at * (BAR + GAP), (WIDE - LEFT - 90) * value / most
        colour = "#1f6f5c" if name.startswith(OWN) else "#9aa5b1"
        return (
            f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="#222">{escape(name)}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{max(width, 1):.1f}" height="{BAR}" fill="{colour}"/>'
            f'<text x="{LEFT + max(width, 1) + 6:.1f}" y="{y + 15}" fill="#222">{_shown(value)}</text>'
        )


def write(folder: Path, tables: Sequence[Table], machine: Mapping[str, str]) -> None:
    """Write all tables into a folder, over those of the same parts that were there."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        told = {"machine": dict(machine), **table.to_json()}
        (folder / f"{table.name}.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")
        (folder / f"{table.name}.md").write_text(table.to_markdown() + "\n", "utf-8")
        (folder / f"{table.name}.svg").write_text(table.to_svg(), "utf-8")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if value < 100 else f"{value:,.0f}"
