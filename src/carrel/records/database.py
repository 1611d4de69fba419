"""A SQLite file with a version, opened the way several processes can share it."""

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import apsw

from carrel.errors import Unavailable

BUSY_MILLISECONDS = 5_000
_DAMAGE = (apsw.CorruptError, apsw.NotADBError)


class _Connection(Protocol):
    """What is used of apsw's connection, whose own types are incomplete."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Iterable[tuple[Any, ...]]: ...
    def set_busy_timeout(self, milliseconds: int, /) -> None: ...
    def close(self) -> None: ...


class DatabaseUnavailable(Unavailable):
    """The database file cannot be opened or used."""

    code = "database_unavailable"


class NewerFormat(Unavailable):
    """A later Carrel wrote this file; an earlier one leaves it alone."""

    code = "newer_format"

    def __init__(self, path: Path, version: int) -> None:
        super().__init__(
            f"{path.name} was written by a newer Carrel (format {version})",
            hint="Upgrade Carrel; the file was not touched.",
        )


class Database:
    """One connection to one file; `migrations[n]` takes the schema from version n to n + 1.

    `durable` keeps every commit over a power cut; without it the file is a cache: it may lose the
    last commits, and when damaged it is set aside and begun anew. No path means in memory.
    """

    def __init__(self, path: Path | None, migrations: Sequence[str], *, durable: bool) -> None:
        self.path = path
        self._migrations = migrations
        self._durable = durable
        try:
            self._connection = self._open()
        except _DAMAGE as error:
            if durable or path is None:
                raise self._failed(error) from error
            path.replace(path.with_name(f"{path.name}.damaged"))
            self._connection = self._open()
        except (apsw.Error, OSError) as error:
            raise self._failed(error) from error

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return all its rows."""
        try:
            return list(self._connection.execute(sql, values))
        except apsw.Error as error:
            raise self._failed(error) from error

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Hold the write lock from the start, so that what is read may be written back."""
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.rows("ROLLBACK")
            raise
        self.rows("COMMIT")

    def close(self) -> None:
        """Close the connection; nothing is lost, every commit is already in the file."""
        self._connection.close()

    def _open(self) -> _Connection:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = os.fspath(self.path) if self.path else ":memory:"
        connection = cast("_Connection", apsw.Connection(name))
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        self._migrate(connection)
        return connection

    def _migrate(self, connection: _Connection) -> None:
        if _version(connection) == len(self._migrations):
            return
        if _version(connection) > len(self._migrations):
            raise NewerFormat(self.path or Path(":memory:"), _version(connection))
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in self._migrations[_version(connection) :]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(self._migrations)}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _failed(self, error: Exception) -> DatabaseUnavailable:
        name = self.path.name if self.path else "memory"
        return DatabaseUnavailable(
            f"The database {name} cannot be used: {error}",
            hint="Check that its directory exists, is writable and has room.",
        )


def _version(connection: _Connection) -> int:
    return int(next(iter(connection.execute("PRAGMA user_version")))[0])
