"""Taking a change back: byte for byte where the file is as the change left it, else only its own lines."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from msgspec import Struct

from carrel.errors import Conflict
from carrel.files import show
from carrel.memory.splice import CONTEXT_LINES, Hunk, digest_of, hunks_of, lines_of, reverted
from carrel.records.changes import Change, Changes, ChangeState

_NEAREST = 1 << (CONTEXT_LINES - 1)
_MOST_PIECES = 1_000
_MOST_PLACES = 1_000
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]")

_BACK = "there is a file of this name again"
_FILLED = "something else stands where its lines stood"
_GONE = "the lines that it wrote have been changed since"
_LARGE = "it changed very many places, and the file has been changed since"
_LOST = "the lines around it have been changed since"
_MANY = "the lines that it wrote stand there more than once"
_PURGED = "what it did was forgotten for good"
_REMOVED = "the file is gone"


class UndoConflict(Conflict):
    """A change cannot be taken back without touching what came after it; nothing was changed."""

    code = "undo_conflict"

    def __init__(self, change: Change, why: str) -> None:
        super().__init__(
            f"Change {change.id} of {show(change.path)} cannot be taken back: {why}.",
            hint=f"carrel memory diff {change.id} shows it; edit the file by hand. "
            "carrel memory undo --change N takes back another one.",
        )
        self.change = change
        self.path = change.path


def taken_back(change: Change, now: bytes | None) -> bytes | None:
    """Return the file as it would be without this change, else UndoConflict; none means no file."""
    if change.splice.is_purged:
        raise UndoConflict(change, _PURGED)
    found = digest_of(now)
    if found == change.after:
        return reverted(change, now)
    if found == change.before:
        return now
    if now is None:
        raise UndoConflict(change, _REMOVED)
    if change.after is None:
        raise UndoConflict(change, _BACK)
    lines = lines_of(now)
    for hunk, place in reversed(_placed(change, _Text(now, lines, [0, *accumulate(map(len, lines))]))):
        lines[place : place + len(hunk.new)] = hunk.old
    without = b"".join(lines)
    return without if without or change.before is not None else None


def effects(changes: Changes, change: Change) -> Iterator[tuple[int, ChangeState]]:
    """Yield what becomes of other changes by this one: what it takes back, and what that had taken back."""
    state: ChangeState = "undone"
    number = change.undoes
    while number:
        yield number, state
        number = changes.get(number).undoes
        state = "done" if state == "undone" else "undone"


class _Text(Struct, frozen=True):
    """A file, its lines, and where each of them begins; the last number is where the file ends."""

    data: bytes
    lines: list[bytes]
    starts: list[int]


def _placed(change: Change, text: _Text) -> list[tuple[Hunk, int]]:
    """Return the pieces of a change, each with the line where it stands now; all of them, in their order."""
    hunks = list(islice(hunks_of(change.splice), _MOST_PIECES + 1))
    if len(hunks) > _MOST_PIECES:
        raise UndoConflict(change, _LARGE)
    placed: list[tuple[Hunk, int]] = []
    first = 0
    for hunk in hunks:
        place = _place_of(change, hunk, text, first) if hunk.new else _gap_of(change, hunk, text, first)
        placed.append((hunk, place))
        first = place + len(hunk.new)
    return placed


def _place_of(change: Change, hunk: Hunk, text: _Text, first: int) -> int:
    """Return where the lines of a piece stand: the only place, or the one that looks most like its own."""
    found = list(islice(_occurrences(b"".join(hunk.new), text, first), _MOST_PLACES + 1))
    if not found:
        raise UndoConflict(change, _GONE)
    if len(found) == 1 and any(map(_WORD.search, hunk.new)):
        return found[0]
    if len(found) > _MOST_PLACES:
        raise UndoConflict(change, _MANY)
    return _likeliest(change, hunk, text, found, _MANY)


def _occurrences(part: bytes, text: _Text, first: int) -> Iterator[int]:
    """Yield the numbers of the lines, from one on, at which these whole lines begin."""
    at = text.data.find(part, text.starts[first])
    while at >= 0:
        number = bisect_left(text.starts, at)
        end = at + len(part)
        if text.starts[number] == at and text.starts[bisect_left(text.starts, end)] == end:
            yield number
        at = text.data.find(part, at + 1)


def _gap_of(change: Change, hunk: Hunk, text: _Text, first: int) -> int:
    """Return where lines that the change took away belong: between those that they stood between."""
    nearest = {*hunk.above[:1], *hunk.below[:1]}
    found = {first, len(text.lines)} if not (hunk.above and hunk.below) else set[int]()
    for place in range(first, len(text.lines)):
        if text.lines[place] in nearest:
            found |= {place, place + 1}
    place = _likeliest(change, hunk, text, sorted(found), _LOST)
    before = text.lines[max(0, place - 1 - CONTEXT_LINES) : place][::-1]
    behind = text.lines[place : place + 1 + CONTEXT_LINES]
    if _is_parted(hunk.above, before) or _is_parted(hunk.below, behind):
        raise UndoConflict(change, _FILLED)
    return place


def _likeliest(change: Change, hunk: Hunk, text: _Text, places: list[int], why: str) -> int:
    """Return the one place where most lines around a piece are as they were, else there is no such place."""
    alike = [_alike(hunk, text.lines, place) for place in places]
    most = max(alike, default=0)
    if not most or alike.count(most) > 1:
        raise UndoConflict(change, why)
    return places[alike.index(most)]


def _alike(hunk: Hunk, lines: list[bytes], place: int) -> int:
    """Return how much the lines around this place are as around the piece; the nearer count for more."""
    end = place + len(hunk.new)
    above = lines[max(0, place - CONTEXT_LINES) : place][::-1]
    below = lines[end : end + CONTEXT_LINES]
    return _same(hunk.above, above) + _same(hunk.below, below)


def _same(around: Sequence[bytes], lines: Sequence[bytes]) -> int:
    """Weigh the lines that are the same, the nearest as much as all others; so much is an end of the file."""
    if not around and not lines:
        return _NEAREST
    pairs = enumerate(zip(around, lines, strict=False))
    return sum(_NEAREST >> number for number, (one, other) in pairs if one == other)


def _is_parted(around: Sequence[bytes], lines: Sequence[bytes]) -> bool:
    """Tell whether what stood next to a place stands a little further away: something came between."""
    return bool(around) and around[0] in lines[1:] and around[0] != lines[0]
