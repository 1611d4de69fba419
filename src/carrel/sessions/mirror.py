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
from carrel.sessions.transcript import Header, decode, encode

_LIMIT = 1 << 30
_ATTEMPTS = 20


class Mirrored(Struct, frozen=True):
    """How far a window file is: after which entry it begins, with which it ends, and its size."""

    through: int
    last: int
    size: int


def mirror(log: Log, spot: Spot, before: Mirrored | None, now: datetime) -> tuple[Mirrored, Finding | None]:
    """Bring a window file up to its log; what is missing is added, what is wrong set aside and made anew."""
    for _ in range(_ATTEMPTS):
        known = log.look()
        through = known.compacted[0] if known.compacted else 0
        try:
            if before is not None and before.through == through:
                rest = b"".join(log.lines(before.last + 1, known.entries))
                size = spot.files.append(spot.path, rest, at=before.size) if rest else before.size
                return Mirrored(through, known.entries, size), None
            whole = _whole(log, through, known.entries)
            finding = _replace(spot, whole, now)
        except Stale:
            before = None  # somebody else wrote it, or spoilt it: compare all of it
            continue
        return Mirrored(through, known.entries, len(whole)), finding
    raise Stale(spot.path, expected=None, found=None)


def _whole(log: Log, through: int, last: int) -> bytes:
    known = log.look()
    head = b"" if known.header is None else encode(convert(known.header, Header))
    compaction = log.compaction() if through else None
    summary = encode(compaction[1]) if compaction else b""
    return head + summary + b"".join(log.lines(through + 1, last))


def _replace(spot: Spot, whole: bytes, now: datetime) -> Finding | None:
    """Make the file say this; where others than Carrel left something else in it, that is kept aside."""
    content = spot.files.read(spot.path, limit=_LIMIT)
    if content is None:
        spot.files.write(spot.path, whole, expect=None)
        return None
    if content.data == whole:
        return None
    if whole.startswith(content.data) and content.data.endswith(b"\n"):
        spot.files.append(spot.path, whole[len(content.data) :], at=len(content.data))
        return None
    if all(not decode(line).is_damaged for line in content.data.splitlines()):
        spot.files.write(spot.path, whole, expect=content.digest)
        return None
    aside = set_aside(spot.files, spot.path, content, now)
    spot.files.write(spot.path, whole, expect=None)
    return damaged(spot.path, aside)
