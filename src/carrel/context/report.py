"""The report: what was kept, cut, left out and why, in the shape every surface shows."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, Self

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from carrel.context.forecast import Forecast
from carrel.context.section import State
from carrel.findings import Finding

SCHEMA_VERSION = 1


class Row(Struct, frozen=True, kw_only=True):
    """One section as the report shows it.

    `tokens` is what it costs, wrapping and separator included; `size` and `limit` are in the layout's unit;
    `sha256` is of its rendered text, none when the model does not read it.
    """

    name: str
    kind: str
    raw_tokens: int
    tokens: int
    size: int
    limit: int | None
    state: State
    reason: str | None
    stable: bool
    sha256: str | None

    def out(self, state: State) -> Self:
        """Return this row as one that the model does not read."""
        return replace(self, state=state, reason=None, tokens=0, size=0, sha256=None)


class Change(Struct, frozen=True, kw_only=True):
    """What broke the prefix since the session's last call."""

    section: str
    cause: Literal["changed", "added", "removed", "moved", "scope"]


class Prefix(Struct, frozen=True, kw_only=True):
    """The leading part that stays the same between calls."""

    sha256: str
    tokens: int
    changed_by: Change | None = None


class Tokens(Struct, frozen=True, kw_only=True):
    """The room in the model's window; `exact` is false where vocabulary or text cannot be counted so.

    A window that is not `known` is assumed: nobody said which model, or how much it takes.
    """

    window: int
    used: int
    exact: bool
    known: bool = False

    @property
    def free(self) -> int:
        """What is left; never below nothing."""
        return max(0, self.window - self.used)


class Report(Struct, frozen=True, kw_only=True):
    """The whole account of one assembly."""

    layout: str
    agent: str
    session: str | None
    scope: str
    model: str | None
    tokens: Tokens
    unit: str
    prefix: Prefix
    sections: tuple[Row, ...]
    hidden: int
    recall: tuple[Mapping[str, Any], ...]
    warnings: tuple[Finding, ...]
    forecast: Forecast | None = None
    """None before a session's first turn."""

    def to_json(self) -> dict[str, Any]:
        """Return the report of the machine-readable contract."""
        return {
            "schema_version": SCHEMA_VERSION,
            "layout": self.layout,
            "agent": self.agent,
            "session": self.session,
            "scope": self.scope,
            "model": self.model,
            "tokens": {
                "window": self.tokens.window,
                "used": self.tokens.used,
                "free": self.tokens.free,
                "method": "exact" if self.tokens.exact else "estimate",
            },
            "unit": self.unit,
            "prefix": to_builtins(self.prefix),
            "sections": to_builtins(self.sections),
            "hidden": self.hidden,
            "recall": [dict(hit) for hit in self.recall],
            "forecast": {
                "turns_to_flush": self.forecast.turns_to_flush if self.forecast else None,
                "turns_to_compact": self.forecast.turns_to_compact if self.forecast else None,
            },
            "warnings": [{"code": w.code, "message": w.message} for w in self.warnings],
        }


def leading(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the prefix: what the model reads, up to the first that is not stable."""
    kept: list[Row] = []
    for row in rows:
        if row.sha256 is None:
            continue
        if not row.stable:
            break
        kept.append(row)
    return kept


def describe_prefix(rows: Sequence[Row], changed_by: Change | None = None) -> Prefix:
    """Return digest and size of the prefix, from the digests of its sections."""
    kept = leading(rows)
    digest = sha256("".join(row.sha256 or "" for row in kept).encode()).hexdigest()
    return Prefix(sha256=digest, tokens=sum(row.tokens for row in kept), changed_by=changed_by)
