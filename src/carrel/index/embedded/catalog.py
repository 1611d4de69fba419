"""The catalog: every chunk and where it stands, and what the other parts of the index have yet to take in.

It is the one part that the others are made from. A change is written here first, in one transaction with a
note for each other part of which chunks are due; whoever has written them takes the note away. So a crash in
between leaves the note, and the next one to open the index goes on from there.
"""

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import DatabaseUnavailable
from carrel.index import Unsearched
from carrel.index.catalog import FORMAT, PARTS, SHOWN_PATHS, Due, Known, Line, Part, Passage, Span, Stored
from carrel.index.cells import blob_of, clean, json_of, path_of
from carrel.index.chunk import Chunk
from carrel.index.embedded.kept import Kept, Stand
from carrel.index.embedded.schema import MIGRATIONS
from carrel.index.embedded.values import known_of, marks, padded, stored_of
from carrel.index.entry import code_of, stands_at
from carrel.index.source import Lack, Place
from carrel.records.database import Database, NewerFormat

_COLUMNS = (
    "c.id, c.place, c.seq, p.path, c.line, c.end_line, c.text, p.tier, c.headings, p.agent, c.private, "
    "c.date, c.speaker, p.session, c.message_id, c.tags"
)
_JOINED = "chunks c JOIN places p ON p.id = c.place"
_READ = f"SELECT {_COLUMNS} FROM {_JOINED}"  # noqa: S608 - constants
_STANDS = (
    "SELECT c.id, c.place, c.seq, p.tier, c.speaker FROM chunks c INDEXED BY chunks_standing "
    "JOIN places p ON p.id = c.place"
)
_VERSION = ("PRAGMA data_version", "SELECT total_changes()")
_KNOWN = "SELECT id, path, stamp, digest, turns, begin, lack FROM places"
_AT_ONCE = 512


class State(Struct, frozen=True):
    """How often the index changed, what its parts are called, and who made its vectors.

    A part that is begun anew gets another name, so that nothing stale is ever taken for it.
    """

    generation: int
    words: str
    vectors: str
    embedder: str


