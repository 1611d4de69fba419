"""Making the recall section of hits: without repetition, neighbours together, inside a budget.

A passage is what the prompt gets: one hit, or several that stand next to each other in one document or
session. Every hit that was given is in a passage or among those left out, with the reason.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from carrel.index import Hit
from carrel.index.chunk import Chunk

TOKENS = 8_000
MOST_HITS = 20

Reason = Literal["empty", "duplicate", "budget", "limit"]

_MOST_TEXTS = 1_024
_WIDEST = 2
"""Lines from the end of a passage to the beginning of one that stands next to it, an empty one between."""

_MARK = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?:\s|\Z)")


class Passage(Struct, frozen=True, kw_only=True):
    """One entry of the recall section, with its source; `ranks` are those of its hits, from 1, best first.

    Score, date and tier are those of the best hit. Pieces of the text stand in the order of the document,
    with the speaker before each turn.
    """

    path: str
    line: int
    end_line: int
    text: str
    tier: str
    score: float
    tokens: int
    ranks: tuple[int, ...]
    date: str = ""
    session: str = ""


class LeftOut(Struct, frozen=True, kw_only=True):
    """A hit that is in no passage; `of` is the rank of the hit that says the same."""

    rank: int
    path: str
    line: int
    reason: Reason
    of: int | None = None


class Packed(Struct, frozen=True, kw_only=True):
    """The passages by the rank of their best hit, the tokens they cost, and what was left out."""

    passages: tuple[Passage, ...] = ()
    tokens: int = 0
    left_out: tuple[LeftOut, ...] = ()


def pack(
    hits: Sequence[Hit], count: Callable[[str], int], *, budget: int = TOKENS, limit: int = MOST_HITS
) -> Packed:
    """Return the passages of hits that come best first, within a budget of tokens and a number of hits.

    One that does not fit is left out, and those after it are tried: a long one must not cost the others. A
    passage costs its text and its source.
    """
    packing = _Packing(count, budget, limit)
    for rank, hit in enumerate(hits, 1):
        packing.offer(rank, hit)
    return packing.done()


_Source = tuple[str, str]


class _Piece(Struct, frozen=True):
    """A hit that was taken, with its rank."""

    rank: int
    hit: Hit


class _Packing:
    """Takes hits one by one, best first, and knows what they say and how much room there is."""

    def __init__(self, count: Callable[[str], int], budget: int, limit: int) -> None:
        self._count = count
        self._room = budget
        self._limit = limit
        self._passages: dict[_Source, list[Passage]] = {}
        self._pieces: dict[int, _Piece] = {}
        self._said: dict[str, int] = {}
        self._left_out: list[LeftOut] = []

    def offer(self, rank: int, hit: Hit) -> None:
        """Take a hit in, or note why not."""
        said = _said(hit.chunk)
        if not said:
            self._leave_out(rank, hit, "empty")
        elif said in self._said:
            self._leave_out(rank, hit, "duplicate", of=self._said[said])
        elif holder := self._holder(hit, said):
            self._leave_out(rank, hit, "duplicate", of=holder.ranks[0])
        elif len(self._pieces) >= self._limit:
            self._leave_out(rank, hit, "limit")
        elif not self._fit(_Piece(rank, hit)):
            self._leave_out(rank, hit, "budget")
        else:
            self._said[said] = rank

    def done(self) -> Packed:
        """Return what was packed."""
        found = (passage for passages in self._passages.values() for passage in passages)
        passages = tuple(sorted(found, key=lambda passage: passage.ranks[0]))
        tokens = sum(passage.tokens for passage in passages)
        return Packed(passages=passages, tokens=tokens, left_out=tuple(self._left_out))

    def _leave_out(self, rank: int, hit: Hit, reason: Reason, of: int | None = None) -> None:
        chunk = hit.chunk
        self._left_out.append(LeftOut(rank=rank, path=chunk.path, line=chunk.line, reason=reason, of=of))

    def _holder(self, hit: Hit, said: str) -> Passage | None:
        """Return the passage that has these lines and this text already."""
        chunk = hit.chunk
        return next(
            (
                each
                for each in self._passages.get(_source(hit), ())
                if each.line <= chunk.line and chunk.end_line <= each.end_line and said in _normal(each.text)
            ),
            None,
        )

    def _fit(self, piece: _Piece) -> bool:
        """Add a piece, to the passages next to it if there are any; tell whether there is room."""
        source = _source(piece.hit)
        others = self._passages.get(source, ())
        near = [each for each in others if self._touches(each, piece.hit)]
        ranks = [rank for passage in near for rank in passage.ranks]
        passage = self._passage([piece, *(self._pieces[rank] for rank in ranks)])
        more = passage.tokens - sum(each.tokens for each in near)
        if more > self._room:
            return False
        self._room -= more
        self._pieces[piece.rank] = piece
        apart = [each for each in others if each not in near] if near else others
        self._passages[source] = [*apart, passage]
        return True

    def _touches(self, passage: Passage, hit: Hit) -> bool:
        return any(_are_near(self._pieces[rank].hit, hit) for rank in passage.ranks)

    def _passage(self, pieces: Iterable[_Piece]) -> Passage:
        pieces = sorted(pieces, key=lambda piece: piece.rank)
        best = pieces[0].hit
        chunks = [piece.hit.chunk for piece in pieces]
        line, end_line = min([chunk.line for chunk in chunks]), max([chunk.end_line for chunk in chunks])
        text = _joined([piece.hit for piece in pieces])
        source = f"({best.chunk.path}:{line} {best.chunk.date})"
        return Passage(
            path=best.chunk.path,
            line=line,
            end_line=end_line,
            text=text,
            tier=best.chunk.tier,
            score=best.score,
            tokens=self._count(f"{text} {source}\n"),
            ranks=tuple(piece.rank for piece in pieces),
            date=best.chunk.date,
            session=best.chunk.session,
        )


def _source(hit: Hit) -> _Source:
    """Return where a hit is from: only what stands in one document or session can touch."""
    return hit.chunk.path, hit.chunk.session


def _said(chunk: Chunk) -> str:
    """Return what a chunk says below the heading that it begins with: another may say it below another."""
    first, _, rest = chunk.text.partition("\n")
    if chunk.headings and _bare(first) == _bare(chunk.headings[-1]):
        line, _, below = rest.partition("\n")
        is_underlined = bool(line.strip()) and not line.strip().strip("=-")
        return _normal(below if is_underlined else rest) or _normal(chunk.text)
    return _normal(chunk.text)


def _bare(heading: str) -> str:
    return _normal(heading.strip("# \t"))


@lru_cache(_MOST_TEXTS)  # the same chunks are found again and again
def _normal(text: str) -> str:
    """Return what a text says, whatever its case, its white space and the mark of its bullet."""
    words = " ".join(text.casefold().split())
    mark = _MARK.match(words)
    return words[mark.end() :] if mark else words


def _are_near(one: Hit, other: Hit) -> bool:
    """Tell whether two hits of one source overlap or stand next to each other.

    In one section of a document an empty line may be between them. In a session it would be a turn.
    """
    first, second = one.chunk, other.chunk
    if (second.line, second.end_line) < (first.line, first.end_line):
        first, second = second, first
    gap = second.line - first.end_line
    if gap > _WIDEST or first.tier != second.tier:
        return False
    return gap < _WIDEST or (not first.session and first.headings == second.headings)


def _joined(hits: Sequence[Hit]) -> str:
    """Return the texts in the order of the document, what two of them share only once."""
    ordered = sorted(hits, key=lambda hit: (hit.chunk.line, -hit.chunk.end_line, hit.id))
    texts: list[str] = []
    last: Chunk | None = None
    for hit in ordered:
        chunk = hit.chunk
        if last and chunk.end_line <= last.end_line and _normal(chunk.text) in _normal(last.text):
            continue
        texts.append(_text_after(chunk, last))
        last = chunk
    return "\n".join(text for text in texts if text.strip())


def _text_after(chunk: Chunk, last: Chunk | None) -> str:
    """Return the text of a chunk as it stands behind another: without shared lines, and with its speaker."""
    lines = chunk.text.split("\n")
    if last and chunk.line <= last.end_line < chunk.end_line and len(lines) == _height(chunk):
        return "\n".join(lines[last.end_line - chunk.line + 1 :])
    is_same_turn = last is not None and (chunk.line, chunk.message_id) == (last.line, last.message_id)
    return chunk.text if not chunk.speaker or is_same_turn else f"{chunk.speaker}: {chunk.text}"


def _height(chunk: Chunk) -> int:
    return chunk.end_line - chunk.line + 1
