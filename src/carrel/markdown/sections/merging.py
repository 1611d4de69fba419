"""Merging two versions of a text that both came from a third, section by section."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from carrel.markdown.sections.addresses import address_of
from carrel.markdown.sections.errors import SectionConflict
from carrel.markdown.sections.parts import root_of, sections
from carrel.markdown.sections.splice import core_span, newline_at

_Key = tuple[tuple[str, ...], int]
"""The path of a section, and its position among those of the same."""

_T = TypeVar("_T")


class _Piece(Struct, frozen=True):
    """A section's heading and own text, and the blank lines behind its last words."""

    words: str
    gap: str
    level: int
    is_last: bool


_Pieces = dict[_Key, _Piece]


def merge(base: str, mine: str, theirs: str) -> str:
    """Return a text with the changes of both; where both changed one section, that is a conflict.

    A section is known by its path and its position among equals, so that one with another heading is an old
    one gone and a new one come. No line that one of them wrote is lost.
    """
    if theirs in (base, mine):
        return mine
    if mine == base:
        return theirs
    old, one, other = (_pieces(text) for text in (base, mine, theirs))
    merged: _Pieces = {}
    for key in {**old, **one, **other}:
        versions = (old.get(key), one.get(key), other.get(key))
        if _differ(*(piece and piece.words for piece in versions)):
            raise _conflict(key, mine, theirs)
        piece = _merged(*versions)
        if piece is not None:
            merged[key] = piece
    torn = _torn(old, one, other)
    if torn is not None:
        raise _conflict(torn, mine, theirs)
    order = _order(merged, old, one, other)
    ending = next(reversed(one.values())).gap
    result = _joined([merged[key] for key in order], ending, newline_at(mine, len(mine)))
    paths = [(), *(part.path for part in sections(result))]
    if paths != [path for path, _ in order] or not _adds_up(base, mine, theirs, result):
        changed = (key for key in {**old, **one} if old.get(key) != one.get(key))
        raise _conflict(next(changed, order[-1]), mine, theirs)
    return result


def _pieces(text: str) -> _Pieces:
    parts = sections(text)
    pieces: _Pieces = {}
    for part in (root_of(text, parts), *parts):
        own = text[part.start : part.own_end]
        words = own[: core_span(own)[1]].rstrip("\r")
        pieces[part.path, part.position] = _Piece(
            words, own[len(words) :], part.level, part.own_end == len(text)
        )
    return pieces


def _differ(base: _T, mine: _T, theirs: _T) -> bool:
    """Tell whether both have changed something, and not to the same."""
    return mine != theirs and base not in (mine, theirs)


def _merged(base: _Piece | None, mine: _Piece | None, theirs: _Piece | None) -> _Piece | None:
    """Return the version that somebody changed, none where it was removed; of blank lines the more."""
    if mine is None or theirs is None:
        left = mine or theirs
        return left if base is None else None
    words = theirs.words if base and base.words == mine.words else mine.words
    if mine.is_last != theirs.is_last:  # how a text ends says nothing of what stands between sections
        behind = theirs if mine.is_last else mine
    elif base and _differ(base.gap, mine.gap, theirs.gap):
        behind = max(mine, theirs, key=lambda piece: len(piece.gap))
    else:
        behind = theirs if base and base.gap == mine.gap else mine
    return _Piece(words, behind.gap, mine.level, behind.is_last)


def _torn(old: _Pieces, mine: _Pieces, theirs: _Pieces) -> _Key | None:
    """Return the first section that both have moved, and not to the same place."""
    common = {key: None for key in old if key in mine and key in theirs}
    one, other = ([key for key in side if key in common] for side in (mine, theirs))
    if not _differ([*common], one, other):
        return None
    return next(a for a, b in zip(one, other, strict=True) if a != b)


def _adds_up(base: str, mine: str, theirs: str, result: str) -> bool:
    """Tell whether each line stands there as often as it should after what both added and removed.

    Sections are told apart by position where their paths are equal, and both may have changed what is first:
    then one could be taken for the other. What both added, or both removed, may be the same or not.
    """
    old, one, other, merged = (_lines(text) for text in (base, mine, theirs, result))
    for line in {**old, **one, **other}:
        both = one[line] + other[line] - old[line]
        changes = (one[line] - old[line], other[line] - old[line])
        least = max(one[line], other[line]) if min(changes) > 0 else both
        most = min(one[line], other[line]) if max(changes) < 0 else both
        if not least <= merged[line] <= most:
            return False
    return True


def _lines(text: str) -> Counter[str]:
    return Counter(stripped for line in text.split("\n") if (stripped := line.strip()))


def _order(merged: _Pieces, old: _Pieces, mine: _Pieces, theirs: _Pieces) -> list[_Key]:
    """Return the order of what there is: of who moved something, with what only the other has put in between.

    Where both have added something at the same place, what is deeper comes first: the rest would take it in.
    """
    is_moved = [key for key in mine if key in old] != [key for key in old if key in mine]
    leading, following = (mine, theirs) if is_moved else (theirs, mine)
    own, added = (_runs(side, other, merged) for side, other in ((leading, following), (following, leading)))
    order: list[_Key] = []
    for key, run in own.items():
        runs = sorted((run, added[key]), key=lambda keys: -merged[keys[0]].level if keys else 0)
        order += [key, *runs[0], *runs[1]]
    return order


def _runs(side: _Pieces, other: _Pieces, merged: _Pieces) -> dict[_Key, list[_Key]]:
    """Return what both sides have, in this side's order, each with what follows it that only this one has."""
    runs: dict[_Key, list[_Key]] = {}
    run: list[_Key] = []
    for key in side:
        if key not in merged:
            continue
        if key in other:
            runs[key] = run = []
        else:
            run.append(key)
    return runs


def _joined(pieces: Sequence[_Piece], ending: str, newline: str) -> str:
    *before, last = pieces
    texts = [piece.words + _parted(piece, newline) for piece in before]
    return "".join([*texts, last.words, last.gap if last.is_last else ending])


def _parted(piece: _Piece, newline: str) -> str:
    """Return the gap behind a piece that others follow; one that was at the end has none of its own."""
    is_apart = not piece.is_last or not piece.words.strip("\ufeff") or piece.gap.count("\n") > 1
    return piece.gap if is_apart else newline * 2


def _conflict(key: _Key, mine: str, theirs: str) -> SectionConflict:
    """Return both versions of a section's own text; an empty one where it is gone."""
    address, texts = "", list[str]()
    for text in (mine, theirs):
        parts = sections(text)
        for part in (root_of(text, parts), *parts):
            if (part.path, part.position) == key:
                address = address or (address_of(part, parts) if part.level else "")
                texts.append(text[part.body : part.own_end])
                break
        else:
            texts.append("")
    return SectionConflict(address, mine=texts[0], theirs=texts[1])
