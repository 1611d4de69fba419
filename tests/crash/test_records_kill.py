"""kill -9 of a worker at any instant: nothing that was acknowledged is lost or there twice, or by halves."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from carrel.records.sqlite import SqliteRecords

BEGIN = datetime(2026, 4, 24, tzinfo=UTC)
HOUR = timedelta(hours=1)
RUNS = 20

# Puts a job with its figures, takes one, and finishes it with its effect; one in five it keeps to itself.
# `unsure` are the jobs of the run before that it may not have heard of: it puts them again.
WORKER = """
import sys
from datetime import datetime, timedelta
from pathlib import Path
from carrel.records.sqlite import SqliteRecords
from carrel.records.usage import Spent
path, run, now, *unsure = sys.argv[1:]
now = datetime.fromisoformat(now)
records = SqliteRecords(Path(path))

def put(key):
    with records.transaction():
        records.queue.put("work", {"key": key}, key=key)
        records.usage.add(Spent(agent="kate", session="s", model="m", at=now, input=3, cached=2, output=1), turn=key)
    print("put", key, flush=True)

print("ready", flush=True)
for key in unsure:
    put(key)
for i in range(100000):
    put(f"{run}.{i}")
    job = records.queue.take(["work"], now=now, lease=timedelta(minutes=30), worker=run)
    if job is None:
        continue
    print("took", job.key, flush=True)
    if i % 5:
        with records.transaction():
            records.audit.note(at=now, actor=run, action="worked", target=job.key)
            records.queue.finish(job, {"by": run})
        print("done", job.key, flush=True)
"""

# Takes two facts from each entry and moves the cursor with them, then writes each: a change is begun, and
# settled together with its fact. What an earlier run left planned comes first; its change came to nothing.
LEARNER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from msgspec.structs import replace
from carrel.records.changes import Change, Splice
from carrel.records.facts import Fact
from carrel.records.sqlite import SqliteRecords
now = datetime(2026, 4, 24, tzinfo=UTC)
records = SqliteRecords(Path(sys.argv[1]))
facts, changes = records.facts, records.changes

def write(fact):
    line = f"- {fact.text}"
    change = changes.begin(Change(
        at=now, actor="kate", action="append", path="p", before="b", after="a",
        splice=Splice(0, b"", line.encode() * 100), reason=fact.id,
    ))
    print("begun", change.id, flush=True)
    with records.transaction():
        changes.settle(change.id, "done")
        facts.update(replace(facts.get(fact.id), state="written", line=line, change=change.id))
    print("written", fact.id, flush=True)

print("ready", flush=True)
for left in changes.list(state="begun"):
    changes.settle(left.id, None)
for fact in facts.find(states=["planned"]):
    write(fact)
for entry in range(facts.cursor("kate", "s"), 100000):
    found = [
        Fact(id=f"{entry}.{n}", agent="kate", layer="project", kind="note", text="t", key="t", at=now)
        for n in (1, 2)
    ]
    with records.transaction():
        assert facts.add(found) == 2
        assert facts.advance("kate", "s", expect=entry, to=entry + 1)
    print("took", entry, flush=True)
    for fact in found:
        write(fact)
"""

OPENER = """
import sys
from pathlib import Path
from carrel.records.sqlite import SqliteRecords
print("ready", flush=True)
SqliteRecords(Path(sys.argv[1]))
print("open", flush=True)
"""


