"""Jobs of one workspace done by several processes, of which one is killed every second.

A job's effect is a line in the audit, kept together with its end: so what was done twice has two lines, and
what was lost has none.
"""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.stubs.postgres import Server

from carrel.postgres import Postgres
from carrel.records.postgres import PostgresRecords
from figures import Figure, figure, timed

TENANT, WORKSPACE = "acme", "studio"
JOBS, WORKERS, TOGETHER = 10_000, 4, 500

# Takes one job after the other; each is done as a whole, or not at all. What a dead one held is taken again
# five seconds later.
WORKER = """
import sys
import time
from datetime import UTC, datetime, timedelta
from carrel.postgres import Postgres
from carrel.records.postgres import PostgresRecords
from carrel.records.queue import LeaseLost
url, tenant, workspace, name = sys.argv[1:]
records = PostgresRecords(Postgres(url).tenant(tenant), workspace)
while True:
    now = datetime.now(UTC)
    job = records.queue.take(["work"], now=now, lease=timedelta(seconds=5), worker=name)
    if job is None:
        time.sleep(0.05)
        continue
    try:
        with records.transaction():
            records.audit.note(at=now, actor=name, action="worked", target=job.key)
            records.queue.finish(job)
    except LeaseLost:  # it took so long that somebody else has it
        continue
"""


def measure(server: Server, times: int) -> list[Figure]:
    """Figures of a fixed number of jobs; how many other tenants there are changes none of them."""
    del times
    url = server.database()
    postgres = Postgres(url)
    records = PostgresRecords(postgres.tenant(TENANT), WORKSPACE)
    filling = timed(fill, records)
    begin = time.perf_counter()
    kills = work_off(url, records)
    seconds = time.perf_counter() - begin
    done = {job.key: job.attempts for job in records.queue.jobs("done", limit=JOBS)}
    effects = Counter(event.target for event in records.audit.events(limit=2 * JOBS))
    postgres.close()
    return [
        figure(f"put {JOBS:,} jobs", filling, "s"),
        figure(f"  {WORKERS} workers do them", seconds, "s"),
        figure("  meanwhile a kill of one of them, every so many seconds", seconds / kills, "s", 1.2),
        figure("  kills, each with a new worker", kills, ""),
        figure("  jobs that a dead worker held, taken again", sum(n > 1 for n in done.values()), ""),
        figure("  done once", sum(effects[key] == 1 for key in done), "", JOBS, at_least=True),
        figure("  doubled", sum(count > 1 for count in effects.values()), "", 0),
        figure("  lost", JOBS - len(done), "", 0),
    ]


def fill(records: PostgresRecords) -> None:
    for first in range(0, JOBS, TOGETHER):
        with records.transaction():
            for number in range(first, first + TOGETHER):
                records.queue.put("work", {"number": number}, key=str(number))


def work_off(url: str, records: PostgresRecords) -> int:
    """Let workers do every job, kill one of them every second, and return how many were killed."""
    kills, begin = 0, time.monotonic()
    with ExitStack() as stack:
        workers = [stack.enter_context(working(url, place)) for place in range(WORKERS)]
        while records.queue.counts()["done"] < JOBS:
            time.sleep(max(begin + kills + 1 - time.monotonic(), 0))
            place = kills % WORKERS
            workers[place].kill()
            workers[place] = stack.enter_context(working(url, place))
            kills += 1
    return kills


@contextmanager
def working(url: str, place: int) -> Iterator[subprocess.Popen]:
    """A process that does jobs until it is killed, which it is in the end."""
    given = [url, TENANT, WORKSPACE, f"worker-{place}"]
    process = subprocess.Popen([sys.executable, "-c", WORKER, *given])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
