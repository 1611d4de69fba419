"""Pages of a text: some lines at a time, and within a long line some characters at a time.

The pages of a text, one after the other, are the text: nothing is changed and nothing is skipped.
"""

from typing import Any

from msgspec import Struct

from carrel.tools.excerpt import boundary
from carrel.tools.registry import BadArguments

MOST_CHARACTERS = 32_000
"""What one page holds: about 8,000 tokens."""
FEWEST_CHARACTERS = 400
"""What one page holds in the smallest window."""
DEFAULT_LINES = 1_000
MOST_LINES = 5_000


class Page(Struct, frozen=True, kw_only=True):
    """Some of a text; lines and columns count from 1.

    The next page begins at line `more`, none when this is the last, and there at `more_column`. It is
    `truncated` when it holds less than was asked for, which `note` explains.
    """

    text: str
    first_line: int
    column: int
    last_line: int
    total_lines: int
    more: int | None = None
    more_column: int = 1
    truncated: bool = False
    note: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all fields."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def page(
    tool: str,
    text: str,
    *,
    offset: int = 1,
    limit: int = DEFAULT_LINES,
    column: int = 1,
    most: int = MOST_CHARACTERS,
) -> Page:
    """Return a page of at most so many characters that begins at this line and column.

    Out-of-range limits are brought into range.
    """
    lines = _lines(text)
    offset, column = max(1, offset), max(1, column)
    if not lines:
        return Page(text="", first_line=0, column=1, last_line=0, total_lines=0)
    if offset > len(lines):
        raise BadArguments(tool, f"`offset` {_short(offset)} is past the end: there are {len(lines):,} lines")
    first = lines[offset - 1]
    if column > len(first):
        problem = f"`column` {_short(column)} is past the end of line {offset:,}"
        raise BadArguments(tool, f"{problem}, which has {len(first):,} characters")
    if len(first) - column >= most:
        return _piece(lines, offset, column, most)
    return _whole_lines(lines, offset, min(max(1, limit), MOST_LINES), column, most)


def _piece(lines: list[str], offset: int, column: int, most: int) -> Page:
    """Return what fits of one line."""
    line = lines[offset - 1]
    end = boundary(line, column - 1 + most)
    skip = f", or skip it with offset={offset + 1}" if offset < len(lines) else ""
    return Page(
        text=line[column - 1 : end],
        first_line=offset,
        column=column,
        last_line=offset,
        total_lines=len(lines),
        more=offset,
        more_column=end + 1,
        truncated=True,
        note=f"Line {offset:,} is cut, it has {len(line):,} characters. "
        f"Go on with offset={offset} and column={end + 1}{skip}.",
    )


def _whole_lines(lines: list[str], offset: int, limit: int, column: int, most: int) -> Page:
    taken = [lines[offset - 1][column - 1 :]]
    room = most - len(taken[0])
    following = lines[offset : offset - 1 + limit]
    for line in following:
        room -= len(line)
        if room < 0:
            break
        taken.append(line)
    last = offset + len(taken) - 1
    is_cut = len(taken) <= len(following)
    return Page(
        text="".join(taken),
        first_line=offset,
        column=column,
        last_line=last,
        total_lines=len(lines),
        more=last + 1 if last < len(lines) else None,
        truncated=is_cut,
        note=f"A page holds {most:,} characters. Go on with offset={last + 1}." if is_cut else None,
    )


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends one."""
    *whole, rest = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    return [*lines, rest] if rest else lines


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "as given"
