"""How a fact stands in its file: as a line of Markdown that people read, and nothing else.

All of it is pure. A line is found again by what it says, so that what is there already is not added again.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from datetime import tzinfo
from typing import cast, get_args

from msgspec import Struct

from carrel.markdown import sections
from carrel.markdown.sections import AmbiguousSection, Part, address_of
from carrel.markdown.structure import structure_of
from carrel.memory import journal
from carrel.memory.fact import key_of, normalise
from carrel.memory.pages import without_day, without_links
from carrel.memory.places import Form
from carrel.memory.sameness import form_of
from carrel.records.facts import Fact

_BULLET = re.compile(r"([ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)(\S.*)")
_STRUCK = "~~"
_ANCHOR = 4
_PAGES = frozenset(("entity", "relation", "procedure"))


class Bullet(Struct, frozen=True):
    """One line of a file that is a bullet: where it begins, the whole line, and what it says."""

    start: int
    line: str
    text: str


def line_of(fact: Fact, form: Form, zone: tzinfo) -> str:
    """Return the line that a fact becomes; one that has its own line already keeps it."""
    if form == "journal":
        category = fact.section if fact.section in get_args(journal.Category) else "note"
        return journal.entry(
            fact.text,
            category=cast("journal.Category", category),
            at=fact.at.astimezone(zone),
            session=fact.session,
            message=fact.evidence[-1] if fact.evidence else "",
        )
    return fact.line or f"- {fact.text}"


def is_page(fact: Fact) -> bool:
    """Tell whether a fact stands on a page of its own subject."""
    return fact.kind in _PAGES and not fact.section


def is_journal(fact: Fact) -> bool:
    """Tell whether a fact stands in the journal, which is only ever added to."""
    return fact.kind == "event" and not fact.section


def sense_of(line: str) -> str:
    """Return what is equal for lines that say the same; a relation is the same on whatever day."""
    return form_of(_taken_apart(without_day(line))[1])


def anchor_of(line: str) -> str:
    """Return how the longest word of a line begins: whatever says the same has it."""
    longest = max(key_of(_taken_apart(without_day(line))[1]).split(), key=len, default="")
    return longest[: min(_ANCHOR, max(1, len(longest) - 2))]  # and not the ending of a plural


def holds(text: str, line: str) -> bool:
    """Tell whether a line stands in a text, as a whole and outside of fences."""
    return line in text and sections.replace_line(text, line, line) is not None


def with_fact(text: str, fact: Fact) -> str:
    """Return a text with the line of a fact at the end of its section; one that has it stays as it is."""
    if holds(text, fact.line):
        return text
    address = fact.section
    if is_page(fact) and (parts := sections.sections(text)):
        address = address_of(parts[0], parts)
    try:
        return sections.append(text, address, fact.line)
    except AmbiguousSection as error:  # of several that have this heading, the first
        return sections.append(text, error.addresses[0], fact.line)


def struck_out(line: str, *, until: str, now: str) -> str:
    """Return the line of a fact that is no longer true: with its last day, and what is true instead."""
    mark, text = _taken_apart(line)
    old = without_links(text).replace(_STRUCK, "~")
    return f"{mark}{_STRUCK}{old}{_STRUCK} _(until {until}; now: {without_links(normalise(now))})_"


def without(text: str, old: Fact, new: Fact, until: str) -> str:
    """Return a text in which one fact is struck out for another; one without it stays as it is."""
    struck = struck_out(old.line, until=until, now=new.text)
    return sections.replace_line(text, old.line, struck) or text


def bullets(text: str, having: Collection[str] = ()) -> Iterator[Bullet]:
    """Yield the bullets of a text that are one line and outside of fences; what is struck out is not told.

    Of a long text only the lines are looked at that have one of some words, if such are given.
    """
    fences = structure_of(text).fences
    begins = [begin for begin, _ in fences]
    for start, line in _lines(text, having):
        within = bisect_right(begins, start) - 1
        is_fenced = within >= 0 and start < fences[within][1]
        found = None if is_fenced else _BULLET.fullmatch(line)
        if found and not found[2].startswith(_STRUCK):
            yield Bullet(start, line, found[2])


def _lines(text: str, having: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield each line and where it begins, or only those that have one of some words."""
    wanted = re.compile("|".join(map(re.escape, sorted(having))), re.IGNORECASE)
    end = -1
    while end < len(text) and (hit := wanted.search(text, end + 1)):
        start = text.rfind("\n", end + 1, hit.start()) + 1 or end + 1
        end = text.find("\n", hit.start())
        end = len(text) if end < 0 else end
        yield start, text[start:end].removesuffix("\r")


def section_at(text: str, start: int) -> str:
    """Return the address of the section whose own text a place is in; "" before the first."""
    return section_among(sections.sections(text), start)


def section_among(parts: Sequence[Part], start: int) -> str:
    """Return the same of a text whose sections are known already."""
    within = next((part for part in parts if part.start <= start < part.own_end), None)
    return address_of(within, parts) if within else ""


def _taken_apart(line: str) -> tuple[str, str]:
    found = _BULLET.fullmatch(line)
    return (found[1], found[2]) if found else ("- ", line)
