"""kill -9 of workers of one queue in PostgreSQL, again and again: each job is done once, and none is lost."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter

from carrel.postgres import Postgres
from carrel.records.postgres import PostgresRecords

JOBS = 300
WORKERS = 4
KILLS = 8

# Finishes each job together with its effect, until there is none left. One that is to be killed keeps the first
# job that it takes to itself, so that something is held by a dead worker for sure.
WORKER = """
import sys, time
from datetime import UTC, datetime, timedelta
from carrel.postgres import Postgres
from carrel.records.postgres import PostgresRecords
from carrel.records.queue import LeaseLost
url, name, is_doomed = sys.argv[1:]
records = PostgresRecords(Postgres(url).tenant("acme"), "desk")
is_greedy = bool(int(is_doomed))
while True:
    now = datetime.now(UTC)
    job = records.queue.take(["work"], now=now, lease=timedelta(seconds=1), worker=name)
    if job is None:
        counts = records.queue.counts()
        if not counts["waiting"] + counts["running"]:
            break
        time.sleep(0.05)
    elif is_greedy:
        is_greedy = False
        print("took", job.key, flush=True)
    else:
        try:
            with records.transaction():
                records.audit.note(at=now, actor=name, action="worked", target=job.key)
                records.queue.finish(job, {"by": name})
        except LeaseLost:
            continue
        print("done", job.key, flush=True)
"""


def worker(url: str, name: str, *, is_doomed: bool) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WORKER, url, name, str(int(is_doomed))]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def killed(process: subprocess.Popen[str], lines: int) -> list[str]:
    """Kill a worker after so many lines, or after its last, and return all that it said."""
    assert process.stdout is not None
    heard = [process.stdout.readline() for _ in range(lines)]
    os.kill(process.pid, signal.SIGKILL)
    heard += process.stdout  # the last line may be torn by the kill, and then it was not said
    process.wait()
    process.stdout.close()
    return [line.rstrip("\n") for line in heard if line.endswith("\n")]


def test_jobs_are_done_once_each_while_their_workers_are_killed(database: str) -> None:
    server, chance = Postgres(database), random.Random(5)
    records = PostgresRecords(server.tenant("acme"), "desk")
    with records.transaction():
        for number in range(JOBS):
            records.queue.put("work", {}, key=str(number))
    working = [worker(database, f"doomed {n}", is_doomed=True) for n in range(WORKERS)]
    heard: list[str] = []
    for kill in range(KILLS):
        heard += killed(working.pop(0), chance.randint(1, 12))
        is_doomed = kill < KILLS - WORKERS
        working.append(worker(database, f"{'doomed' if is_doomed else 'last'} {kill}", is_doomed=is_doomed))
    for process in working:
        heard += process.communicate()[0].splitlines()
        assert process.returncode == 0
    done = Counter(event.target for event in records.audit.events(action="worked", limit=10 * JOBS))
    assert done == {str(number): 1 for number in range(JOBS)}
    assert records.queue.counts() == {"waiting": 0, "running": 0, "done": JOBS, "failed": 0}
    said = Counter(line.removeprefix("done ") for line in heard if line.startswith("done "))
    assert set(said.values()) == {1}
    held = {line.removeprefix("took ") for line in heard if line.startswith("took ")}
    jobs = {job.key: job for job in records.queue.jobs(limit=JOBS)}
    assert held
    assert all(jobs[key].attempts > 1 for key in held)
    server.close()
