"""Answering from the texts as they stand: documents and turns put together again from their chunks."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from carrel.findings import Finding
from carrel.index import Filter, Found, Hit, Query
from carrel.index.catalog import Passage, Reading, Stored
from carrel.index.literal import LiteralHit, scan
from carrel.index.literal.needles import Needle, pattern, substring


class Whole(Struct, frozen=True, kw_only=True):
    """A document, or one turn of a session: its text, and the chunks that it was put together from.

    Every line is where it is in its file, as far as it is known.
    """

    text: str
    is_turn: bool
    ids: Sequence[int]
    lines: Sequence[int]

    def at(self, line: int) -> int:
        """Return the id of the chunk that a line is in; of several in one line, the last."""
        return self.ids[max(bisect_right(self.lines, line) - 1, 0)]


class Texts(Protocol):
    """What is searched as it stands."""

    @property
    def catalog(self) -> Reading:
        """What the texts are put together from."""
        ...

    def within(self, within: Filter) -> Iterator[Whole]:
        """Yield what a filter lets through, by path and line; a place is read when its turn comes."""
        ...


def find_verbatim(texts: Texts, query: Query, limit: int) -> Found:
    """Return where a text or a pattern stands, by path and line; a pattern that is none is an error."""
    needle: Needle = (
        pattern(query.text, case=query.case)
        if query.mode == "regex"
        else substring(query.text, case=query.case)
    )
    wholes: list[Whole] = []
    done = scan(_numbered(texts.within(query.within), wholes), needle, lines=query.lines, limit=limit)
    places = [_Place(wholes[int(found.path)], found) for found in done.hits]
    stored = texts.catalog.chunks([place.id for place in places])
    hits = tuple(place.hit(stored) for place in places if place.id in stored)
    if not done.unfinished:
        return Found(hits=hits)
    finding = Finding(
        code="search_unfinished",
        message=f"{len(done.unfinished):,} texts were not searched to their end.",
        hint="Ask for something more exact, or for fewer files.",
    )
    return Found(hits=hits, degraded=True, findings=(finding,))


class _Place:
    """Where something was found, and the chunk that is shown for it."""

    def __init__(self, whole: Whole, found: LiteralHit) -> None:
        self._whole = whole
        self._found = found
        self._before = whole.lines[0] - 1
        self.id = whole.at(self._before + (found.matching[0] if found.matching else found.line))

    def hit(self, stored: Mapping[int, Stored]) -> Hit:
        chunk, found = stored[self.id].chunk, self._found
        if not self._whole.is_turn:
            chunk = replace(chunk, line=self._before + found.line, end_line=self._before + found.end_line)
        return Hit(id=self.id, chunk=replace(chunk, text=found.text), score=1.0, ranges=found.ranges)


def _numbered(texts: Iterable[Whole], wholes: list[Whole]) -> Iterator[tuple[str, str]]:
    """Yield each text, with its number among the wholes as its name."""
    for whole in texts:
        wholes.append(whole)
        yield str(len(wholes) - 1), whole.text


def wholes_of(passages: Sequence[Passage], *, is_session: bool) -> Iterator[Whole]:
    """Yield the document, or each turn of the session, that the chunks of a place make; none makes none."""
    if not passages:
        return
    if not is_session:
        yield _whole(passages, is_turn=False)
        return
    for _, turn in groupby(passages, key=lambda passage: passage[1]):
        yield _whole(list(turn), is_turn=True)


def _whole(passages: Sequence[Passage], *, is_turn: bool) -> Whole:
    parts: list[str] = []
    at = passages[0][1]
    for _, line, text in passages:
        if line > at:
            parts.append("\n" * (line - at))
        parts.append(text)
        at = line + text.count("\n")
    return Whole(
        text="".join(parts),
        is_turn=is_turn,
        ids=[passage[0] for passage in passages],
        lines=[passage[1] for passage in passages],
    )
