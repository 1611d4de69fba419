"""What the index is made from, as plain values: who owns the files and sessions tells it of them."""

from collections.abc import Collection, Iterable
from typing import Protocol

from msgspec import Struct

TEXT_LIMIT = 1024 * 1024
"""Bytes that a document may have to be searched."""


class Place(Struct, frozen=True, kw_only=True):
    """A document or a session that is to be searched.

    An equal `stamp` means that nothing changed since; "" says nothing, and the text is looked at. A session
    has `turns`, the number of its last one, and what an equal `begin` says: that the turns seen before are
    still what they were.
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

    def places(self, only: Collection[str] | None = None) -> Iterable[Place]:
        """Return the places there are; with `only`, those of these paths."""
        ...

    def text(self, place: Place) -> str | None:
        """Return the text of a document, None where it cannot be had or is none."""
        ...

    def turns(self, place: Place, first: int) -> Iterable[Turn]:
        """Return the turns of a session, from a number on."""
        ...
