"""What is searched of a chunk: its text, and where it stands, who said it when, and what is near."""

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from zlib import crc32

from msgspec import Struct

from carrel.index.analysis import fold, part_scripts
from carrel.index.analysis.languages import tell_language
from carrel.index.catalog import Stored
from carrel.index.chunk import Chunk

NEIGHBOURS = 3
"""How many chunks on either side are searched with a chunk."""

_SIDE = 600
"""Characters of them on either side: as much as a few turns, however long those around are."""

_RUNNING = frozenset(("session", "journal"))
"""Tiers in which one chunk goes on from another, so that what is near tells of it."""

_HOUR = re.compile(r"^([ \t]{0,9}[-*+][ \t])(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?=\s)", re.MULTILINE)
_SOURCE = re.compile(
    r"[ \t]_\((?:session|message) [^\s()]{1,300}(?:, [^\s()]{1,300})?\)_[ \t]*$", re.MULTILINE
)
"""What an entry of the journal has beside what it says: when it was noted, and from which message."""

_APART = 8  # further than any neighbour is looked for


class Entry(Struct, frozen=True, kw_only=True):
    """A chunk as the words of it are searched.

    `text` is the chunk below its headings, date and speaker; `context` the chunk among its neighbours.
    Both are folded, and come without what is in scripts that part no words: that is in the runs.
    """

    stored: Stored
    language: str
    text: str
    context: str
    runs: str = ""
    context_runs: str = ""


def entry_of(near: Sequence[Stored], at: int) -> Entry:
    """Return the entry of one of some chunks of a place, which are in order."""
    own = near[at]
    text, runs = part_scripts(fold(f"{_lead(own.chunk)}{said(own.chunk)}"))
    context, context_runs = part_scripts(fold(_window(near, at)))
    return Entry(
        stored=own,
        language=tell_language(context),
        text=text,
        context=context,
        runs=runs,
        context_runs=context_runs,
    )


def vector_text(chunk: Chunk) -> str:
    """Return what the vector of a chunk stands for: its text below its heading, and no names of speakers."""
    return "\n".join((*chunk.headings[-1:], said(chunk)))


def said(chunk: Chunk) -> str:
    """Return what is searched of a text: who looks for a session or an hour does not mean every entry."""
    if chunk.tier != "journal":
        return chunk.text
    return _HOUR.sub(r"\1", _SOURCE.sub("", chunk.text))


def stands_at(place: int, seq: int, tier: str) -> int:
    """Return where a chunk stands as one number; the chunk that goes on from it has one more."""
    return place << 32 | (seq if tier in _RUNNING else seq * _APART)


@lru_cache(1_024)  # a few people say most of what is said
def code_of(speaker: str) -> int:
    """Return a number that stands for a speaker, whatever the case and accents of the name."""
    return crc32(fold(speaker).casefold().encode())


def _lead(chunk: Chunk) -> str:
    """Return what stands before the text: headings, the day in two ways, and who speaks."""
    parts = [" - ".join(chunk.headings)] if chunk.headings else []
    if chunk.date:
        parts.append(_day(chunk.date))
    if chunk.speaker:
        parts.append(f"{chunk.speaker}:")
    return f"{' '.join(parts)}\n" if parts else ""


def _day(day: str) -> str:
    try:
        return f"{day} {date.fromisoformat(day):%-d %B %Y}"
    except ValueError:
        return day


def _window(near: Sequence[Stored], at: int) -> str:
    """Return a chunk among its neighbours, as much of these as is nearest; by itself where it stands alone.

    Documents are found better without: what stands beside a paragraph is often about something else. What
    everybody may see is not found by what only the owner may.
    """
    own = near[at].chunk
    if own.tier not in _RUNNING:
        return own.text
    before = near[max(0, at - NEIGHBOURS) : at][::-1]
    after = near[at + 1 : at + 1 + NEIGHBOURS]
    sides = [
        [said(each.chunk) for each in side if own.private or not each.chunk.private]
        for side in (before, after)
    ]
    return "\n".join([*_side(sides[0], from_end=True)[::-1], said(own), *_side(sides[1], from_end=False)])


def _side(texts: Sequence[str], *, from_end: bool) -> list[str]:
    room = _SIDE
    kept: list[str] = []
    for text in texts:
        if room <= 0:
            break
        kept.append(text if len(text) <= room else (text[-room:] if from_end else text[:room]))
        room -= len(text)
    return kept
