"""A log rewritten: the one exception to its being only added to, for what is to be forgotten for good."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from carrel import plainjson
from carrel.files import FileStore, Stale
from carrel.files.durable import HASH_LIMIT
from carrel.sessions.transcript import KINDS, LINE_LIMIT

Rewrite = Callable[[Mapping[str, Any]], dict[str, Any] | None]
"""From a line of a log to another in its place; none means that it stays as it is, byte for byte."""

_ATTEMPTS = 20


def rewritten(data: bytes, rewrite: Rewrite) -> tuple[bytes, int]:
    """Return a log with other lines in the place of some, and how many these are; damaged ones stay."""
    lines = data.split(b"\n")
    count = 0
    for number, raw in enumerate(lines):
        value = _read(raw)
        new = rewrite(value) if value is not None else None
        if new is not None:
            lines[number] = plainjson.dumps(new)
            count += 1
    return b"\n".join(lines), count


def rewrite_file(files: FileStore, path: str, rewrite: Rewrite, *, dry_run: bool = False) -> int:
    """Rewrite a file of lines as a whole, durably, and again where somebody added to it meanwhile."""
    for _ in range(_ATTEMPTS):
        content = files.read(path, limit=HASH_LIMIT)
        data, count = rewritten(content.data, rewrite) if content else (b"", 0)
        if content is None or not count or dry_run:
            return count
        try:
            files.write(path, data, expect=content.digest)
        except Stale:
            continue
        return count
    raise Stale(path, expected=None, found=None)


def _read(raw: bytes) -> dict[str, Any] | None:
    body = raw.strip(b" \t\r\n\xef\xbb\xbf")
    if not body or len(raw) > LINE_LIMIT:
        return None
    try:
        value = plainjson.loads(body)
    except (ValueError, RecursionError):
        return None
    own = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return own if own.get("type") in KINDS else None
