"""kill -9 of whoever writes, and of the database itself: what was acknowledged is there, once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Event, Thread

import pytest
from tests.stubs.postgres import Server

from carrel.files.postgres import PostgresFiles
from carrel.postgres import Postgres, PostgresUnavailable, Tenant
from carrel.postgres.migrations import steps
from carrel.records.postgres import PostgresRecords

WORKER = """
import sys
from carrel.files.postgres import PostgresFiles
from carrel.postgres import Postgres
url, tenant, run = sys.argv[1:]
files = PostgresFiles(Postgres(url).tenant(tenant), "studio")
print("ready", flush=True)
for i in range(100000):
    token = f"{run}.{i}"
    if i % 3 == 0:
        files.append("day.jsonl", f"<{token}>\\n".encode())
    elif i % 3 == 1:
        content = files.read("set.md")
        old = content.data if content else b""
        files.write("set.md", old + f"<{token}>\\n".encode(), expect=content and content.digest)
    else:
        files.write(f"new/{run}/{i}.md", f"<{token}>\\n".encode(), expect=None)
    print(token, flush=True)
"""


def test_eight_kills_of_a_writer_lose_nothing_that_was_acknowledged(
    shared_database: str, tenant: Tenant
) -> None:
    chance = random.Random(7)
    acknowledged: list[str] = []
    for run in range(8):
        acknowledged += killed_run(shared_database, tenant.name, run, chance.uniform(0, 0.1))
    assert len(acknowledged) > 8
    verify(PostgresFiles(tenant, "studio"), acknowledged)


def killed_run(url: str, tenant: str, run: int, seconds: float) -> list[str]:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, url, tenant, str(run)], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        first = worker.stdout.readline()
        time.sleep(seconds)
        os.kill(worker.pid, signal.SIGKILL)
        said = [first, *worker.stdout]
        # The last line may be torn by the kill, and then it was not said.
        return [line.rstrip("\n") for line in said if line.endswith("\n")]


# Takes one job after the other, says so, and keeps its effect together with its end. One that `sticks` never
# gets further than its first job.
JOBBER = """
import sys
import time
from datetime import UTC, datetime, timedelta
from carrel.postgres import Postgres
from carrel.records.postgres import PostgresRecords
from carrel.records.queue import LeaseLost
url, tenant, how = sys.argv[1:]
records = PostgresRecords(Postgres(url).tenant(tenant), "studio")
while True:
    now = datetime.now(UTC)
    job = records.queue.take(["work"], now=now, lease=timedelta(seconds=1), worker="bob")
    if job is None:
        time.sleep(0.02)
        continue
    print("took", flush=True)
    if how == "sticks":
        time.sleep(1000)
    try:
        with records.transaction():
            records.audit.note(at=now, actor="bob", action="worked", target=job.key)
            records.queue.finish(job)
    except LeaseLost:
        continue
    print("done", flush=True)
"""
JOBS, WORKERS, KILLS = 300, 3, 8


def test_jobs_are_done_once_each_though_their_workers_are_killed(
    shared_database: str, tenant: Tenant
) -> None:
    records = PostgresRecords(tenant, "studio")
    with records.transaction():
        for number in range(JOBS):
            records.queue.put("work", {}, key=str(number))
    with ExitStack() as stack:
        start = partial(jobber, shared_database, tenant.name)
        workers = [stack.enter_context(start("sticks")) for _ in range(WORKERS)]
        for kill in range(KILLS):
            place = kill % WORKERS
            hear(workers[place], 1 + kill // WORKERS)
            workers[place].kill()
            workers[place] = stack.enter_context(start("works"))
        while records.queue.counts()["done"] < JOBS:
            time.sleep(0.02)
    effects = Counter(event.target for event in records.audit.events(limit=2 * JOBS))
    assert effects == Counter(map(str, range(JOBS)))
    attempts = [job.attempts for job in records.queue.jobs(limit=JOBS)]
    assert sum(attempts) >= JOBS + WORKERS  # those in which somebody was stuck, and maybe others


@contextmanager
def jobber(url: str, tenant: str, how: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", JOBBER, url, tenant, how], stdout=subprocess.PIPE, text=True
    ) as worker:
        try:
            yield worker
        finally:
            worker.kill()


def hear(worker: subprocess.Popen[str], lines: int) -> None:
    assert worker.stdout is not None
    for _ in range(lines):
        worker.stdout.readline()


# Does the steps one by one, and waits for its end after one of them.
MIGRATOR = """
import sys
import time
from carrel.postgres.migrations import migrate, steps
for step in steps():
    migrate(sys.argv[1], [step])
    print("done", flush=True)
    if step[0] == sys.argv[2]:
        time.sleep(1000)
"""


@pytest.mark.parametrize("wait", [True, False])
def test_a_migration_whose_process_is_killed_is_finished_by_the_next(
    postgres_server: Server, wait: bool
) -> None:
    """Between two steps, and somewhere in the next one."""
    names = [name for name, _ in steps()]
    for done, name in enumerate(names, 1):
        url = postgres_server.database("template1")
        with subprocess.Popen(
            [sys.executable, "-c", MIGRATOR, url, name if wait else ""], stdout=subprocess.PIPE, text=True
        ) as migrator:
            hear(migrator, done)
            migrator.kill()
        postgres = Postgres(url)
        left = postgres.migrate()
        assert left == tuple(names[len(names) - len(left) :])
        assert len(left) == len(names) - done if wait else len(left) <= len(names) - done
        assert PostgresFiles(postgres.tenant("bob"), "studio").append("a.md", b"x\n") == 2
        postgres.close()


def verify(files: PostgresFiles, acknowledged: list[str]) -> None:
    contents = [files.read(entry.path) for entry in files.tree() if entry.kind == "file"]
    seen = [line for content in contents if content for line in content.data.decode().splitlines()]
    assert all(line.startswith("<") and line.endswith(">") for line in seen)
    assert len(seen) == len(set(seen))
    assert {f"<{token}>" for token in acknowledged} <= set(seen)


def test_a_database_that_crashes_and_comes_back_has_lost_nothing(
    postgres_server: Server, shared_database: str, tenant: Tenant
) -> None:
    postgres = Postgres(shared_database)
    files = PostgresFiles(postgres.tenant(tenant.name), "studio")
    acknowledged: list[str] = []
    stop = Event()

    def writing() -> None:
        for number in range(100_000):
            if stop.is_set():
                return
            try:
                files.append("day.jsonl", f"<{number}>\n".encode())
                acknowledged.append(str(number))
            except PostgresUnavailable:
                stop.wait(0.02)

    writer = Thread(target=writing)
    writer.start()
    for _ in range(2):
        goal = len(acknowledged) + 20
        while len(acknowledged) < goal:
            time.sleep(0.01)
        postgres_server.crash()
    goal = len(acknowledged) + 20
    while len(acknowledged) < goal:  # it goes on by itself
        time.sleep(0.01)
    stop.set()
    writer.join()
    verify(files, acknowledged)
    postgres.close()
