"""The vectors of a workspace, in pgvector: every one is looked at, or a graph of them where there are many.

The vectors of all workspaces are in one table, without an index on them: of a few thousand, looking at each
is quick and exact. Those of a large workspace are in a second table as well, of vectors of their length,
which has graphs (HNSW). A filter that leaves few chunks of a large workspace has each of these looked at.
"""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from carrel.index import Filter
from carrel.index.postgres.desk import OWN, Desk, State, text_of
from carrel.index.postgres.filters import condition
from carrel.index.postgres.graph import Graph
from carrel.index.postgres.reading import JOINED, LOOKED_UP, OF_CHUNKS
from carrel.index.rescore import Candidates, candidates_of
from carrel.index.vectors import BadVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT = 5_000
"""Chunks up to which every vector is looked at."""

_ALL = (
    "SELECT c.id, -asked.far, c.place, c.seq, p.tier, c.speaker FROM "  # noqa: S608 - constants
    "(SELECT id, vector <#> %s::vector AS far "
    f"FROM carrel.index_vectors WHERE {OWN} ORDER BY far, id LIMIT %s) asked, {LOOKED_UP} "
    "ORDER BY asked.far, c.id"
)
_SOME = (
    "SELECT c.id, -(v.vector <#> %s::vector) AS near, c.place, c.seq, p.tier, c.speaker "  # noqa: S608 - constants
    f"FROM ({JOINED}) JOIN carrel.index_vectors v ON v.tenant = c.tenant AND v.workspace = c.workspace "
    f"AND v.id = c.id WHERE {OF_CHUNKS} AND "
)


class Vectors:
    """The vectors of one workspace, as its state says they are."""

    def __init__(self, desk: Desk, state: State) -> None:
        self._desk = desk
        self._state = state

    def near(self, direction: "NDArray[np.float32]", within: Filter, limit: int) -> Candidates:
        """Return the chunks nearest to a direction that a filter lets through, so many of them."""
        if not direction.any() or not self._state.dimensions:
            return Candidates()
        check_dimensions(direction, self._state.dimensions)
        rows = self._rows(as_text(direction), within, limit)
        return candidates_of(
            (own, near, place, seq, text_of(tier), text_of(speaker))
            for own, near, place, seq, tier, speaker in rows
        )

    def _rows(self, asked: str, within: Filter, limit: int) -> list[tuple[Any, ...]]:
        allowed, values = condition(within)
        is_large = self._state.is_graphed and self._state.chunks > EXACT
        if is_large and (within == Filter() or self._are_many(allowed, values)):
            return Graph(self._desk, self._state.dimensions).near(asked, within, limit)
        if within == Filter():
            return self._desk.tenant.rows(_ALL, (asked, *self._desk.own, limit, *self._desk.own))
        sql = f"{_SOME}{allowed} ORDER BY near DESC, c.id LIMIT %s"
        return self._desk.tenant.rows(sql, (asked, *self._desk.own, *values, limit))

    def _are_many(self, allowed: str, values: Sequence[object]) -> bool:
        """Tell whether a filter lets through more chunks than are looked at one by one."""
        some = f"SELECT FROM {JOINED} WHERE {OF_CHUNKS} AND {allowed} LIMIT {EXACT + 1}"
        sql = f"SELECT count(*) FROM ({some}) found"  # noqa: S608 - values are bound
        return self._desk.rows(sql, values)[0][0] > EXACT


def as_text(vector: "NDArray[np.float32]") -> str:
    """Return a vector as pgvector reads it."""
    return msgspec.json.encode(vector.tolist()).decode()


def check_dimensions(made: "NDArray[np.float32]", held: int) -> None:
    """Refuse vectors that do not belong with those of a workspace; 0 means that it has none yet."""
    if held and made.shape[-1] != held:
        raise BadVectors(f"they have {made.shape[-1]:,} dimensions, and those in the database {held:,}")
    if not isfinite(float(made.sum())):
        raise BadVectors("some are not numbers, or infinite")
