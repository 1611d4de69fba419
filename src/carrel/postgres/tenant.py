"""One tenant of a database: the only door to its rows, behind a wall that the database keeps as well."""

import re
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import local
from typing import Any, TypeVar

import psycopg

from carrel.errors import UsageError
from carrel.postgres.failures import PostgresUnavailable, told
from carrel.postgres.foresight import Foresight, Plans
from carrel.postgres.pool import Connection, Cursor, Pool

MEMBER = "carrel_member"
"""The role that every statement of a tenant runs as; it owns nothing and is held to every policy."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SHOWN = 80
_ATTEMPTS = 3

_ENTER = (
    f"SELECT set_config('role', '{MEMBER}', true), set_config('carrel.tenant', %s, true),"
    " set_config('statement_timeout', %s, true), set_config('lock_timeout', '10s', true),"
    " set_config('idle_in_transaction_session_timeout', '10s', true)"
)
"""Until the end of the transaction, says each `true`: a connection that is lent again knows nothing of it."""

_SECONDS = 30.0
_GRACE_SECONDS = 5.0
"""How much longer we wait for an answer than the server may work for it."""

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"

Params = Sequence[object] | Mapping[str, object]
_Statement = tuple[str, Params]
_Made = TypeVar("_Made")


class NoTenant(UsageError):
    """The tenant's name is missing, or cannot be one; there is no default tenant."""

    code = "no_tenant"

    def __init__(self, name: str) -> None:
        shown = name[:_SHOWN].encode("unicode_escape").decode("ascii")
        super().__init__(
            f"'{shown}' cannot be a tenant's name." if shown else "The tenant's name is missing.",
            hint="Name the tenant with up to 128 letters, digits, '.', '_' and '-'.",
        )
        self.name = name


def valid_tenant(name: str) -> str:
    """Return a tenant's name unchanged, if it is one."""
    if not _NAME.fullmatch(name):
        raise NoTenant(name)
    return name


class _Open:
    """A thread's open transaction; what need not be answered waits and goes with the next statement."""

    def __init__(self, connection: Connection, first: Sequence[_Statement]) -> None:
        self.connection = connection
        self.waiting: list[_Statement] = list(first)
        self.has_begun = False
        self.is_due = False
        self.parts = 0

    def run(self, statement: _Statement) -> list[tuple[Any, ...]]:
        waiting, self.waiting = self.waiting, []
        self.has_begun = True
        with told("lost"):  # nothing of a transaction is done before its COMMIT
            return _rows(_run(self.connection, [*waiting, statement]))


