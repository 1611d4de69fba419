"""A real PostgreSQL with pgvector for benchmarks, from a wheel, that ends with them."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.stubs import postgres

from carrel.postgres import Postgres

SETTINGS = ("shared_buffers=512MB", "max_wal_size=8GB", "maintenance_work_mem=512MB", "jit=off")
"""What docs/guides say of a server of this size; the last of two values counts."""


@contextmanager
def started() -> Iterator[postgres.Server]:
    """A server whose database `migrated` has Carrel's schema."""
    postgres.OPTIONS = (*postgres.OPTIONS, *SETTINGS)
    server = postgres.Server()
    try:
        server.execute(f"CREATE DATABASE {postgres.TEMPLATE}")
        Postgres(server.url(postgres.TEMPLATE)).migrate()
        yield server
    finally:
        server.stop()


def cores() -> int:
    """How many processors there are for the server and for what is measured."""
    return len(os.sched_getaffinity(0))


def told(server: postgres.Server) -> str:
    """What was measured on what, in a line."""
    ((version, vector),) = server.execute(
        "SELECT current_setting('server_version'), extversion FROM pg_extension WHERE extname = 'vector'",
        database=postgres.TEMPLATE,
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"PostgreSQL {version} with pgvector {vector}, {SETTINGS[0]}, fsync=off, on this machine: "
        f"{cores()} processors, {memory:.0f} GB of memory, a load of {load:.1f} before"
    )
