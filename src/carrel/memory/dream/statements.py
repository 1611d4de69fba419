"""The statements of a text: its bullets and paragraphs, each on one line, as they may be promoted."""

import re
from collections.abc import Iterator

from msgspec import Struct

from carrel.markdown.lines import body_start, heading_of, is_bullet
from carrel.markdown.structure import structure_of
from carrel.memory import journal
from carrel.memory.fact import normalise

_BULLET = re.compile(r"[ \t]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++")
_MARK = re.compile(r" _\(score=[01]\.[0-9]{2}, hits=[0-9]{1,12}, days=[0-9]{1,6}\)_\Z")
_FENCES = ("```", "~~~")
_STRUCK = "~~"
_NO_PROSE = " \t|>#<"  # how lines begin that are no paragraph of their own: code, tables, quotes, markup
_RULES = "-*_= "
_DECORATED = tuple("[0123456789")  # how an entry of a journal begins that has an hour or a category
_NOTE = ")_"


class Statement(Struct, frozen=True, gc=False):
    """What a bullet or a paragraph says, the lines that say it, and whether a dream has put it there."""

    text: str
    lines: str
    is_dreamt: bool = False


def statements(text: str, *, in_journal: bool = False) -> Iterator[Statement]:
    """Yield what a Markdown text states; headings, code, tables, quotes and what is struck out state nothing.

    Of an entry of a journal only what it says counts, without its hour, its category and its source.
    """
    for block in _blocks(text.replace("\r\n", "\n")):
        joined = " ".join(line.strip() for line in block)
        bare = joined[mark.end() :] if (mark := _BULLET.match(joined)) else joined
        said = _entry(bare) if in_journal else bare
        dreamt = _MARK.search(said) if said.endswith(_NOTE) else None
        plain = normalise(said[: dreamt.start()] if dreamt else said)
        if not bare.startswith(_STRUCK) and any(c.isalnum() for c in plain):
            yield Statement(plain, "\n".join(block), dreamt is not None)


def _entry(bare: str) -> str:
    """Return what an entry of a journal says; a line that is none is its own."""
    if not bare.startswith(_DECORATED) and not bare.endswith(_NOTE):
        return bare
    found = journal.parse(f"- {bare}")
    return found[0].text if found else bare


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each bullet and of each paragraph, outside of fences and front matter."""
    fences = iter(_fences(text))
    begin, end = next(fences, (len(text), len(text)))
    at = body_start(text)
    held: list[str] = []
    for line in text[at:].split("\n"):
        while end <= at < len(text):
            begin, end = next(fences, (len(text), len(text)))
        is_end = begin <= at < end or _is_end(line)
        at += len(line) + 1
        begins = not is_end and is_bullet(line)
        if held and (is_end or begins):
            yield held
            held = []
        if not is_end and (held or begins or line[0] not in _NO_PROSE):
            held.append(line)
    if held:
        yield held


def _fences(text: str) -> tuple[tuple[int, int], ...]:
    return structure_of(text).fences if any(mark in text for mark in _FENCES) else ()


def _is_end(line: str) -> bool:
    """Tell whether a line ends what stands before it: a blank one, a heading, a rule."""
    bare = line.strip()
    return not bare.strip(_RULES) or (bare[0] == "#" and heading_of(bare) is not None)
