"""Keys in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from datetime import datetime

from carrel.records.keys import Key, UnknownKey
from carrel.records.postgres.columns import OWN, from_text, places, values
from carrel.records.postgres.ledger import Ledger
from carrel.records.rows.columns import from_moment
from carrel.records.rows.keys import COLUMNS, from_key, to_key

_COLUMNS = ", ".join(COLUMNS)
_ADD = f"""
    INSERT INTO carrel.keys (tenant, workspace, {_COLUMNS})
    VALUES (%(tenant)s, %(workspace)s, {places(COLUMNS)})
    """
_GET = f"SELECT {_COLUMNS} FROM carrel.keys WHERE {OWN} AND id = %(id)s"
_ALL = f"SELECT {_COLUMNS} FROM carrel.keys WHERE {OWN} ORDER BY created, id"
_REVOKE = f"""
    UPDATE carrel.keys SET revoked = coalesce(revoked, %(at)s) WHERE {OWN} AND id = %(id)s
    RETURNING {_COLUMNS}
    """


class PostgresKeys:
    """One row for each key."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, key: Key) -> None:
        """Keep a new key."""
        self._ledger.rows(_ADD, **values(COLUMNS, from_key(key, from_text)))

    def get(self, key: str) -> Key | None:
        """Return the key with this id."""
        rows = self._ledger.rows(_GET, id=from_text(key))
        return to_key(rows[0]) if rows else None

    def all(self) -> list[Key]:
        """Return all keys."""
        return [to_key(row) for row in self._ledger.rows(_ALL)]

    def revoke(self, key: str, *, at: datetime) -> Key:
        """End a key."""
        rows = self._ledger.repeatable(_REVOKE, id=from_text(key), at=from_moment(at))
        if not rows:
            raise UnknownKey(key)
        return to_key(rows[0])
