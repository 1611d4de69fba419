"""Finding what was said: the entries of an agent's sessions in which every word of a query occurs."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from heapq import heappush, heapreplace
from itertools import accumulate
from unicodedata import category, combining, normalize

from msgspec import Struct

from carrel.errors import UsageError
from carrel.sessions.placed import Placed
from carrel.sessions.store import Sessions, UnknownSession
from carrel.sessions.transcript import Entry
from carrel.sessions.turn import stamp

Range = tuple[int, int]
"""From one character of a text to before another."""

MOST_WORDS = 256
"""A query with more different words is a passage, and is looked for as it stands."""

MOST_RANGES = 100
"""So many matches in one text are pointed at; the others are there all the same."""

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_BEFORE_WORDS = "([{<«“„\u2018'\"¿¡"
_AFTER_WORDS = ")]}>»”\u2019'\".,;:!?…"
_ELLIPSIS = "…"
_NARROWEST = 3


class EmptyQuery(UsageError):
    """There is nothing to look for."""

    code = "empty_query"

    def __init__(self) -> None:
        super().__init__(
            "The query is empty.", hint="Give one word or more; every one must occur in what is found."
        )


class Match(Struct, frozen=True):
    """An entry that was found, and where in its text the words are."""

    session: str
    number: int
    entry: Entry
    ranges: tuple[Range, ...] = ()


class Excerpt(Struct, frozen=True):
    """A part of a text, with ellipses where it was cut, and where in it the matches are."""

    text: str
    ranges: tuple[Range, ...] = ()


def search(
    sessions: Sessions,
    words: str,
    *,
    limit: int = 50,
    only: str | None = None,
    role: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Match]:
    """Return the newest entries in which every word occurs, whatever its case and accents.

    A phrase in quotes is one word; a query of punctuation alone is looked for as it stands. `since` is the
    first moment that counts and `until` the first that does not. The logs are read as a stream.
    """
    wanted = _Wanted(_sought(words), role, _stamp(since), _stamp(until))
    found = _Newest(limit)
    names = [row.id for row in sessions.rows()[0] if not row.problem] if only is None else [only]
    for order, name in enumerate(names):
        for placed in _entries(sessions, name, is_wanted=only is not None):
            moment = _moment(placed.entry.timestamp)
            key = (moment, placed.number, -order)
            if found.has_room_for(key) and wanted.takes(placed.entry, moment):
                found.add(key, name, placed)
    return [
        Match(name, placed.number, placed.entry, _ranges(placed.entry.to_text(), wanted.words))
        for name, placed in found.sorted()
    ]


def preview(text: str, ranges: Sequence[Range], width: int) -> str:
    """Return at most so many characters around the first match, with ellipses where the text was cut."""
    return excerpt(text, ranges, width).text


def excerpt(text: str, ranges: Sequence[Range], width: int) -> Excerpt:
    """Return at most so many characters around the first match, and where in them the matches are."""
    width = max(width, _NARROWEST)
    if len(text) <= width:
        return Excerpt(text, tuple(ranges))
    start, end = ranges[0] if ranges else (0, 0)
    begin = max(0, start - max(0, width - (end - start)) // 3)
    begin = min(begin, len(text) - width + 1)
    stop = begin + width - (begin > 0)
    stop -= stop < len(text)
    while begin < min(start, stop) and combining(text[begin]):
        begin += 1  # an accent belongs to the character before it
    while begin + 1 < stop < len(text) and combining(text[stop]):
        stop -= 1
    lead = _ELLIPSIS if begin else ""
    kept = f"{lead}{text[begin:stop]}{_ELLIPSIS if stop < len(text) else ''}"
    moved = ((max(a, begin), min(b, stop)) for a, b in ranges)
    shift = len(lead) - begin
    return Excerpt(kept, tuple((a + shift, b + shift) for a, b in moved if a < b))


class _Wanted(Struct, frozen=True):
    """What an entry must be like to be found."""

    words: tuple[str, ...]
    role: str | None
    first: str
    end: str

    def takes(self, entry: Entry, moment: str) -> bool:
        """Tell whether an entry is like that; one without a time was said at none that was asked for."""
        if self.role is not None and entry.role != self.role:
            return False
        if (self.first or self.end) and not moment:
            return False
        if moment < self.first or (self.end and moment >= self.end):
            return False
        text = fold(entry.to_text())
        return all(word in text for word in self.words)


Key = tuple[str, int, int]


class _Newest:
    """The newest of what was found, and no more of it than is asked for."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heap: list[tuple[Key, str, Placed]] = []

    def has_room_for(self, key: Key) -> bool:
        """Tell whether an entry of this age would be kept."""
        return len(self._heap) < self._limit or (self._limit > 0 and key > self._heap[0][0])

    def add(self, key: Key, session: str, placed: Placed) -> None:
        """Keep an entry in place of the oldest."""
        if len(self._heap) < self._limit:
            heappush(self._heap, (key, session, placed))
        else:
            heapreplace(self._heap, (key, session, placed))

    def sorted(self) -> list[tuple[str, Placed]]:
        """Return what was kept, the newest first."""
        return [(name, placed) for _, name, placed in sorted(self._heap, key=lambda each: each[0])[::-1]]


