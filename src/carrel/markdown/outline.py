"""The outline of a Markdown text: its headings, and the bullets below each.

What stands in front matter or inside a code fence is neither. Reading cannot fail, and costs two passes over
the lines.
"""

from collections.abc import Iterator

from msgspec import Struct

from carrel.markdown.lines import LineReader, body_start, closed_fences


class Section(Struct, frozen=True, kw_only=True):
    """A heading and the bullets up to the next one; nested bullets stand among the others, in their order.

    Bullets before the first heading have a section of their own, of level 0 and without a heading. `path` is
    the headings that lead here, its own the last; `line` counts from 1.
    """

    heading: str
    level: int
    line: int
    path: tuple[str, ...] = ()
    bullets: tuple[str, ...] = ()


def outline(text: str) -> tuple[Section, ...]:
    """Return the sections of a text in their order; text without headings and bullets has none."""
    return tuple(section for section in _sections(text) if section.level or section.bullets)


def _sections(text: str) -> Iterator[Section]:
    start = body_start(text)
    lines = text[start:].split("\n")
    first = text.count("\n", 0, start) + 1
    fences = closed_fences(zip(range(first + len(lines) - 1, 0, -1), reversed(lines), strict=False))
    reader = LineReader()
    path: list[tuple[int, str]] = []
    begin, bullets = 1, reader.bullets
    for number, line in enumerate(lines, first):
        if reader.read(line, fences.get(number, "")) != "heading":
            continue
        yield _section(path, begin, bullets)
        while path and path[-1][0] >= reader.level:
            path.pop()
        path.append((reader.level, reader.heading))
        begin, bullets = number, reader.bullets
    yield _section(path, begin, bullets)


def _section(path: list[tuple[int, str]], line: int, bullets: list[list[str]]) -> Section:
    level, heading = path[-1] if path else (0, "")
    joined = (" ".join(lines) for lines in bullets)
    return Section(
        heading=heading,
        level=level,
        line=line,
        path=tuple(each for _, each in path),
        bullets=tuple(bullet for bullet in joined if bullet),
    )