def killed(program: str, words: list[str], *, lines: int, seconds: float) -> list[str]:
    """Run a program, kill it some time after so many lines, and return all that it said."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        heard = [worker.stdout.readline() for _ in range(lines)]
        time.sleep(seconds)
        os.kill(worker.pid, signal.SIGKILL)
        # The last line may be torn by the kill, and then it was not said.
        return [line.rstrip("\n") for line in (*heard, *worker.stdout) if line.endswith("\n")]


def said(lines: list[str], word: str) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith(f"{word} ")]


def unsure_of(run: int, lines: list[str]) -> list[str]:
    """The last job that was put, and the one that may have been when the kill came."""
    own = [key for key in said(lines, "put") if key.startswith(f"{run}.")]
    return [*own[-1:], f"{run}.{len(own)}"]


def test_twenty_kills_of_a_worker_lose_and_repeat_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path, chance = tmp_path / "records.db", random.Random(11)
    lines: list[str] = []
    unsure: list[str] = []
    for run in range(RUNS):
        words = [str(path), str(run), (BEGIN + run * HOUR).isoformat(), *unsure]
        # The first job that a run takes, it keeps: the last run surely dies with one.
        count = chance.randint(1, 20) if run < RUNS - 1 else 6
        heard = killed(WORKER, words, lines=count, seconds=chance.uniform(0, 0.02))
        unsure = unsure_of(run, heard)
        lines += heard
    records = SqliteRecords(path)
    nothing_is_lost_or_repeated(records, lines)
    what_the_dead_held_is_taken_again(records)
    records.close()


def nothing_is_lost_or_repeated(records: SqliteRecords, lines: list[str]) -> None:
    assert records._database.rows("PRAGMA integrity_check") == [("ok",)]
    jobs = {job.key: job for job in records.queue.jobs(limit=100_000)}
    assert len(jobs) == sum(records.queue.counts().values())
    assert set(said(lines, "put")) <= set(jobs)
    figures = records.usage.total()
    assert (figures.turns, figures.input) == (len(jobs), 3 * len(jobs))
    finished = said(lines, "done")
    assert len(finished) == len(set(finished))
    assert all(jobs[key].state == "done" for key in finished)
    assert all(jobs[key].attempts > 0 for key in said(lines, "took"))
    effects = Counter(event.target for event in records.audit.events(limit=100_000))
    assert effects == Counter(key for key, job in jobs.items() if job.state == "done")


def what_the_dead_held_is_taken_again(records: SqliteRecords) -> None:
    last = BEGIN + (RUNS - 1) * HOUR
    held = {
        job.id: job for job in records.queue.jobs("running", limit=100_000) if job.worker == str(RUNS - 1)
    }
    assert held
    early = take_all(records, last)
    assert early.keys().isdisjoint(held)
    late = take_all(records, last + HOUR)
    assert late.keys() == held.keys() | early.keys()
    assert all(late[number].attempts == job.attempts + 1 for number, job in held.items())
    for job in late.values():
        records.queue.finish(job)
    counts = records.queue.counts()
    assert counts["done"] == sum(counts.values())


def take_all(records: SqliteRecords, now: datetime) -> dict[int, object]:
    taken = {}
    while job := records.queue.take(["work"], now=now, lease=HOUR, worker="heir"):
        taken[job.id] = job
    return taken


def test_twenty_kills_of_a_learner_leave_each_fact_once_with_its_change_and_its_cursor(
    tmp_path: Path,
) -> None:
    path, chance = tmp_path / "records.db", random.Random(13)
    lines: list[str] = []
    for _ in range(RUNS):
        lines += killed(LEARNER, [str(path)], lines=chance.randint(1, 20), seconds=chance.uniform(0, 0.02))
        records = SqliteRecords(path)
        what_was_learnt_is_whole(records, lines)
        records.close()


def what_was_learnt_is_whole(records: SqliteRecords, lines: list[str]) -> None:
    assert records._database.rows("PRAGMA integrity_check") == [("ok",)]
    facts = records.facts.find(limit=100_000)
    cursor = records.facts.cursor("kate", "s")
    assert [fact.id for fact in facts] == [f"{entry}.{n}" for entry in range(cursor) for n in (1, 2)]
    took = [int(entry) for entry in said(lines, "took")]
    assert took == sorted(set(took) & set(range(cursor)))
    written = {fact.id: fact.change for fact in facts if fact.state == "written"}
    assert set(said(lines, "written")) <= set(written)
    changes = records.changes.list(limit=100_000)
    assert {change.reason: change.id for change in changes if change.state == "done"} == written
    assert sum(change.state == "begun" for change in changes) <= 1
    assert all(change.splice.new == b"- t" * 100 for change in changes)
    assert len(facts) - len(written) <= 2


def test_a_kill_while_a_file_is_made_leaves_one_that_opens(tmp_path: Path) -> None:
    chance = random.Random(12)
    for run in range(12):
        path = tmp_path / str(run) / "records.db"
        heard = killed(OPENER, [str(path)], lines=1, seconds=chance.uniform(0, 0.012))
        assert heard in (["ready"], ["ready", "open"])
        records = SqliteRecords(path)
        records.queue.put("work", {}, key="k")
        assert records.queue.counts()["waiting"] == 1
        assert records._database.rows("PRAGMA integrity_check") == [("ok",)]
        records.close()
