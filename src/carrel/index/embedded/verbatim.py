"""Answering from the texts as they stand: documents and turns put together again from their chunks."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace

from carrel.findings import Finding
from carrel.index import Found, Hit, Query
from carrel.index.embedded.catalog import Stored
from carrel.index.literal import LiteralHit, scan
from carrel.index.literal.needles import Needle, pattern, substring


def find_verbatim(stored: Iterable[Stored], query: Query, limit: int) -> Found:
    """Return where a text or a pattern stands in chunks that come by path and line, in this order.

    A pattern that is none is an error.
    """
    needle: Needle = (
        pattern(query.text, case=query.case)
        if query.mode == "regex"
        else substring(query.text, case=query.case)
    )
    groups: list[list[Stored]] = []
    done = scan(_texts(stored, groups), needle, lines=query.lines, limit=limit)
    hits = tuple(_hit(groups[int(found.path)], found) for found in done.hits)
    if not done.unfinished:
        return Found(hits=hits)
    finding = Finding(
        code="search_unfinished",
        message=f"{len(done.unfinished):,} texts were not searched to their end.",
        hint="Ask for something more exact, or for fewer files.",
    )
    return Found(hits=hits, degraded=True, findings=(finding,))


def _texts(stored: Iterable[Stored], groups: list[list[Stored]]) -> Iterator[tuple[str, str]]:
    """Yield each document and each turn as a text, with its number among the groups as its name."""
    for _, chunks in groupby(
        stored, key=lambda each: (each.place, each.chunk.line if each.chunk.session else 0)
    ):
        group = list(chunks)
        groups.append(group)
        yield str(len(groups) - 1), _text(group)


def _text(group: list[Stored]) -> str:
    """Return a text with every line where it is in its file, as far as it is known."""
    parts: list[str] = []
    line = group[0].chunk.line
    for stored in group:
        gap = max(stored.chunk.line - line, 0)
        parts.append("\n" * gap + stored.chunk.text)
        line = stored.chunk.line + stored.chunk.text.count("\n")
    return "".join(parts)


def _hit(group: list[Stored], found: LiteralHit) -> Hit:
    first = group[0].chunk
    is_turn = bool(first.session)
    line = first.line + (found.matching[0] if found.matching else found.line) - 1
    stored = next((each for each in reversed(group) if each.chunk.line <= line), group[0])
    begin, end = (
        (first.line, first.end_line)
        if is_turn
        else (first.line + found.line - 1, first.line + found.end_line - 1)
    )
    chunk = replace(stored.chunk, line=begin, end_line=end, text=found.text)
    return Hit(id=stored.id, chunk=chunk, score=1.0, ranges=found.ranges)
