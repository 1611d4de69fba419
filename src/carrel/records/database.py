"""A SQLite file with a version, opened the way several processes can share it."""

import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, cast

import apsw

from carrel.errors import DatabaseUnavailable, Unavailable
from carrel.files.folders import make_folders

BUSY_MILLISECONDS = 5_000
_PAUSE_SECONDS = 0.01
_PAGES_KIB = 512
"""Pages that a connection keeps: a server has many connections, and the system keeps the file as well."""

_DAMAGE = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)
"""What SQLite finds to be wrong, and a text that is none."""

_CHECK = "PRAGMA integrity_check(1)"
_BESIDE = ("-journal", "-wal", "-shm")
_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
_WHOLE = ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
_PART = ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part; RELEASE part")


class _Connection(Protocol):
    """What is used of apsw's connection, whose own types are incomplete."""

    @property
    def in_transaction(self) -> bool: ...
    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Iterable[tuple[Any, ...]]: ...
    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Iterable[tuple[Any, ...]]: ...
    def set_busy_timeout(self, milliseconds: int, /) -> None: ...
    def config(self, operation: int, value: int, /) -> int: ...
    def close(self) -> None: ...


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
    last commits, and when damaged it is set aside and begun anew. No path means in memory. `inside` is
    a directory that others may have filled: no link below it is followed to the file.

    Threads may share it: one at a time runs a statement, or a whole transaction. A forked process may
    not, since SQLite's locks stay with its parent: there every use is an error, and it opens its own.
    """

    def __init__(
        self, path: Path | None, migrations: Sequence[str], *, durable: bool, inside: Path | None = None
    ) -> None:
        self.path = path
        self.was_damaged = False
        """Whether a damaged file was set aside to begin anew."""
        self._migrations = migrations
        self._durable = durable
        self._inside = inside
        self._lock = RLock()
        self._depth = 0
        self._process = os.getpid()
        self._has_log = False  # in memory, and on some networks: there, who reads keeps others waiting
        try:
            self._connection = self._opened()
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            raise self._failed(error) from error

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return all its rows."""
        return self._run(self._connection.execute, sql, values)

    def each(self, sql: str, every: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Run one statement with each of these values, and return all rows."""
        return self._run(self._connection.executemany, sql, every)

    def _run(self, how: Callable[[str, Any], Iterable[Any]], sql: str, values: Any) -> list[tuple[Any, ...]]:
        if self._process != os.getpid():
            self._refuse_fork()
        with self._lock:
            try:
                if self._depth:
                    self._go_on()
                return list(how(sql, values))
            except (apsw.Error, UnicodeDecodeError) as error:
                raise self._mishap(error) from error

    def _go_on(self) -> None:
        """Refuse what would go on by halves."""
        if not self._connection.in_transaction:
            raise self._failed("what was begun had to be undone")

    def _mishap(self, error: Exception) -> DatabaseUnavailable:
        """Return what to say of an error; a damaged cache is set aside."""
        if isinstance(error, _DAMAGE):
            self.condemn()
        return self._failed(error)

    def condemn(self) -> None:
        """Set a cache aside that holds what nobody wrote: who opens it next begins anew."""
        if self._is_cache:
            self._connection.close()
            with suppress(OSError):  # then the next one to open it finds out again
                self._set_aside()
                self.was_damaged = True

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Hold the write lock from the start, so that what is read may be written back.

        One inside another is a part of it: undone by itself when it fails, kept only with the whole.
        """
        if self._process != os.getpid():
            self._refuse_fork()
        with self._lock:
            begin, keep, undo = _PART if self._depth else _WHOLE
            self.rows(begin)
            self._depth += 1
            try:
                yield
                self.rows(keep)
            except BaseException:
                with suppress(DatabaseUnavailable):  # what went wrong first is what counts
                    self.rows(undo)
                raise
            finally:
                self._depth -= 1

    def check(self) -> None:
        """Look at all of it; what is wrong where nobody happened to read is an error here, too.

        Nobody waits for it who reads or writes meanwhile.
        """
        if self._process != os.getpid():
            self._refuse_fork()
        try:
            told = self._check_beside() if self._has_log else self.rows(_CHECK)[0][0]
            if told != "ok":
                raise apsw.CorruptError(str(told))
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            with self._lock:
                raise self._mishap(error) from error

    def _check_beside(self) -> object:
        """Let a connection of its own look, which changes nothing: it plays no journal and moves no log."""
        self._refuse_odd()
        connection = cast("_Connection", apsw.Connection(*_name(self.path, apsw.SQLITE_OPEN_READONLY)))
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            return next(iter(connection.execute(_CHECK)))[0]
        except apsw.ReadOnlyError:  # a journal has appeared since; whoever has the file open ignores it
            return self.rows(_CHECK)[0][0]
        finally:
            connection.close()

    def scrub(self) -> bool:
        """Write the file anew, so that no byte of what was removed is left; tell whether all of it was done.

        Where others read it, a part of its log stays until they are done.
        """
        self.rows("PRAGMA temp_store = MEMORY")  # no copy of it may be left elsewhere
        self.rows("VACUUM")
        return not self.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]

    def close(self) -> None:
        """Close the connection; nothing is lost, every commit is already in the file."""
        if self._process == os.getpid():
            with self._lock:
                self._connection.close()

    def _refuse_fork(self) -> None:
        """Keep a forked child away, before it waits for a lock that nobody there will release."""
        raise DatabaseUnavailable(
            f"The database {self._name} was opened by the process that this one was forked from.",
            hint="Open the workspace in this process, or start processes with spawn.",
        )

    @property
    def _is_cache(self) -> bool:
        return self.path is not None and not self._durable

    def _opened(self) -> _Connection:
        try:
            return self._patiently()
        except _DAMAGE:
            if not self._is_cache:
                raise
            self._set_aside()
            self.was_damaged = True
            return self._patiently()

    def _patiently(self) -> _Connection:
        """Open, again and again while others are at it: the switch to WAL does not wait by itself."""
        until = time.monotonic() + BUSY_MILLISECONDS / 1000
        while True:
            try:
                return self._open()
            except apsw.BusyError:
                if time.monotonic() >= until:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _open(self) -> _Connection:
        self._refuse_odd()
        if self.path is not None:
            make_folders(self.path.parent, mode=0o700)
        connection = cast("_Connection", apsw.Connection(*_name(self.path, _WRITE)))
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_odd(self) -> None:
        if self.path is None or self._inside is None:
            return
        if odd := _find_odd(self._inside, self.path):
            raise OSError(errno.ELOOP, f"{odd} is a link, or no regular file")

    def _prepare(self, connection: _Connection) -> None:
        """Look before anything is written: what a newer Carrel wrote stays as it is, byte by byte."""
        if (version := _version(connection)) > len(self._migrations):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            raise NewerFormat(self.path or Path(":memory:"), version)
        connection.execute(f"PRAGMA cache_size = -{_PAGES_KIB}")
        self._has_log = list(connection.execute("PRAGMA journal_mode = WAL")) == [("wal",)]
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        if version < len(self._migrations):
            self._migrate(connection)

    def _migrate(self, connection: _Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in self._migrations[_version(connection) :]:  # somebody may have been faster
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(self._migrations)}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _set_aside(self) -> None:
        """Move a damaged cache out of the way, and what its log holds: that belongs to it alone."""
        assert self.path is not None
        self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))
        for suffix in _BESIDE:
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    @property
    def _name(self) -> str:
        return self.path.name if self.path else "memory"

    def _failed(self, error: Exception | str) -> DatabaseUnavailable:
        hint = "Check that its directory exists, is writable, has room, and that no link leads to it."
        if isinstance(error, _DAMAGE):
            hint = f"It is damaged: restore {self.path} from a backup, or move it away to begin without it."
        return DatabaseUnavailable(f"The database {self._name} cannot be used: {error}", hint=hint)


