"""The parts of a Markdown text: each heading with the text below it, as offsets into it."""

from collections.abc import Sequence

from msgspec import Struct

from carrel.markdown.lines import body_start
from carrel.markdown.structure import Heading, structure_of


class Part(Struct, frozen=True, kw_only=True, gc=False):
    """A section: its heading at `start`, its text from `body` on.

    Its own text ends at `own_end`, before the first nested heading; with all that is nested it ends at `end`.
    `path` is the headings that lead here, its own the last; `position` counts among parts of equal path and
    `line` among all lines, from 1. From `start` to `own_end`, parts tile the text behind its first `start`.
    """

    heading: str
    level: int
    line: int
    path: tuple[str, ...]
    position: int
    start: int
    body: int
    own_end: int
    end: int


def sections(text: str) -> tuple[Part, ...]:
    """Return the parts of a text in their order, in one pass; a text without headings has none."""
    return parts_of(text, structure_of(text).headings)


def parts_of(text: str, headings: Sequence[Heading]) -> tuple[Part, ...]:
    """Return the parts that these headings make of a text."""
    ends = _ends(headings, len(text))
    counts: dict[tuple[str, ...], int] = {}
    above: list[Heading] = []
    parts: list[Part] = []
    for index, heading in enumerate(headings):
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        path = tuple(each.words for each in above)
        counts[path] = counts.get(path, 0) + 1
        parts.append(
            Part(
                heading=heading.words,
                level=heading.level,
                line=heading.line,
                path=path,
                position=counts[path],
                start=heading.start,
                body=heading.end,
                own_end=headings[index + 1].start if index + 1 < len(headings) else len(text),
                end=ends[index],
            )
        )
    return tuple(parts)


def root_of(text: str, parts: Sequence[Part]) -> Part:
    """Return the text itself as a part of level 0: its own text stands before the first heading."""
    return Part(
        heading="",
        level=0,
        line=1,
        path=(),
        position=1,
        start=0,
        body=body_start(text),
        own_end=parts[0].start if parts else len(text),
        end=len(text),
    )


def _ends(headings: Sequence[Heading], size: int) -> list[int]:
    """Return where each heading's part ends with all that is nested: at the next one that is not deeper."""
    ends = [size] * len(headings)
    still_open: list[int] = []
    for index, heading in enumerate(headings):
        while still_open and headings[still_open[-1]].level >= heading.level:
            ends[still_open.pop()] = heading.start
        still_open.append(index)
    return ends
