"""Finding text as it was typed, in the texts that the caller gives: matches become hits, with lines around.

What is looked for is a needle, of `needles`. Nothing is returned without bound: not a line of a megabyte,
not a match on every line of a file.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic

from msgspec import Struct

from carrel.index.literal.needles import GaveUp, Needle
from carrel.sessions.search import Range, excerpt

MOST_LINES = 50
"""Matches whose lines overlap are one hit, which is divided when it has more lines than this."""

SHOWN = 1_000
"""Characters of a line that are shown; of a longer one, those around its first match."""

SECONDS = 5.0
"""How long a scan may take; a single line is never left half searched."""

_NEWLINE = "\n"


class LiteralHit(Struct, frozen=True, kw_only=True):
    """Some lines of a text: those that match, and those asked for around them.

    Lines count from 1; `matching` are those on which a match begins. `ranges` are where in `text` the matches
    are, at most `MOST_RANGES` a line, and of a very long line those in the part that is shown.
    """

    path: str
    line: int
    end_line: int
    text: str
    ranges: tuple[Range, ...]
    matching: tuple[int, ...]


class Scan(Struct, frozen=True, kw_only=True):
    """The hits in the order of the texts; `more` when there are others, or some text was not searched.

    `unfinished` names the texts that were given up on, for too many near misses or for want of time.
    """

    hits: tuple[LiteralHit, ...] = ()
    more: bool = False
    unfinished: tuple[str, ...] = ()


def scan(
    texts: Iterable[tuple[str, str]],
    needle: Needle,
    *,
    lines: int = 0,
    limit: int = 50,
    seconds: float = SECONDS,
) -> Scan:
    """Return the first hits in a stream of paths and texts, with so many lines around each match.

    A text is read when its turn comes, and none once the limit or the time is reached.
    """
    hits: list[LiteralHit] = []
    unfinished: list[str] = []
    end = monotonic() + seconds
    around = min(max(lines, 0), MOST_LINES)
    is_cut = False
    for path, raw in texts:
        is_cut = len(hits) >= limit or monotonic() > end
        if is_cut:
            break
        text = raw.replace("\r\n", _NEWLINE)
        found = _until_given_up(needle.find(text, end), path, unfinished)
        hits += islice(_hits(path, text, found, around), limit - len(hits) + 1)
        is_cut = len(hits) > limit
        if is_cut:
            break
    return Scan(hits=tuple(hits[:limit]), more=is_cut or bool(unfinished), unfinished=tuple(unfinished))


def _until_given_up(found: Iterable[Range], path: str, unfinished: list[str]) -> Iterator[Range]:
    try:
        yield from found
    except GaveUp:
        unfinished.append(path)


class _Group:
    """A hit in the making: the lines that belong together, from 0, and the matches in them."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.last = first
        self.ranges: list[Range] = []
        self.matching: list[int] = []

    def add(self, found: Range, line: int, last: int) -> None:
        """Take in a match that begins on this line, and all lines up to the last."""
        self.last = max(self.last, last)
        self.ranges.append(found)
        if line not in self.matching[-1:]:
            self.matching.append(line)


def _hits(path: str, text: str, found: Iterable[Range], around: int) -> Iterator[LiteralHit]:
    lines: _Lines | None = None
    group: _Group | None = None
    for start, stop in found:
        lines = lines or _Lines(text)
        first, last = lines.at(start), lines.at(stop if text[stop - 1] == _NEWLINE else stop - 1)
        window = (max(first - around, 0), max(last, min(last + around, lines.last)))
        if group is None or not _joins(window, group, around):
            if group is not None:
                yield lines.hit(path, group)
                window = (max(window[0], min(group.last + 1, first)), window[1])
            group = _Group(window[0])
        group.add((start, stop), first, window[1])
    if lines is not None and group is not None:
        yield lines.hit(path, group)


def _joins(window: Range, group: _Group, around: int) -> bool:
    """Tell whether lines go on with a hit: they touch it, and leave it of a size to be shown."""
    is_touching = window[0] <= group.last + bool(around)
    return is_touching and (window[1] <= group.last or window[1] - group.first < MOST_LINES)


class _Lines:
    """The lines of a text, from 0; an empty one after the end of the last is not shown around others.

    Matches come in order, so that each is counted from the one before.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = self._line = 0
        self.last = text.count(_NEWLINE) - text.endswith(_NEWLINE)

    def at(self, place: int) -> int:
        """Return the line that a place of the text is on."""
        if place >= self._place:
            self._line += self._text.count(_NEWLINE, self._place, place)
        else:
            self._line -= self._text.count(_NEWLINE, place, self._place)
        self._place = place
        return self._line

    def hit(self, path: str, group: _Group) -> LiteralHit:
        """Return the lines of a group as they are shown."""
        shown = list(self._bounds(group))
        if all(end - start <= SHOWN for start, end in shown):
            begin = shown[0][0]
            text = self._text[begin : shown[-1][1]]
            ranges = [(start - begin, stop - begin) for start, stop in group.ranges]
        else:
            text, ranges = self._excerpts(shown, group.ranges)
        return LiteralHit(
            path=path,
            line=group.first + 1,
            end_line=group.last + 1,
            text=text,
            ranges=tuple(ranges),
            matching=tuple(line + 1 for line in group.matching),
        )

    def _bounds(self, group: _Group) -> Iterator[Range]:
        """Yield where each line of a group begins and ends."""
        start = self._text.rfind(_NEWLINE, 0, group.ranges[0][0]) + 1
        for _ in range(group.matching[0] - group.first):
            start = self._text.rfind(_NEWLINE, 0, start - 1) + 1
        for _ in range(group.first, group.last + 1):
            end = self._text.find(_NEWLINE, start)
            end = end if end >= 0 else len(self._text)
            yield start, end
            start = end + 1

    def _excerpts(self, shown: Iterable[Range], found: Sequence[Range]) -> tuple[str, list[Range]]:
        """Return each line around its first match; a match over several lines has a range on each."""
        texts: list[str] = []
        ranges: list[Range] = []
        length = 0
        for begin, end in shown:
            within = [(max(a, begin) - begin, min(b, end) - begin) for a, b in found if a < end and b > begin]
            part = excerpt(self._text[begin:end], within, SHOWN)
            texts.append(part.text)
            ranges.extend((a + length, b + length) for a, b in part.ranges)
            length += len(part.text) + 1
        return _NEWLINE.join(texts), ranges