def _find_odd(inside: Path, path: Path) -> str | None:
    """Return what of a database is not what it should be; a pipe as its journal is waited for."""
    names = ("", *_BESIDE)
    return next(filter(None, (find_link(inside, path.with_name(path.name + each)) for each in names)), None)


def find_link(inside: Path, path: Path) -> str | None:
    """Return the first name on the way from a directory to a file that is not what it should be.

    What is missing is no obstacle: whoever makes it makes a directory or a file.
    """
    names = path.relative_to(inside).parts
    place = os.fspath(inside)
    for number, name in enumerate(names, 1):
        place = f"{place}/{name}"
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            return None
        if not (stat.S_ISREG(mode) if number == len(names) else stat.S_ISDIR(mode)):
            return "/".join(names[:number])
    return None


def _name(path: Path | None, flags: int) -> tuple[str, int]:
    """Return how SQLite is told of a file; it takes a name that is not Unicode only as a URI."""
    if path is None:
        return ":memory:", flags
    try:
        path.as_posix().encode()
    except UnicodeEncodeError:
        from urllib.parse import quote  # noqa: PLC0415 - few directories have such a name

        return f"file:{quote(os.fsencode(path.absolute()))}", flags | apsw.SQLITE_OPEN_URI
    return os.fspath(path), flags


def _version(connection: _Connection) -> int:
    return int(next(iter(connection.execute("PRAGMA user_version")))[0])
