"""The one cut: shorten a text to a limit, at a good place, with a marker that says so."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from carrel.context.render import escaper
from carrel.workspace.layout import Keep

NEWLINE = "\n"
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
    """What stands where a text was cut; `{path} {name} {kept} {left} {whole} {limit}` are filled in."""

    pattern: str
    before: str = "\n"
    """Parts the marker from the text it ends."""
    may_lack: bool = False
    """Where the marker does not fit, the text may be cut without one."""
    tags: tuple[str, ...] = ()
    """What the text was escaped for: what is left of it must not read as one of these either."""

    def text(self, *, path: str, kept: int, whole: int, limit: int) -> str:
        """Return the marker's own line."""
        name = path.rpartition("/")[2]
        numbers = {"kept": kept, "left": whole - kept, "whole": whole, "limit": _short(limit)}
        return self.pattern.format_map({"path": path, "name": name, **numbers})


class Cut(Struct, frozen=True, kw_only=True):
    """A shortened text, and the characters of the original that it keeps: one span, or two around a gap."""

    text: str
    spans: tuple[tuple[int, int], ...]
    marked: bool = True


def cut(text: str, limit: int, ruler: Measure, *, keep: Keep, marker: Marker, path: str) -> Cut | None:
    """Shorten a text to at most `limit`, marker included; none where not even a character fits."""
    whole = ruler.size(text)
    reserved = marker.text(path=path, kept=whole, whole=whole, limit=limit)
    room = limit - ruler.size(f"{marker.before if keep == 'head' else NEWLINE}{reserved}")
    covered = ruler.spans(text, keep) if room > 0 else None
    while covered and room > 0:
        start, end = _place(text, covered(room), keep)
        if keep == "head":
            end = len(text[: _unforged(text, end, marker.tags, marker.before + reserved)].rstrip())
        if start >= end:
            break
        finished = finish(text, (start, end), ruler, keep=keep, marker=marker, path=path, limit=limit)
        excess = ruler.size(finished) - limit
        if excess <= 0:
            return Cut(text=finished, spans=((start, end),))
        room -= excess
    return _bare(text, limit, ruler, keep, marker.tags) if marker.may_lack else None


def finish(
    text: str, span: tuple[int, int], ruler: Measure, *, keep: Keep, marker: Marker, path: str, limit: int
) -> str:
    """Join what is kept and the marker: after a head, before a tail."""
    kept = text[span[0] : span[1]]
    line = marker.text(path=path, kept=ruler.size(kept), whole=ruler.size(text), limit=limit)
    return f"{kept}{marker.before}{line}" if keep == "head" else f"{line}\n{kept}"


def cut_middle(text: str, limit: int, *, marker: Marker, path: str) -> Cut | None:
    """Keep 7/9 of the room from the head and 2/9 from the tail, in characters, with the marker between."""
    room = limit - len(marker.text(path=path, kept=0, whole=len(text), limit=limit)) - 2
    if room < 9:  # noqa: PLR2004 - below that one of the two ends would be empty
        return None
    head, tail = 7 * room // 9, 2 * room // 9
    if marker.tags:  # else nothing was escaped, and the cut is exact
        head = _unforged(text, _outside_entity(text, head, -1), marker.tags, NEWLINE + marker.pattern)
        tail = len(text) - _outside_entity(text, len(text) - tail, +1)
    if not head or not tail:
        return None
    line = marker.text(path=path, kept=head + tail, whole=len(text), limit=limit)
    spans = ((0, head), (len(text) - tail, len(text)))
    return Cut(text=f"{text[:head]}\n{line}\n{text[-tail:]}", spans=spans)


def cut_exactly(text: str, room: int, *, marker: Marker, path: str) -> Cut:
    """Keep exactly the first characters that fit beside the marker; the marker alone where none do."""
    line = marker.text(path=path, kept=0, whole=len(text), limit=room)
    kept = _outside_entity(text, room - len(marker.before) - len(line), -1)
    kept = _unforged(text, kept, marker.tags, marker.before + line) if kept > 0 else 0
    if kept <= 0:
        return Cut(text=line, spans=())
    return Cut(text=f"{text[:kept]}{marker.before}{line}", spans=((0, kept),))


def _bare(text: str, limit: int, ruler: Measure, keep: Keep, tags: tuple[str, ...]) -> Cut | None:
    """Keep the characters that fit at one end, without a marker."""
    room = limit
    covered = ruler.spans(text, keep) if room > 0 else None
    while covered and room > 0 and (count := covered(room)):
        span = (0, _unforged(text, count, tags, "")) if keep == "head" else (len(text) - count, len(text))
        kept = text[span[0] : span[1]]
        if not kept:
            break
        excess = ruler.size(kept) - limit
        if excess <= 0:
            return Cut(text=kept, spans=(span,), marked=False)
        room -= excess
    return None


def _unforged(text: str, end: int, tags: tuple[str, ...], following: str) -> int:
    """Move the end of a head back before a `<` that would begin a tag now that its word is cut short.

    `</document9` is no tag and needs no escape, but cut after `</document` it is one. Only the last `<` can
    be affected: between it and the end of a tag there is no other.
    """
    escape = escaper(tags)
    while tags and (start := text.rfind("<", 0, end)) != -1:
        remainder = text[start:end] + following
        if escape(remainder)[:1] == remainder[:1]:
            break
        end = start
    return end


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
    """Move the start of a tail on to a newline, else white space, within the window."""
    if "\n" in text[max(0, position - 1) : position + 1]:
        return position
    near = text[position : position + window]
    newline = near.find("\n")
    if newline != -1:
        return position + newline
    return next((position + i for i, c in enumerate(near) if c.isspace()), position)


def _short(limit: int) -> str:
    """Write 20000 as 20K, and 1500 as it is."""
    return f"{limit // 1000}K" if limit >= 1000 and limit % 1000 == 0 else str(limit)  # noqa: PLR2004 - K is a thousand
