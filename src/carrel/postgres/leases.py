"""What one process at a time does in a database, though many could: kept for as long as its link lasts."""

from contextlib import suppress
from hashlib import sha256
from threading import Lock

import psycopg

from carrel.postgres.database import Postgres
from carrel.postgres.failures import told
from carrel.postgres.pool import Connection

_SPACE = 0x6361
"""The first half of the keys of our locks, so that they are nobody else's."""


class Leases:
    """Leases by name, all on one connection of their own.

    When the process dies, or its link, the server lets go of them, and the next who asks has them. So whoever
    has one asks again before each piece of work, and lets a piece be one that may be done twice.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self._lock = Lock()
        self._connection: Connection | None = None
        self._held: set[str] = set()

    def holds(self, name: str) -> bool:
        """Take a lease unless another process has it; tell whether it is ours now."""
        with self._lock, told("lost"):
            connection = self._opened()
            try:
                # A lock that was taken lasts as long as the connection: it is enough that this one answers.
                is_ours = _take(connection, name) if name not in self._held else _answers(connection)
            except psycopg.Error:
                self._drop()
                raise
            (self._held.add if is_ours else self._held.discard)(name)
            return is_ours

    def close(self) -> None:
        """Let go of all leases."""
        with self._lock:
            self._drop()

    def _opened(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._held.clear()
            self._connection = self._database.connection()
        return self._connection

    def _drop(self) -> None:
        self._held.clear()
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


def _take(connection: Connection, name: str) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [_SPACE, _key(name)]).fetchone()
    return row is not None and bool(row[0])


def _answers(connection: Connection) -> bool:
    return connection.execute("SELECT 1").fetchone() is not None


def _key(name: str) -> int:
    """Return the second half of a key, which has 32 bits and a sign."""
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], "big", signed=True)
