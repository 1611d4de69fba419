"""The vectors of a large workspace in a graph (HNSW), from which the nearest are had without a look at each.

It is a copy of what the table of all vectors has. Until it is whole nobody asks it, and what is in it of
chunks that are gone is passed over.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from carrel.index import Filter
from carrel.index.postgres.desk import OWN, Desk
from carrel.index.postgres.filters import condition
from carrel.index.postgres.reading import JOINED, OF_CHUNKS

if TYPE_CHECKING:
    from carrel.index.postgres.catalog import Catalog

AT_ONCE = 500
"""Vectors that are added to a graph in one transaction: each takes a millisecond or more."""

_LOOKED_AT = 200
_MOST = 40_000
"""How far a graph is followed: at first, and at most where a filter lets few through."""

_FOLLOW = (
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
    "set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true), "
    "set_config('enable_sort', 'off', true)"
)
_WHOLE = f"UPDATE carrel.index_state SET is_graphed = true, generation = generation + 1 WHERE {OWN}"  # noqa: S608 - constants


class Graph:
    """The graph of a workspace, among those of vectors of one length."""

    def __init__(self, desk: Desk, dimensions: int) -> None:
        self._desk = desk
        self._table = f"carrel.index_graph_{int(dimensions)}"
        self._type = f"{'vector' if dimensions <= 2_000 else 'halfvec'}({int(dimensions)})"  # noqa: PLR2004 - as in its SQL
        self._dimensions = dimensions
        self._missing = (
            f"INSERT INTO {self._table} (tenant, workspace, id, vector) SELECT v.tenant, v.workspace, v.id, "  # noqa: S608 - a constant and a number
            f"v.vector::{self._type} FROM carrel.index_vectors v WHERE v.tenant = %s AND v.workspace = %s "
            f"AND NOT EXISTS (SELECT FROM {self._table} g WHERE g.tenant = v.tenant "
            "AND g.workspace = v.workspace AND g.id = v.id) LIMIT %s RETURNING id"
        )

    def make(self) -> bool:
        """Have the table made where it is not there yet; tell whether such vectors can have a graph."""
        return self._desk.tenant.rows("SELECT carrel.index_graph(%s::integer)", (self._dimensions,))[0][0]

    def fill(self, catalog: "Catalog") -> None:
        """Bring the graph up to the vectors, some at a time, and have it asked from then on."""
        while True:
            with catalog.held() as state:
                if state.dimensions != self._dimensions or state.is_graphed:
                    return
                if len(self._desk.rows(self._missing, (AT_ONCE,))) < AT_ONCE:
                    self._desk.send(_WHOLE)
                    return

    def put(self, ids: Sequence[int]) -> None:
        """Take in the vectors of some chunks, in place of those they had."""
        self.drop(ids)
        self._desk.send(
            f"INSERT INTO {self._table} (tenant, workspace, id, vector) SELECT tenant, workspace, id, "  # noqa: S608 - a constant and a number
            f"vector::{self._type} FROM carrel.index_vectors WHERE {OWN} AND id = ANY(%s::bigint[])",
            (list(ids),),
        )

    def drop(self, ids: Sequence[int]) -> None:
        """Forget the vectors of some chunks."""
        self._desk.send(f"DELETE FROM {self._table} WHERE {OWN} AND id = ANY(%s::bigint[])", (list(ids),))  # noqa: S608 - the same

    def clear(self) -> None:
        """Forget all vectors of the workspace."""
        if self._desk.tenant.rows("SELECT to_regclass(%s) IS NOT NULL", (self._table,))[0][0]:
            self._desk.send(f"DELETE FROM {self._table} WHERE {OWN}")  # noqa: S608 - the same

    def near(self, asked: str, within: Filter, limit: int) -> list[tuple[Any, ...]]:
        """Return chunks near to a vector that a filter lets through, with their standing, best first."""
        allowed, values = condition(within)
        sql = (
            f"SELECT c.id, -(g.vector <#> %s::{self._type}), c.place, c.seq, p.tier, c.speaker "  # noqa: S608 - values are bound
            f"FROM {self._table} g JOIN ({JOINED}) ON c.tenant = g.tenant AND c.workspace = g.workspace "
            f"AND c.id = g.id WHERE g.tenant = %s AND g.workspace = %s AND {OF_CHUNKS} AND {allowed} "
            f"ORDER BY g.vector <#> %s::{self._type} LIMIT %s"
        )
        with self._desk.tenant.transaction():
            self._desk.tenant.send(_FOLLOW, (str(_LOOKED_AT), str(_MOST)))
            rows = self._desk.tenant.rows(
                sql, (asked, *self._desk.own, *self._desk.own, *values, asked, limit)
            )
        return sorted(rows, key=lambda row: (-row[1], row[0]))
