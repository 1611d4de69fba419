"""A workspace as one file: what it holds, told by a manifest, each part with its size and its digest.

A bundle is a ZIP or a JSON document; both say the same. It may come from anywhere: what reads one trusts
neither its names nor its sizes, and nothing of it is written before it was looked at.
"""

from collections.abc import Iterator
from typing import Protocol

from carrel.bundle.errors import BundleDamaged
from carrel.bundle.lines import from_line, split_lines
from carrel.bundle.manifest import Held, Item, Manifest, Table
from carrel.bundle.source import Source
from carrel.records.moving import Row

__all__ = ["Bundle", "BundleDamaged", "Held", "Item", "Manifest", "Table", "read", "rows"]


class Bundle(Source, Protocol):
    """What a bundle is written from, as it is read again."""

    def close(self) -> None:
        """Let go of the file."""
        ...


def read(bundle: Bundle, held: Held) -> bytes:
    """Return a file of the bundle."""
    return b"".join(bundle.chunks(held))


def rows(bundle: Bundle, table: Table) -> Iterator[Row]:
    """Yield the rows of a table of the bundle."""
    for line in split_lines(bundle.chunks(table), table):
        yield from_line(line, table)
