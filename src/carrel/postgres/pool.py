"""Connections to one database: few, kept while they work, and never handed out broken."""

import logging
import os
import select
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Lock, Semaphore
from typing import Any, TypeVar
from weakref import finalize

import psycopg
from msgspec import Struct
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from carrel.errors import UsageError
from carrel.postgres.failures import PostgresUnavailable, told

Cursor = psycopg.Cursor[tuple[Any, ...]]
_Made = TypeVar("_Made")

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # it is told as an error, not on the terminal

_WAIT_SECONDS = 10.0
"""How long to wait for another thread to give a connection back, or for a lost one's end."""

_IDLE_SECONDS = 300.0
"""A connection that nobody used for so long is not kept: a firewall may have dropped it without a word."""

_LINK: dict[str, str | int] = {
    "connect_timeout": 5,
    "keepalives_idle": 3,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 6_000,
    "application_name": "carrel",
}
"""What makes a dead link known within seconds instead of hours; the URL may say otherwise."""

_END = (
    "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity"
    " WHERE pid = ANY(%s) AND usename = current_user"
    " AND application_name = current_setting('application_name')"
)
"""Ends what served connections that were lost; who has the same number since then looks otherwise."""


class BadDatabaseUrl(UsageError):
    """The address of the database cannot be understood; it is not shown, since it may hold a password."""

    code = "bad_database_url"

    def __init__(self) -> None:
        super().__init__(
            "The address of the database cannot be understood.",
            hint="Write it as postgresql://USER:PASSWORD@HOST:5432/DATABASE.",
        )


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that waits for an answer only as long as its patience lasts, then it is of no more use.

    The server's own timeouts come first; this one is for a server, or something before it, that is frozen.
    """

    patience: float | None = None

    def wait(self, gen: PQGen[_Made], interval: float = 0.1, timeout: float | None = None) -> _Made:
        """Go on with what waits for the server."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None:
                self.pgconn.finish()
            raise


class _Kept(Struct):
    """A connection, who serves it at the other end, and since when nobody uses it."""

    connection: Connection
    server: int
    since: float = 0.0


class Pool:
    """At most `size` connections; made when they are needed, by whoever needs one.

    There is no thread that repairs them: a broken one is found when it is taken, by a look at its socket
    that costs no round trip, and replaced then. So the first call after the link's return succeeds.
    """

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._free = Semaphore(size)
        self._lock = Lock()
        self._idle: list[_Kept] = []
        self._orphans: list[int] = []
        self._is_closed = False
        self._process = os.getpid()
        self._end = finalize(self, _close, self._idle, self._process)

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Lend a working connection that is in no transaction; it comes back only in the same state."""
        if self._process != os.getpid():
            raise PostgresUnavailable("forked")
        if not self._free.acquire(timeout=_WAIT_SECONDS):
            raise PostgresUnavailable("crowded")
        try:
            kept = self._taken() or self._made()
            try:
                yield kept.connection
            except PostgresUnavailable as error:
                if error.reason == "read_only":
                    self._forget(kept)
                raise
            finally:
                self._give_back(kept)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close what is idle; what is in use closes when it is given back."""
        with self._lock:
            self._is_closed = True
            self._end()

    def _taken(self) -> _Kept | None:
        """Return the connection that was used last, if one is left that works."""
        while True:
            with self._lock:
                if self._is_closed:
                    raise PostgresUnavailable("closed")
                if not self._idle:
                    return None
                kept = self._idle.pop()
            if time.monotonic() - kept.since < _IDLE_SECONDS and _works(kept.connection):
                return kept
            kept.connection.close()

    def _made(self) -> _Kept:
        """Open a connection; what a lost one left running is ended first, and changes nothing later."""
        connection = connect(self._url)
        connection.patience = _WAIT_SECONDS
        with told("down"):
            server = connection.info.backend_pid
            with self._lock:
                orphans, self._orphans = self._orphans, []
            try:
                if orphans:
                    connection.execute(_END, [orphans])
            except psycopg.Error as error:
                if not connection.broken:  # a pooler, or a server that forbids it: then its timeouts do
                    return _Kept(connection, server)
                with self._lock:
                    self._orphans += orphans
                raise error.with_traceback(None) from None
        return _Kept(connection, server)

    def _forget(self, kept: _Kept) -> None:
        """Keep no connection to a server that is no longer, or not yet, the one that takes changes."""
        with self._lock:
            _close(self._idle, self._process)
        kept.connection.close()

    def _give_back(self, kept: _Kept) -> None:
        status = kept.connection.info.transaction_status
        kept.since = time.monotonic()
        with self._lock:
            if status == TransactionStatus.IDLE and not self._is_closed:
                self._idle.append(kept)
                return
            if status in (TransactionStatus.UNKNOWN, TransactionStatus.ACTIVE):
                self._orphans.append(kept.server)
                _close(self._idle, self._process)  # what cut this link off may have cut off theirs
        kept.connection.close()


def _close(idle: list[_Kept], process: int) -> None:
    """Close idle connections, at the latest when the process ends; those of a parent process are its own."""
    while idle and process == os.getpid():
        idle.pop().connection.close()


def valid_url(url: str) -> str:
    """Return the address of a database with what we add to it, if it is one."""
    if "\0" in url:  # what follows would be left out without a word
        raise BadDatabaseUrl
    try:
        own = conninfo_to_dict(url)
        return make_conninfo(url, **{key: value for key, value in _LINK.items() if key not in own})
    except (psycopg.Error, UnicodeError, ValueError):
        raise BadDatabaseUrl from None


def connect(url: str) -> Connection:
    """Open a connection that commits each statement, unless one says BEGIN."""
    with told("down"):
        return Connection.connect(url, autocommit=True)


def _works(connection: Connection) -> bool:
    """Tell, without asking the server, whether a connection is still open at both ends.

    A server says nothing to one that is idle, but that it is going away.
    """
    with suppress(psycopg.Error, OSError, ValueError):
        heard = select.poll()
        heard.register(connection.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
        return not heard.poll(0)
    return False
