"""Making the vectors of chunks that have none yet: in batches, while others search and write.

No lock is held while the embedder is at work, which may be a server far away: what became of the index
meanwhile is looked at before a batch is kept. One who makes vectors keeps others from making the same.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from carrel.errors import Unavailable
from carrel.files.disk import LockTimeout
from carrel.index import Progress, Stop
from carrel.index.embed import Embedder
from carrel.index.embedded.entry import vector_text
from carrel.index.embedded.parts import LOCK_SECONDS, OpenIndex

if TYPE_CHECKING:  # numpy is heavy, and who searches words alone has no use for it
    import numpy as np
    from numpy.typing import NDArray

LOCK_FILE = "embedding.lock"

_FIRST, _LEAST, _MOST = 64, 64, 2_048
_SECONDS = 0.5
"""A batch that takes less is followed by a larger one: a server is slower than a table by far."""


class Batch(Struct, frozen=True, kw_only=True):
    """Chunks that are due, of one set of vectors; those that are gone have no text."""

    vectors: str
    ids: tuple[int, ...]
    texts: Mapping[int, str]


class Embedding:
    """An embedder at work on an open index.

    `using` keeps other threads away from the index for a moment, and tells whether it is open still; `lock`
    is held by the one of them that makes vectors.
    """

    def __init__(
        self,
        opened: OpenIndex,
        embedder: Embedder,
        using: Callable[[], AbstractContextManager[bool]],
        lock: Lock,
    ) -> None:
        self._opened = opened
        self._embedder = embedder
        self._using = using
        self._lock = lock

    def run(self, progress: Progress | None = None, stop: Stop | None = None) -> None:
        """Make vectors until every chunk has one, or until that is to be left for later.

        Where others make them, it is left to these. Who wants all of them waits, as long as they come on.
        """
        waiting = self._opened.catalog.waiting("vectors")
        while waiting:
            try:
                with self._alone(LOCK_SECONDS if stop is None else 0.0):
                    self._make(progress, stop)
            except LockTimeout as error:
                before, waiting = waiting, self._opened.catalog.waiting("vectors")
                is_others = error.path == LOCK_FILE
                if is_others and stop is not None:
                    return
                if not is_others or waiting >= before:
                    raise
            else:
                return

    def _make(self, progress: Progress | None, stop: Stop | None) -> None:
        size, done = _FIRST, 0
        while not (stop and stop()) and (batch := self._next(size)):
            begin = monotonic()
            made = self._embedder.embed(list(batch.texts.values())) if batch.texts else None
            self._keep(batch, made)
            done += len(batch.ids)
            if progress is not None:
                progress(done, done + self._opened.catalog.waiting("vectors"))
            size = min(size * 2, _MOST) if monotonic() - begin < _SECONDS else max(size // 2, _LEAST)

    @contextmanager
    def _alone(self, patience: float) -> Generator[None]:
        """Keep other threads and processes from making vectors."""
        if not self._lock.acquire(timeout=patience):
            raise LockTimeout(LOCK_FILE, patience)
        try:
            with self._opened.writing(LOCK_FILE, patience=patience):
                yield
        finally:
            self._lock.release()

    def _next(self, size: int) -> Batch | None:
        with self._using() as is_open:
            catalog = self._opened.catalog
            state = catalog.state() if is_open else None
            if state is None or state.embedder != self._embedder.name:
                return None  # somebody has another embedder; the next sync is for this one again
            due = tuple(own for own, _, _ in catalog.due("vectors", size))
            texts = {own: vector_text(stored.chunk) for own, stored in catalog.chunks(due).items()}
            return Batch(vectors=state.vectors, ids=due, texts=texts) if due else None

    def _keep(self, batch: Batch, made: "NDArray[np.float32] | None") -> None:
        """Keep the vectors of the chunks that are still there; ids are never given to other texts."""
        with self._using() as is_open:
            if not is_open:
                return
            opened = self._opened
            with opened.writing(), _doubting(opened):
                opened.refresh()
                if opened.catalog.state().vectors != batch.vectors:
                    return  # they were begun anew, by another embedder perhaps
                vectors, there = opened.need_vectors(), opened.catalog.stands(batch.ids)
                if gone := [own for own in batch.ids if own not in there]:
                    vectors.drop(gone)
                kept = [at for at, own in enumerate(batch.texts) if own in there]
                if made is not None and kept:
                    ids = [own for own in batch.texts if own in there]
                    vectors.put(ids, made if len(kept) == len(made) else made[kept])
                opened.catalog.settle_some("vectors", batch.ids)


@contextmanager
def _doubting(opened: OpenIndex) -> Generator[None]:
    try:
        yield
    except Unavailable:
        opened.doubt()
        raise