class Catalog:
    """The chunks in a database; no path means in memory.

    What was read is kept until it is written to here, or until `state` sees that others did.
    """

    def __init__(self, path: Path | None, *, inside: Path | None = None) -> None:
        self._database = Database(path, MIGRATIONS, durable=False, inside=inside)
        self._kept = Kept()
        self._state: State | None = None
        self._was_damaged = False
        try:
            self._begin(path)
        except (TypeError, DatabaseUnavailable):  # what it says of itself, nobody wrote
            self._was_damaged = self._database.was_damaged or self.is_spoilt()
            if not self._was_damaged:
                raise
            self._database = Database(path, MIGRATIONS, durable=False, inside=inside)
            self._begin(path)

    @property
    def was_damaged(self) -> bool:
        """Whether a damaged file was set aside; who opens it next begins anew."""
        return self._was_damaged or self._database.was_damaged

    def is_spoilt(self) -> bool:
        """Look at all of it, and tell whether it is damaged; if so, it is set aside."""
        try:
            self._database.check()
        except DatabaseUnavailable:
            return True
        return False

    def condemn(self) -> None:
        """Set it aside: it holds what nobody wrote."""
        self._database.condemn()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Write all of what follows, or none of it."""
        try:
            with self._database.transaction():
                yield
        except BaseException:
            self._let_go()
            raise

    def state(self) -> State:
        """Return how often the index changed, and what its parts are called, as others left it by now."""
        if (seen := self._database.rows(_VERSION[0])[0][0]) != self._kept.seen:
            self._let_go()
            self._kept.seen = seen
        if self._state is None:
            rows = self._database.rows("SELECT generation, words, vectors, embedder FROM state")
            self._state = State(*rows[0])
        return self._state

    def _let_go(self) -> None:
        self._kept.let_go()
        self._state = None

    def version(self) -> tuple[int, int]:
        """Return what is another one after every change here, whoever made it."""
        by_others, by_us = (self._database.rows(sql)[0][0] for sql in _VERSION)
        return by_others, by_us

    def advance(self) -> None:
        """Tell others that something changed."""
        self._state = None
        self._database.rows("UPDATE state SET generation = generation + 1")

    def clear(self) -> None:
        """Forget all there is, and have every part begun anew."""
        with self.transaction():
            self._let_go()
            for table in ("places", "chunks"):
                self._database.rows(f"DELETE FROM {table}")  # noqa: S608 - one of these
            self._database.rows("UPDATE state SET format = ?", (FORMAT,))
            for part in PARTS:
                self.renew(part)

    def forget(self) -> None:
        """Have every place read again and every part begun anew; until then what is there can be searched."""
        with self.transaction():
            self._let_go()
            self._database.rows("UPDATE places SET stamp = '', digest = x'', turns = 0, begin = ''")
            for part in PARTS:
                self.renew(part)

    def renew(self, part: Part, embedder: str = "") -> None:
        """Have a part written from the beginning, under another name; vectors may be another embedder's."""
        with self.transaction():
            self._database.rows(f"DELETE FROM {part}_due")  # noqa: S608 - one of two
            self._database.rows(f"INSERT INTO {part}_due SELECT id FROM chunks")  # noqa: S608 - one of two
            self._database.rows(f"UPDATE state SET {part} = ?", (_new_name(),))  # noqa: S608 - one of two
            if part == "vectors":
                self._database.rows("UPDATE state SET embedder = ?", (embedder,))
            self.advance()

    # Places

    def places(self, only: Iterable[str] | None = None) -> dict[str, Known]:
        """Return what is known of all places, or of some, by path."""
        if only is None:
            if self._kept.places is None:
                self._kept.places = known_of(self._database.rows(_KNOWN))
            return dict(self._kept.places)
        if self._kept.places is not None:
            return {path: known for path in only if (known := self._kept.places.get(path))}
        one = f"{_KNOWN} WHERE path = ?"
        return known_of(row for path in only for row in self._database.rows(one, (blob_of(path),)))

    def keep_place(self, place: Place, digest: bytes, lack: Lack | None = None) -> int:
        """Keep what a place says of itself now, and return its number."""
        values = (
            blob_of(place.path), clean(place.stamp), digest, clean(place.tier), clean(place.agent),
            clean(place.session), place.turns or 0, clean(place.begin), lack or "",
        )  # fmt: skip
        rows = self._database.rows(
            "INSERT INTO places (path, stamp, digest, tier, agent, session, turns, begin, lack) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET stamp = excluded.stamp, "
            "digest = excluded.digest, tier = excluded.tier, agent = excluded.agent, "
            "session = excluded.session, turns = excluded.turns, begin = excluded.begin, "
            "lack = excluded.lack RETURNING id, path, stamp, digest, turns, begin, lack",
            values,
        )
        if self._kept.places is not None:
            self._kept.places.update(known_of(rows))
        return rows[0][0]

    def keep_stamp(self, known: Known, stamp: str) -> None:
        """Keep a new stamp of a place whose text is what it was."""
        self._database.rows("UPDATE places SET stamp = ? WHERE id = ?", (clean(stamp), known.id))
        if self._kept.places is not None:
            self._kept.places[known.path] = replace(known, stamp=clean(stamp))

    def lacking(self) -> dict[str, Unsearched]:
        """Return how many places cannot be searched, by what they lack, and the first of them."""
        counts = self._database.rows("SELECT lack, count(*) FROM places WHERE lack != '' GROUP BY lack")
        first = "SELECT path FROM places WHERE lack = ? AND lack != '' ORDER BY path LIMIT ?"
        return {
            lack: Unsearched(
                count, tuple(path_of(row[0]) for row in self._database.rows(first, (lack, SHOWN_PATHS)))
            )
            for lack, count in counts
        }

    def drop_place(self, known: Known) -> None:
        """Forget a place and its chunks."""
        self._let_go()
        for part in PARTS:
            self._database.rows(
                f"INSERT OR IGNORE INTO {part}_due SELECT id FROM chunks WHERE place = ?",  # noqa: S608 - one of two
                (known.id,),
            )
        self._database.rows("DELETE FROM chunks WHERE place = ?", (known.id,))
        self._database.rows("DELETE FROM places WHERE id = ?", (known.id,))

    # Chunks

    def lines(self, place: int) -> list[Line]:
        """Return what tells the chunks of a place apart, in their order."""
        sql = "SELECT id, seq, digest, line, end_line FROM chunks WHERE place = ? ORDER BY seq"
        return [Line(*row) for row in self._database.rows(sql, (place,))]

    def last(self, place: int) -> int:
        """Return the number of a place's last chunk, 0 where there is none."""
        return self._database.rows("SELECT max(seq) FROM chunks WHERE place = ?", (place,))[0][0] or 0

    def add(self, place: int, seq: int, chunk: Chunk, digest: bytes) -> int:
        """Keep a chunk, and return its id."""
        values = (
            place, seq, digest, chunk.line, chunk.end_line, clean(chunk.text),
            json_of(chunk.headings), int(chunk.private), clean(chunk.date), clean(chunk.speaker),
            clean(chunk.message_id), json_of(chunk.tags),
        )  # fmt: skip
        rows = self._database.rows(
            "INSERT INTO chunks (place, seq, digest, line, end_line, text, headings, private, date, speaker, "
            "message_id, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            values,
        )
        return rows[0][0]

    def move(self, line: Line, seq: int, chunk: Chunk) -> None:
        """Keep where a chunk stands now."""
        self._kept.let_go(of_places=False)
        self._database.rows(
            "UPDATE chunks SET seq = ?, line = ?, end_line = ? WHERE id = ?",
            (seq, chunk.line, chunk.end_line, line.id),
        )

    def drop(self, chunk: int) -> None:
        """Forget a chunk."""
        self._kept.let_go(of_places=False)
        self._database.rows("DELETE FROM chunks WHERE id = ?", (chunk,))

    def chunks(self, ids: Sequence[int]) -> dict[int, Stored]:
        """Return chunks by id; those that are gone are left out."""
        return self._kept.chunks_of(ids, self._read_chunks)

    def _read_chunks(self, ids: Sequence[int]) -> dict[int, Stored]:
        return {row[0]: stored_of(row) for row in self._by_id(_READ, ids)}

    def _by_id(self, sql: str, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of some chunks; few lengths of lists are asked for, so that few are to be parsed."""
        for begin in range(0, len(ids), _AT_ONCE):
            some = padded(ids[begin : begin + _AT_ONCE])
            yield from self._database.rows(f"{sql} WHERE c.id IN ({marks(some)})", some)

    def spans(self, spans: Iterable[Span]) -> Iterator[Sequence[Stored]]:
        """Yield the chunks of each span, in their order."""
        sql = f"{_READ} WHERE c.place = ? AND c.seq BETWEEN ? AND ? ORDER BY c.seq"
        return ([stored_of(row) for row in self._database.rows(sql, span)] for span in spans)

    def matching(self, condition: str, values: Sequence[Any]) -> Iterator[Stored]:
        """Yield the chunks for which a condition of `filters` holds, by path and in their order."""
        sql = f"{_READ} WHERE {condition} ORDER BY p.path, c.seq"
        return map(stored_of, self._database.rows(sql, values))

    def places_with(self, condition: str, values: Sequence[Any]) -> list[tuple[int, bool]]:
        """Return the places for which a condition of `filters` holds, by path, and which are sessions."""
        sql = f"SELECT p.id, p.session != '' FROM places p WHERE {condition} ORDER BY p.path"  # noqa: S608 - values are bound
        return [(row[0], bool(row[1])) for row in self._database.rows(sql, values)]

    def passages(self, place: int, condition: str, values: Sequence[Any]) -> Sequence[Passage]:
        """Return the chunks of a place for which a condition of `filters` holds, in their order."""
        wanted = "c.id, c.line, c.text"
        sql = f"SELECT {wanted} FROM chunks c WHERE c.place = ? AND {condition} ORDER BY c.seq"  # noqa: S608 - the values are bound
        return cast("list[Passage]", self._database.rows(sql, (place, *values)))

    def ids(self, condition: str, values: Sequence[Any]) -> list[int]:
        """Return the ids of the chunks for which a condition of `filters` holds."""
        sql = f"SELECT c.id FROM {_JOINED} WHERE {condition}"  # noqa: S608 - the values are bound
        return [row[0] for row in self._database.rows(sql, values)]

    @property
    def is_empty(self) -> bool:
        """Whether it knows of no place at all."""
        return not self.has_place_beside("0", ())

    def has_place_beside(self, condition: str, values: Sequence[Any]) -> bool:
        """Tell whether there is a place for which a condition of `filters` on places does not hold."""
        sql = f"SELECT EXISTS (SELECT 1 FROM places p WHERE NOT ({condition}))"  # noqa: S608 - the values are bound
        return bool(self._database.rows(sql, values)[0][0])

    def stands(self, ids: Sequence[int]) -> dict[int, Stand]:
        """Return where some chunks stand, and who speaks in them; those that are gone are left out."""
        return self._kept.stands_of(ids, self._read_stands)

    def _read_stands(self, ids: Sequence[int]) -> dict[int, Stand]:
        return {
            own: (stands_at(place, seq, tier), code_of(speaker) if speaker else 0)
            for own, place, seq, tier, speaker in self._by_id(_STANDS, ids)
        }

    def at(self, path: str, first: int, last: int) -> list[Stored]:
        """Return the chunks of a document that have some of these lines."""
        sql = f"{_READ} WHERE p.path = ? AND c.line <= ? AND c.end_line >= ? ORDER BY c.seq"
        return [stored_of(row) for row in self._database.rows(sql, (blob_of(path), last, first))]

    def speakers(self, *, shared: bool) -> list[str]:
        """Return all who ever spoke, or those of whom everybody may know.

        From each one to the next: DISTINCT would look at all that they said.
        """
        after = "SELECT min(speaker) FROM chunks WHERE speaker != '' AND speaker > name AND private <= ?"
        sql = (
            f"WITH RECURSIVE who(name) AS (VALUES ('') UNION ALL SELECT ({after}) FROM who "  # noqa: S608 - constants
            "WHERE name IS NOT NULL) SELECT name FROM who WHERE name != ''"
        )
        return [row[0] for row in self._database.rows(sql, (0 if shared else 1,))]

    def count(self) -> tuple[int, int]:
        """Return how many places and chunks can be searched."""
        rows = self._database.rows(
            "SELECT (SELECT count(*) FROM places WHERE lack = ''), (SELECT count(*) FROM chunks)"
        )
        return rows[0][0], rows[0][1]

    # What other parts have yet to take in

    def owe(self, part: Part, place: int, first: int, last: int) -> None:
        """Note that the chunks of a place from one number to another are due."""
        self._database.rows(
            f"INSERT OR IGNORE INTO {part}_due SELECT id FROM chunks WHERE place = ? AND seq BETWEEN ? AND ?",  # noqa: S608
            (place, first, last),
        )

    def owe_dropped(self, part: Part, chunk: int) -> None:
        """Note that a part has to forget a chunk."""
        self._database.rows(f"INSERT OR IGNORE INTO {part}_due VALUES (?)", (chunk,))  # noqa: S608 - one of two

    def due(self, part: Part, limit: int) -> list[Due]:
        """Return the first chunks that are due, each with its place and number there, 0 where it is gone."""
        sql = (
            f"SELECT d.id, coalesce(c.place, 0), coalesce(c.seq, 0) FROM {part}_due d "  # noqa: S608 - one of two
            "LEFT JOIN chunks c ON c.id = d.id ORDER BY 1 LIMIT ?"
        )
        return [(row[0], row[1], row[2]) for row in self._database.rows(sql, (limit,))]

    def waiting(self, part: Part) -> int:
        """Return how many chunks are due."""
        return self._database.rows(f"SELECT count(*) FROM {part}_due")[0][0]  # noqa: S608 - one of two

    def settle(self, part: Part, last: int) -> None:
        """Take the notes of the first chunks away, up to one of them: the part holds what they ask for."""
        with self.transaction():
            self._database.rows(f"DELETE FROM {part}_due WHERE id <= ?", (last,))  # noqa: S608 - one of two
            self.advance()

    def settle_some(self, part: Part, ids: Sequence[int]) -> None:
        """Take the notes of these chunks away, and of no other that was noted meanwhile."""
        with self.transaction():
            for begin in range(0, len(ids), _AT_ONCE):
                some = ids[begin : begin + _AT_ONCE]
                self._database.rows(f"DELETE FROM {part}_due WHERE id IN ({marks(some)})", some)  # noqa: S608
            self.advance()

    def lag(self, part: Part) -> int:
        """Return how many of the chunks there are a part has yet to take in."""
        # CROSS: what is due is looked up among the chunks, and not each chunk among what is due.
        sql = f"SELECT count(*) FROM {part}_due d CROSS JOIN chunks c ON c.id = d.id"  # noqa: S608 - one of two
        return self._database.rows(sql)[0][0]

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _begin(self, path: Path | None) -> None:
        rows = self._database.rows("SELECT format FROM state")
        if rows and rows[0][0] > FORMAT:
            self._database.close()
            raise NewerFormat(path or Path("catalog"), rows[0][0])
        if not rows:
            self._database.rows(
                "INSERT OR IGNORE INTO state VALUES (1, ?, 0, ?, ?, '')", (FORMAT, _new_name(), _new_name())
            )
        elif rows[0][0] < FORMAT:
            self.clear()


def _new_name() -> str:
    return os.urandom(8).hex()
