"""The worker: what is due is done once, what fails is tried again later, and at last given up."""

from asyncio import CancelledError
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from carrel.errors import NotFound, Unavailable
from carrel.records import Records
from carrel.records.queue import Job
from carrel.records.sqlite import SqliteRecords
from carrel.runtime.sweep import ATTEMPTS, FIRST_WAIT, LEASE, LONGEST_WAIT, Swept, let_go, retry_at, sweep

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    opened = SqliteRecords(tmp_path / "records.db")
    yield opened
    opened.close()


def run(records: Records, work: Any, now: datetime = NOW, **options: Any) -> Swept:
    return sweep(records, {"task": work}, worker="w", now=lambda: now, **options)


def put(records: Records, *keys: str, kind: str = "task") -> None:
    for key in keys:
        records.queue.put(kind, {"n": key}, key=key)


def fails(error: BaseException):
    def work(_: Job):
        raise error

    return work


def begin_and_die(records: Records, now: datetime) -> None:
    """Take a job, and be heard of no more."""
    assert records.queue.take(["task"], now=now, lease=LEASE, worker="w")


def test_jobs_are_done_in_their_order_and_their_results_are_kept(records):
    put(records, "a", "b")
    done: list[str] = []
    assert run(records, lambda job: done.append(job.key) or {"did": job.key}) == Swept(done=2)
    assert done == ["a", "b"]
    assert [job.result for job in records.queue.jobs("done")] == [{"did": "a"}, {"did": "b"}]
    assert run(records, fails(AssertionError())) == Swept()


def test_no_more_than_the_limit_is_done_and_other_kinds_are_left(records):
    put(records, "a", "b", "c")
    put(records, "x", kind="other")
    assert run(records, lambda _: None, limit=2) == Swept(done=2, left=2)
    assert run(records, lambda _: None) == Swept(done=1, left=1)
    assert run(records, lambda _: None, limit=0) == Swept(left=1)


def test_what_may_pass_is_tried_again_each_time_later_and_then_given_up(records):
    put(records, "a")
    now, waits = NOW, []
    for _ in range(ATTEMPTS - 1):
        assert run(records, fails(Unavailable("The disk is full.")), now) == Swept(retrying=1, left=1)
        (job,) = records.queue.jobs("waiting")
        assert run(records, fails(AssertionError()), now) == Swept(left=1)  # it is not due yet
        waits.append(job.not_before - now)
        now = job.not_before
    assert run(records, fails(Unavailable("The disk is full.")), now) == Swept(failed=1)
    assert waits == [FIRST_WAIT * 2**n for n in range(ATTEMPTS - 1)]
    assert records.queue.jobs("failed")[0].error == "unavailable: The disk is full."


def test_what_would_go_the_same_way_again_is_given_up_at_once(records):
    put(records, "a")
    assert run(records, fails(NotFound("There is no such agent."))) == Swept(failed=1)
    put(records, "b")
    passed_on = Unavailable("It gave no answer.")
    passed_on.__cause__ = NotFound("There is no such folder.")
    assert run(records, fails(passed_on)) == Swept(failed=1)


def test_a_broken_job_does_not_keep_the_others_from_being_done(records):
    put(records, "a", "b")

    def work(job: Job) -> None:
        if job.key == "a":
            raise KeyError("x")

    assert run(records, work) == Swept(done=1, retrying=1, left=1)
    assert records.queue.jobs("waiting")[0].error == "KeyError: 'x'"


def test_a_worker_that_is_killed_loses_nothing(records):
    put(records, "a")
    begin_and_die(records, NOW)
    assert run(records, lambda _: None) == Swept(left=1)  # it is still leased
    assert run(records, lambda _: None, NOW + LEASE + timedelta(seconds=1)) == Swept(done=1)


def test_a_job_that_kills_every_worker_is_given_up(records):
    put(records, "a")
    now = NOW
    for _ in range(ATTEMPTS):
        begin_and_die(records, now)
        now += LEASE + timedelta(seconds=1)
    assert run(records, fails(KeyboardInterrupt()), now) == Swept(failed=1)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, CancelledError])
def test_a_worker_that_is_told_to_stop_lets_go_of_its_job_at_once(records, stop):
    put(records, "a", "b")
    with pytest.raises(stop):
        run(records, fails(stop()))
    assert [(job.state, job.attempts) for job in records.queue.jobs()] == [("waiting", 0)] * 2
    assert run(records, lambda _: None) == Swept(done=2)


def test_a_worker_that_leaves_gives_back_what_it_took_and_nothing_else(records):
    put(records, "a", "b", "c")
    for worker in ("me", "other", "me"):
        assert records.queue.take(["task"], now=NOW, lease=LEASE, worker=worker)
    let_go(records.queue, "me")
    assert [job.state for job in records.queue.jobs()] == ["waiting", "running", "waiting"]


def test_a_result_that_comes_after_the_lease_is_dropped_for_the_new_holders(records):
    put(records, "a")
    late = NOW + LEASE + timedelta(seconds=1)

    def slow(_: Job) -> dict[str, str]:
        assert run(records, lambda _: {"by": "second"}, late) == Swept(done=1)
        return {"by": "first"}

    assert run(records, slow) == Swept()
    assert records.queue.jobs("done")[0].result == {"by": "second"}


def test_the_wait_has_an_end(records):
    put(records, "a")
    job = records.queue.take(["task"], now=NOW, lease=LEASE, worker="w")
    assert job is not None
    waits = [retry_at(Job(**{**_fields(job), "attempts": n}), NOW) for n in range(1, ATTEMPTS + 1)]
    assert waits[-1] is None
    assert all(wait - NOW <= LONGEST_WAIT for wait in waits[:-1] if wait)


def _fields(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in job.__struct_fields__}
