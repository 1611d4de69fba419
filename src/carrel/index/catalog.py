"""What a catalog holds, and what others need of one: every chunk, where it stands, and what is due.

A change is written to the catalog first, in one transaction with a note for each other part of which chunks
are due; whoever has written them takes the note away. So a crash in between leaves the note, and the next one
to open the index goes on from there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from msgspec import Struct

from carrel.index.chunk import Chunk
from carrel.index.source import Lack, Place

FORMAT = 4
"""Grows with every change in what is indexed and how; an index of an earlier format is made anew.

That includes what the source tells of a place: what has not changed since is not asked for again.
"""

SHOWN_PATHS = 5
"""Paths that are told of files that cannot be searched."""

Part = Literal["words", "vectors"]
PARTS: tuple[Part, ...] = ("words", "vectors")

Due = tuple[int, int, int]
"""A chunk that is due: its id, its place and its number there, both 0 where it is gone."""

Span = tuple[int, int, int]
"""Chunks of a place, from one number to another."""

Passage = tuple[int, int, str]
"""The id of a chunk, its first line and its text: no more than it takes to put a document together again."""


class Known(Struct, frozen=True, kw_only=True):
    """What the catalog knows of a place; one with a lack has no chunks."""

    id: int
    path: str
    stamp: str
    digest: bytes
    turns: int
    begin: str
    lack: str


class Stored(Struct, frozen=True):
    """A chunk as it is kept: its id, its place, and which chunk of that place it is."""

    id: int
    place: int
    seq: int
    chunk: Chunk


class Line(Struct, frozen=True):
    """What is compared to tell which chunks of a place changed."""

    id: int
    seq: int
    digest: bytes
    line: int
    end_line: int


class Reading(Protocol):
    """What an answer asks of a catalog."""

    def chunks(self, ids: Sequence[int]) -> Mapping[int, Stored]:
        """Return chunks by id; those that are gone are left out."""
        ...

    def at(self, path: str, first: int, last: int) -> Sequence[Stored]:
        """Return the chunks of a document that have some of these lines."""
        ...


class Taking(Protocol):
    """What a sync does to a catalog."""

    def transaction(self) -> AbstractContextManager[None]:
        """Write all of what follows, or none of it."""
        ...

    def places(self, only: Iterable[str] | None = None) -> dict[str, Known]:
        """Return what is known of all places, or of some, by path."""
        ...

    def keep_place(self, place: Place, digest: bytes, lack: Lack | None = None) -> int:
        """Keep what a place says of itself now, and return its number."""
        ...

    def keep_stamp(self, known: Known, stamp: str) -> None:
        """Keep a new stamp of a place whose text is what it was."""
        ...

    def drop_place(self, known: Known) -> None:
        """Forget a place and its chunks."""
        ...

    def lines(self, place: int) -> list[Line]:
        """Return what tells the chunks of a place apart, in their order."""
        ...

    def last(self, place: int) -> int:
        """Return the number of a place's last chunk, 0 where there is none."""
        ...

    def add(self, place: int, seq: int, chunk: Chunk, digest: bytes) -> int:
        """Keep a chunk, and return its id."""
        ...

    def move(self, line: Line, seq: int, chunk: Chunk) -> None:
        """Keep where a chunk stands now."""
        ...

    def drop(self, chunk: int) -> None:
        """Forget a chunk."""
        ...

    def owe(self, part: Part, place: int, first: int, last: int) -> None:
        """Note that the chunks of a place from one number to another are due."""
        ...

    def owe_dropped(self, part: Part, chunk: int) -> None:
        """Note that a part has to forget a chunk."""
        ...


class Owing(Protocol):
    """What the words are written from."""

    def due(self, part: Part, limit: int) -> list[Due]:
        """Return the first chunks that are due, each with its place and number there, 0 where it is gone."""
        ...

    def spans(self, spans: Iterable[Span]) -> Iterator[Sequence[Stored]]:
        """Yield the chunks of each span, in their order."""
        ...

    def waiting(self, part: Part) -> int:
        """Return how many chunks are due."""
        ...

    def settle(self, part: Part, last: int) -> None:
        """Take the notes of the first chunks away, up to one of them: the part holds what they ask for."""
        ...
