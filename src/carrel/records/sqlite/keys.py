"""Keys in SQLite."""

from datetime import datetime
from typing import Any

from carrel.records.content import named
from carrel.records.database import Database
from carrel.records.keys import Key, UnknownKey
from carrel.records.sqlite.columns import from_moment, from_text, to_moment, to_text

_COLUMNS = "id, name, digest, reach, scope, created, expires, revoked"
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
        self._database.rows(
            _ADD,
            (
                key.id,
                from_text(named(key.name)),
                key.digest,
                key.right,
                key.scope,
                from_moment(key.created),
                None if key.expires is None else from_moment(key.expires),
                None if key.revoked is None else from_moment(key.revoked),
            ),
        )

    def get(self, key: str) -> Key | None:
        """Return the key with this id."""
        rows = self._database.rows(_GET, (from_text(key),))
        return _key(rows[0]) if rows else None

    def all(self) -> list[Key]:
        """Return all keys."""
        return [_key(row) for row in self._database.rows(_ALL)]

    def revoke(self, key: str, *, at: datetime) -> Key:
        """End a key."""
        rows = self._database.rows(_REVOKE, (from_moment(at), from_text(key)))
        if not rows:
            raise UnknownKey(key)
        return _key(rows[0])


def _key(row: tuple[Any, ...]) -> Key:
    number, name, digest, right, scope, created, expires, revoked = row
    return Key(
        id=to_text(number),
        name=to_text(name),
        digest=digest,
        right=right,
        scope=scope,
        created=to_moment(created),
        expires=None if expires is None else to_moment(expires),
        revoked=None if revoked is None else to_moment(revoked),
    )
