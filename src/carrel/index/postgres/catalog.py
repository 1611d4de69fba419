"""The catalog in a database: what a sync changes is gathered, and written in a few statements at its end.

Whoever writes holds the row of the state. A sync that finds that another one came before it, since it looked
at the places, begins again.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from carrel.index import Unsearched
from carrel.index.catalog import FORMAT, PARTS, SHOWN_PATHS, Due, Known, Line, Part, Span, Stored
from carrel.index.cells import blob_of, json_of, path_of
from carrel.index.chunk import Chunk
from carrel.index.postgres.desk import OWN, STATE, Desk, State, blob, key_of, state_of, text_of
from carrel.index.postgres.filters import labels
from carrel.index.postgres.graph import Graph
from carrel.index.postgres.reading import OF_CHUNKS, READ, stored_of
from carrel.index.source import Lack, Place
from carrel.records.database import NewerFormat

TABLES = ("places", "chunks", "due", "segments", "words")
_VOICE = 200
_SOME_SPANS = 64
_HOLD = f"SELECT {STATE} FROM carrel.index_state WHERE {OWN} FOR UPDATE"  # noqa: S608 - constants
_BEGIN = (
    "INSERT INTO carrel.index_state (tenant, workspace, format) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
)
_PLACES = f"SELECT id, path, stamp, digest, turns, begin, lack FROM carrel.index_places WHERE {OWN}"  # noqa: S608 - constants
_KEEP_PLACES = (
    "INSERT INTO carrel.index_places (tenant, workspace, id, key, path, stamp, digest, tier, agent, session, "
    "turns, begin, lack) SELECT %s, %s, * FROM unnest(%b::bigint[], %b::bytea[], %b::bytea[], %b::bytea[], "
    "%b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bigint[], %b::bytea[], %s::text[]) "
    "ON CONFLICT (tenant, workspace, id) DO UPDATE SET stamp = excluded.stamp, digest = excluded.digest, "
    "tier = excluded.tier, agent = excluded.agent, session = excluded.session, turns = excluded.turns, "
    "begin = excluded.begin, lack = excluded.lack"
)
_KEEP_STAMPS = (
    "UPDATE carrel.index_places p SET stamp = new.stamp "
    "FROM unnest(%b::bigint[], %b::bytea[]) new(id, stamp) "
    "WHERE p.tenant = %s AND p.workspace = %s AND p.id = new.id"
)
_ADD = (
    "INSERT INTO carrel.index_chunks (tenant, workspace, id, place, seq, line, end_line, private, digest, "
    "date, voice, speaker, message_id, labels, headings, tags, text) SELECT %s, %s, * FROM unnest("
    "%b::bigint[], %b::bigint[], %b::integer[], %b::integer[], %b::integer[], %b::boolean[], %b::bytea[], "
    "%b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[])"
)
_MOVE = (
    "UPDATE carrel.index_chunks c SET seq = new.seq, line = new.line, end_line = new.end_line FROM "
    "unnest(%b::bigint[], %b::integer[], %b::integer[], %b::integer[]) new(id, seq, line, end_line) "
    "WHERE c.tenant = %s AND c.workspace = %s AND c.id = new.id"
)
_OWE = (
    "INSERT INTO carrel.index_due (tenant, workspace, part, id, is_fresh) "
    "SELECT DISTINCT c.tenant, c.workspace, span.part, c.id, c.id > %s FROM unnest(%s::text[], "
    "%b::bigint[], %b::integer[], %b::integer[]) span(part, place, first, last) JOIN carrel.index_chunks c "
    "ON c.tenant = %s AND c.workspace = %s AND c.place = span.place "
    "AND c.seq BETWEEN span.first AND span.last ON CONFLICT DO NOTHING"
)
_SPANS = READ.replace("SELECT ", "SELECT span.at, ", 1).replace(
    f" WHERE {OF_CHUNKS}",
    " JOIN unnest(%s::bigint[], %s::integer[], %s::integer[]) WITH ORDINALITY span(place, first, last, at) "
    f"ON c.place = span.place AND c.seq BETWEEN span.first AND span.last WHERE {OF_CHUNKS} "
    "ORDER BY span.at, c.seq",
)
_SETTLE = (
    "UPDATE carrel.index_state SET generation = generation + 1, taken = taken + 1, last_id = %s, "  # noqa: S608 - constants
    f"chunks = chunks + %s WHERE {OWN}"
)


class Outrun(Exception):
    """Another sync changed the places since this one looked at them."""


class _Changes:
    """What a sync did since its transaction began."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.first_id = self.last_id = state.last_id
        self.places: list[tuple[Any, ...]] = []
        self.stamps: list[tuple[int, bytes]] = []
        self.gone_places: list[int] = []
        self.added: list[tuple[Any, ...]] = []
        self.moved: list[tuple[int, int, int, int]] = []
        self.gone: list[int] = []
        self.owed: list[tuple[str, int, int, int]] = []

    @property
    def are_any(self) -> bool:
        """Whether something is to be written."""
        gathered = (self.places, self.stamps, self.gone_places, self.added, self.moved, self.gone, self.owed)
        return any(gathered)

    def number(self) -> int:
        self.last_id += 1
        return self.last_id

    def is_new(self, own: int) -> bool:
        """Tell whether a number was given in this transaction: nothing of it is in the database."""
        return own > self.first_id


