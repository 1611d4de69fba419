"""Entries and where they stand in a log, and the bytes of which it is made."""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from msgspec import Struct

from carrel.errors import Conflict
from carrel.files import show
from carrel.sessions.offsets import Offset
from carrel.sessions.transcript import ENTRY_LIMIT, Entry, Line, encode
from carrel.sessions.turn import BadMessage, MessageTooLarge

CHUNK = 4 * 1024 * 1024
"""How many bytes of a log are read in one go."""


class NewerLog(Conflict):
    """A later Carrel began this session; an earlier one reads it and adds nothing."""

    code = "newer_log"

    def __init__(self, path: str, version: int) -> None:
        super().__init__(
            f"{show(path)} was begun by a newer Carrel (format {version}).",
            hint="Upgrade Carrel to continue it; it was not touched.",
        )


class Added(Struct, frozen=True):
    """Where an entry is that was to be added, and whether it was not there before."""

    number: int
    is_new: bool


class Placed(Struct, frozen=True):
    """An entry and its number, from 1."""

    number: int
    entry: Entry


def encoded(line: Line) -> bytes:
    """Return a line as it is to be written; one that no reader would take back is refused."""
    try:
        data = encode(line)
    except (TypeError, ValueError, RecursionError):
        raise BadMessage("holds what JSON cannot say") from None
    if len(data) > ENTRY_LIMIT:
        raise MessageTooLarge(len(data))
    return data


def runs(offsets: Sequence[Offset]) -> Iterator[list[Offset]]:
    """Part offsets into runs that are read in one go."""
    run: list[Offset] = []
    for offset in offsets:
        if run and offset.end - run[0].start > CHUNK:
            yield run
            run = []
        run.append(offset)
    if run:
        yield run


def digest(data: bytes) -> str:
    """Return what some bytes are recognised by."""
    return sha256(data).hexdigest()
