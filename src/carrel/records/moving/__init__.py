"""Records as rows that no engine has a part in: what one keeps, another can take over.

A row maps columns to texts, numbers and bytes. What an engine has for itself, as the numbers by which it
keeps a text once, is in no row.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any, Protocol

from carrel import plainjson

Row = dict[str, Any]

TABLES: Mapping[str, tuple[str, ...]] = {
    "facts_of_workspace": ("name",),
    "assemblies": ("agent", "session"),
    "frozen": ("agent", "session"),
    "jobs": ("id",),
    "usage": ("id",),
    "audit": ("id",),
    "recalls": ("id",),
    "facts": ("number",),
    "cursors": ("agent", "session"),
    "changes": ("id",),
    "proposals": ("id",),
    "dreams": ("id",),
    "promotions": ("dream", "place"),
    "keys": ("id",),
    "counters": ("name",),
}
"""Each table, and by which columns its rows are told apart and follow each other."""

UNNUMBERED = ("usage", "recalls")
"""Tables whose numbers are in no row: nothing names them."""

COUNTED = ("changes", "dreams", "jobs", "proposals")
"""Tables whose numbers are never used again: `counters` says for each which was the last."""

ADDED_TO = "audit"
"""The table of which nothing is ever removed."""

BLOBS = frozenset((("changes", "old"), ("changes", "new")))
"""Columns that hold bytes and no text."""

PAGE = 200


class Rows(Protocol):
    """All rows of one workspace's records."""

    def read(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table in their order."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Read all inside as it was when it began, whatever others write meanwhile; nobody waits for it."""
        ...

    def replace(self, table: str, rows: Iterable[Row]) -> None:
        """Keep these rows instead of those that are there, all or none; to the audit what is new is added."""
        ...

    def close(self) -> None:
        """Release the resource."""
        ...


def digest(rows: Iterable[Row]) -> tuple[int, str]:
    """Return how many rows there are, and what tells them from any others, in whatever order they come."""
    count, total = 0, 0
    for row in rows:
        count += 1
        plain = {key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()}
        told = plainjson.dumps([[key, plain[key]] for key in sorted(plain)])
        total += int.from_bytes(sha256(told).digest())
    return count, f"{total % (1 << 256):064x}"
