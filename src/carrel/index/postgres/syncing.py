"""Bringing the index of a workspace up to its source: the catalog, then the words, then the vectors.

Where nothing changed, that is a look at the state and one at the places.
"""

from collections.abc import Collection
from contextlib import suppress

from msgspec.structs import replace

from carrel.errors import Unavailable
from carrel.index import Progress, Source, Stop, SyncReport
from carrel.index.catalog import FORMAT
from carrel.index.embed import Embedder
from carrel.index.postgres.catalog import Catalog, Outrun
from carrel.index.postgres.desk import Desk
from carrel.index.postgres.embedding import Embedding
from carrel.index.postgres.looking import Seen, look
from carrel.index.postgres.segments import Segments
from carrel.index.postgres.vectors import EXACT
from carrel.index.sync import take_in
from carrel.index.writing import entries_of

_ATTEMPTS = 20
_WORDS_AT_ONCE = 500


class IndexBusy(Unavailable):
    """Others changed the index again and again while it was to be brought up to date."""

    code = "index_busy"

    def __init__(self) -> None:
        super().__init__(
            "The index was not brought up to date: others were at it all the time.",
            hint="They may have done it; else search again, or `carrel index sync`.",
        )


class Syncing:
    """A sync of one workspace on its way."""

    def __init__(self, desk: Desk, progress: Progress | None) -> None:
        self._desk = desk
        self._progress = progress
        self._seen = Seen()

    def take(self, source: Source, only: Collection[str] | None, *, after: int = 0) -> SyncReport:
        """Bring the catalog and the words up to the source; segments of words up to `after` are of no use."""
        for _ in range(_ATTEMPTS):
            self._seen = look(self._desk)
            catalog = Catalog(self._desk, self._seen.state if self._seen.state.format == FORMAT else None)
            try:
                report = take_in(catalog, source, only=only, progress=self._progress)
            except Outrun:
                continue
            if catalog.has_written or self._seen.words_due:
                self._write_words(after)
                self._seen = look(self._desk)
            return replace(report, unsearched=catalog.lacking() if self._seen.is_lacking else {})
        raise IndexBusy

    def take_anew(self, source: Source) -> SyncReport:
        """Have everything read and written again."""
        catalog = Catalog(self._desk)
        before = catalog.forget()
        report = self.take(source, None, after=before)
        with catalog.held() as state:
            Segments(self._desk, last=state.last_segment).forget_until(before)
        return replace(report, chunks=self._seen.state.chunks)

    def embed(self, embedder: Embedder, stop: Stop | None, *, again: bool) -> int:
        """Make the vectors that are due, and return how many are still; `again` where that failed before."""
        seen = self._seen
        is_other = seen.state.embedder != embedder.name and bool(seen.state.chunks)
        is_large = seen.state.chunks > EXACT and not seen.state.is_graphed
        if not (seen.vectors_due or is_other or is_large):
            return 0
        embedding = Embedding(self._desk, embedder)
        embedding.begin()
        try:
            if again:
                embedding.release()
            if not (stop and stop()):
                embedding.run(self._progress, stop)
                embedding.follow()
        except Unavailable:
            with suppress(Unavailable):  # whoever failed does it the next time
                embedding.release()
            raise
        return embedding.waiting()

    def _write_words(self, after: int) -> None:
        catalog = Catalog(self._desk)
        done, is_more = 0, True
        while is_more:
            with catalog.held() as state:
                due = catalog.due("words", _WORDS_AT_ONCE)
                is_more = len(due) == _WORDS_AT_ONCE
                if due:
                    segments = Segments(self._desk, last=state.last_segment, after=after)
                    segments.write(entries_of(catalog, due), [own for own, _, _ in due])
                    catalog.settle("words", due[-1][0])
                    catalog.advance(segments.last)
            done += len(due)
            if self._progress is not None and due:
                self._progress(done, done + (catalog.waiting("words") if is_more else 0))
