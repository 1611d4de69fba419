"""A job that a disk has changed is given up and told of; it keeps nobody from the others."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from msgspec import json

from carrel import Workspace
from carrel.records import Records
from carrel.records.content import RecordDamaged
from carrel.records.damage import damaged_jobs
from carrel.records.postgres import PostgresRecords
from carrel.records.queue import DamagedJob, Job
from carrel.records.sqlite import SqliteRecords
from carrel.runtime.sweep import LEASE, Swept, let_go, sweep

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
ERROR = "record_damaged: Job 1 is damaged and cannot be read."
BROKEN = "payload = '{\"agent\": broken'"


@pytest.fixture(params=["postgres", "sqlite"])
def records(request: pytest.FixtureRequest) -> Iterator[Records]:
    in_postgres = request.param == "postgres"
    opened = PostgresRecords(request.getfixturevalue("tenant"), "desk") if in_postgres else SqliteRecords()
    for key in "abc":
        opened.queue.put("task", {"n": key}, key=key)
    yield opened
    opened.close()


def spoil(records: Records, damage: str = BROKEN) -> None:
    if isinstance(records, SqliteRecords):
        records._database.rows(f"UPDATE jobs SET {damage} WHERE id = 1")
    else:
        assert isinstance(records, PostgresRecords)
        own = "tenant = %(tenant)s AND workspace = %(workspace)s"
        records._ledger.rows(f"UPDATE carrel.jobs SET {damage} WHERE {own} AND id = 1")


def states(records: Records) -> list[tuple[int, str]]:
    return [(job.id, job.state) for job in records.queue.jobs()]


def test_a_damaged_job_is_given_up_and_the_others_are_done(records: Records) -> None:
    spoil(records)
    done: list[str] = []
    swept = sweep(records, {"task": lambda job: done.append(job.key)}, worker="w", now=lambda: NOW)
    assert (swept, done) == (Swept(done=2), ["b", "c"])
    assert states(records) == [(1, "failed"), (2, "done"), (3, "done")]
    spoil(records, "payload = '{}'")
    assert records.queue.get(1).error == ERROR


def test_where_all_that_is_due_is_damaged_there_is_nothing_to_take(records: Records) -> None:
    spoil(records, "payload = '[]'")
    records.queue.put("other", {}, key="k")
    taken = [records.queue.take(["task"], now=NOW, lease=LEASE, worker="w") for _ in range(3)]
    assert [job and job.id for job in taken] == [2, 3, None]


def test_a_damaged_job_is_listed_and_shown_with_its_number(records: Records) -> None:
    spoil(records)
    (first, *others) = records.queue.jobs("waiting")
    assert first == records.queue.get(1) == next(damaged_jobs(records.queue))
    assert (first.key, first.payload, first.result, first.error) == ("a", {}, {}, ERROR)
    assert [job.payload for job in others] == [{"n": "b"}, {"n": "c"}]
    assert json.decode(json.encode(first))["error"] == ERROR
    assert [job.id for job in damaged_jobs(records.queue)] == [1]


def test_a_damaged_job_is_not_put_back_until_it_is_put_anew(records: Records) -> None:
    spoil(records)
    assert records.queue.put("task", {"n": "a"}, key="a").error == ERROR
    sweep(records, {"task": lambda _: None}, worker="w", now=lambda: NOW)
    with pytest.raises(RecordDamaged, match="Job 1 is damaged"):
        records.queue.again(1)
    assert states(records)[0] == (1, "failed")
    anew = records.queue.put("task", {"n": "a"}, key="a")
    assert (anew.state, anew.payload, anew.error) == ("waiting", {"n": "a"}, "")
    assert not list(damaged_jobs(records.queue))


def test_what_a_worker_held_is_let_go_of_though_it_was_damaged_meanwhile(records: Records) -> None:
    assert records.queue.take(["task"], now=NOW, lease=LEASE, worker="w")
    spoil(records)
    let_go(records.queue, "w")
    assert states(records)[0] == (1, "waiting")


ELSEWHERE = {
    "result": "result = '{'",
    "moment": f"not_before = {2**62}",
    "text that is none": "payload = CAST(x'7bff7d' AS TEXT)",
    "key that is none": "key = CAST(x'ff' AS TEXT)",
}


@pytest.mark.parametrize("damage", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_whatever_of_a_job_is_damaged_it_is_listed_and_given_up(damage: str) -> None:
    with closing(SqliteRecords()) as records:
        for key in "ab":
            records.queue.put("task", {}, key=key)
        spoil(records, damage)
        assert [(job.id, isinstance(job, DamagedJob)) for job in records.queue.jobs()] == [
            (1, True),
            (2, False),
        ]
        taken = records.queue.take(["task"], now=NOW, lease=LEASE, worker="w")
        assert taken is not None
        assert taken.id == 2
        assert states(records) == [(1, "failed"), (2, "running")]


@pytest.mark.parametrize("state", ["'waitinh'", "CAST(x'ff' AS TEXT)"])
def test_a_job_whose_state_alone_is_damaged_is_done(state: str) -> None:
    with closing(SqliteRecords()) as records:
        records.queue.put("task", {}, key="a")
        spoil(records, f"state = {state}")
        assert isinstance(records.queue.get(1), DamagedJob)
        taken = records.queue.take(["task"], now=NOW, lease=LEASE, worker="w")
        assert type(taken) is Job


def test_more_jobs_than_a_page_are_looked_at() -> None:
    with closing(SqliteRecords()) as records:
        for number in range(230):
            records.queue.put("task", {}, key=str(number))
        records._database.rows(f"UPDATE jobs SET {BROKEN} WHERE id IN (1, 120, 230)")
        assert [job.id for job in damaged_jobs(records.queue)] == [1, 120, 230]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("CARREL_HOME", str(tmp_path / "home"))
    Workspace.init(tmp_path / "w")
    with Workspace.open(tmp_path / "w") as opened:
        yield opened


def spoil_on_disk(workspace: Workspace, sql: str) -> None:
    with closing(apsw.Connection(str(workspace.root / ".carrel/state/records.db"))) as database:
        database.execute(sql)


@pytest.mark.parametrize("is_swept", [False, True])
@pytest.mark.parametrize("kind", ["extract", "delegate"])
def test_health_tells_of_a_damaged_job_by_its_number(
    workspace: Workspace, kind: str, *, is_swept: bool
) -> None:
    workspace.records.queue.put(kind, {"agent": "main"}, key="k")
    spoil_on_disk(workspace, f"UPDATE jobs SET {BROKEN}")
    if is_swept:
        workspace.sweep()
    found = [each for each in workspace.health().findings if each.severity == "error"]
    (told,) = [each for each in found if "Job 1" in each.message]
    assert (told.code, bool(told.hint)) == ("record_damaged", True)
    assert "records_unavailable" not in {each.code for each in found}


def test_health_tells_of_a_record_of_memory_that_cannot_be_read_as_what_it_is(workspace: Workspace) -> None:
    workspace.records.audit.note(at=workspace.config.clock.now(), actor="a", action="extraction_given_up")
    told = [each.message for each in workspace.health().findings if each.code == "record_damaged"]
    assert told == ["A payload is damaged and cannot be read."]
