"""What goes wrong between us and a database, as the few cases that somebody can act on.

The server's own words name hosts, roles and rows, so they stay in the cause; nobody is shown them.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import psycopg

from carrel.errors import DatabaseUnavailable

Reason = Literal[
    "down",
    "lost",
    "unknown",
    "read_only",
    "full",
    "crowded",
    "slow",
    "locked",
    "undone",
    "broken",
    "closed",
    "forked",
]

_REASONS: dict[Reason, tuple[str, str]] = {
    "down": (
        "it cannot be reached",
        "Try again in a few seconds; if it stays so, check that it runs, and CARREL_DATABASE_URL.",
    ),
    "lost": ("the connection was lost, and nothing was changed", "Try again in a few seconds."),
    "unknown": (
        "the connection was lost before it answered, and whether the change was made is not known",
        "Look at what is there now, then try again.",
    ),
    "read_only": (
        "it takes no changes at the moment",
        "Try again in a few seconds; if it stays so, connect to the primary, not to a replica.",
    ),
    "full": ("it has no room left", "Make room on the database's disk, then try again."),
    "crowded": (
        "it has no connection to spare",
        "Try again in a few seconds; if it stays so, allow it more connections.",
    ),
    "slow": ("it took too long to answer", "Try again later, when it has less to do."),
    "locked": ("somebody else held on to the same rows for too long", "Try again in a few seconds."),
    "undone": ("two changes stood in each other's way, and this one was undone", "Try again."),
    "broken": ("it failed in itself", "Look into its own log, set right what it says, then try again."),
    "closed": ("it was closed in this process", "Open the workspace again."),
    "forked": (
        "its connections belong to the process that this one was forked from",
        "Open the workspace in this process, or start processes with spawn.",
    ),
}

_BY_STATE: dict[str, Reason] = {
    "25006": "read_only",  # read_only_sql_transaction
    "25P03": "lost",  # idle_in_transaction_session_timeout
    "25P04": "slow",  # transaction_timeout
    "40001": "undone",  # serialization_failure
    "40P01": "undone",  # deadlock_detected
    "53100": "full",  # disk_full
    "53200": "crowded",  # out_of_memory
    "53300": "crowded",  # too_many_connections
    "55P03": "locked",  # lock_not_available
    "57014": "slow",  # query_canceled, which statement_timeout does
    "57P03": "down",  # cannot_connect_now
    "72000": "undone",  # snapshot_too_old
}
_CUT = {"08", "57", "58"}
"""Classes of states in which a server ends a connection, or has lost it."""

_NOT_READY = {"3F000", "42501", "42P01", "42703", "42704", "42883"}
"""A schema, right, table, column, type or function is missing."""


class PostgresUnavailable(DatabaseUnavailable):
    """The database did not do what it was asked; `reason` says which of a few ways that went."""

    code = "postgres_unavailable"

    def __init__(self, reason: Reason) -> None:
        what, hint = _REASONS[reason]
        super().__init__(f"The database cannot be used now: {what}.", hint=hint)
        self.reason: Reason = reason

    @property
    def is_passing(self) -> bool:
        """Whether the same work is worth another attempt at once, over a new connection."""
        return self.reason in ("lost", "unknown", "undone")


class PostgresNotReady(DatabaseUnavailable):
    """The database lacks tables, a role or an extension that Carrel needs; trying again changes nothing."""

    code = "postgres_not_ready"

    def __init__(self, *, lacking: str = "Carrel's tables, or the right to use them") -> None:
        super().__init__(
            f"The database is not ready: it lacks {lacking}.",
            hint="Run `carrel database migrate` once, as a role that may create tables and roles; where it "
            "may not, let an administrator first run: CREATE EXTENSION IF NOT EXISTS vector; "
            "CREATE ROLE carrel_member NOLOGIN; GRANT carrel_member TO the role in CARREL_DATABASE_URL.",
        )


@contextmanager
def told(cut: Reason) -> Generator[None]:
    """Raise what the driver raises as errors of ours; `cut` is what it means here when the link is cut."""
    try:
        yield
    except psycopg.Error as error:
        typed = _typed(error, cut)
        if typed is None:  # a mistake of ours, not a state of the database
            raise
        raise typed from error


def _typed(error: psycopg.Error, cut: Reason) -> DatabaseUnavailable | None:
    state = error.sqlstate
    if state is None:
        is_cut = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return PostgresUnavailable(cut) if is_cut else None
    if state in _NOT_READY or (state == "22023" and "role" in str(error)):
        return PostgresNotReady()
    if reason := _BY_STATE.get(state):
        return PostgresUnavailable(reason)
    if state.startswith("XX"):  # internal errors; a disk quota that is used up is one of them
        return PostgresUnavailable("broken")
    return PostgresUnavailable(cut) if state[:2] in _CUT else None
