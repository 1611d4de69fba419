"""A database as one process uses it: its connections, its tenants, and its schema."""

from threading import Lock
from weakref import WeakValueDictionary

from carrel.postgres.migrations import migrate, pending
from carrel.postgres.pool import Connection, Pool, connect, valid_url
from carrel.postgres.tenant import Tenant

_PATIENCE_SECONDS = 10.0
"""How long such a connection waits for an answer; a server that is frozen must not freeze whoever asks it."""


class Postgres:
    """One database; threads may share it, a forked process may not.

    Nothing is opened before the first statement, so a database that is down is noticed then.
    """

    def __init__(self, url: str, *, size: int = 8) -> None:
        self._url = valid_url(url)
        self._pool = Pool(self._url, size)
        self._lock = Lock()
        self._tenants: WeakValueDictionary[str, Tenant] = WeakValueDictionary()

    def tenant(self, name: str) -> Tenant:
        """Return the door to one tenant's rows, the same for everybody in this process."""
        with self._lock:
            tenant = self._tenants.get(name)
            if tenant is None:
                tenant = self._tenants[name] = Tenant(self._pool, name)
            return tenant

    def migrate(self) -> tuple[str, ...]:
        """Bring the schema up to date and return the names of the steps that were done now.

        Each step is a transaction, taken by one process at a time: it may be run twice, by several at
        once, be killed anywhere, and run while older processes read and write.
        """
        return migrate(self._url)

    def pending(self) -> tuple[str, ...]:
        """Return the names of the steps that `migrate` would do now."""
        return pending(self._url)

    def connection(self) -> Connection:
        """Open a connection of the caller's own, for what belongs to a connection: locks, and listening."""
        connection = connect(self._url)
        connection.patience = _PATIENCE_SECONDS
        return connection

    def close(self) -> None:
        """Close the connections; nothing is lost, every commit is already in the database."""
        self._pool.close()