class Tenant:
    """The rows of one tenant; every statement runs in a transaction that says whose it is.

    Threads may share it; each has a transaction of its own. The wall, the first statement and, for a
    statement outside a transaction, its commit are one round trip.
    """

    def __init__(self, pool: Pool, name: str) -> None:
        self.name = valid_tenant(name)
        self.round_trips = 0
        """How often the database was waited for; for benches and tests, not exact between threads."""
        self._pool = pool
        self._threads = local()
        self._plans = Plans()

    def rows(self, sql: str, params: Params = (), *, once: bool = False) -> list[tuple[Any, ...]]:
        """Run one statement, with %s or %(name)s where a value goes, and return all its rows.

        In this thread's open transaction, else in one of its own: there a SELECT is asked again over a new
        connection where the link was lost, unless it may be asked only `once`; any other statement may
        have been done when it fails.
        """
        if (opened := self._opened) is not None:
            self.round_trips += 1
            return opened.run((sql, params))
        if once or not sql.startswith("SELECT"):
            self._look_no_further()
            return self._alone((sql, params))
        if (ahead := self._ahead) is not None:
            return ahead.rows((sql, params), lambda each: self.retried(lambda: self._together(each)))
        return self.retried(lambda: self._alone((sql, params)))

    @contextmanager
    def foreseeing(self, kind: Hashable) -> Generator[None]:
        """Do work in this thread for which is asked at once what work of this kind is known to ask.

        So it sees what was there when it began, until it changes something itself.
        """
        if self._opened is not None or self._ahead is not None:
            yield
            return
        ahead = self._threads.ahead = self._plans.begin(kind)
        try:
            yield
        finally:
            self._threads.ahead = None
            self._plans.learn(kind, ahead)

    @property
    def _ahead(self) -> Foresight | None:
        ahead: Foresight | None = getattr(self._threads, "ahead", None)
        return None if ahead is None or ahead.is_over else ahead

    def _look_no_further(self) -> None:
        if (ahead := self._ahead) is not None:
            ahead.is_over = True

    def send(self, sql: str, params: Params = ()) -> None:
        """Run one statement whose answer nobody needs.

        In a transaction it waits for the next one, or for the end, and goes with that: it fails there too.
        """
        if (opened := self._opened) is None:
            self._look_no_further()
            self._alone((sql, params))
        else:
            opened.waiting.append((sql, params))
            opened.is_due = True

    @contextmanager
    def transaction(
        self, *, seconds: float = _SECONDS, lock: str = "", frozen: bool = False
    ) -> Generator[None]:
        """Keep all that this thread does inside it, or nothing; no statement may take longer than this.

        In one that is `frozen` everything is read as it was at the first statement.

        One inside another is a part of it: undone by itself when it fails, kept only with the whole. Of
        all that name the same `lock` in this tenant one is under way, and the next sees what it did.
        """
        locked: list[_Statement] = [(_LOCK, (f"{self.name}/{lock}",))] if lock else []
        if (opened := self._opened) is not None:
            with self._part(opened, locked):
                yield
            return
        self._look_no_further()
        with self._pool.connection() as connection:
            begin = "BEGIN ISOLATION LEVEL REPEATABLE READ" if frozen else "BEGIN"
            first = [(begin, ()), self._enter(connection, seconds), *locked]
            opened = self._threads.opened = _Open(connection, first)
            try:
                yield
                if opened.has_begun or opened.is_due:
                    self._commit(opened)
            except BaseException:
                _roll_back(opened)
                raise
            finally:
                self._threads.opened = None

    def retried(self, work: Callable[[], _Made]) -> _Made:
        """Do work that may be done twice, again where the link was lost or another change stood in the way.

        Inside a transaction it is done once: what came before it is lost as well.
        """
        if self._opened is not None:
            return work()
        was_cut = False
        for left in reversed(range(_ATTEMPTS)):
            try:
                return work()
            except PostgresUnavailable as error:
                was_cut = was_cut or error.reason == "unknown"
                if left and error.is_passing:
                    continue
                # Of an attempt before this one the end may not be known.
                if was_cut and error.reason != "unknown":
                    raise PostgresUnavailable("unknown") from error
                raise
        raise AssertionError

    @property
    def _opened(self) -> _Open | None:
        return getattr(self._threads, "opened", None)

    def _enter(self, connection: Connection, seconds: float) -> _Statement:
        """Return what says, until the end of the transaction, whose it is and how long it may take."""
        connection.patience = seconds + _GRACE_SECONDS
        return _ENTER, (self.name, f"{seconds:.0f}s")

    def _alone(self, statement: _Statement) -> list[tuple[Any, ...]]:
        with self._pool.connection() as connection:
            self.round_trips += 1
            with told("unknown"):
                return _rows(_run(connection, [self._enter(connection, _SECONDS), statement]))

    def _together(self, statements: Sequence[_Statement]) -> list[list[tuple[Any, ...]]]:
        """Run statements that change nothing in one round trip, and return the rows of each."""
        with self._pool.connection() as connection:
            self.round_trips += 1
            with told("lost"), connection.pipeline():
                enter, params = self._enter(connection, _SECONDS)
                connection.execute(enter.encode(), params)
                cursors = [
                    connection.execute(sql.encode(), given or None, binary=True) for sql, given in statements
                ]
            return [_rows(cursor) for cursor in cursors]

    @contextmanager
    def _part(self, opened: _Open, first: Sequence[_Statement]) -> Generator[None]:
        opened.parts += 1
        name = f"part_{opened.parts}"
        begin: _Statement = (f"SAVEPOINT {name}", ())
        opened.waiting += [begin, *first]
        try:
            yield
        except BaseException:
            if not _forget(opened, begin):
                opened.waiting += [(f"ROLLBACK TO {name}", ()), (f"RELEASE {name}", ())]
            raise
        if opened.waiting and opened.waiting[-1] is begin:
            opened.waiting.pop()  # nothing was done in it
        else:
            opened.waiting.append((f"RELEASE {name}", ()))

    def _commit(self, opened: _Open) -> None:
        self.round_trips += 1
        opened.has_begun = True
        statements, opened.waiting = [*opened.waiting, ("COMMIT", ())], []
        with told("unknown"):
            answer = _run(opened.connection, statements)
        if answer.statusmessage != "COMMIT":  # a statement of it failed, and somebody went on
            raise PostgresUnavailable("undone")


def _forget(opened: _Open, begin: _Statement) -> bool:
    """Forget a part of which nothing was sent yet; tell whether that was so."""
    for place, waiting in enumerate(opened.waiting):
        if waiting is begin:
            del opened.waiting[place:]
            return True
    return False


def _roll_back(opened: _Open) -> None:
    """Undo a transaction; where that fails, the connection is not used again and the server undoes it."""
    if opened.has_begun:
        with suppress(psycopg.Error):
            opened.connection.execute("ROLLBACK")


def _run(connection: Connection, statements: Sequence[_Statement]) -> Cursor:
    """Send some statements together and return the answer to the last one."""
    with connection.pipeline():
        for sql, params in statements[:-1]:
            connection.execute(sql.encode(), params or None)
        sql, params = statements[-1]
        return connection.execute(sql.encode(), params or None, binary=True)


def _rows(cursor: Cursor) -> list[tuple[Any, ...]]:
    return cursor.fetchall() if cursor.description else []
