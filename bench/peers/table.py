"""Tables of what was measured: the same as values, as JSON to be kept, and as Markdown to be read."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

OWN = "carrel"


class Row(NamedTuple):
    """One figure, with others beside it; `note` says of what, `group` in which comparison."""

    name: str
    value: float
    more: Mapping[str, float]
    note: str = ""
    group: str = ""


class Table:
    """One figure of each that was measured, in the same work, and who was left out and why."""

    def __init__(
        self, name: str, title: str, unit: str, *, command: str, how: str, better: str = "less"
    ) -> None:
        self.name, self.title, self.unit, self.better = name, title, unit, better
        self.command, self.how = command, how
        self.rows: list[Row] = []
        self.left_out: list[tuple[str, str]] = []

    def add(self, name: str, value: float, note: str = "", group: str = "", **more: float) -> None:
        told = {key.replace("_", " "): own for key, own in more.items()}
        self.rows.append(Row(name, value, told, note, group))

    def leave_out(self, name: str, reason: str) -> None:
        self.left_out.append((name, reason))

    def groups(self) -> dict[str, list[Row]]:
        """The rows that are compared with each other, in the order in which they came."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return found

    def to_markdown(self) -> str:
        grouped = any(row.group for row in self.rows)
        noted = any(row.note for row in self.rows)
        more = list(self.rows[0].more) if self.rows else []
        head = [*([""] if grouped else []), "", *(["how"] if noted else []), self.unit, *more]
        lines = [_line(head), _line(["---"] * len(head))] if self.rows else []
        for row in (each for own in self.groups().values() for each in own):
            figures = (shown(row.value), *(shown(row.more[key]) for key in more))
            lines.append(
                _line([*([row.group] if grouped else []), row.name, *([row.note] if noted else []), *figures])
            )
        lines += [f"\nNot measured: {name}: {reason}." for name, reason in self.left_out]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "unit": self.unit,
            "better": self.better,
            "command": self.command,
            "how": self.how,
            "rows": [row._asdict() for row in self.rows],
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        texts = {key: told[key] for key in ("name", "title", "unit", "better", "command", "how")}
        table = cls(**texts)
        table.rows = [Row(**each) for each in told["rows"]]
        table.left_out = [(each["name"], each["reason"]) for each in told["left_out"]]
        return table


def is_own(row: Row) -> bool:
    return row.name.startswith(OWN)


def shown(value: float) -> str:
    """A figure with three digits, or a number as it is."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
