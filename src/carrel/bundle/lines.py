"""Rows of records as lines of JSON; bytes are told apart from text."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import Any, cast

from carrel import plainjson
from carrel.bundle.errors import BundleDamaged, UnsafeBundle
from carrel.bundle.manifest import Table
from carrel.records.moving import BLOBS, Row

LONGEST_LINE = 1 << 26
"""Bytes of one row; a change keeps what was in a file before."""

_COLUMN = re.compile(r"[a-z_]{1,64}")
_MOST = 1 << 63


def to_line(row: Row) -> bytes:
    """Return a row as a line."""
    plain = {key: _text(value) for key, value in row.items()}
    return plainjson.dumps(plain) + b"\n"


def from_line(line: bytes, table: Table) -> Row:
    """Return the row of a line, if each of its columns can be one and each value be in one."""
    try:
        return to_row(plainjson.loads(line), table)
    except ValueError:
        raise BundleDamaged(table.entry, "has a line that is no row") from None


def to_row(told: Any, table: Table) -> Row:
    """Return a row as the records have it."""
    if not isinstance(told, dict):
        raise ValueError("no object")  # noqa: TRY004 - the line is wrong, not the call
    row: Row = {}
    for key, value in cast("dict[str, Any]", told).items():
        if not _COLUMN.fullmatch(key):
            raise UnsafeBundle(table.entry, "names a column that cannot be one")
        row[key] = _value(value, is_blob=(table.table, key) in BLOBS)
    return row


def split_lines(chunks: Iterable[bytes], table: Table) -> Iterator[bytes]:
    """Yield whole lines; the last one has its newline too."""
    held: list[bytes] = []
    for chunk in chunks:
        first, *more = chunk.split(b"\n")
        held.append(first)
        if more:
            yield b"".join(held)
            yield from more[:-1]
            held = more[-1:]
        if sum(map(len, held)) > LONGEST_LINE:
            raise BundleDamaged(table.entry, "has a line that is too long")
    if any(held):
        raise BundleDamaged(table.entry, "ends in the middle of a line")


def _text(value: object) -> object:
    return b64encode(value).decode() if isinstance(value, bytes) else value


def _value(value: Any, *, is_blob: bool) -> str | float | bytes | None:
    if is_blob and isinstance(value, str):
        return b64decode(value, validate=True)
    if is_blob or isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
        raise ValueError("no value of a column")
    if isinstance(value, int) and not -_MOST <= value < _MOST:
        raise ValueError("too large a number")
    return value
