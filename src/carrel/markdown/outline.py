"""The outline of a Markdown text: its headings, and the bullets below each.

Written for what people and agents keep in notebooks: headings of any level, bullets of any kind and depth.
What stands inside a code fence is neither. Reading cannot fail, and costs two passes over the lines.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

_TAB = 4
_MOST_INDENT = 3  # of a heading; more is text, or code
_HEADING = re.compile(r"(#{1,6}+)(?:[ \t]++(.*))?", re.DOTALL)
_BULLET = re.compile(r"(?:[-*+]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")
_FENCE = re.compile(r"(`{3,}+)[^`]*+\Z|(~{3,}+)")
_FENCES = ("```", "~~~")
_RULES = "-*_"
_RULE_MARKS = 3


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
    return tuple(section for section in _sections(text.split("\n")) if section.level or section.bullets)


def _sections(lines: Sequence[str]) -> Iterator[Section]:
    fences = _closed_fences(lines)
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        ended = reader.read(line, number, fences.get(number, ""))
        if ended is not None:
            yield ended
    yield reader.close()


class _Item(Struct, gc=False):
    """A bullet that is being read: its lines, and the indent from which on a line is inside of it."""

    lines: list[str]
    inside: int


class _Reader:
    """Reads line by line, and knows what it takes to tell a bullet from other text."""

    def __init__(self) -> None:
        self._path: list[tuple[int, str]] = []
        self._line = 1
        self._bullets: list[list[str]] = []
        self._items: list[_Item] = []  # those that a line may still belong to, each inside the one before
        self._flows = False  # whether the last line was text that the next may go on with
        self._fence = ""
        self._fence_inside = 0

    def read(self, line: str, number: int, fence: str) -> Section | None:
        """Take in one line, which may open this fence; return the section that it ends, if any."""
        text = line.strip()
        indent = _indent(line)
        if self._fence and not self._is_beyond_fence(text, indent):
            return None
        if not text:
            self._flows = False
        elif fence:
            self._fence, self._fence_inside = fence, self._depth(indent)
            self._leave(indent)
            self._flows = False
        elif (heading := _HEADING.fullmatch(text)) and indent - self._depth(indent) <= _MOST_INDENT:
            return self._begin(_heading_text(heading[2] or ""), len(heading[1]), number)
        elif _is_rule(text):
            self._items.clear()
            self._flows = False
        else:
            self._take(text, indent)
        return None

    def close(self) -> Section:
        """Return the section that was being read."""
        level, heading = self._path[-1] if self._path else (0, "")
        bullets = (" ".join(lines) for lines in self._bullets)
        return Section(
            heading=heading,
            level=level,
            line=self._line,
            path=tuple(each for _, each in self._path),
            bullets=tuple(bullet for bullet in bullets if bullet),
        )

    def _begin(self, heading: str, level: int, number: int) -> Section:
        ended = self.close()
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, heading))
        self._line = number
        self._bullets = []
        self._items.clear()
        self._flows = False
        return ended

    def _depth(self, indent: int) -> int:
        """Return where the text of the innermost bullet begins that a line so far in is inside of, else 0."""
        holding = bisect_right(self._items, indent, key=lambda item: item.inside)
        return self._items[holding - 1].inside if holding else 0

    def _leave(self, indent: int) -> None:
        """Close the bullets that a line so far in is not inside of."""
        while self._items and self._items[-1].inside > indent:
            self._items.pop()

    def _is_beyond_fence(self, text: str, indent: int) -> bool:
        """Tell whether a line is beyond the open fence; the one that closes it is still of it."""
        if text and indent < self._fence_inside:
            self._fence = ""  # the bullet that held it has ended
            return True
        if len(text) >= len(self._fence) and not text.strip(self._fence[0]):
            self._fence = ""
        return False

    def _take(self, text: str, indent: int) -> None:
        mark = _BULLET.match(text)
        is_inside = not self._items or indent >= self._items[-1].inside
        if mark and mark[1] and int(mark[1]) != 1 and self._flows and is_inside:
            mark = None  # a line of text that happens to begin with a number, a year for instance
        if not mark and self._flows and self._items and (is_inside or text[0] != ">"):
            self._items[-1].lines.append(text)
            return
        self._leave(indent)
        self._flows = True
        if mark:
            self._begin_bullet(text, mark.end(), indent)
        elif self._items:
            self._items[-1].lines.append(text)

    def _begin_bullet(self, text: str, end: int, indent: int) -> None:
        first = text[end:]
        said = first.strip()
        gap = _indent(first)
        lines = [said] if said else []
        self._bullets.append(lines)
        self._items.append(_Item(lines, indent + end + (gap if said and gap <= _TAB else 1)))
        self._flows = bool(said)


def _closed_fences(lines: Sequence[str]) -> dict[int, str]:
    """Return the lines that may open a fence, with its marks: those of which a later line is the end.

    One that is never closed is taken for text. It would hide all that follows, and who forgot to close it
    did not mean that.
    """
    longest = {"`": 0, "~": 0}
    found: dict[int, str] = {}
    for number in range(len(lines), 0, -1):
        text = lines[number - 1].strip()
        fence = _FENCE.match(text) if text.startswith(_FENCES) else None
        if fence is None:
            continue
        marks = fence[1] or fence[2]
        if len(marks) <= longest[marks[0]]:
            found[number] = marks
        if len(marks) == len(text):
            longest[marks[0]] = max(longest[marks[0]], len(marks))
    return found


def _indent(line: str) -> int:
    """Return the columns of white space before a line's text."""
    start = line[: len(line) - len(line.lstrip(" \t"))]
    return len(start.expandtabs(_TAB)) if "\t" in start else len(start)


def _heading_text(text: str) -> str:
    """Return a heading without the marks that may close it."""
    text = text.rstrip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _is_rule(text: str) -> bool:
    """Tell whether a line is three or more of one mark, which parts a text and is no bullet."""
    mark = text[0]
    return mark in _RULES and not text.strip(f"{mark} \t") and text.count(mark) >= _RULE_MARKS
