"""Where each entry of each log begins: derived from the logs, kept so that none is read whole again.

A log that grew is read from where its last reading ended. One that is not what was read, be it cut, replaced
or edited, is read anew. The file is a cache: lost, it costs one reading of each log.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, ValidationError, json

from carrel.records.database import Database, DatabaseUnavailable, NewerFormat

_MIGRATIONS = (
    """
    CREATE TABLE logs (path TEXT PRIMARY KEY, known TEXT NOT NULL) STRICT, WITHOUT ROWID;
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


class Known(Struct, frozen=True, kw_only=True):
    """What reading a log has shown so far: how far it was read, and what a list of sessions tells of it."""

    identity: str = ""
    size: int = 0
    """Up to where whole lines were read."""
    ending: str = ""
    """A digest of the last bytes read, by which a log is recognised."""
    entries: int = 0
    header: dict[str, object] | None = None
    first: str = ""
    last: str = ""
    title: str = ""
    opening: str = ""
    """A title made from what the user said first."""
    summary: str = ""
    source: str = ""
    compacted: tuple[int, int, int] | None = None
    """The last entry that a summary stands for, and where the line with that summary is."""
    damaged: int = 0
    duplicates: int = 0
    foreign: int = 0
    newer: int = 0
    """The version of a header that a later Carrel wrote."""


class Offsets:
    """The cache of all logs of a workspace; nothing depends on it but time."""

    def __init__(self, path: Path | None, *, inside: Path | None = None) -> None:
        self._path = path
        self._inside = inside
        self._opened: Database | None = None

    def known(self, path: str) -> Known | None:
        """Return what is known of a log, none where it was never read."""
        rows = self._rows("SELECT known FROM logs WHERE path = ?", (path,))
        if rows:
            with suppress(DecodeError, ValidationError):
                return json.decode(rows[0][0], type=Known)
        return None

    def entries(self, path: str, first: int, last: int) -> list[Offset]:
        """Return where the entries from one number to another stand."""
        rows = self._rows(
            "SELECT number, start, size, message_id FROM entries WHERE path = ? AND number BETWEEN ? AND ? "
            "ORDER BY number",
            (path, first, last),
        )
        return [Offset(*row) for row in rows]

    def number_of(self, path: str, message_id: str) -> int | None:
        """Return the number of the entry with this id."""
        rows = self._rows("SELECT number FROM entries WHERE path = ? AND message_id = ?", (path, message_id))
        return rows[0][0] if rows else None

    def keep(self, path: str, known: Known, new: Sequence[Offset], *, anew: bool) -> None:
        """Keep what reading a log has shown; `anew` forgets what was known before."""
        # Somebody else may have kept the same entries meanwhile, or the disk may be full: it is a cache.
        with suppress(DatabaseUnavailable, UnicodeEncodeError), self._database.transaction():
            if anew:
                self._database.rows("DELETE FROM entries WHERE path = ?", (path,))
            for each in new:
                self._database.rows(
                    "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)",
                    (path, each.number, each.start, each.size, each.message_id),
                )
            self._database.rows(
                "INSERT OR REPLACE INTO logs VALUES (?, ?)", (path, json.encode(known).decode())
            )

    def forget(self, path: str) -> None:
        """Forget a log."""
        self.keep(path, Known(), (), anew=True)

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _database(self) -> Database:
        """The file, opened when it is first needed: a session that has no log yet needs none."""
        if self._opened is None:
            try:
                self._opened = Database(self._path, _MIGRATIONS, durable=False, inside=self._inside)
            except (DatabaseUnavailable, NewerFormat):  # what cannot be kept lasts as long as the process
                self._opened = Database(None, _MIGRATIONS, durable=False)
        return self._opened

    def _rows(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._database.rows(sql, values)
        except DatabaseUnavailable:
            self.close()
            return self._database.rows(sql, values)
