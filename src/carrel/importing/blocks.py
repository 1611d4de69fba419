"""A Markdown text taken apart: into what each section says, or into statements that can be facts."""

import re
from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from carrel.markdown.lines import body_start, is_bullet
from carrel.markdown.sections import Part, sections
from carrel.memory.fact import LONGEST, normalise

_SPECIAL = re.compile(r"[\\/#]")


class Block(Struct, frozen=True, kw_only=True):
    """Some text of a section, the address of that section in another text, and the line it begins at."""

    section: str
    text: str
    line: int


def blocks_of(text: str, untitled: str = "Imported") -> Iterator[Block]:
    """Yield what each section says by itself; a title over all of them is the heading of its own text alone.

    What stands before the first heading has the section `untitled`.
    """
    parts = sections(text)
    has_title = _has_title(parts)
    first = parts[0].start if parts else len(text)
    yield from _block(text, min(body_start(text), first), first, untitled)
    for part in parts:
        names = part.path[1:] if has_title and len(part.path) > 1 else part.path
        yield from _block(text, part.body, part.own_end, address(names) or untitled)


def facts_in(text: str) -> Iterator[Block]:
    """Yield the statements of a text: each bullet with what is nested in it, and each paragraph.

    Code, tables and what is too long for a fact are none.
    """
    for block in blocks_of(text, ""):
        for line, said in _statements(block.text):
            told = normalise(said)
            if any(c.isalnum() for c in told) and len(told) <= LONGEST:
                yield Block(section=block.section, text=told, line=block.line + line)


def address(names: tuple[str, ...]) -> str:
    """Return the address of the section below these headings."""
    return "/".join(_SPECIAL.sub(r"\\\g<0>", name) for name in names if name.strip())


def _has_title(parts: tuple[Part, ...]) -> bool:
    """Tell whether the first heading stands over all others."""
    return bool(parts) and all(part.path[0] == parts[0].path[0] for part in parts) and parts[0].level == 1


def _block(text: str, start: int, end: int, section: str) -> Iterator[Block]:
    own = text[start:end]
    said = own.strip("\r\n")
    if said.strip():
        begin = start + own.index(said)
        yield Block(section=section, text=said, line=text.count("\n", 0, begin) + 1)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield statements with the number of lines before each."""
    lines = text.split("\n")
    starts = list(_starts(lines))
    for group, numbered in groupby(enumerate(starts), key=lambda each: each[1]):
        numbers = [number for number, _ in numbered]
        if group is not None:
            yield numbers[0], " ".join(lines[number].strip() for number in numbers)


def _starts(lines: list[str]) -> Iterator[int | None]:
    """Yield for each line where the statement begins that it is of; none for blank lines, code and tables."""
    current: int | None = None
    fence = ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare[:3] in ("```", "~~~") and (not fence or bare.startswith(fence)):
            fence = "" if fence else bare[:3]
            current = None
            yield None
        elif fence or not bare or bare[0] == "|":
            current = None
            yield None
        else:
            is_new = is_bullet(line) and not line[0].isspace()
            current = number if current is None or is_new else current
            yield current