def _entries(sessions: Sessions, name: str, *, is_wanted: bool) -> Iterable[Placed]:
    try:
        return sessions.entries(name)
    except UnknownSession:  # of all there were a moment ago, one was deleted
        if is_wanted:
            raise
        return ()


def _stamp(moment: datetime | None) -> str:
    return stamp(moment) if moment is not None else ""


def _moment(timestamp: str) -> str:
    """Return a time as our own logs write it, "" where it is none; others' logs may have another form."""
    if _STAMP.fullmatch(timestamp):
        return timestamp
    try:
        return stamp(datetime.fromisoformat(timestamp))
    except (ValueError, OverflowError):
        return ""


def _sought(query: str) -> tuple[str, ...]:
    """Return what must occur, folded, the longest first: it is the one that most texts lack."""
    query = query.strip()
    found = {folded for word in _words(query) if (folded := fold(word))}
    if not 0 < len(found) <= MOST_WORDS:
        found = {fold(query)}
    if found == {""}:
        raise EmptyQuery
    return tuple(sorted(found, key=lambda word: (-len(word), word)))


def _words(query: str) -> Iterator[str]:
    """Yield the phrases and words of a query, without punctuation around them."""
    for match in _WORD.finditer(query):
        if match[1] is not None:
            yield match[1].strip()
            continue
        word = match[2].lstrip(_BEFORE_WORDS).rstrip(_AFTER_WORDS)
        if any(_is_telling(char) for char in word):
            yield word


def _is_telling(char: str) -> bool:
    """Tell letters, digits and pictures from punctuation."""
    return char.isalnum() or not (char.isascii() or category(char).startswith("P"))


class _Folds(dict[int, str]):
    """What each character is compared as, found out when it is first met."""

    longest = 4
    """Some characters stand for a whole sentence; a text must not become many times its size."""

    def __missing__(self, code: int) -> str:
        """Return a character without case, form and accents; voicing marks and viramas are no accents."""
        char = chr(code)
        folded = normalize("NFKD", normalize("NFKD", char).casefold())
        plain = "".join(each for each in folded if combining(each) in (0, 8, 9))
        plain = (plain if len(plain) <= self.longest else char).lower()
        if code < 1 << 16:
            self[code] = plain
        return plain


_FOLDS = _Folds()


def fold(text: str) -> str:
    """Return a text as it is compared: without case, accents, and the forms that look the same."""
    if not text.isascii():  # most of it may be, which is quicker
        text = _BEYOND_ASCII.sub(lambda run: run[0].translate(_FOLDS), text)
    return text.lower()


def _ranges(text: str, sought: Sequence[str]) -> tuple[Range, ...]:
    """Return where the words are in a text, in order, none overlapping another."""
    folded = fold(text)
    spans: Iterable[Range] = sorted({span for word in sought for span in _spans(folded, word)})
    joined: list[Range] = []
    for start, end in spans if text.isascii() else _unfolded(text, spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif len(joined) == MOST_RANGES:
            break
        else:
            joined.append((start, end))
    return tuple(joined)


def _spans(text: str, word: str) -> Iterator[Range]:
    start = text.find(word)
    for _ in range(MOST_RANGES):
        if start < 0:
            return
        yield start, start + len(word)
        start = text.find(word, start + len(word))


def _unfolded(text: str, spans: Iterable[Range]) -> Iterator[Range]:
    """Yield spans of a folded text as ranges of the text itself; a letter's accents belong to it."""
    begins = array("Q", accumulate((len(_FOLDS[ord(char)]) for char in text), initial=0))
    for start, end in spans:
        after = bisect_left(begins, end)
        yield bisect_right(begins, start) - 1, bisect_right(begins, begins[after]) - 1
