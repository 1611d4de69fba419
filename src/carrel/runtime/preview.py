"""Previews: the beginning of a file as somebody may look at it, at the cost of its first bytes."""

import re
from codecs import getincrementaldecoder
from hashlib import sha256
from typing import Any, Literal

from msgspec import DecodeError, Struct, json, to_builtins
from msgspec.structs import replace

from carrel.files import READ_LIMIT, FileStore, Part, Reason, Unreadable
from carrel.runtime.explorer import iso, suffix
from carrel.runtime.view import BARE, NoSuchPath, View, fetch, looked_at, spelled
from carrel.workspace.scope import FRONT_MATTER_BYTES

PREVIEW_BYTES = 64 * 1024
PREVIEW_LINES = 2_000
DEEPEST_JSON = 64
"""Levels beyond which JSON is shown as it is: indenting it could take a thousand times its size."""

PreviewKind = Literal["text", "markdown", "json", "binary"]

_KIND_OF_SUFFIX: dict[str, PreviewKind] = {"md": "markdown", "markdown": "markdown", "json": "json"}
_TOO_BROKEN = 10
"""One character in so many that is not UTF-8 makes it no text."""
_REPLACEMENT = "\ufffd".encode()
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?')
"""A text, also one that is torn: else each quote in it would be looked at as the beginning of another."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Preview(Struct, frozen=True, kw_only=True):
    """The beginning of a file as somebody may look at it.

    `digest` is of the whole file, for a later change that must meet it unchanged; none when it is too large
    to be changed here. `lines` is none when it is `truncated`; `formatted` JSON has been indented. Where
    there is a `problem` there is no text, except with "not_utf8": there broken characters are replaced.
    """

    path: str
    kind: PreviewKind | None
    size: int
    modified: str | None
    digest: str | None = None
    text: str | None = None
    truncated: bool = False
    formatted: bool = False
    lines: int | None = None
    problem: Reason | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return to_builtins(self)


def preview(
    files: FileStore,
    path: str,
    *,
    limit: int = PREVIEW_BYTES,
    lines: int = PREVIEW_LINES,
    view: View = BARE,
) -> Preview:
    """Return the first `limit` bytes or `lines` lines of a file, whichever end first, never half a character.

    What is there but cannot be read is a preview with a problem; what is not there is an error.
    """
    path = spelled(path)
    try:
        head, digest = _beginning(files, path, limit, view)
    except Unreadable as error:
        return Preview(path=path, kind=None, size=0, modified=None, problem=error.reason)
    shown = _shown(path, head.data[:limit], is_whole=head.size <= limit, lines=lines)
    return replace(shown, size=head.size, modified=iso(head.modified_ns), digest=digest)


def _beginning(files: FileStore, path: str, limit: int, view: View) -> tuple[Part, str | None]:
    """Return the start of a file and the digest of the whole, unless that is too much to read."""
    size = max(limit, FRONT_MATTER_BYTES) if view.hides else limit
    head = looked_at(files, path, view, lambda: files.part(path, 0, size))
    if head is None:
        raise NoSuchPath(path)
    if head.size <= len(head.data):
        return head, sha256(head.data).hexdigest()
    if head.size > READ_LIMIT:
        return head, None
    content = fetch(files, path, view=view)
    if content is None:
        raise NoSuchPath(path)
    return replace(head, data=content.data, size=len(content.data)), content.digest


def _shown(path: str, data: bytes, *, is_whole: bool, lines: int) -> Preview:
    """Return what of some bytes can be looked at."""
    bare = Preview(path=path, kind="binary", size=0, modified=None, truncated=not is_whole)
    if b"\0" in data:
        return bare
    text = getincrementaldecoder("utf-8")("replace").decode(data, final=is_whole).removeprefix("\ufeff")
    broken = text.count("\ufffd") - data.count(_REPLACEMENT)
    if broken * _TOO_BROKEN > len(text):
        return bare
    kind = _KIND_OF_SUFFIX.get(suffix(path), "text")
    formatted = _formatted(text) if kind == "json" and is_whole and not broken else None
    text, is_cut = _first_lines(formatted or text, lines)
    is_whole = is_whole and not is_cut
    return replace(
        bare,
        kind=kind,
        text=text,
        truncated=not is_whole,
        formatted=formatted is not None,
        lines=_count_lines(text) if is_whole else None,
        problem="not_utf8" if broken else None,
    )


def _formatted(text: str) -> str | None:
    """Return JSON indented, every number as it was written; none when it is not valid or too deep."""
    depth = deepest = 0
    for character in _STRING.sub("", text).encode().translate(None, delete=_NO_BRACKETS):
        depth += 1 if character in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > DEEPEST_JSON:
        return None
    try:
        return json.format(text, indent=2)
    except (DecodeError, RecursionError):
        return None


def _first_lines(text: str, count: int) -> tuple[str, bool]:
    """Return the first lines, and whether any were left out."""
    position = 0
    for _ in range(count):
        position = text.find("\n", position) + 1
        if not position:
            return text, False
    return text[:position], position < len(text)


def _count_lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))
