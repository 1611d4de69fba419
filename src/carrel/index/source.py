"""What the index is made from, as plain values: who owns the files and sessions tells it of them."""

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, Protocol

from msgspec import Struct

TEXT_LIMIT = 1024 * 1024
"""Bytes that a document may have to be searched."""

Lack = Literal["too_large", "not_text", "unreadable"]
"""Why a file is there and cannot be searched."""


class Place(Struct, frozen=True, kw_only=True):
    """A document or a session that is to be searched.

    An equal `stamp` means that nothing changed since, neither the text nor what the place says of itself; ""
    says nothing, and the text is looked at. A session
    has `turns`, the number of its last one, and what an equal `begin` says: that the turns seen before are
    still what they were. Where the index has `enough` of them, the others may wait. A `lack` is known without
    reading.
    """

    path: str
    tier: str
    stamp: str = ""
    agent: str = ""
    private: bool = False
    date: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    turns: int | None = None
    begin: str = ""
    enough: int | None = None
    lack: Lack | None = None


class Text(Struct, frozen=True, kw_only=True):
    """What a document says, and what else is to be told of it: that it calls itself private, or a lack."""

    text: str = ""
    private: bool = False
    lack: Lack | None = None


class Turn(Struct, frozen=True, kw_only=True):
    """One message of a session: its number, from 1, and what is searched of it."""

    number: int
    text: str
    line: int = 1
    speaker: str = ""
    date: str = ""
    message_id: str = ""
    private: bool = False


class Source(Protocol):
    """All that can be searched, as it is now."""

    def places(
        self, only: Collection[str] | None = None, stamps: Mapping[str, str] | None = None
    ) -> Iterable[Place]:
        """Return the places there are; with `only`, those of these paths.

        Of one that has the stamp which it has among `stamps`, nothing but that need be told.
        """
        ...

    def text(self, place: Place) -> str | Text | None:
        """Return the text of a document, None where it is gone."""
        ...

    def turns(self, place: Place, first: int) -> Iterable[Turn]:
        """Return the turns of a session, from a number on."""
        ...
