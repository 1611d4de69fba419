"""Edits of one whole line, found by what it says."""

from bisect import bisect_right
from collections.abc import Iterator

from carrel.markdown.lines import body_start
from carrel.markdown.sections.errors import BadSectionText
from carrel.markdown.sections.parts import parts_of
from carrel.markdown.sections.splice import no_headings, no_open_fence, spliced
from carrel.markdown.structure import Structure, structure_of


def remove_line(text: str, line: str) -> str | None:
    """Return the text without the first line that is exactly this; none where there is no such line.

    Headings, front matter and what stands inside a fence are not looked at.
    """
    return _with_line(text, line, None)


def replace_line(text: str, line: str, new: str) -> str | None:
    """Return the text with another line in place of the first that is exactly this one; none without such."""
    if "\n" in new or "\r" in new:
        raise BadSectionText("it has more than one line")
    no_open_fence(new)
    return _with_line(text, line, new)


def _with_line(text: str, line: str, new: str | None) -> str | None:
    structure = structure_of(text)
    start = _place_of(text, line, structure)
    if start is None:
        return None
    end = start + len(line)
    if new is None:
        end = text.find("\n", end) + 1 or len(text)
    result, inside = spliced(text, parts_of(text, structure.headings), start, end, new or "")
    no_headings(inside)
    return result


def _place_of(text: str, line: str, structure: Structure) -> int | None:
    """Return where a line begins that is exactly this one, outside of headings, fences and front matter."""
    if not line.strip() or "\n" in line or line.endswith("\r"):
        return None
    headings = {heading.start for heading in structure.headings}
    fences = [start for start, _ in structure.fences]
    for start in _beginnings(text, line):
        holding = bisect_right(fences, start) - 1
        is_fenced = holding >= 0 and start < structure.fences[holding][1]
        end = start + len(line)
        is_whole = end == len(text) or text.startswith(("\n", "\r\n"), end)
        if is_whole and not is_fenced and start not in headings:
            return start
    return None


def _beginnings(text: str, line: str) -> Iterator[int]:
    """Yield where a line begins with this one."""
    start = body_start(text)
    if text.startswith(line, start):
        yield start
    wanted = f"\n{line}"
    while (start := text.find(wanted, start)) != -1:
        start += 1
        yield start
