"""Hits as a page shows them: by file, the lines that matter of each, and what was found in them marked."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from carrel.index import Found, Hit
from carrel.runtime.hits import reasons_of, scores_of
from carrel.runtime.library import file_of

MOST_LINES = 12
LONGEST = 320
"""Characters of one line that are shown, around the first thing found in it."""

_BEFORE = 90
_FIRST = 4

Ranges = Sequence[tuple[int, int]]


class Piece(Struct, frozen=True):
    """A part of a line, and whether it is what was looked for."""

    text: str
    is_found: bool


class Shown(Struct, frozen=True, kw_only=True):
    """A line of a hit; `follows` where nothing but blank lines is left out above it."""

    number: int
    pieces: tuple[Piece, ...]
    follows: bool


class HitShown(Struct, frozen=True, kw_only=True):
    """A hit: the lines of it that are shown, the line to jump to, and why it is where it is."""

    hit: Hit
    rank: int
    lines: tuple[Shown, ...]
    jump: int
    scores: Mapping[str, float]
    why: tuple[str, ...]


class Group(Struct, frozen=True, kw_only=True):
    """The hits of one file, of one session, or of what was learnt in a namespace."""

    path: str
    session: str
    namespace: str
    agent: str
    tier: str
    hits: tuple[HitShown, ...]


def grouped(found: Found, around: int) -> tuple[Group, ...]:
    """Return hits by file, the file with the best hit first; the same lines are shown once."""
    by_path: dict[str, list[HitShown]] = {}
    seen: set[tuple[str, int, str]] = set()
    for rank, (hit, why) in enumerate(zip(found.hits, reasons_of(found), strict=True), 1):
        chunk = hit.chunk
        if (key := (chunk.path, chunk.line, chunk.text)) not in seen:
            seen.add(key)
            by_path.setdefault(chunk.path, []).append(_shown(hit, rank, why, around))
    return tuple(_group(path, hits) for path, hits in by_path.items())


def counted(found: Found) -> dict[str, dict[str, int]]:
    """Return how many of these hits are of which tier and agent, where nobody counted all there are."""
    chunks = [hit.chunk for hit in found.hits]
    agents = Counter(each.agent for each in chunks if each.agent)
    return {"tier": dict(Counter(each.tier for each in chunks)), "agent": dict(agents)}


def _group(path: str, hits: list[HitShown]) -> Group:
    chunk = hits[0].hit.chunk
    return Group(
        path=path,
        session=chunk.session,
        namespace=(file_of(path) or "").removesuffix(".md"),
        agent=chunk.agent,
        tier=chunk.tier,
        hits=tuple(hits),
    )


def _shown(hit: Hit, rank: int, why: Sequence[str], around: int) -> HitShown:
    lines = excerpt(hit.chunk.text, hit.ranges, around)
    first = next((line.number for line in lines if any(piece.is_found for piece in line.pieces)), 0)
    return HitShown(
        hit=hit,
        rank=rank,
        lines=lines,
        jump=hit.chunk.line + first,
        scores=scores_of(hit),
        why=tuple(why),
    )


def excerpt(text: str, ranges: Ranges, around: int) -> tuple[Shown, ...]:
    """Return the lines with something found in them and those around; the first ones where there is none.

    Numbers count from 0 at the beginning of the text.
    """
    lines = text.split("\n")
    within = _by_line(lines, ranges)
    near = {number for at in within for number in range(at - around, at + around + 1)}
    shown: list[Shown] = []
    for number in sorted(near or range(_FIRST)):
        if not 0 <= number < len(lines) or (not lines[number].strip() and number not in within):
            continue
        follows = bool(shown) and not "".join(lines[shown[-1].number + 1 : number]).strip()
        pieces = _pieces(lines[number], within.get(number, []))
        shown.append(Shown(number=number, pieces=pieces, follows=follows))
        if len(shown) == MOST_LINES:
            break
    return tuple(shown)


def _by_line(lines: Sequence[str], ranges: Ranges) -> dict[int, list[tuple[int, int]]]:
    """Return what was found by line, from where to where in each."""
    found: dict[int, list[tuple[int, int]]] = {}
    rest = sorted(ranges)
    offset = at = 0
    for number, line in enumerate(lines):
        end = offset + len(line)
        while at < len(rest) and rest[at][1] <= offset:
            at += 1
        for start, stop in rest[at:]:
            if start >= end:
                break
            found.setdefault(number, []).append((max(start, offset) - offset, min(stop, end) - offset))
        offset = end + 1
    return found


def _pieces(line: str, ranges: Ranges) -> tuple[Piece, ...]:
    line = line.removesuffix("\r")
    begin = max(0, ranges[0][0] - _BEFORE) if ranges and len(line) > LONGEST else 0
    end = min(len(line), begin + LONGEST)
    pieces = [Piece("… ", is_found=False)] if begin else []
    at = begin
    for start, stop in ranges:
        start, stop = max(start, at), min(stop, end)  # noqa: PLW2901 - as much of it as is shown
        if start >= stop:
            continue
        pieces += [Piece(line[at:start], is_found=False), Piece(line[start:stop], is_found=True)]
        at = stop
    rest = line[at:end] + (" …" if end < len(line) else "")
    return tuple(piece for piece in (*pieces, Piece(rest, is_found=False)) if piece.text)
