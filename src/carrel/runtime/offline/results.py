"""What tools told the offline model: results as lines that can be quoted, or an error in plain words."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from msgspec import DecodeError, Struct, json

from carrel.runtime.offline.sources import LONGEST_LINE, OWN, Line, pieces, shorten
from carrel.sessions.message import ToolCall

SEARCHES = ("memory_search", "session_logs")
"""The tools that look for the question; what they find is weighed like any other line."""

_MOST = 2_000
_DEEPEST = 6
_TEXTS = ("text", "preview", "content", "snippet")
_LISTS = ("hits", "results", "entries", "sessions", "files")


class Result(Struct, frozen=True, kw_only=True):
    """One call and what it gave."""

    tool: str
    lines: tuple[Line, ...] = ()
    error: str = ""


def read_result(call: ToolCall, text: str) -> Result:
    """Read a result; one that is no JSON is quoted as it is."""
    value = _decode(text)
    if value is None:
        return Result(tool=call.name, lines=tuple(_plain_lines(text, call.name)))
    if error := _error(value):
        return Result(tool=call.name, error=shorten(error, LONGEST_LINE))
    reader = _READERS.get(call.name, _table)
    return Result(tool=call.name, lines=tuple(islice(reader(value, call.name), _MOST)))


def _decode(text: str) -> Any:
    """Return what a JSON text says; none where it is none, or says nothing."""
    for candidate in (text, text.rpartition("\n\n[")[0]):  # the loop may have added a note
        try:
            return json.decode(candidate)
        except (DecodeError, UnicodeEncodeError, RecursionError):
            continue
    return None


def _error(value: Any) -> str:
    """Return the words of a failure: an object with `error`, or one that says it is not ok."""
    told = _object(value)
    error = told.get("error")
    if isinstance(error, str) and error:
        return str(told.get("message") or error)
    words = _object(error)
    if words:
        told_in_full = f"{words.get('message') or words.get('code') or 'it failed'} {words.get('hint') or ''}"
        return told_in_full.strip()
    return "it failed" if told.get("ok") is False else ""


def _plain_lines(text: str, source: str) -> Iterator[Line]:
    for raw in text.split("\n")[:_MOST]:
        for piece in pieces(raw.strip()):
            if piece:
                yield Line(text=piece, source=source)


def _text(value: Any, tool: str) -> Iterator[Line]:
    """Yield the lines of a page of a file, with their numbers."""
    page = _object(value)
    path = str(page.get("path") or page.get("file") or tool)
    name = page.get("name")
    source = f"{name}/{path}" if isinstance(name, str) and "path" not in page else path
    first = page.get("first_line")
    text = next((page[key] for key in _TEXTS if isinstance(page.get(key), str)), "")
    start = first if isinstance(first, int) else 1
    for number, raw in enumerate(str(text).split("\n"), start):
        if raw.strip():
            yield Line(text=shorten(raw, LONGEST_LINE), source=f"{source}:{number}")


def _entries(value: Any, tool: str) -> Iterator[Line]:
    """Yield a line for each thing in a list: its path, or its name and what it is for."""
    for entry in _rows(value):
        row = _object(entry)
        named = row.get("path") or row.get("name") or (entry if isinstance(entry, str) else "")
        about = row.get("description")
        text = f"{named}: {about}" if about else str(named)
        if text:
            yield Line(text=shorten(text, LONGEST_LINE), source=tool)


def _sections(value: Any, tool: str) -> Iterator[Line]:
    """Yield the bullets of a notebook's sections."""
    for section in _list(_object(value).get("sections")):
        row = _object(section)
        heading = str(row.get("heading") or tool)
        for bullet in _list(row.get("bullets")):
            text = shorten(str(bullet), LONGEST_LINE)
            yield Line(text=text, source=f"MEMORY.md, {heading}", heading=heading)


def _hits(value: Any, tool: str) -> Iterator[Line]:
    """Yield what a search found, each with its place; questions and our own answers tell nothing."""
    for hit in _rows(value):
        row = _object(hit)
        text = shorten(next((row[key] for key in _TEXTS if isinstance(row.get(key), str)), ""), LONGEST_LINE)
        if text and OWN not in text and not text.endswith("?") and row.get("role") != "tool":
            yield Line(text=text, source=_place(row) or tool)


def _place(row: dict[str, Any]) -> str:
    path, line, session = row.get("path"), row.get("line"), row.get("session_id")
    if path:
        return f"{path}:{line}" if isinstance(line, int) else str(path)
    number = row.get("number")
    return f"session {session}{f', entry {number}' if number else ''}" if session else ""


def _table(value: Any, tool: str) -> Iterator[Line]:
    """Yield the values of an object with their keys."""
    for key, told in _flatten(value, "", 0):
        text = f"{key}: {told}" if key else told
        yield Line(text=shorten(text, LONGEST_LINE), source=tool)


def _flatten(value: Any, key: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST or value is None:
        return
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield from _flatten(inner, f"{key}.{name}" if key else name, depth + 1)
    elif isinstance(value, list):
        rows = cast("list[Any]", value)
        if all(isinstance(row, str | int | float) for row in rows):
            yield from [(key, ", ".join(str(row) for row in rows[:_MOST]))] if rows else []
        else:
            for row in rows[:_MOST]:
                yield from _flatten(row, key, depth + 1)
    elif str(value).strip():
        yield key, str(value).strip()


def _rows(value: Any) -> list[Any]:
    """Return the list in a result, which may be the result itself."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    told = _object(value)
    return next((rows for key in _LISTS if (rows := _list(told.get(key)))), _list(None))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


_READERS = {
    "read_file": _text,
    "skill_read": _text,
    "list_files": _entries,
    "skill_list": _entries,
    "what_do_i_know": _sections,
    **dict.fromkeys(SEARCHES, _hits),
}
