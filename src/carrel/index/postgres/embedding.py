"""Making the vectors of a workspace, by any number of servers at once: each claims the chunks it works on.

Nothing is held while the embedder is at work, which may be a server far away: what became of the index
meanwhile is looked at before a batch is kept.
"""

from collections.abc import Sequence
from time import monotonic, sleep
from typing import TYPE_CHECKING

from carrel.index import Progress, Stop
from carrel.index.batches import Batch, make_vectors
from carrel.index.embed import Embedder
from carrel.index.entry import vector_text
from carrel.index.postgres.catalog import Catalog
from carrel.index.postgres.desk import OWN, STATE, Desk, State, blob, state_of
from carrel.index.postgres.graph import Graph
from carrel.index.postgres.reading import Reader
from carrel.index.postgres.vectors import EXACT, as_text, check_dimensions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PATIENCE = 10.0
"""Seconds without any vector made by others after which who waits for all of them waits no longer."""

_PAUSE = 0.05
_CLAIMED = "60 seconds"
"""How long chunks are left to whoever claimed them; who is killed meanwhile makes no vectors."""

_CLAIM = (
    f"UPDATE carrel.index_due SET claimed_until = now() + interval '{_CLAIMED}' WHERE {OWN} "  # noqa: S608 - constants
    f"AND part = 'vectors' AND id IN (SELECT id FROM carrel.index_due WHERE {OWN} AND part = 'vectors' "
    "AND claimed_until < now() ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED) RETURNING id"
)
_KEEP = (
    "INSERT INTO carrel.index_vectors (tenant, workspace, id, vector) SELECT c.tenant, c.workspace, c.id, "
    "made.vector::vector FROM unnest(%s::bigint[], %s::text[]) made(id, vector) JOIN carrel.index_chunks c "
    "ON c.tenant = %s AND c.workspace = %s AND c.id = made.id "
    "ON CONFLICT (tenant, workspace, id) DO UPDATE SET vector = excluded.vector"
)


class Embedding:
    """An embedder at work on the index of a workspace."""

    def __init__(self, desk: Desk, embedder: Embedder) -> None:
        self._desk = desk
        self._embedder = embedder
        self._catalog = Catalog(desk)

    def begin(self) -> None:
        """Have the vectors made anew that are another embedder's."""
        if self._state().embedder == self._embedder.name:
            return
        with self._catalog.held() as state:
            if state.embedder != self._embedder.name:
                self._catalog.forget_vectors(state)
                self._catalog.owe_all("vectors")
                self._change("vectors = vectors + 1, embedder = %s", blob(self._embedder.name))

    def run(self, progress: Progress | None = None, stop: Stop | None = None) -> None:
        """Make vectors until every chunk has one, or until that is to be left for later.

        What others claimed is left to these. Who wants all of them waits, as long as they come on.
        """
        waiting, until = self.waiting(), monotonic() + PATIENCE
        while waiting:
            make_vectors(self, self._embedder, progress, stop)
            before, waiting = waiting, self.waiting()
            if stop is not None or self._state().embedder != self._embedder.name:
                return
            until = monotonic() + PATIENCE if waiting < before else until
            if monotonic() > until:
                return
            if waiting:
                sleep(_PAUSE)

    def follow(self) -> None:
        """Have the vectors of a workspace that is large by now put into a graph."""
        state = self._state()
        if state.chunks > EXACT and state.dimensions and not state.is_graphed:
            graph = Graph(self._desk, state.dimensions)
            if graph.make():
                graph.fill(self._catalog)

    def waiting(self) -> int:
        """Return how many chunks are due."""
        return self._catalog.waiting("vectors")

    def next(self, size: int) -> Batch | None:
        """Return some chunks that are due, None where there are none for this embedder."""
        state = self._state()
        if state.embedder != self._embedder.name:
            return None  # somebody has another embedder; the next sync is for this one again
        due = sorted(row[0] for row in self._desk.rows(_CLAIM, (*self._desk.own, size)))
        stored = Reader(self._desk).chunks(due)
        texts = {own: vector_text(stored[own].chunk) for own in due if own in stored}
        return Batch(vectors=str(state.vectors), ids=tuple(due), texts=texts) if due else None

    def keep(self, batch: Batch, made: "NDArray[np.float32] | None") -> None:
        """Keep the vectors of the chunks that are still there; ids are never given to other texts."""
        with self._catalog.held() as state:
            if str(state.vectors) != batch.vectors:
                return  # they were begun anew, by another embedder perhaps
            if made is not None and len(made):
                self._put(state, list(batch.texts), made)
            sql = f"DELETE FROM carrel.index_due WHERE {OWN} AND part = 'vectors' AND id = ANY(%s::bigint[])"  # noqa: S608 - constants
            self._desk.send(sql, (list(batch.ids),))

    def release(self) -> None:
        """Leave to others what was claimed: the embedder cannot be had."""
        sql = (
            "UPDATE carrel.index_due SET claimed_until = '-infinity' "  # noqa: S608 - constants
            f"WHERE {OWN} AND part = 'vectors' AND claimed_until > now()"
        )
        self._desk.rows(sql)

    def _put(self, state: State, ids: Sequence[int], made: "NDArray[np.float32]") -> None:
        check_dimensions(made, state.dimensions)
        texts = [as_text(row) for row in made]
        self._desk.tenant.send(_KEEP, (list(ids), texts, *self._desk.own))
        if state.is_graphed:
            Graph(self._desk, state.dimensions).put(ids)
        self._change("dimensions = %s", made.shape[1])

    def _change(self, what: str, value: object) -> None:
        sql = f"UPDATE carrel.index_state SET generation = generation + 1, {what} WHERE {OWN}"  # noqa: S608 - constants
        self._desk.tenant.send(sql, (value, *self._desk.own))

    def _state(self) -> State:
        rows = self._desk.rows(f"SELECT {STATE} FROM carrel.index_state WHERE {OWN}")  # noqa: S608 - constants
        return state_of(rows[0]) if rows else State()
