"""Where the headings and the fences of a Markdown text stand, as offsets into it.

Agrees with `lines` on every text. Most marks mean the same whatever stands around them, and then only the
lines that hold one are looked at; where a mark may be inside a bullet, every line is read.
"""

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from carrel.errors import UsageError
from carrel.markdown.lines import (
    LEAST_INSIDE,
    MOST_INDENT,
    LineReader,
    body_start,
    closed_fences,
    closes,
    fence_of,
    heading_of,
    indent_of,
)

MOST_MARKS = 200_000
"""Headings and fences that a text may have here; nobody writes so many, and each costs memory."""

_MARKS = ("#", "```", "~~~")
_MARKED = re.compile(r"\n(?=[^\S\n]*+(?:#|```|~~~))")
_FEW = 1_000
"""Lines that hold the character of a mark: so many are found one by one, in a tenth of the time."""


class TooManyHeadings(UsageError):
    """A text has more headings and fences than anybody writes."""

    code = "too_many_headings"

    def __init__(self) -> None:
        super().__init__(
            f"The text has more than {MOST_MARKS:,} headings and code fences.",
            hint="Part it into several files, or edit it by hand.",
        )


class Heading(Struct, frozen=True, gc=False):
    """One heading: its words and level, and where its line begins, ends, and stands among all, from 1."""

    words: str
    level: int
    start: int
    end: int
    line: int


class Structure(Struct, frozen=True):
    """The headings of a text in their order, and the spans of its fences, with the lines of their marks."""

    headings: tuple[Heading, ...]
    fences: tuple[tuple[int, int], ...]


def structure_of(text: str) -> Structure:
    """Return the headings and fences of a text; front matter has none."""
    start = body_start(text)
    return _by_marks(text, start) or _by_lines(text, start)


def is_fence_open(text: str) -> bool:
    """Tell whether a fence begins in a text and does not end there, so that what follows may be taken in."""
    fence = ""
    for line in text.split("\n"):
        bare = line.strip()
        if not fence:
            fence = fence_of(bare)
        elif closes(bare, fence):
            fence = ""
    return bool(fence)


def _by_marks(text: str, start: int) -> Structure | None:
    """Look at the lines that hold a mark; none where only the bullets around one tell what it is."""
    marked = list(islice(_marked_lines(text, start), MOST_MARKS + 1))
    if len(marked) > MOST_MARKS:
        raise TooManyHeadings
    closed = closed_fences(reversed(marked))
    headings: list[tuple[int, str, int, str]] = []
    fences: list[tuple[int, int]] = []
    fence, opened = "", 0
    for at, line in marked:
        bare = line.strip()
        if fence:
            if closes(bare, fence):
                fences.append((opened, at + len(line)))
                fence = ""
        elif at in closed:
            if indent_of(line) >= LEAST_INSIDE:
                return None
            fence, opened = closed[at], at
        elif heading := heading_of(bare):
            if indent_of(line) > MOST_INDENT:
                return None
            headings.append((*heading, at, line))
    return Structure(tuple(_numbered(text, headings)), tuple(fences))


def _by_lines(text: str, start: int) -> Structure:
    """Read every line."""
    lines = text[start:].split("\n")
    closed = closed_fences(zip(range(len(lines) - 1, -1, -1), reversed(lines), strict=True))
    reader = LineReader()
    headings: list[tuple[int, str, int, str]] = []
    fences: list[tuple[int, int]] = []
    at = start
    for number, line in enumerate(lines):
        kind = reader.read(line, closed.get(number, ""))
        if kind == "heading":
            headings.append((reader.level, reader.heading, at, _line_at(text, at)))
        elif kind == "fence":
            fences.append((at, at + len(line)))
        at += len(line) + 1
    return Structure(tuple(_numbered(text, headings)), tuple(fences))


def _marked_lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold a mark, and the first."""
    yield start, _line_at(text, start)
    few = _few_marked(text, start)
    for at in (found.end() for found in _MARKED.finditer(text, start)) if few is None else few:
        yield at, _line_at(text, at)


def _few_marked(text: str, start: int) -> list[int] | None:
    """Return where the lines begin that hold a mark, but for the first; none where many might."""
    found: list[int] = []
    looked_at = 0
    for mark in _MARKS:
        at = text.find(mark[0], start)
        while at >= 0:
            looked_at += 1
            if looked_at > _FEW:
                return None
            begin = text.rfind("\n", start, at) + 1
            if begin and text.startswith(mark, at) and not text[begin:at].strip():
                found.append(begin)
            end = text.find("\n", at)
            at = text.find(mark[0], end) if end >= 0 else -1
    return sorted(found)


def _line_at(text: str, start: int) -> str:
    """Return the line that begins there, with its newline."""
    return text[start : text.find("\n", start) + 1 or len(text)]


def _numbered(text: str, headings: list[tuple[int, str, int, str]]) -> Iterator[Heading]:
    number, counted = 1, 0
    for level, words, at, line in headings:
        number += text.count("\n", counted, at)
        counted = at
        yield Heading(words, level, at, at + len(line), number)
