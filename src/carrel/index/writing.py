"""Writing to the words what the catalog says is due.

What is due is noted until a part holds it, and writing it twice changes nothing; so it does not matter where
a writer was interrupted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from carrel.index import Progress
from carrel.index.catalog import Due, Owing, Span
from carrel.index.entry import NEIGHBOURS, Entry, entry_of

_WORDS_AT_ONCE = 100_000
_READ_AT_ONCE = 1_000


class Written(Protocol):
    """Where words are written to."""

    def write(self, entries: Iterable[Entry], drop: Sequence[int]) -> None:
        """Put entries in place of what their chunks had, and drop others; all of it is there, or nothing."""
        ...


def write_words(catalog: Owing, words: Written, progress: Progress | None = None) -> None:
    """Write the words of all chunks that are due, and tell others."""
    total, done = catalog.waiting("words") if progress else 0, 0
    while due := catalog.due("words", _WORDS_AT_ONCE):
        words.write(_told(entries_of(catalog, due), progress, done, total), [own for own, _, _ in due])
        catalog.settle("words", due[-1][0])
        done += len(due)


def _told(entries: Iterator[Entry], progress: Progress | None, done: int, total: int) -> Iterator[Entry]:
    for number, entry in enumerate(entries, done + 1):
        if progress is not None and number % _READ_AT_ONCE == 0:
            progress(number, total)
        yield entry


def entries_of(catalog: Owing, due: Sequence[Due]) -> Iterator[Entry]:
    """Yield the entry of each chunk that is due; chunks that are gone are left out."""
    wanted = {own for own, _, _ in due}
    stands = sorted((place, seq) for _, place, seq in due if place)
    runs = list(_runs(stands, 2 * NEIGHBOURS))
    around = ((place, first - NEIGHBOURS, last + NEIGHBOURS) for place, first, last in runs)
    for (_, first, last), near in zip(runs, catalog.spans(around), strict=True):
        for at, stored in enumerate(near):
            if stored.id in wanted and first <= stored.seq <= last:
                yield entry_of(near, at)


def _runs(stands: Sequence[tuple[int, int]], gap: int) -> Iterator[Span]:
    """Yield the chunks of a place that are read in one go, those a little apart together."""
    begin: tuple[int, int] | None = None
    end = 0
    for place, seq in stands:
        is_next = (
            begin is not None and begin[0] == place and seq - end <= gap and seq - begin[1] < _READ_AT_ONCE
        )
        if begin is not None and not is_next:
            yield begin[0], begin[1], end
        if not is_next:
            begin = (place, seq)
        end = seq
    if begin is not None:
        yield begin[0], begin[1], end
