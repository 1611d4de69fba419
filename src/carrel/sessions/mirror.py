"""The window as a file: what the model sees of a session, for people and other programs to read.

It is derived from the log, line by line the same bytes: the header, the last summary, and the entries after
it. Nothing is read back from it, so that a damaged one costs nothing but its repair.
"""

from datetime import datetime

from msgspec import Struct, convert

from carrel.files import Stale
from carrel.findings import Finding
from carrel.sessions.catalog import damaged, set_aside
from carrel.sessions.log import Log
from carrel.sessions.places import Spot
from carrel.sessions.transcript import Header, encode

_LIMIT = 1 << 30
_ATTEMPTS = 20


class Mirrored(Struct, frozen=True):
    """How far a window file is: with which summary it begins, with which entry it ends, and its size."""

    began: int
    summary: int
    last: int
    size: int


def mirror(log: Log, spot: Spot, before: Mirrored | None, now: datetime) -> tuple[Mirrored, Finding | None]:
    """Bring a window file up to its log, which was looked at just now.

    What is missing is added, what is wrong set aside and made anew.
    """
    for attempt in range(_ATTEMPTS):
        known = log.look() if attempt else log.known
        through, place, _ = known.compacted or (0, 0, 0)
        try:
            if before is not None and (before.began, before.summary) == (log.began, place):
                rest = b"".join(log.lines(before.last + 1, known.entries))
                return Mirrored(log.began, place, known.entries, _add(spot, rest, before.size)), None
            whole = _whole(log, through, known.entries)
            finding = _replace(log, spot, whole, now)
        except Stale:
            before = None  # somebody else wrote it, or spoilt it: compare all of it
            continue
        return Mirrored(log.began, place, known.entries, len(whole)), finding
    raise Stale(spot.path, expected=None, found=None)


def _add(spot: Spot, rest: bytes, size: int) -> int:
    """Add lines to a file that is as it was left; else it is stale."""
    if rest:
        return spot.files.append(spot.path, rest, at=size)
    part = spot.files.part(spot.path, 0, 0)
    if part is None or part.size != size:
        raise Stale(spot.path, expected=str(size), found=str(part.size) if part else None)
    return size


def _whole(log: Log, through: int, last: int) -> bytes:
    known = log.look()
    head = b"" if known.header is None else encode(convert(known.header, Header))
    compaction = log.compaction() if through else None
    summary = encode(compaction[1]) if compaction else b""
    return head + summary + b"".join(log.lines(through + 1, last))


def _replace(log: Log, spot: Spot, whole: bytes, now: datetime) -> Finding | None:
    """Make the file say this; what else than lines of the log is found in it is kept aside."""
    content = spot.files.read(spot.path, limit=_LIMIT)
    if content is None:
        spot.files.write(spot.path, whole, expect=None)
        return None
    if content.data == whole:
        return None
    if content.data.endswith(b"\n") and whole.startswith(content.data):
        spot.files.append(spot.path, whole[len(content.data) :], at=len(content.data))
        return None
    if content.data and set(content.data.splitlines(keepends=True)) <= log.own_lines():
        spot.files.write(spot.path, whole, expect=content.digest)
        return None
    aside = set_aside(spot.files, spot.path, content, now)
    spot.files.write(spot.path, whole, expect=None)
    return damaged(spot.path, aside)
