"""What an edit did to the bytes of a file: found, applied, taken back and shown; pure.

A splice holds the lines that changed, whole, and up to three lines on either side of them, the same in both.
By these a person reads a change, and it is found again where lines elsewhere have come or gone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from io import BytesIO

from msgspec import Struct

from carrel.files import show
from carrel.memory.blocks import Block, blocks
from carrel.records.changes import Change, Splice

CONTEXT_LINES = 3
CONTEXT_BYTES = 2_000
"""How much is kept around a change, on either side: whole lines, and beyond the nearest only short ones."""

_STEP = 1 << 16


class Hunk(Struct, frozen=True, kw_only=True):
    """Lines that became others, and what stands around them; `above` begins with the nearest.

    Nothing above means the beginning of the file, nothing below its end. `at` is where the new ones begin.
    """

    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    above: tuple[bytes, ...]
    below: tuple[bytes, ...]
    at: int


def digest_of(data: bytes | None) -> str | None:
    """Return the digest of a file's bytes, none where there is no file."""
    return None if data is None else sha256(data).hexdigest()


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of a text, each with its end."""
    return BytesIO(data).readlines()


def splice_of(old: bytes | None, new: bytes | None) -> Splice:
    """Return what became of a file: whole lines, with a little of what stands around them."""
    if old is None or new is None:
        return Splice(0, old or b"", new or b"", 1)
    start = _common(min(len(old), len(new)), lambda a, b: old[a:b] == new[a:b])
    o, n = len(old), len(new)
    end = _common(min(o, n) - start, lambda a, b: old[o - b : o - a] == new[n - b : n - a])
    start = old.rfind(b"\n", 0, start) + 1
    if end and not (_is_whole(old[start : o - end]) and _is_whole(new[start : n - end])):
        feed = old.find(b"\n", o - end)
        end = o - feed - 1 if feed >= 0 else 0
    start = _above(old, start)
    end = o - _below(old, o - end)
    return Splice(start, old[start : o - end], new[start : n - end], old.count(b"\n", 0, start) + 1)


def same_around(old: str, new: str) -> tuple[int, int]:
    """Return how much of two texts is the same at their beginning and at their end, in whole lines."""
    o, n = len(old), len(new)
    start = _common(min(o, n), lambda a, b: old[a:b] == new[a:b])
    start = old.rfind("\n", 0, start) + 1
    end = _common(min(o, n) - start, lambda a, b: old[o - b : o - a] == new[n - b : n - a])
    feed = old.find("\n", o - end) if end else -1
    return start, o - feed - 1 if feed >= 0 else 0


def applied(change: Change, data: bytes | None) -> bytes | None:
    """Return what a change made of the file that it was made to."""
    if change.after is None:
        return None
    start, old, new = change.splice.start, change.splice.old, change.splice.new
    return _with(data or b"", start, len(old), new)


def reverted(change: Change, data: bytes | None) -> bytes | None:
    """Return the file as it was before a change left it like this."""
    if change.before is None:
        return None
    start, old, new = change.splice.start, change.splice.old, change.splice.new
    return _with(data or b"", start, len(new), old)


def hunks_of(splice: Splice) -> Iterator[Hunk]:
    """Yield the changes of a splice one by one, in their order."""
    old, new = lines_of(splice.old), lines_of(splice.new)
    at, seen = splice.start, 0
    for old_from, old_to, new_from, new_to in blocks(old, new):
        at += sum(map(len, new[seen:new_from]))
        seen = new_from
        yield Hunk(
            old=tuple(old[old_from:old_to]),
            new=tuple(new[new_from:new_to]),
            above=tuple(reversed(new[max(0, new_from - CONTEXT_LINES) : new_from])),
            below=tuple(new[new_to : new_to + CONTEXT_LINES]),
            at=at,
        )


def diff(change: Change) -> str:
    """Return a change as people read one: `-` was there, `+` is there now, and up to three lines around.

    Lines have their numbers; the number of a byte says where in a change that an older Carrel made.
    """
    name = show(change.path)
    told = [
        "--- /dev/null" if change.before is None else f"--- a/{name}",
        "+++ /dev/null" if change.after is None else f"+++ b/{name}",
    ]
    old, new = lines_of(change.splice.old), lines_of(change.splice.new)
    for group in _groups(blocks(old, new)):
        above = min(CONTEXT_LINES, group[0][0])
        end = min(len(old), group[-1][1] + CONTEXT_LINES)
        begin = group[0][0] - above, group[0][2] - above
        sizes = end - begin[0], end - group[-1][1] + group[-1][3] - begin[1]
        told.append(_place(change.splice, new, begin, sizes))
        at = begin[0]
        for old_from, old_to, new_from, new_to in group:
            told += _shown(" ", old[at:old_from])
            told += _shown("-", old[old_from:old_to])
            told += _shown("+", new[new_from:new_to])
            at = old_to
        told += _shown(" ", old[at:end])
    return "\n".join(told) + "\n"


def _with(data: bytes, start: int, size: int, part: bytes) -> bytes:
    """Return a text with another part in it; what stands around that is copied once, since it may be long."""
    around = memoryview(data)
    return b"".join((around[:start], part, around[start + size :]))


def _place(splice: Splice, new: Sequence[bytes], begin: tuple[int, int], sizes: tuple[int, int]) -> str:
    first = splice.line or (0 if splice.start else 1)
    if not first:
        return f"@@ byte {splice.start + sum(map(len, new[: begin[1]])) + 1} @@"
    # As everywhere, no lines at all are said to be behind the line before them.
    old, new_line = (first + at - (0 if size else 1) for at, size in zip(begin, sizes, strict=True))
    return f"@@ -{old},{sizes[0]} +{new_line},{sizes[1]} @@"


def _groups(found: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield blocks together whose lines around would meet."""
    group: list[Block] = []
    for block in found:
        if group and block[0] - group[-1][1] > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _shown(mark: str, lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix(b"\n").decode(errors="replace")
        if not line.endswith(b"\n"):
            yield "\\ No newline at end of file"


def _common(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how many bytes are the same, where `is_same` compares those from one number to another."""
    low = 0
    while low < most and is_same(low, min(low + _STEP, most)):
        low = min(low + _STEP, most)
    high = min(low + _STEP, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_same(low, middle) else (low, middle - 1)
    return low


def _is_whole(part: bytes) -> bool:
    """Tell whether a part that begins with a line consists of whole lines."""
    return not part or part.endswith(b"\n")


def _above(text: bytes, start: int) -> int:
    """Return where the lines begin that are kept above this one."""
    first = start
    for number in range(CONTEXT_LINES):
        line = text.rfind(b"\n", 0, max(first - 1, 0)) + 1
        if number and start - line > CONTEXT_BYTES:
            break
        first = line
    return first


def _below(text: bytes, end: int) -> int:
    """Return where the lines end that are kept below this place."""
    last = end
    for number in range(CONTEXT_LINES):
        line = (text.find(b"\n", last) + 1) or len(text)
        if number and line - end > CONTEXT_BYTES:
            break
        last = line
    return last
