"""The one cut: shorten a text to a limit, at a good place, with a marker that says so."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from carrel.workspace.layout import Keep

_ENTITY = "&lt;"
_WINDOW = 20  # look for a better place within 1/20 of what is kept


class Measure(Protocol):
    """Measures text in a layout's unit."""

    def size(self, text: str) -> int:
        """Return how much room a text takes."""
        ...

    def spans(self, text: str, keep: Keep) -> Callable[[int], int]:
        """Return a function from n units to the characters that the first (or last) n units cover."""
        ...


class Marker(Struct, frozen=True, kw_only=True):
    """What stands where a text was cut; `{path} {kept} {whole} {limit}` are filled in."""

    pattern: str
    before: str = "\n"
    """Parts the marker from the text it ends."""

    def text(self, *, path: str, kept: int, whole: int, limit: int) -> str:
        """Return the marker's own line."""
        values = {"path": path, "kept": kept, "whole": whole, "limit": _short(limit)}
        return self.pattern.format_map(values)


class Cut(Struct, frozen=True, kw_only=True):
    """A shortened text: which characters of the original stay, how much they take, and the finished text."""

    start: int
    end: int
    kept: int
    text: str


def cut(text: str, limit: int, ruler: Measure, *, keep: Keep, marker: Marker, path: str) -> Cut | None:
    """Shorten a text to at most `limit`, marker included; none where not even a character fits."""
    whole = ruler.size(text)
    reserved = marker.text(path=path, kept=whole, whole=whole, limit=limit)
    room = limit - ruler.size(marker.before + reserved if keep == "head" else f"{reserved}\n")
    if room <= 0:
        return None
    covered = ruler.spans(text, keep)
    while room > 0:
        start, end = _place(text, covered(room), keep)
        if start >= end:
            return None
        kept = ruler.size(text[start:end])
        line = marker.text(path=path, kept=kept, whole=whole, limit=limit)
        finished = finish(text[start:end], line, keep=keep, before=marker.before)
        excess = ruler.size(finished) - limit
        if excess <= 0:
            return Cut(start=start, end=end, kept=kept, text=finished)
        room -= excess
    return None


def finish(kept: str, line: str, *, keep: Keep, before: str) -> str:
    """Join what is kept and the marker: after a head, before a tail."""
    return f"{kept}{before}{line}" if keep == "head" else f"{line}\n{kept}"


def _place(text: str, covered: int, keep: Keep) -> tuple[int, int]:
    """Return the span to keep: never inside an entity, at a newline or white space where one is near."""
    window = -(-covered // _WINDOW)
    if keep == "head":
        end = _before(text, _outside_entity(text, covered, -1), window)
        return 0, len(text[:end].rstrip())
    start = _after(text, _outside_entity(text, len(text) - covered, +1), window)
    return len(text) - len(text[start:].lstrip("\n")), len(text)


def _outside_entity(text: str, position: int, direction: int) -> int:
    start = text.rfind(_ENTITY, max(0, position - len(_ENTITY) + 1), position + len(_ENTITY) - 1)
    if start == -1 or not start < position < start + len(_ENTITY):
        return position
    return start if direction < 0 else start + len(_ENTITY)


def _before(text: str, position: int, window: int) -> int:
    """Move the end of a head back to a newline, else white space, within the window."""
    if "\n" in text[max(0, position - 1) : position + 1]:
        return position
    near = text[max(0, position - window) : position]
    newline = near.rfind("\n")
    if newline != -1:
        return position - len(near) + newline
    return next((position - i for i, c in enumerate(reversed(near), 1) if c.isspace()), position)


def _after(text: str, position: int, window: int) -> int:
    """Move the start of a tail on to a newline, else past white space, within the window."""
    if "\n" in text[max(0, position - 1) : position + 1]:
        return position
    near = text[position : position + window]
    newline = near.find("\n")
    if newline != -1:
        return position + newline
    return next((position + i for i, c in enumerate(near, 1) if c.isspace()), position)


def _short(limit: int) -> str:
    """Write 20000 as 20K, and 1500 as it is."""
    return f"{limit // 1000}K" if limit >= 1000 and limit % 1000 == 0 else str(limit)  # noqa: PLR2004 - K is a thousand
