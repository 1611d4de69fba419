"""Edits of one section: append to it, replace what it says, give it another heading.

The rest of the text keeps every byte. What was written is read back before it is returned: where it would be
read as something else, that is an error that says why, and no text is returned.
"""

from collections.abc import Sequence

from carrel.markdown.lines import is_bullet
from carrel.markdown.sections.addresses import find_part, parent_of, wanted_by
from carrel.markdown.sections.errors import BadHeading, SectionNotFound
from carrel.markdown.sections.parts import Part, sections
from carrel.markdown.sections.splice import (
    core_span,
    newline_at,
    no_headings,
    no_open_fence,
    only_deeper,
    spliced,
    words_of,
)
from carrel.markdown.structure import Heading

_DEEPEST = 6
_USUAL = 2
_BOM = "\ufeff"


def append(text: str, address: str, addition: str) -> str:
    """Add to the end of a section's own text; where it is missing it is made, at the end of the text.

    The addition gets the text's newlines, and a blank line before it unless a bullet follows a bullet. It
    may hold no headings, which would be sections of their own. A blank one changes nothing.
    """
    parts = sections(text)
    words = words_of(addition)
    if not words:
        return text
    no_open_fence(words)
    part = _found(text, parts, address)
    if part is None:
        result, inside, _ = _with_new(text, parts, address, words)
    else:
        own = text[part.body : part.own_end]
        newline = newline_at(text, part.own_end)
        words = words.replace("\n", newline)
        start, end = core_span(own)
        if start == end:
            result, inside = _filled(text, parts, part, words)
        else:
            between = newline if _goes_on(own[start:end], words) else newline * 2
            at, after = part.body + end, "" if end < len(own) else newline
            result, inside = spliced(text, parts, at, at, between + words + after)
    no_headings(inside)
    return result


def replace(text: str, address: str, body: str) -> str:
    """Put a body in place of all that a section says, nested sections too; where it is missing it is made.

    Blank lines around what it said stay. The body's own headings are deeper than the section's.
    """
    parts = sections(text)
    words = words_of(body)
    part = _found(text, parts, address)
    if part is None:
        no_open_fence(words)
        result, inside, level = _with_new(text, parts, address, words)
        only_deeper(inside, level)
        return result
    old = text[part.body : part.end]
    start, end = core_span(old)
    if words == words_of(old):
        return text
    no_open_fence(words)
    newline = newline_at(text, part.end)
    words = words.replace("\n", newline)
    if start == end:
        result, inside = _filled(text, parts, part, words)
    else:
        after = old[end:] or newline
        new = old[:start] + words + after if words else after.partition("\n")[2]
        result, inside = spliced(text, parts, part.body, part.end, new)
    only_deeper(inside, part.level)
    return result


def rename(text: str, address: str, heading: str) -> str:
    """Give a section another heading of the same level, in the form that the old one has."""
    parts = sections(text)
    part = find_part(text, parts, address)
    if not part.level:
        raise SectionNotFound(address, [each.heading for each in parts])
    heading = _sound(heading)
    if heading == part.heading:
        return text
    line = text[part.start : part.body]
    new = _renamed(line, part.heading, heading)
    result, inside = spliced(text, parts, part.start, part.start + len(line), new)
    if [(each.level, each.words) for each in inside] != [(part.level, heading)]:
        raise BadHeading(heading, "it would be read as something else")
    return result


def _found(text: str, parts: Sequence[Part], address: str) -> Part | None:
    """Return a part, none where it is one that can be made: a position can not."""
    try:
        return find_part(text, parts, address)
    except SectionNotFound:
        if wanted_by(address).position:
            raise
        return None


def _with_new(
    text: str, parts: Sequence[Part], address: str, words: str
) -> tuple[str, tuple[Heading, ...], int]:
    """Return the text with a new section, the headings that its words hold, and its level.

    It stands at the end of the nearest section above it that there is, else of the text.
    """
    wanted = wanted_by(address)
    if len(wanted.names) > _DEEPEST:
        raise BadHeading(address, f"it would be nested deeper than {_DEEPEST} levels")
    parent, missing = parent_of(parts, wanted)
    level = parent.level + 1 if parent else _first_level(parts, is_topmost=wanted.is_whole)
    made = [(level + depth, _sound(name)) for depth, name in enumerate(missing)]
    if made[-1][0] > _DEEPEST:
        raise BadHeading(address, f"it would be nested deeper than {_DEEPEST} levels")
    at = parent.end if parent else len(text)
    newline = newline_at(text, at)
    blocks = [*(f"{'#' * depth} {name}" for depth, name in made), *([words] if words else [])]
    new = "\n\n".join(blocks).replace("\n", newline) + newline
    after = newline if at < len(text) else ""
    result, inside = spliced(text, parts, at, at, _parting(text[:at], newline) + new + after)
    if [(each.level, each.words) for each in inside[: len(made)]] != made:
        raise BadHeading(made[-1][1], "it would be read as something else")
    return result, inside[len(made) :], made[-1][0]


def _first_level(parts: Sequence[Part], *, is_topmost: bool) -> int:
    """Return the level of a new section with no other above it: as the text has it, 2 by default.

    A text of several sections of level 1 has its sections there; a single one is its title.
    """
    levels = {part.level for part in parts}
    if is_topmost:
        return min({_USUAL, *levels})
    return 1 if levels == {1} and len(parts) > 1 else _USUAL


def _filled(text: str, parts: Sequence[Part], part: Part, words: str) -> tuple[str, tuple[Heading, ...]]:
    """Put words into a section that says nothing: a blank line before, and one after if a heading follows."""
    newline = newline_at(text, part.own_end)
    own = text[part.body : part.own_end]
    first = own.find("\n") + 1 if part.level else 0
    before = own[:first] or _parting(text[: part.body], newline)
    after = own[first:] or (newline if part.own_end < len(text) else "")
    return spliced(text, parts, part.body, part.own_end, before + words + newline + after)


def _parting(before: str, newline: str) -> str:
    """Return what is missing between a text and something new behind it: a blank line, if anything."""
    said = before.rstrip()
    is_blank = said in ("", _BOM)
    missing = 0 if is_blank else 2 - before.count("\n", len(said))
    is_line_begun = before != said and not before.endswith("\n")
    return newline * max(missing, is_line_begun)


def _goes_on(core: str, words: str) -> bool:
    """Tell whether words go on with the bullets that a text ends with."""
    last = core[core.rfind("\n") + 1 :]
    return is_bullet(words.partition("\n")[0]) and (is_bullet(last) or last[0] in " \t")


def _sound(heading: str) -> str:
    heading = heading.strip()
    if not heading:
        raise BadHeading(heading, "it is empty")
    if len(heading.splitlines()) > 1:
        raise BadHeading(heading, "it has more than one line")
    return heading


def _renamed(line: str, old: str, new: str) -> str:
    """Return a heading's line with other words; its indent, its marks and its newline stay."""
    marks = len(line) - len(line.lstrip().lstrip("#"))
    if not old:
        return f"{line[:marks]} {new}{line[len(line.rstrip()) :]}"
    at = line.index(old, marks)
    return line[:at] + new + line[at + len(old) :]
