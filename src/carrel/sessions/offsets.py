"""Where each entry of each log begins: derived from the logs, kept so that none is read whole again.

A log that grew is read from where its last reading ended. One that is not what was read, be it cut, replaced
or edited, is read anew. The file is a cache: lost, it costs one reading of each log.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins

from carrel import plainjson
from carrel.records.database import Database, DatabaseUnavailable, NewerFormat
from carrel.sessions.known import Known

_MIGRATIONS = (
    """
    CREATE TABLE logs (
        path TEXT PRIMARY KEY, version INTEGER NOT NULL, size INTEGER NOT NULL, known TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE entries (
        path TEXT NOT NULL, number INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,
        message_id TEXT NOT NULL,
        PRIMARY KEY (path, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entries_by_id ON entries (path, message_id) WHERE message_id != '';
    """,
)


class Offset(Struct, frozen=True):
    """Where one entry stands in its log; entries count from 1."""

    number: int
    start: int
    size: int
    message_id: str = ""

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.size


class Offsets:
    """The cache of all logs of a workspace; nothing depends on it but time.

    What is kept of a log has a version, which whoever begins it anew makes up: who meets another than their
    own knows that what they kept is gone, and reads the log again.
    """

    def __init__(self, path: Path | None, *, inside: Path | None = None) -> None:
        self._path = path
        self._inside = inside
        self._opened: Database | None = None

    def known(self, path: str) -> tuple[int, Known | None]:
        """Return the version of what is kept of a log, 0 where nothing is, and what is known of it.

        Nothing is known where some of the entries are lost.
        """
        rows = self._rows("SELECT version, known FROM logs WHERE path = ?", (path,))
        if not rows:
            return 0, None
        version, text = rows[0]
        with suppress(ValueError, ValidationError):
            known = convert(plainjson.loads(text), Known)
            kept = self._rows(
                "SELECT count(*) FROM entries WHERE path = ? AND number <= ?", (path, known.entries)
            )
            return version, known if kept[0][0] == known.entries else None
        return version, None

    def entries(self, path: str, first: int, last: int) -> list[Offset]:
        """Return where the entries from one number to another stand."""
        rows = self._rows(
            "SELECT number, start, size, message_id FROM entries WHERE path = ? AND number BETWEEN ? AND ? "
            "ORDER BY number",
            (path, first, last),
        )
        return [Offset(*row) for row in rows]

    def number_of(self, path: str, message_id: str) -> tuple[int, int | None]:
        """Return the version of what is kept of a log, and the number of the entry with this id."""
        rows = self._rows(
            "SELECT (SELECT version FROM logs WHERE path = ?1), "
            "(SELECT number FROM entries WHERE path = ?1 AND message_id = ?2)",
            (path, message_id),
        )
        return rows[0][0] or 0, rows[0][1]

    def version(self, path: str) -> int:
        """Return the version of what is kept of a log, 0 where nothing is."""
        rows = self._rows("SELECT version FROM logs WHERE path = ?", (path,))
        return rows[0][0] if rows else 0

    def keep(self, path: str, known: Known, new: Sequence[Offset], *, version: int, anew: bool) -> int | None:
        """Keep what reading a log has shown, and return the version; `anew` forgets what was known before.

        Where another version is kept than the one given, or the cache cannot be used, nothing is: none.
        """
        try:
            with self._database.transaction():
                return self._keep(path, known, new, version=version, anew=anew)
        except DatabaseUnavailable:
            return None

    def forget(self, path: str) -> None:
        """Forget a log."""
        self.keep(path, Known(), (), version=self.version(path), anew=True)

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _keep(
        self, path: str, known: Known, new: Sequence[Offset], *, version: int, anew: bool
    ) -> int | None:
        rows = self._database.rows("SELECT version, size FROM logs WHERE path = ?", (path,))
        if (rows[0][0] if rows else 0) != version:
            return None
        if anew or not rows:
            self._database.rows("DELETE FROM entries WHERE path = ?", (path,))
            version = int.from_bytes(os.urandom(7)) + 1
        self._database.rows(
            "INSERT OR REPLACE INTO entries SELECT ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3 "
            "FROM json_each(?)",
            (path, plainjson.dumps([(o.number, o.start, o.size, o.message_id) for o in new]).decode()),
        )
        if anew or not rows or known.size >= rows[0][1]:  # one who lags behind keeps only entries
            text = plainjson.dumps(to_builtins(known)).decode()
            self._database.rows(
                "INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?)", (path, version, known.size, text)
            )
        return version

    @property
    def _database(self) -> Database:
        """The file, opened when it is first needed: a session that has no log yet needs none."""
        if self._opened is None:
            try:
                self._opened = Database(self._path, _MIGRATIONS, durable=False, inside=self._inside)
            except (DatabaseUnavailable, NewerFormat):
                self._opened = self._passing()
        return self._opened

    def _rows(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows; a file that turns out to be damaged is opened anew, without what it held."""
        try:
            return self._database.rows(sql, values)
        except DatabaseUnavailable:
            self.close()
        try:
            return self._database.rows(sql, values)
        except DatabaseUnavailable:
            self.close()
            self._opened = self._passing()
            return self._opened.rows(sql, values)

    def _passing(self) -> Database:
        """Return a cache that lasts as long as the process, where none can be kept."""
        return Database(None, _MIGRATIONS, durable=False)
