"""Keys in SQLite."""

from datetime import datetime

from carrel.records.database import Database
from carrel.records.keys import Key, UnknownKey
from carrel.records.rows.columns import from_moment
from carrel.records.rows.keys import COLUMNS, from_key, to_key
from carrel.records.sqlite.columns import from_text

_COLUMNS = ", ".join(COLUMNS)
_ADD = f"INSERT INTO keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own words
_GET = f"SELECT {_COLUMNS} FROM keys WHERE id = ?"  # noqa: S608 - as above
_ALL = f"SELECT {_COLUMNS} FROM keys ORDER BY created, id"  # noqa: S608 - as above
_REVOKE = f"UPDATE keys SET revoked = coalesce(revoked, ?) WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608


class SqliteKeys:
    """One row for each key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: Key) -> None:
        """Keep a new key."""
        self._database.rows(_ADD, from_key(key, from_text))

    def get(self, key: str) -> Key | None:
        """Return the key with this id."""
        rows = self._database.rows(_GET, (from_text(key),))
        return to_key(rows[0]) if rows else None

    def all(self) -> list[Key]:
        """Return all keys."""
        return [to_key(row) for row in self._database.rows(_ALL)]

    def revoke(self, key: str, *, at: datetime) -> Key:
        """End a key."""
        rows = self._database.rows(_REVOKE, (from_moment(at), from_text(key)))
        if not rows:
            raise UnknownKey(key)
        return to_key(rows[0])
