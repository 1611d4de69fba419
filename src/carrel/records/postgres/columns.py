"""How PostgreSQL takes texts, and the words that statements have in common.

Every statement names its tenant and its workspace; the policy of each table is a second wall behind that.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

OWN = "tenant = %(tenant)s AND workspace = %(workspace)s"
"""The condition that a row is of this workspace."""

_MAY_LACK = {
    "before": "bytea",
    "after": "bytea",
    "cost": "double precision",
    "decided_at": "bigint",
    "ended": "bigint",
    "expires": "bigint",
    "revoked": "bigint",
}
"""The columns that may have no value, whose type cannot be seen by it then."""


def from_text(text: str) -> bytes:
    """Return a text as PostgreSQL takes it, which holds no NUL and no lone surrogate otherwise."""
    return text.encode(errors="surrogatepass")


def places(columns: Iterable[str]) -> str:
    """Return where the values of some columns go in a statement."""
    return ", ".join(
        f"%({name})s::{_MAY_LACK[name]}" if name in _MAY_LACK else f"%({name})s" for name in columns
    )


def values(columns: Sequence[str], row: tuple[Any, ...]) -> dict[str, Any]:
    """Return the values of some columns by their names."""
    return dict(zip(columns, row, strict=True))


def where(*conditions: tuple[str, Any]) -> str:
    """Return those conditions that have a value, joined, behind the one that a row is of this workspace."""
    return " AND ".join([OWN, *(condition for condition, value in conditions if value is not None)])


def digest(*names: str) -> str:
    """Return the digest of some parameters together, as generated columns have it."""
    parts = " || ".join(f"sha256(%({name})s)" for name in names)
    return parts if len(names) == 1 else f"sha256({parts})"


def numbered(table: str, many: str = "1", given: str = "") -> str:
    """Return the clause that takes the next number of a table, or of several the last.

    Nobody else gets one before this one's row is kept or undone.
    """
    return f"""number AS (
        INSERT INTO carrel.counters AS counter (tenant, workspace, name, value)
        SELECT %(tenant)s, %(workspace)s, '{table}', {many} {given}
        ON CONFLICT (tenant, workspace, name) DO UPDATE SET value = counter.value + excluded.value
        RETURNING value
    )"""


def arrays(types: Mapping[str, str]) -> str:
    """Return the rows of which each column is a parameter, numbered in their order from 1."""
    return f"unnest({', '.join(f'%({name})s::{kind}[]' for name, kind in types.items())}) WITH ORDINALITY"


def in_columns(columns: Iterable[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return some rows as the columns that are such parameters."""
    return {name: [row[position] for row in rows] for position, name in enumerate(columns)}
