"""A bell that all servers of a database hear: it tells that something happened, and never what.

Whoever hears it looks for themselves, through their own tenant's door. A bell that was not heard, over a link
that was lost for instance, is made up for by the look that follows every new link.
"""

import logging
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from threading import Event, Lock

import psycopg

from carrel.errors import CarrelError
from carrel.postgres.database import Postgres
from carrel.postgres.failures import told
from carrel.postgres.pool import Connection

CHANNEL = "carrel"
ANY = ""
"""What is heard when anything may have happened."""

_STEP = 1.0
_AGAIN = 2.0
_LOG = logging.getLogger("carrel.bell")

Heard = Callable[[str], object]
"""Is told the mark of what something happened to, or `ANY`."""


class Bell:
    """Rings and listens, each over a connection of its own."""

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self._lock = Lock()
        self._rope: Connection | None = None

    def ring(self, name: str) -> None:
        """Tell all who listen that something happened to this; they may be told twice."""
        with self._lock, told("lost"):
            try:
                self._pull(name)
            except psycopg.OperationalError:  # the link was lost since the last ring, and nobody noticed
                self._drop()
                self._pull(name)

    def listen(self, heard: Heard, stopping: Event) -> None:
        """Tell of every ring until it is time to stop; a link that is lost is made again."""
        while not stopping.is_set():
            try:
                self._listen(heard, stopping)
            except CarrelError:  # who listens has nobody to tell, and goes on by looking
                stopping.wait(_AGAIN)

    def close(self) -> None:
        """Ring no more."""
        with self._lock:
            self._drop()

    def _pull(self, name: str) -> None:
        if self._rope is None or self._rope.closed:
            self._rope = self._database.connection()
        self._rope.execute("SELECT pg_notify(%s, %s)", [CHANNEL, mark(name)])

    def _drop(self) -> None:
        if self._rope is not None:
            with suppress(psycopg.Error):
                self._rope.close()
        self._rope = None

    def _listen(self, heard: Heard, stopping: Event) -> None:
        with told("lost"), closing(self._database.connection()) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            _tell(heard, ANY)
            while not stopping.is_set():
                for notice in connection.notifies(timeout=_STEP):
                    _tell(heard, notice.payload)


def _tell(heard: Heard, sign: str) -> None:
    """Tell a listener; one that fails hears the next ring all the same."""
    try:
        heard(sign)
    except Exception as error:  # noqa: BLE001 - what it heard says nothing, and its error may say too much
        _LOG.error("a listener failed: %s", type(error).__name__)


def mark(name: str) -> str:
    """Return what stands for a name where others can listen: it tells them nothing."""
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
