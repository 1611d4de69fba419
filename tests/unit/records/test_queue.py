"""Any order of puts, takes and ends, beside a model of the queue that is nothing but a list."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from carrel.postgres import Postgres
from carrel.records import Records
from carrel.records.postgres import PostgresRecords
from carrel.records.queue import LeaseLost
from carrel.records.sqlite import SqliteRecords

MINUTE = timedelta(minutes=1)
KINDS = ("extract", "dream")


class QueueMachine(RuleBasedStateMachine):
    """`expected` holds for each job what must be true of it; `claim` is who may still end it."""

    claims = Bundle("claims")

    def __init__(self, records: Records | None = None) -> None:
        super().__init__()
        self.records = records or SqliteRecords()
        self.queue = self.records.queue
        self.now = datetime(2026, 4, 24, tzinfo=UTC)
        self.expected: list[dict[str, Any]] = []

    def teardown(self) -> None:
        self.records.close()

    def of(self, number: int) -> dict[str, Any]:
        return next(job for job in self.expected if job["id"] == number)

    @rule(kind=st.sampled_from(KINDS), key=st.sampled_from("abc"), wait=st.integers(0, 3))
    def put(self, kind: str, key: str, wait: int) -> None:
        due = self.now + wait * MINUTE
        job = self.queue.put(kind, {}, key=key, not_before=due)
        known = [each for each in self.expected if (each["kind"], each["key"]) == (kind, key)]
        if not known:
            known = [{"id": job.id, "kind": kind, "key": key, "state": "failed", "claim": None}]
            self.expected += known
        if known[0]["state"] == "failed":
            known[0].update(state="waiting", attempts=0, due=due, claim=None)
        assert job.id == known[0]["id"]

    @rule(target=claims, kinds=st.sets(st.sampled_from(KINDS), min_size=1), lease=st.integers(1, 3))
    def take(self, kinds: set[str], lease: int) -> Any:
        job = self.queue.take(kinds, now=self.now, lease=lease * MINUTE, worker="ann")
        due = [
            each
            for each in self.expected
            if each["kind"] in kinds and each["state"] in ("waiting", "running") and each["due"] <= self.now
        ]
        if not due:
            assert job is None
            return multiple()
        assert job is not None
        assert job.id == due[0]["id"]
        due[0].update(
            state="running", attempts=due[0]["attempts"] + 1, due=self.now + lease * MINUTE, claim=job.claim
        )
        return job

    @rule(job=claims, way=st.sampled_from(["finish", "retry", "give up", "extend"]))
    def end(self, job: Any, way: str) -> None:
        expected = self.of(job.id)
        ends = {"finish": "done", "retry": "waiting", "give up": "failed", "extend": "running"}
        runs = expected["claim"] == job.claim and expected["state"] == "running"
        repeats = expected["claim"] == job.claim and expected["state"] == ends[way]
        if not runs and not repeats:
            with pytest.raises(LeaseLost):
                self.do(job, way)
            return
        self.do(job, way)
        if runs:
            expected.update(state=ends[way], due=self.now + MINUTE)

    def do(self, job: Any, way: str) -> None:
        match way:
            case "finish":
                self.queue.finish(job)
            case "retry":
                self.queue.fail(job, "no", retry_at=self.now + MINUTE)
            case "give up":
                self.queue.fail(job, "no", retry_at=None)
            case _:
                self.queue.extend(job, now=self.now, lease=MINUTE)

    @rule(job=claims)
    def release(self, job: Any) -> None:
        expected = self.of(job.id)
        self.queue.release(job)
        if expected["claim"] == job.claim and expected["state"] == "running":
            expected.update(state="waiting", attempts=expected["attempts"] - 1, claim=None, due=self.now)

    @rule(job=claims)
    def again(self, job: Any) -> None:
        expected = self.of(job.id)
        if expected["state"] == "failed":
            expected.update(state="waiting", attempts=0, claim=None, due=self.now)
        assert self.queue.again(job.id).state == expected["state"]

    @rule(minutes=st.integers(1, 4))
    def wait(self, minutes: int) -> None:
        self.now += minutes * MINUTE

    @invariant()
    def the_queue_is_as_expected(self) -> None:
        found = [(job.id, job.kind, job.key, job.state, job.attempts) for job in self.queue.jobs(limit=1000)]
        assert found == [(j["id"], j["kind"], j["key"], j["state"], j["attempts"]) for j in self.expected]
        counted = self.queue.counts()
        assert counted == {state: sum(j["state"] == state for j in self.expected) for state in counted}


QueueMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestQueueAgainstAModel = QueueMachine.TestCase


def test_the_queue_in_postgres_is_as_its_model(shared_postgres: Postgres) -> None:
    numbers = count()

    def machine() -> QueueMachine:
        return QueueMachine(PostgresRecords(shared_postgres.tenant(f"queue-{next(numbers)}"), "desk"))

    run_state_machine_as_test(
        machine, settings=settings(max_examples=20, stateful_step_count=30, deadline=None)
    )
    assert next(numbers) > 1


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_a_clock_that_was_years_ahead_has_put_off_is_done_when_it_is_right_again(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """A worker that died then, and one that wanted to try again soon, would keep others waiting for years."""
    now, ahead = datetime(2026, 4, 24, tzinfo=UTC), datetime(2036, 4, 24, tzinfo=UTC)
    with closing(records_of(kind, request)) as records:
        for key in "ab":
            records.queue.put("work", {}, key=key)
            job = records.queue.take(["work"], now=ahead, lease=MINUTE, worker="ann")
            assert job
            if key == "b":
                records.queue.fail(job, "Busy.", retry_at=ahead + MINUTE)
        taken = [records.queue.take(["work"], now=now, lease=MINUTE, worker="bob") for _ in "abc"]
        assert [job and job.key for job in taken] == ["a", "b", None]
        records.queue.put("later", {}, key="c", not_before=now + timedelta(days=1))
        assert records.queue.take(["later"], now=now, lease=MINUTE, worker="bob") is None


def records_of(kind: str, request: pytest.FixtureRequest) -> Records:
    if kind == "sqlite":
        return SqliteRecords()
    return PostgresRecords(request.getfixturevalue("shared_postgres").tenant("clock"), "desk")
