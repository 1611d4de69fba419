"""Search inside one tenant, with ten times as many tenants beside it.

Some tenants are indexed as they would be; the others are copies of their rows under other names, which costs
minutes in place of hours and is the same to a question, that sees one tenant.
"""

import random
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.stubs.postgres import Server

from carrel.index import Query
from carrel.index.postgres import PostgresIndex
from carrel.postgres import Postgres
from figures import Figure, figure, timed
from search import Talk, questions, static

SEEDS = 100
"""Tenants that are indexed; each of the others is like one of them."""

CHUNKS = 100
"""Chunks of a tenant."""

ROUNDS = 5
ASKED = {"hybrid": 300, "lexical": 100, "literal": 100, "regex": 100}
"""Questions of each mode in a round."""

MOST = 1.5
TABLES = ("state", "places", "chunks", "segments", "words", "vectors")


def measure(server: Server, times: int) -> list[Figure]:
    """Figures of 10,000 chunks over 100 tenants, and of so many times as many of both."""
    small = server.database()
    seconds = timed(fill, small)
    large = server.database(name_of(small))
    copying = timed(copy, server, large, times)
    for url in (small, large):
        server.execute("VACUUM ANALYZE", database=name_of(url))
    told = f"{SEEDS * CHUNKS * times:,} chunks over {SEEDS * times:,} tenants"
    size = server.execute(f"SELECT pg_database_size('{name_of(large)}')")[0][0]
    figures = [
        figure(f"index {SEEDS * CHUNKS:,} chunks of {SEEDS} tenants", seconds, "s"),
        figure(f"  copy them to {SEEDS * times:,} tenants", copying, "s"),
        figure("  rows and indexes of those", size / 2**30, "GB"),
    ]
    both = Asking(small, 1), Asking(large, times)
    for mode in ASKED:
        figures += compared(both, mode, told)
    for each in both:
        each.close()
    return figures


def compared(both: Sequence["Asking"], mode: str, told: str) -> list[Figure]:
    """The two beside each other, question by question: what else the machine does happens to both."""
    rounds: list[list[list[float]]] = []
    for number in range(ROUNDS + 1):
        chance = random.Random(number)
        taken: list[list[float]] = [[], []]
        for _ in range(ASKED[mode]):
            for asking, into in zip(both, taken, strict=True):
                into.append(asking.ask(mode, chance))
        rounds.append(taken)
    kept = [[sorted(each) for each in taken] for taken in rounds[1:]]  # the first one warms up
    middles = [statistics.median(statistics.median(taken[at]) for taken in kept) for at in (0, 1)]
    worst = [statistics.median(late(taken[at]) for taken in kept) for at in (0, 1)]
    ratio = statistics.median(late(taken[1]) / late(taken[0]) for taken in kept)
    return [
        figure(f"{mode}, {SEEDS * CHUNKS:,} chunks over {SEEDS} tenants, p50", middles[0], "ms"),
        figure(f"  p99, middle of {ROUNDS} rounds", worst[0], "ms"),
        figure(f"{mode}, {told}, p50", middles[1], "ms"),
        figure("  p99", worst[1], "ms"),
        figure("  p99 beside that of the fewer", ratio, "x", MOST),
    ]


def late(times: Sequence[float]) -> float:
    return times[int(len(times) * 0.99)]


class Asking:
    """Questions to tenants of one database, each to an index that was just opened, as a server would."""

    def __init__(self, url: str, times: int) -> None:
        self._postgres = Postgres(url)
        self._times = times

    def ask(self, mode: str, chance: random.Random) -> float:
        """The time of one question, in milliseconds."""
        text = chance.choice(questions(chance.choice((5, 50))))
        words = [word for word in text.split() if word.isalnum()] or ["the"]
        asked = {"literal": " ".join(words[:2]), "regex": rf"{words[0]}\w* "}.get(mode, text)
        name = tenant(chance.randrange(SEEDS), chance.randrange(10**6) % self._times)
        index = PostgresIndex(self._postgres.tenant(name), "studio", embedder=static())
        return timed(index.search, Query(text=asked, mode=mode)) * 1000

    def close(self) -> None:
        self._postgres.close()


def fill(url: str) -> None:
    """Index the tenants of which the others are copies."""
    postgres = Postgres(url)
    for seed in range(SEEDS):
        index = PostgresIndex(postgres.tenant(tenant(seed, 0)), "studio", embedder=static())
        report = index.sync(Talk(CHUNKS, seed=seed))
        assert (report.chunks, report.waiting, report.findings) == (CHUNKS, 0, ())
    postgres.close()


def copy(server: Server, url: str, times: int) -> None:
    """Put copies of all tenants beside them, table by table, as whoever owns the server."""
    for table in TABLES:
        with unindexed(server, url, f"carrel.index_{table}"):
            multiply(server, url, f"carrel.index_{table}", times)


def multiply(server: Server, url: str, table: str, times: int) -> None:
    """Add rows of other tenants that are like those of the ones there are, tenant by tenant."""
    ((columns,),) = server.execute(
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute "
        f"WHERE attrelid = '{table}'::regclass AND attnum > 0 AND attname <> 'tenant'",
        database=name_of(url),
    )
    for first in range(1, times, 10):
        server.execute(
            f"INSERT INTO {table} (tenant, {columns}) SELECT tenant || '-' || number, {columns} "
            f"FROM generate_series({first}, {min(first + 10, times) - 1}) number, {table} "
            "WHERE tenant LIKE 'tenant-___' ORDER BY number, tenant",
            database=name_of(url),
        )


@contextmanager
def unindexed(server: Server, url: str, table: str) -> Iterator[None]:
    """Take a table's indexes away, and make them again of all its rows, which costs a small part of it."""
    keys = server.execute(
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        f"WHERE conrelid = '{table}'::regclass AND contype = 'p'",
        database=name_of(url),
    )
    others = server.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
        f"WHERE indrelid = '{table}'::regclass AND NOT indisprimary",
        database=name_of(url),
    )
    away = [f"ALTER TABLE {table} DROP CONSTRAINT {name}" for name, _ in keys]
    again = [f"ALTER TABLE {table} ADD CONSTRAINT {name} {made}" for name, made in keys]
    for statement in [*away, *(f"DROP INDEX {name}" for name, _ in others)]:
        server.execute(statement, database=name_of(url))
    yield
    for statement in [*again, *(made for _, made in others)]:
        server.execute(statement, database=name_of(url))


def tenant(seed: int, copy: int) -> str:
    return f"tenant-{seed:03}" + (f"-{copy}" if copy else "")


def name_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]
