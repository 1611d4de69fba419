"""What answers ask of the rows: the state, the chunks, who spoke, and texts as they stand."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from carrel.index import Filter
from carrel.index.catalog import Passage, Stored
from carrel.index.cells import path_of, words_of
from carrel.index.chunk import Chunk
from carrel.index.postgres.desk import OWN, Desk, key_of, text_of
from carrel.index.postgres.filters import condition
from carrel.index.verbatim import Whole, wholes_of

JOINED = (
    "carrel.index_chunks c JOIN carrel.index_places p "
    "ON p.tenant = c.tenant AND p.workspace = c.workspace AND p.id = c.place"
)
OF_CHUNKS = "c.tenant = %s AND c.workspace = %s"
# OFFSET 0 has each one looked up by its key, whatever the planner thinks of a table that it knows nothing of.
LOOKED_UP = (
    "LATERAL (SELECT * FROM carrel.index_chunks WHERE tenant = %s AND workspace = %s AND id = asked.id "
    "OFFSET 0) c, LATERAL (SELECT * FROM carrel.index_places WHERE tenant = c.tenant "
    "AND workspace = c.workspace AND id = c.place OFFSET 0) p"
)
"""The chunks and places of the ids of `asked`."""

_COLUMNS = (
    "c.id, c.place, c.seq, p.path, c.line, c.end_line, c.text, p.tier, c.headings, p.agent, c.private, "
    "c.date, c.speaker, p.session, c.message_id, c.tags"
)
READ = f"SELECT {_COLUMNS} FROM {JOINED} WHERE {OF_CHUNKS}"  # noqa: S608 - constants
_GENERATION = f"SELECT generation FROM carrel.index_state WHERE {OWN}"  # noqa: S608 - constants
_SOME = f"SELECT {_COLUMNS}, ({_GENERATION}) FROM unnest(%s::bigint[]) asked(id), {LOOKED_UP}"  # noqa: S608 - constants
_SOME_CHUNKS = 2_000
_SOME_PLACES = 256


class Reader:
    """The chunks of one workspace, as one question reads them, and how often it had changed by then."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._generation: int | None = None

    def chunks(self, ids: Sequence[int]) -> dict[int, Stored]:
        """Return chunks by id; those that are gone are left out."""
        if not ids:
            return {}
        rows = self._desk.rows(_SOME, (list(dict.fromkeys(ids)), *self._desk.own))
        if rows:
            self._generation = rows[0][-1]
        return {row[0]: stored_of(row) for row in rows}

    def at(self, path: str, first: int, last: int) -> Sequence[Stored]:
        """Return the chunks of a document that have some of these lines."""
        sql = f"{READ} AND p.key = %s AND c.line <= %s AND c.end_line >= %s ORDER BY c.seq"
        return [stored_of(row) for row in self._desk.rows(sql, (key_of(path), last, first))]

    def generation(self) -> int:
        """Return how often the index had changed when chunks were last read, or now where none were."""
        if self._generation is not None:
            return self._generation
        rows = self._desk.rows(_GENERATION)
        return rows[0][0] if rows else 0

    def speakers(self, *, shared: bool) -> list[str]:
        """Return all who ever spoke, or those of whom everybody may know; from each one to the next."""
        after = (
            f"SELECT voice FROM carrel.index_chunks WHERE {OWN} AND voice <> '' AND voice > name "  # noqa: S608 - constants
            f"{'AND NOT private ' if shared else ''}ORDER BY voice LIMIT 1"
        )
        sql = (
            "SELECT name FROM (WITH RECURSIVE who(name) AS (SELECT ''::bytea UNION ALL "  # noqa: S608 - constants
            f"SELECT ({after}) FROM who WHERE name IS NOT NULL) SELECT name FROM who) all_of_them "
            "WHERE name <> ''"
        )
        return [text_of(row[0]) for row in self._desk.rows(sql)]


class PostgresTexts:
    """The texts of a workspace, read some places at a time."""

    def __init__(self, desk: Desk) -> None:
        self.catalog = Reader(desk)
        self._desk = desk

    def within(self, within: Filter) -> Iterator[Whole]:
        """Yield what a filter lets through, by path and line."""
        allowed, values = condition(within)
        sql = (
            f"SELECT p.id, min(p.path), count(*) FROM {JOINED} WHERE {OF_CHUNKS} AND {allowed} GROUP BY p.id"  # noqa: S608 - values are bound
        )
        places = sorted(self._desk.rows(sql, values), key=lambda row: row[1])
        for some in _batches(places):
            sql = (
                "SELECT c.place, p.session <> '', c.id, c.line, c.text "  # noqa: S608 - values are bound
                f"FROM {JOINED} WHERE {OF_CHUNKS} AND c.place = ANY(%s::bigint[]) AND {allowed} "
                "ORDER BY p.path, c.place, c.seq"
            )
            rows = self._desk.rows(sql, (some, *values))
            for (_, is_session), found in groupby(rows, key=lambda row: (row[0], row[1])):
                passages: list[Passage] = [(own, line, text_of(text)) for _, _, own, line, text in found]
                yield from wholes_of(passages, is_session=is_session)


def _batches(places: Iterable[tuple[int, bytes, int]]) -> Iterator[list[int]]:
    """Yield places that are read in one go: few at first, for often the first ones are enough."""
    some: list[int] = []
    size = 0
    room = _SOME_CHUNKS // 8
    for place, _, count in places:
        if some and (size + count > room or len(some) >= _SOME_PLACES):
            yield some
            some, size, room = [], 0, _SOME_CHUNKS
        some.append(place)
        size += count
    if some:
        yield some


def stored_of(row: Sequence[Any]) -> Stored:
    """Return the chunk that a row of `READ` tells."""
    chunk = Chunk(
        path=path_of(row[3]),
        line=row[4],
        end_line=row[5],
        text=text_of(row[6]),
        tier=text_of(row[7]),
        headings=words_of(row[8]),
        agent=text_of(row[9]),
        private=row[10],
        date=text_of(row[11]),
        speaker=text_of(row[12]),
        session=text_of(row[13]),
        message_id=text_of(row[14]),
        tags=words_of(row[15]),
    )
    return Stored(row[0], row[1], row[2], chunk)
