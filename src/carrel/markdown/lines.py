"""What each line of a Markdown text is: a heading, of a fence, a bullet, or text that goes on with one.

The one reading that everything else here agrees with. Written for what people and agents keep in notebooks:
headings and bullets of any kind and depth. What stands inside a code fence is neither. Reading cannot fail.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from carrel.markdown.frontmatter import parse

MOST_INDENT = 3
"""Columns before a heading, from where the text of its bullet begins; with more it is text, or code."""

LEAST_INSIDE = 2
"""Columns before whatever can be inside a bullet at all."""

Kind = Literal["blank", "heading", "fence", "text"]

_TAB = 4
_BOM = "\ufeff"
_HEADING = re.compile(r"(#{1,6}+)(?:[ \t]++(.*))?", re.DOTALL)
_BULLET = re.compile(r"(?:[-*+]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")
_FENCE = re.compile(r"(`{3,}+)[^`]*+\Z|(~{3,}+)")
_FENCES = ("```", "~~~")
_RULES = "-*_"
_RULE_MARKS = 3


def body_start(text: str) -> int:
    """Return where a text begins behind its byte order mark, front matter, and the blank lines after that."""
    first = len(_BOM) if text.startswith(_BOM) else 0
    if not text.startswith(("---", "<!--"), first):
        return first
    plain = text[first:].replace("\r\n", "\n")
    body = parse(plain).body
    if not body:
        return len(text)
    for _ in range(plain.count("\n", 0, len(plain) - len(body))):
        first = text.index("\n", first) + 1
    return first


def indent_of(line: str) -> int:
    """Return the columns of white space before a line's text."""
    start = line[: len(line) - len(line.lstrip(" \t"))]
    return len(start.expandtabs(_TAB)) if "\t" in start else len(start)


def heading_of(text: str) -> tuple[int, str] | None:
    """Return the level and the words of a heading, without the marks that may close it."""
    found = _HEADING.fullmatch(text)
    if found is None:
        return None
    words = (found[2] or "").strip()
    bare = words.rstrip("#")
    return len(found[1]), bare.rstrip() if not bare or bare[-1] in " \t" else words


def is_bullet(line: str) -> bool:
    """Tell whether a line begins a bullet by its looks; what stands before it may have another say."""
    text = line.strip()
    return _BULLET.match(text) is not None and not _is_rule(text)


def fence_of(text: str) -> str:
    """Return the marks of a line that may open a fence, or close one where it has nothing but these."""
    fence = _FENCE.match(text) if text.startswith(_FENCES) else None
    return (fence[1] or fence[2]) if fence else ""


def closes(text: str, fence: str) -> bool:
    """Tell whether a line is the end of a fence with these marks."""
    return len(text) >= len(fence) and not text.strip(fence[0])


def closed_fences(lines: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Return which lines may open a fence, with its marks, of numbered ones that come last to first.

    They are those of which a later line is the end. One that is never closed is taken for text. It would hide
    all that follows, and who forgot to close it did not mean that.
    """
    longest = {"`": 0, "~": 0}
    found: dict[int, str] = {}
    for number, line in lines:
        text = line.strip()
        marks = fence_of(text)
        if not marks:
            continue
        if len(marks) <= longest[marks[0]]:
            found[number] = marks
        if len(marks) == len(text):
            longest[marks[0]] = max(longest[marks[0]], len(marks))
    return found


class _Item(Struct, gc=False):
    """A bullet that is being read: its lines, and the indent from which on a line is inside of it."""

    lines: list[str]
    inside: int


class LineReader:
    """Reads line by line, and knows what it takes to tell a heading or a bullet from other text.

    `level` and `heading` are those of the last heading, `bullets` the lines of each bullet since.
    """

    def __init__(self) -> None:
        self.level = 0
        self.heading = ""
        self.bullets: list[list[str]] = []
        self._items: list[_Item] = []  # those that a line may still belong to, each inside the one before
        self._flows = False  # whether the last line was text that the next may go on with
        self._fence = ""
        self._fence_inside = 0

    def read(self, line: str, fence: str) -> Kind:
        """Take in one line, which may open this fence, and tell what it is."""
        text = line.strip()
        indent = indent_of(line)
        if self._fence and not self._is_beyond_fence(text, indent):
            return "fence"
        if not text:
            self._flows = False
            return "blank"
        if fence:
            self._fence, self._fence_inside = fence, self._depth(indent)
            self._leave(indent)
            self._flows = False
            return "fence"
        heading = heading_of(text)
        if heading and indent - self._depth(indent) <= MOST_INDENT:
            self._begin(*heading)
            return "heading"
        if _is_rule(text):
            self._items.clear()
            self._flows = False
        else:
            self._take(text, indent)
        return "text"

    def _begin(self, level: int, heading: str) -> None:
        self.level, self.heading = level, heading
        self.bullets = []
        self._items.clear()
        self._flows = False

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
        if closes(text, self._fence):
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
        gap = indent_of(first)
        lines = [said] if said else []
        self.bullets.append(lines)
        self._items.append(_Item(lines, indent + end + (gap if said and gap <= _TAB else 1)))
        self._flows = bool(said)


def _is_rule(text: str) -> bool:
    """Tell whether a line is three or more of one mark, which parts a text and is no bullet."""
    mark = text[0]
    return mark in _RULES and not text.strip(f"{mark} \t") and text.count(mark) >= _RULE_MARKS
