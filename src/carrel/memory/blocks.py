"""Which lines of one text became which lines of another: pure, and never slow.

Texts are split at lines that both have exactly once, as a person would; what is left between two of these
is one block. So the time grows with the lines and not with their square, whatever they say.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

Block = tuple[int, int, int, int]
"""Lines that became others: from and to where in the old text, from and to where in the new one."""

_DEEPEST = 16
"""How often a text is split; what both have in common beyond that is not looked for."""


def blocks(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """Return the lines that are not the same, in order; between two blocks there is a line that is."""
    kept = [(-1, -1), *sorted(_matches(old, new)), (len(old), len(new))]
    return [(a + 1, c, b + 1, d) for (a, b), (c, d) in pairwise(kept) if c > a + 1 or d > b + 1]


def _matches(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return pairs of lines that are the same, in an order that both texts have."""
    found: list[tuple[int, int]] = []
    pending = [(0, len(old), 0, len(new), _DEEPEST)]
    while pending:
        a, b, c, d, depth = pending.pop()
        while a < b and c < d and old[a] == new[c]:
            found.append((a, c))
            a, c = a + 1, c + 1
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b, d = b - 1, d - 1
            found.append((b, d))
        anchors = [(a + i, c + j) for i, j in _anchors(old[a:b], new[c:d])] if depth else []
        found += anchors
        if anchors:
            edges = [(a - 1, c - 1), *anchors, (b, d)]
            pending += [(i + 1, k, j + 1, m, depth - 1) for (i, j), (k, m) in pairwise(edges)]
    return found


def _anchors(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the longest run of lines that both have once and in the same order, not all of them adjacent."""
    if not old or not new:
        return []
    counts = Counter(old), Counter(new)
    place = {line: j for j, line in enumerate(new) if counts[1][line] == 1}
    pairs = [(i, place[line]) for i, line in enumerate(old) if line in place and counts[0][line] == 1]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(j)
            last.append(number)
        else:
            ends[length], last[length] = j, number
    chain: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]
