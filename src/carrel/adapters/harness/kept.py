"""Answers of hooks that are kept: each with the stamps of all that was looked at to make it.

What is checked is in the user's own cache; the texts themselves lie in the workspace's cache, where `forget`
reaches them. Only the standard library's lightest parts are imported, since a warm hook loads nothing else.
"""

import json
import os
import time
from binascii import crc32
from collections.abc import Mapping

SETTLED_NS = 2_000_000_000
"""What changed more recently may change again without its times showing it."""

_MOST_BYTES = 32 * 1024 * 1024

Stamp = list[int]


class Kept:
    """One kept answer: what to say at a session's start, or what prompts may recall."""

    __slots__ = ("lines", "text", "words")

    def __init__(self, text: str, lines: bytes, words: bytes) -> None:
        self.text = text
        self.lines = lines
        self.words = words


def cache_of(environ: Mapping[str, str], platform: str) -> str:
    """Return the user's cache, as `carrel.config` finds it, "" where that is left to others."""
    if home := environ.get("CARREL_HOME"):
        return os.path.join(os.path.abspath(home), "cache")  # noqa: PTH100, PTH118 - pathlib is not loaded
    own = environ.get("HOME")
    if not own or platform != "linux":
        return f"{own}/Library/Caches/carrel" if own and platform == "darwin" else ""
    base = environ.get("XDG_CACHE_HOME") or ""
    return os.path.join(base if os.path.isabs(base) else f"{own}/.cache", "carrel")  # noqa: PTH117, PTH118 - as above


def name_of(key: list[str]) -> str:
    """Return the name under which an answer is kept; two keys may share one, and the later wins."""
    return f"{crc32(json.dumps(key).encode('utf-8', 'surrogatepass')):08x}"


def stamp_of(path: str) -> Stamp | None:
    """Return what tells whether a file or folder is still the same, none where there is neither."""
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        return [-1, getattr(error, "errno", None) or 0, 0, 0]
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def find(cache: str, key: list[str]) -> Kept | None:
    """Return the answer that is kept for a key, if nothing that it was made from has changed."""
    head = head_of(f"{cache}/hooks/{name_of(key)}.json")
    if head.get("key") != key or not _is_fresh(head):
        return None
    blob, sizes = head.get("blob"), head.get("sizes")
    data = _bytes(blob) if isinstance(blob, str) else b""
    if not isinstance(sizes, list) or sum(sizes) != len(data) or len(sizes) != 3:  # noqa: PLR2004 # pyright: ignore[reportUnknownArgumentType]
        return None
    text, lines = int(sizes[0]), int(sizes[1])  # pyright: ignore[reportUnknownArgumentType]
    return Kept(data[:text].decode("utf-8", "surrogatepass"), data[text : text + lines], data[text + lines :])


def are_settled(stamps: "list[Stamp | None]", began_ns: int) -> bool:
    """Tell whether stamps, met again, prove that nothing has changed since then."""
    return all(stamp is None or stamp[3] < began_ns - SETTLED_NS for stamp in stamps)


def head_of(path: str) -> dict[str, object]:
    """Return the JSON object that a file of ours holds, an empty one where it holds none."""
    try:
        found = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _is_fresh(head: dict[str, object]) -> bool:
    until, seen = head.get("until"), head.get("seen")
    if not isinstance(until, int) or not isinstance(seen, dict) or (until and time.time_ns() >= until):
        return False
    return all(stamp_of(path) == stamp for path, stamp in seen.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _bytes(path: str) -> bytes:
    """Return what a file of ours holds; anything else than a file of ours holds nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return b""
    with os.fdopen(fd, "rb") as file:
        try:
            return file.read(_MOST_BYTES)
        except OSError:
            return b""
