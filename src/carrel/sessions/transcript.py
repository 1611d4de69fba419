"""The lines of a log: a session's header, its entries, and the notes on it, as values and as JSON.

The form is seed 002's, and what else a session needs: calls of tools, a title, a summary, a compaction. Lines
that are damaged give back whatever in them is whole; lines of a kind that is not known here are left alone.
"""

import re
from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice, pairwise
from typing import Any, Literal, cast

from msgspec import NODEFAULT, Struct, ValidationError, convert, to_builtins
from msgspec.structs import fields

from carrel import plainjson
from carrel.sessions.message import Message, Role, ToolCall

VERSION = 1
ENTRY_LIMIT = 32 * 1024 * 1024
"""Bytes that one line may have when it is written."""

LINE_LIMIT = 2 * ENTRY_LIMIT
"""A line with more bytes than this is nobody's message."""

Finish = Literal["stop", "tools", "length", "cancelled", "error", "tool_rounds"]
Content = str | list[Any]
"""A text, or parts as the caller gave them, their attachments stored beside the log."""

_START = re.compile(rb'\{\s*"type"\s*:\s*"(?:session|entry|title|summary|compaction)"')
_MARK = re.compile(rb'"[^"\\\0]*+(?:\\[^\0][^"\\\0]*+)*+"?|\{+|\}+|\0+')
"""A text, whole or torn, braces or a hole: whatever a line is made of, each byte is looked at once."""

_OPEN, _CLOSE, _HOLE = b"{}\0"
_MOST_PIECES = 100_000
"""Objects of a damaged line that are looked at: all of a long session whose newlines are gone."""

_MOST_AROUND = 1_000
_PASSES = 8
"""How often a damaged line is parsed at most, where its objects stand in one another."""


