"""Moving a section, with all that is nested in it, to another place of its text."""

from collections.abc import Iterable, Sequence

from carrel.markdown.sections.addresses import find_part
from carrel.markdown.sections.errors import BadMove, SectionNotFound
from carrel.markdown.sections.parts import Part, sections
from carrel.markdown.sections.splice import core_span


def move(text: str, address: str, after: str) -> str:
    """Put a section behind another one and what is nested in that; "": first of those that stand beside it.

    Only its place changes: every other section keeps its headings and its text. The blank lines at the end of
    the text, or the missing newline there, stay at the end.
    """
    parts = sections(text)
    part = find_part(text, parts, address)
    if not part.level:
        raise SectionNotFound(address, [each.heading for each in parts])
    before = find_part(text, parts, after)
    if before.level and part.start <= before.start < part.end:
        raise BadMove("it would stand behind itself")
    to = before.end if before.level else _first_place(parts, part)
    if to in (part.start, part.end):
        return text
    result = _down(text, part.start, part.end, to) if to > part.end else _up(text, to, part.start, part.end)
    moved = [each for each in parts if part.start <= each.start < part.end]
    others = [each for each in parts if not part.start <= each.start < part.end]
    first = sum(each.start < to for each in others)
    expected = [*_places(others[:first]), *_headings(moved), *_places(others[first:])]
    now = sections(result)
    last = first + len(moved)
    if [*_places(now[:first]), *_headings(now[first:last]), *_places(now[last:])] != expected:
        raise BadMove("what follows would become part of it, or it would be read as something else")
    return result


def _first_place(parts: Sequence[Part], part: Part) -> int:
    """Return where the first section begins of those that stand beside one."""
    above = (each for each in reversed(parts) if each.start < part.start and each.level < part.level)
    parent = next((each for each in above if each.end >= part.end), None)
    return parent.own_end if parent else parts[0].start


def _places(parts: Iterable[Part]) -> list[object]:
    return [(part.level, part.path) for part in parts]


def _headings(parts: Iterable[Part]) -> list[object]:
    return [(part.level, part.heading) for part in parts]


def _down(text: str, start: int, end: int, to: int) -> str:
    block, passed = text[start:end], text[end:to]
    if to == len(text):
        block, passed = _with_gaps_swapped(block, passed)
    return text[:start] + passed + block + text[to:]


def _up(text: str, to: int, start: int, end: int) -> str:
    block, passed = text[start:end], text[to:start]
    if end == len(text):
        block, passed = _with_gaps_swapped(block, passed)
    return text[:to] + block + passed + text[end:]


def _with_gaps_swapped(one: str, other: str) -> tuple[str, str]:
    """Exchange what stands behind the last words of each, so that the end of a text stays as it is."""
    here, there = core_span(one)[1], core_span(other)[1]
    return one[:here] + other[there:], other[:there] + one[here:]
