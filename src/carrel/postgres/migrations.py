"""The steps that make the schema, forward only: what was done once is never done again, nor undone.

A step is a file `schema/NNNN_name.sql`. It only adds, so that a process of the version before still works.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import LiteralString

from psycopg import errors

from carrel.postgres.failures import PostgresNotReady, told
from carrel.postgres.pool import Connection, connect

_KEY = 0x6361727265_6C
"""The advisory lock that whoever migrates holds."""

_LEDGER: tuple[LiteralString, ...] = (
    "CREATE SCHEMA IF NOT EXISTS carrel",
    "CREATE TABLE carrel.schema_steps (name text PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT now())",
)


def steps() -> list[tuple[str, str]]:
    """Return the name and the SQL of every step, in order."""
    folder = files("carrel.postgres") / "schema"
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((entry.name.removesuffix(".sql"), entry.read_text("utf-8")) for entry in found)


def migrate(url: str, wanted: Sequence[tuple[str, str]] | None = None) -> tuple[str, ...]:
    """Do the steps that were not done yet, each in a transaction of its own, and return their names."""
    done: list[str] = []
    with connect(url) as connection:
        for name, text in steps() if wanted is None else wanted:
            with told("lost"), _rights(name):
                if _step(connection, name, text):
                    done.append(name)
    return tuple(done)


def pending(url: str) -> tuple[str, ...]:
    """Return the names of the steps that were not done yet, and do none."""
    with connect(url) as connection, told("lost"):
        done: set[str] = set()
        if not _lacks_ledger(connection):
            done = {name for (name,) in connection.execute("SELECT name FROM carrel.schema_steps").fetchall()}
        return tuple(name for name, _ in steps() if name not in done)


def _step(connection: Connection, name: str, text: str) -> bool:
    """Do one step unless it was done; tell whether it was done now."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_KEY])
        # Readers are not to queue up behind us: what is in use now is left for another attempt.
        connection.execute("SET LOCAL lock_timeout = '5s'")
        for statement in _LEDGER if _lacks_ledger(connection) else ():
            connection.execute(statement)
        if connection.execute("SELECT 1 FROM carrel.schema_steps WHERE name = %s", [name]).fetchone():
            return False
        connection.execute(text.encode())
        connection.execute("INSERT INTO carrel.schema_steps (name) VALUES (%s)", [name])
    return True


def _lacks_ledger(connection: Connection) -> bool:
    found = connection.execute("SELECT to_regclass('carrel.schema_steps')::text").fetchone()
    return found is None or found[0] is None


@contextmanager
def _rights(name: str) -> Generator[None]:
    """Say what to do where a step needs what this role may not do, or what the server was built without."""
    try:
        yield
    except (errors.InsufficientPrivilege, errors.FeatureNotSupported) as error:
        raise PostgresNotReady(lacking=f"the right, or the extension, for step {name}") from error