class Catalog:
    """The catalog of one workspace, as one sync writes it that has looked at its state."""

    def __init__(self, desk: Desk, state: State | None = None) -> None:
        self.has_written = False
        self._desk = desk
        self._state = state
        self._taken = -1
        self._numbers: dict[str, int] = {}
        self._changes: _Changes | None = None

    @contextmanager
    def held(self) -> Generator[State]:
        """Keep every other writer of this workspace away; an index of an earlier format is forgotten."""
        with self._desk.tenant.transaction():
            rows = self._desk.rows(_HOLD)
            if not rows:
                self._desk.rows(_BEGIN, (FORMAT,))
                rows = self._desk.rows(_HOLD)
            state = state_of(rows[0])
            if state.format > FORMAT:
                raise NewerFormat(Path("index"), state.format)
            if state.format < FORMAT:
                self.clear(state)
                state = state_of(self._desk.rows(_HOLD)[0])
            yield state

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Write all of what follows, or none of it."""
        if self._changes is not None:
            yield
            return
        with self.held() as state:
            if state.taken != self._taken:
                raise Outrun
            self._changes = changes = _Changes(state)
            try:
                yield
            finally:
                self._changes = None
            if changes.are_any:
                self._write(changes)
        if changes.are_any:
            self.has_written = True
            self._taken += 1

    def clear(self, state: State) -> None:
        """Forget all there is, while it is held."""
        self.forget_vectors(state)
        for table in TABLES:
            self._desk.send(f"DELETE FROM carrel.index_{table} WHERE {OWN}")  # noqa: S608 - constants
        self._desk.send(
            "UPDATE carrel.index_state SET (generation, taken, chunks, vectors, embedder, format) = "  # noqa: S608 - constants
            f"(generation + 1, taken + 1, 0, vectors + 1, '', {FORMAT}) WHERE {OWN}"
        )

    def forget_vectors(self, state: State) -> None:
        """Forget all vectors, while it is held."""
        self._desk.send(f"DELETE FROM carrel.index_vectors WHERE {OWN}")  # noqa: S608 - constants
        if state.dimensions:
            Graph(self._desk, state.dimensions).clear()
        sql = f"UPDATE carrel.index_state SET dimensions = 0, is_graphed = false WHERE {OWN}"  # noqa: S608 - constants
        self._desk.send(sql)

    def forget(self) -> int:
        """Have every place read again and every part begun anew; until then what is there can be searched.

        The last segment of words that is there now is returned: with all words written, they have no use.
        """
        with self.held() as state:
            self._desk.send(
                "UPDATE carrel.index_places SET stamp = '', digest = '', turns = 0, begin = '' "  # noqa: S608 - constants
                f"WHERE {OWN}"
            )
            self.owe_all("words")
            self.owe_all("vectors")
            self.advance(state.last_segment, taken=1)
            return state.last_segment

    def advance(self, segment: int, *, taken: int = 0) -> None:
        """Tell others that something changed, and which segment of words is the last."""
        sql = (
            "UPDATE carrel.index_state SET generation = generation + 1, taken = taken + %s, "  # noqa: S608 - constants
            f"last_segment = %s WHERE {OWN}"
        )
        self._desk.tenant.send(sql, (taken, segment, *self._desk.own))

    def owe_all(self, part: Part) -> None:
        """Note that all chunks are due."""
        sql = (
            "INSERT INTO carrel.index_due (tenant, workspace, part, id, is_fresh) SELECT tenant, workspace, "  # noqa: S608 - one of two
            f"'{part}', id, false FROM carrel.index_chunks WHERE {OWN} ON CONFLICT DO NOTHING"
        )
        self._desk.send(sql)

    # Places

    def places(self, only: Iterable[str] | None = None) -> dict[str, Known]:
        """Return what is known of all places, or of some, by path; what is written later builds on it."""
        if self._state is None:
            with self.held() as state:  # it is made, or made anew
                self._state = state
        self._taken = self._state.taken
        if only is None:
            rows = self._desk.rows(_PLACES)
        else:
            rows = self._desk.rows(
                f"{_PLACES} AND key = ANY(%s::bytea[])", ([key_of(each) for each in only],)
            )
        known = [
            Known(
                id=row[0],
                path=path_of(row[1]),
                stamp=text_of(row[2]),
                digest=row[3],
                turns=row[4],
                begin=text_of(row[5]),
                lack=row[6],
            )
            for row in rows
        ]
        self._numbers = {each.path: each.id for each in known}
        return {each.path: each for each in known}

    def keep_place(self, place: Place, digest: bytes, lack: Lack | None = None) -> int:
        """Keep what a place says of itself now, and return its number."""
        changes = self._gathering
        own = self._numbers.get(place.path) or changes.number()
        self._numbers[place.path] = own
        changes.places.append(
            (
                own, key_of(place.path), blob_of(place.path), blob(place.stamp), digest, blob(place.tier),
                blob(place.agent), blob(place.session), place.turns or 0, blob(place.begin), lack or "",
            )
        )  # fmt: skip
        return own

    def keep_stamp(self, known: Known, stamp: str) -> None:
        """Keep a new stamp of a place whose text is what it was."""
        self._gathering.stamps.append((known.id, blob(stamp)))

    def drop_place(self, known: Known) -> None:
        """Forget a place and its chunks."""
        self._gathering.gone_places.append(known.id)

    def lacking(self) -> dict[str, Unsearched]:
        """Return how many places cannot be searched, by what they lack, and the first of them."""
        rows = self._desk.rows(
            "SELECT lack, count(*), (array_agg(path ORDER BY path))[1:5] FROM carrel.index_places "  # noqa: S608 - constants
            f"WHERE {OWN} AND lack <> '' GROUP BY lack"
        )
        return {
            lack: Unsearched(count, tuple(map(path_of, paths[:SHOWN_PATHS]))) for lack, count, paths in rows
        }

    # Chunks

    def lines(self, place: int) -> list[Line]:
        """Return what tells the chunks of a place apart, in their order."""
        if self._gathering.is_new(place):
            return []
        sql = (
            "SELECT id, seq, digest, line, end_line FROM carrel.index_chunks "  # noqa: S608 - constants
            f"WHERE {OWN} AND place = %s ORDER BY seq"
        )
        return [Line(*row) for row in self._desk.rows(sql, (place,))]

    def last(self, place: int) -> int:
        """Return the number of a place's last chunk, 0 where there is none."""
        sql = f"SELECT max(seq) FROM carrel.index_chunks WHERE {OWN} AND place = %s"  # noqa: S608 - constants
        return self._desk.rows(sql, (place,))[0][0] or 0

    def add(self, place: int, seq: int, chunk: Chunk, digest: bytes) -> int:
        """Keep a chunk, and return its id."""
        changes = self._gathering
        own, speaker = changes.number(), blob(chunk.speaker)
        changes.added.append(
            (
                own, place, seq, chunk.line, chunk.end_line, chunk.private, digest, blob(chunk.date),
                speaker[:_VOICE], speaker, blob(chunk.message_id), labels(chunk),
                json_of(chunk.headings).encode(), json_of(chunk.tags).encode(), blob(chunk.text),
            )
        )  # fmt: skip
        return own

    def move(self, line: Line, seq: int, chunk: Chunk) -> None:
        """Keep where a chunk stands now."""
        self._gathering.moved.append((line.id, seq, chunk.line, chunk.end_line))

    def drop(self, chunk: int) -> None:
        """Forget a chunk."""
        self._gathering.gone.append(chunk)

    def spans(self, spans: Iterable[Span]) -> Iterator[Sequence[Stored]]:
        """Yield the chunks of each span, in their order."""
        waiting = iter(spans)
        while some := list(islice(waiting, _SOME_SPANS)):
            found: dict[int, list[Stored]] = {}
            for row in self._desk.tenant.rows(_SPANS, (*_columns(some), *self._desk.own)):
                found.setdefault(row[0], []).append(stored_of(row[1:]))
            yield from (found.get(at, []) for at in range(1, len(some) + 1))

    # What other parts have yet to take in

    def owe(self, part: Part, place: int, first: int, last: int) -> None:
        """Note that the chunks of a place from one number to another are due."""
        self._gathering.owed.append((part, place, first, last))

    def owe_dropped(self, part: Part, chunk: int) -> None:
        """Note nothing: what is gone from the catalog is found in no other part."""

    def due(self, part: Part, limit: int) -> list[Due]:
        """Return the first chunks that are due, each with its place and number there."""
        sql = (
            "SELECT d.id, c.place, c.seq FROM carrel.index_due d JOIN carrel.index_chunks c USING (tenant, "
            "workspace, id) WHERE d.tenant = %s AND d.workspace = %s AND d.part = %s ORDER BY d.id LIMIT %s"
        )
        return [(row[0], row[1], row[2]) for row in self._desk.rows(sql, (part, limit))]

    def waiting(self, part: Part) -> int:
        """Return how many chunks are due."""
        sql = f"SELECT count(*) FROM carrel.index_due WHERE {OWN} AND part = %s"  # noqa: S608 - constants
        return self._desk.rows(sql, (part,))[0][0]

    def settle(self, part: Part, last: int) -> None:
        """Take the notes of the first chunks away, up to one of them: the part holds what they ask for."""
        sql = f"DELETE FROM carrel.index_due WHERE {OWN} AND part = %s AND id <= %s"  # noqa: S608 - constants
        self._desk.send(sql, (part, last))

    @property
    def _gathering(self) -> _Changes:
        assert self._changes is not None, "outside of a transaction"
        return self._changes

    def _write(self, changes: _Changes) -> None:
        send, own = self._desk.tenant.send, self._desk.own
        gone = self._drop(changes)
        if changes.places:
            send(_KEEP_PLACES, (*own, *_columns(changes.places)))
        if changes.stamps:
            send(_KEEP_STAMPS, (*_columns(changes.stamps), *own))
        if changes.moved:
            send(_MOVE, (*_columns(changes.moved), *own))
        if changes.added:
            send(_ADD, (*own, *_columns(changes.added)))
        if changes.owed:
            send(_OWE, (changes.first_id, *_columns(changes.owed), *own))
        send(_SETTLE, (changes.last_id, len(changes.added) - gone, *own))

    def _drop(self, changes: _Changes) -> int:
        """Forget chunks, and places with theirs; return how many chunks that were."""
        if not (changes.gone or changes.gone_places):
            return 0
        wanted = "(id = ANY(%s::bigint[]) OR place = ANY(%s::bigint[]))"
        sql = f"DELETE FROM carrel.index_chunks WHERE {OWN} AND {wanted} RETURNING id"  # noqa: S608 - constants
        ids = [row[0] for row in self._desk.rows(sql, (changes.gone, changes.gone_places))]
        for table in ("due", "vectors"):
            sql = f"DELETE FROM carrel.index_{table} WHERE {OWN} "  # noqa: S608 - constants
            sql += f"AND part = ANY('{{{','.join(PARTS)}}}') " if table == "due" else ""
            self._desk.send(f"{sql}AND id = ANY(%s::bigint[])", (ids,))
        if changes.state.is_graphed:
            Graph(self._desk, changes.state.dimensions).drop(ids)
        if changes.gone_places:
            sql = f"DELETE FROM carrel.index_places WHERE {OWN} AND id = ANY(%s::bigint[])"  # noqa: S608 - constants
            self._desk.send(sql, (changes.gone_places,))
        return len(ids)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(each) for each in zip(*rows, strict=True)]
