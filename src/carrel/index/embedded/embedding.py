"""Making the vectors of chunks that have none yet: in batches, while others search and write.

No lock is held while the embedder is at work, which may be a server far away: what became of the index
meanwhile is looked at before a batch is kept. One who makes vectors keeps others from making the same.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from carrel.errors import Unavailable
from carrel.files.disk import LockTimeout
from carrel.index import Progress, Stop
from carrel.index.batches import Batch, make_vectors
from carrel.index.embed import Embedder
from carrel.index.embedded.parts import LOCK_SECONDS, OpenIndex
from carrel.index.entry import vector_text

if TYPE_CHECKING:  # numpy is heavy, and who searches words alone has no use for it
    import numpy as np
    from numpy.typing import NDArray

LOCK_FILE = "embedding.lock"


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
        waiting = self.waiting()
        while waiting:
            try:
                with self._alone(LOCK_SECONDS if stop is None else 0.0):
                    make_vectors(self, self._embedder, progress, stop)
            except LockTimeout as error:
                before, waiting = waiting, self.waiting()
                is_others = error.path == LOCK_FILE
                if is_others and stop is not None:
                    return
                if not is_others or waiting >= before:
                    raise
            else:
                return

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

    def waiting(self) -> int:
        """Return how many chunks are due."""
        return self._opened.catalog.waiting("vectors")

    def next(self, size: int) -> Batch | None:
        """Return some chunks that are due, None where there are none for this embedder."""
        with self._using() as is_open:
            catalog = self._opened.catalog
            state = catalog.state() if is_open else None
            if state is None or state.embedder != self._embedder.name:
                return None  # somebody has another embedder; the next sync is for this one again
            due = tuple(own for own, _, _ in catalog.due("vectors", size))
            texts = {own: vector_text(stored.chunk) for own, stored in catalog.chunks(due).items()}
            return Batch(vectors=state.vectors, ids=due, texts=texts) if due else None

    def keep(self, batch: Batch, made: "NDArray[np.float32] | None") -> None:
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
