"""The rows of the catalog as values, and lists of values as a statement takes them."""

from collections.abc import Iterable, Sequence
from typing import Any

from carrel.index.catalog import Known, Stored
from carrel.index.cells import path_of, words_of
from carrel.index.chunk import Chunk


def known_of(rows: Iterable[Sequence[Any]]) -> dict[str, Known]:
    """Return what is known of places, by path."""
    known = (
        Known(
            id=row[0],
            path=path_of(row[1]),
            stamp=row[2],
            digest=row[3],
            turns=row[4],
            begin=row[5],
            lack=row[6],
        )
        for row in rows
    )
    return {each.path: each for each in known}


def stored_of(row: Sequence[Any]) -> Stored:
    """Return a chunk with where it stands; one that lacks a value is damaged, and a TypeError."""
    if None in row:
        raise TypeError("a chunk without a value")
    chunk = Chunk(
        path=path_of(row[3]),
        line=row[4],
        end_line=row[5],
        text=row[6],
        tier=row[7],
        headings=words_of(row[8]),
        agent=row[9],
        private=bool(row[10]),
        date=row[11],
        speaker=row[12],
        session=row[13],
        message_id=row[14],
        tags=words_of(row[15]),
    )
    return Stored(row[0], row[1], row[2], chunk)


def marks(values: Sequence[Any]) -> str:
    """Return a place for each value in a statement."""
    return ",".join("?" * len(values))


def padded(values: Sequence[int]) -> Sequence[int]:
    """Return values as many as the next power of two, the last repeated: few lengths are few statements."""
    more = (1 << (len(values) - 1).bit_length()) - len(values)
    return [*values, *[values[-1]] * more]