class Header(Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line of a log: whose session it is."""

    version: int = VERSION
    id: str
    timestamp: str = ""
    agent_id: str = ""
    source_plugin: str = ""
    forked_from: dict[str, str] | None = None


class Entry(Struct, frozen=True, kw_only=True, tag_field="type", tag="entry"):
    """One message as it was recorded.

    `scope` is who was listening; one that does not say was the owner's alone. `finish` says how a reply came
    to its end, `redacted` which kinds of secrets were taken out.
    """

    timestamp: str = ""
    role: Role
    content: Content = ""
    message_id: str = ""
    source_plugin: str = ""
    sender_id: str | None = None
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    scope: str = ""
    finish: Finish = "stop"
    redacted: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return what a person or a model reads of it: the texts, and a line for whatever else it holds."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(_text_of(part) for part in self.content)

    def to_message(self) -> Message:
        """Return it as a model receives it."""
        return Message(
            role=self.role,
            content=self.to_text(),
            name=self.name,
            tool_calls=self.tool_calls,
            tool_call_id=self.tool_call_id,
        )


class Title(Struct, frozen=True, kw_only=True, tag_field="type", tag="title"):
    """What the session is called from here on."""

    timestamp: str = ""
    title: str


class Summary(Struct, frozen=True, kw_only=True, tag_field="type", tag="summary"):
    """What the session is about, for the list of sessions."""

    timestamp: str = ""
    summary: str


class Compaction(Struct, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """From here on the model reads this summary in place of the entries up to one of them.

    The entry is named by its number, and by its message id, which counts where the two differ.
    """

    timestamp: str = ""
    summary: str
    through: int
    message_id: str = ""
    scope: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    method: str = ""


Line = Header | Entry | Title | Summary | Compaction


class Foreign(Struct, frozen=True):
    """A line of a kind that is not known here; a later Carrel or another program wrote it."""

    kind: str


class Found(Struct, frozen=True):
    """What one line of a file holds: values with their places in it, and whether something was lost."""

    lines: tuple[tuple[int, int, Line | Foreign], ...] = ()
    is_damaged: bool = False


def encode(line: Line) -> bytes:
    """Return a line as it stands in a log, newline and all; what says nothing is left out."""
    value: dict[str, Any] = to_builtins(line)
    silent = _silent(type(line))
    kept = {
        key: item if isinstance(item, str) else _defused(item)
        for key, item in value.items()
        if key in _ALWAYS or key not in silent or silent[key] != item
    }
    return plainjson.dumps(kept) + b"\n"


def _defused(value: Any) -> Any:
    """Return a value in which no object begins like a line of a log.

    What a message holds must not be taken for a message where its own line is damaged.
    """
    if isinstance(value, dict):
        own = cast("dict[Any, Any]", value)
        names = sorted(own, key=lambda name: name == "type") if next(iter(own), None) == "type" else own
        return {name: _defused(own[name]) for name in names}
    if isinstance(value, list | tuple):
        return [_defused(item) for item in cast("list[Any]", value)]
    return value


_ALWAYS = frozenset(("type", "version", "timestamp", "role", "content", "message_id", "source_plugin"))


@cache
def _silent(kind: type[Line]) -> dict[str, Any]:
    """Return what each field of a line says when it says nothing."""
    return {
        field.name: to_builtins(field.default) for field in fields(kind) if field.default is not NODEFAULT
    }


def decode(raw: bytes, *, is_damaged: bool = False) -> Found:
    """Return what a line of a file holds; of a damaged one, every object in it that is whole."""
    body = raw.strip(b" \t\r\n\xef\xbb\xbf")
    if not body:
        return Found()
    if len(raw) > LINE_LIMIT:
        return Found(is_damaged=True)
    if is_damaged:
        return Found(tuple(_recovered(raw)), is_damaged=True)
    try:
        return Found(((0, len(raw), _typed(plainjson.loads(body))),))
    except ValueError:
        return Found(tuple(_recovered(raw)), is_damaged=True)


def _typed(value: Any) -> Line | Foreign:
    """Return the value that an object of a log stands for; what contradicts its kind raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 - to the caller it is as bad as broken JSON
    value = cast("dict[str, Any]", value)
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        return Foreign(str(kind)[:64])
    if kind == "session" and isinstance(version := value.get("version"), int) and version > VERSION:
        return Header(version=version, id=str(value.get("id", "")))  # whatever else a later one may say
    value = {key: item for key, item in value.items() if item is not None}  # others write null for nothing
    try:
        return convert(value, KINDS[kind])
    except ValidationError as error:
        raise ValueError(str(error)) from None


KINDS: dict[Any, type[Line]] = {
    "session": Header,
    "entry": Entry,
    "title": Title,
    "summary": Summary,
    "compaction": Compaction,
}


def _recovered(raw: bytes) -> list[tuple[int, int, Line]]:
    """Return the whole objects of a line in which others are broken: two writers in one, a hole of NULs."""
    whole, left = list[tuple[int, int, Line]](), _PASSES * len(raw)
    for start, end in islice(_closed(raw), _MOST_PIECES):
        left -= end - start
        if left < 0:
            break
        try:
            line = _typed(plainjson.loads(raw[start:end]))
        except ValueError:
            continue
        if not isinstance(line, Foreign):
            while whole and whole[-1][0] > start:
                whole.pop()  # a part of this one, which ended first
            whole.append((start, end - start, line))
    return whole


def _closed(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield from where to where each object goes that begins as a line does, and comes to an end.

    A beginning cannot stand in a text, where its quotes would be escaped: whatever was open before it was
    torn, or is around it. So each is read from there on, and the whole line once.
    """
    starts = (found.start() for found in _START.finditer(raw))
    opened, depth = deque[tuple[int, int]](maxlen=_MOST_AROUND), 0  # those around more are hardly JSON
    for begin, until in pairwise(chain(starts, (len(raw),))):
        opened.append((begin, depth))
        for mark in _MARK.finditer(raw, begin, until):
            at, end = mark.span()
            if raw[at] == _OPEN:
                depth += end - at
            elif raw[at] == _HOLE:
                opened.clear()
                depth = 0
            elif raw[at] == _CLOSE:
                left = max(0, depth - (end - at))
                while opened and opened[-1][1] >= left:
                    start, around = opened.pop()
                    yield start, at + depth - around
                depth = left


def _text_of(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    part = cast("dict[str, Any]", part)
    kind = part.get("type")
    if isinstance(part.get("text"), str):
        return part["text"]
    if kind == "attachment":
        return f"[{part.get('media_type', 'file')}: {part.get('path', '')}, {part.get('bytes', 0)} bytes]"
    return f"[{kind or 'part'}]"
