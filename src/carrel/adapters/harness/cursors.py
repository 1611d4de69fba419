"""How far a harness's transcript was read: enough to see that nothing in it is new, without the engine.

A cursor is only ever a shortcut. Without it all is read again, and nothing is recorded twice.
"""

import os
import stat
from binascii import crc32

from carrel.adapters.harness import kept
from carrel.adapters.harness.wire import Asked, Payload, reply_of, session_of, transcript_of

_GLANCE = 256 * 1024
"""Bytes behind a cursor that are looked at; who finds more there reads them as they are to be read."""

_LOOKED_AT = 4096
"""Bytes before a cursor by which a transcript is known again: one that is written anew may keep its inode."""

_SPOKEN = {"claude": (b'"user"', b'"assistant"'), "codex": (b'"response_item"',)}
"""What a line has in it that may be a message; harnesses also note what they did themselves."""


class Cursor:
    """How far a transcript was read, what stood before that, and up to where it is in the journal."""

    __slots__ = ("flushed", "inode", "mark", "offset")

    def __init__(self, inode: int, offset: int = 0, mark: int = 0, flushed: int = 0) -> None:
        self.inode = inode
        self.offset = offset
        self.mark = mark
        self.flushed = flushed

    def is_of(self, fd: int) -> bool:
        """Tell whether it is this file that was read so far: what was read still stands in it."""
        found = os.fstat(fd)
        if found.st_ino != self.inode or found.st_size < self.offset:
            return False
        return mark_at(fd, self.offset) == self.mark


def mark_at(fd: int, offset: int) -> int:
    """Return what the bytes before a place are known by."""
    size = min(offset, _LOOKED_AT)
    return crc32(os.pread(fd, size, offset - size))


def key_of(asked: Asked, payload: Payload, root: str) -> list[str]:
    """Return whose reading of a transcript it is: two workspaces may follow the same one."""
    path = transcript_of(asked.harness, payload)
    return [root, asked.harness, asked.scope, asked.agent, session_of(payload), path]


def name_of(key: list[str]) -> str:
    """Return the name of the file that a cursor is kept in."""
    return f"read-{kept.name_of(key)}.json"


def find(folder: str, key: list[str]) -> Cursor | None:
    """Return the cursor that is kept for a key."""
    head = kept.head_of(f"{folder}/{name_of(key)}")
    places = [head.get(name) for name in Cursor.__slots__]
    flushed, inode, mark, offset = (place if isinstance(place, int) else -1 for place in places)
    return Cursor(inode, offset, mark, flushed) if head.get("key") == key and offset >= 0 else None


def to_keep(key: list[str], cursor: Cursor) -> dict[str, object]:
    """Return a cursor as it is kept."""
    return {"key": key, **{name: getattr(cursor, name) for name in Cursor.__slots__}}


def is_all_known(asked: Asked, payload: Payload, root: str, folder: str) -> bool:
    """Tell whether nothing was said since the last time; where that cannot be seen, it is not known."""
    key = key_of(asked, payload, root)
    path = key[-1]
    if not path:
        # What is about to be compacted is saved, whoever said it and whenever.
        return asked.event == "stop" and bool(session_of(payload)) and not reply_of(payload)
    cursor = find(folder, key)
    if cursor is None or (asked.event == "pre-compact" and cursor.flushed != cursor.offset):
        return False
    return not _says_more(path, cursor, _SPOKEN[asked.harness])


def _says_more(path: str, cursor: Cursor, spoken: tuple[bytes, ...]) -> bool:
    """Tell whether a line behind a cursor may be a message; one that is still being written is none."""
    try:
        fd = os.open(os.path.expanduser(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # noqa: PTH111 - pathlib is not loaded
    except (OSError, ValueError):
        return True
    try:
        found = os.fstat(fd)
        more = found.st_size - cursor.offset
        if not stat.S_ISREG(found.st_mode) or more > _GLANCE or not cursor.is_of(fd):
            return True
        lines, newline, _ = os.pread(fd, more, cursor.offset).rpartition(b"\n") if more else (b"", b"", b"")
    except OSError:
        return True
    finally:
        os.close(fd)
    return bool(newline) and any(word in lines for word in spoken)
