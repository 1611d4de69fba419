"""A text line by line, as much of it as one page bears: each line has its number and can be linked to."""

from msgspec import Struct

LINES = 400
CHARACTERS = 40_000
LONGEST = 4_000
"""Characters of one line that are shown; a line may be a whole file."""


class Line(Struct, frozen=True):
    """A line: its number, its text as far as it is shown, and how many characters are left out."""

    number: int
    text: str
    left_out: int = 0


class Lines(Struct, frozen=True, kw_only=True):
    """Some lines of a text of `total`; `before` and `after` begin the pages beside it, none at the ends."""

    lines: tuple[Line, ...]
    total: int
    before: int | None = None
    after: int | None = None


def page_of(text: str, line: int) -> Lines:
    """Return the page that a line is on; pages are the same from whichever line one comes."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()  # the newline ends the last line
    wanted = min(max(line, 1), len(lines))
    starts = _starts(lines, wanted)
    first = starts[-2]
    stop = starts[-1]
    return Lines(
        lines=tuple(_line(number, lines[number - 1]) for number in range(first, stop)),
        total=len(lines),
        before=starts[-3] if len(starts) > 2 else None,  # noqa: PLR2004 - a page before this one
        after=stop if stop <= len(lines) else None,
    )


def _starts(lines: list[str], wanted: int) -> list[int]:
    """Return where pages begin, up to the one after that with the wanted line."""
    starts, count, size = [1], 0, 0
    for number, line in enumerate(lines, 1):
        weight = min(len(line), LONGEST)
        if count and (count == LINES or size + weight > CHARACTERS):
            starts.append(number)
            if number > wanted:
                return starts
            count = size = 0
        count += 1
        size += weight
    return [*starts, len(lines) + 1]


def _line(number: int, text: str) -> Line:
    text = text.removesuffix("\r")
    return Line(number, text[:LONGEST], max(len(text) - LONGEST, 0))


def beginning(text: str, limit: int) -> str:
    """Return as much of a text as a limit allows: whole lines, or whole words where lines are long."""
    if len(text) <= limit:
        return text
    ends = (text.rfind(mark, limit // 2, limit) for mark in "\n ")
    cut = next((end + 1 for end in ends if end >= 0), limit)
    return text[:cut]
