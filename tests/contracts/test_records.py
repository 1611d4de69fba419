"""What all Records promise; a new implementation is held to it by one more line in RECORDS of conftest.py."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carrel.errors import Conflict, NotFound, UsageError
from carrel.records import Records
from carrel.records.changes import Change, Splice
from carrel.records.content import NAME_CHARACTERS, PAYLOAD_CHARACTERS, RecordTooLarge
from carrel.records.facts import Fact
from carrel.records.proposals import Proposal
from carrel.records.queue import AT_ONCE, ERROR_CHARACTERS, Job, LeaseLost, UnknownJob
from carrel.records.recalls import QUERY_CHARACTERS, TEXT_CHARACTERS, RecallEvent
from carrel.records.usage import MOST_TOKENS, Spent, Total

NOW = datetime(2026, 4, 24, 12, 0, 0, 123_456, tzinfo=UTC)
LEASE = timedelta(minutes=5)
LATER = NOW + LEASE
MUCH_LATER = NOW + timedelta(days=1)
HOSTILE = [
    "", " ", "a\0b", "\udcff not Unicode", "é 🐙 \u202e", "'; DROP TABLE jobs; --", "%_\\", "12", "\r\n"
]  # fmt: skip


def take(records: Records, *kinds: str, now: datetime = NOW, worker: str = "ann") -> Job | None:
    return records.queue.take(kinds or ("extract",), now=now, lease=LEASE, worker=worker)


def taken(records: Records, *kinds: str, now: datetime = NOW, worker: str = "ann") -> Job:
    job = take(records, *kinds, now=now, worker=worker)
    assert job is not None
    return job


def only(records: Records) -> Job:
    (job,) = records.queue.jobs()
    return job


# Layout, assemblies and what is frozen


def keep(
    records: Records,
    *,
    scope: str = "main",
    sent: str = "sent",
    frozen: str = "as it was",
    session: str = "s1",
) -> None:
    records.keep_assembly("kate", session, scope, assembly={"text": sent}, frozen={"1": frozen})


def test_nothing_is_known_at_first(records: Records) -> None:
    assert records.layout() is None
    assert records.last_assembly("kate", "s1") is None
    assert records.frozen("kate", "s1", "main") is None


def test_the_layout_may_be_remembered_anew(records: Records) -> None:
    records.remember_layout("nexo")
    records.remember_layout("astra")
    assert records.layout() == "astra"


def test_the_first_to_freeze_a_session_wins_and_the_last_assembly_is_kept(records: Records) -> None:
    keep(records, sent="first", frozen="first")
    keep(records, sent="second", frozen="second")
    assert records.frozen("kate", "s1", "main") == {"1": "first"}
    assert records.last_assembly("kate", "s1") == {"text": "second"}


def test_what_is_frozen_and_what_was_sent_are_read_together(records: Records) -> None:
    assert records.kept("kate", "s1", "main") == (None, None)
    keep(records)
    assert records.kept("kate", "s1", "main") == ({"1": "as it was"}, {"text": "sent"})
    assert records.kept("kate", "s1", "shared") == (None, {"text": "sent"})
    records.thaw("kate", "s1")
    assert records.kept("kate", "s1", "main") == (None, {"text": "sent"})


def test_a_change_of_scope_replaces_what_is_frozen(records: Records) -> None:
    keep(records, scope="main", frozen="for the owner")
    assert records.frozen("kate", "s1", "shared") is None
    keep(records, scope="shared", frozen="for all")
    assert records.frozen("kate", "s1", "shared") == {"1": "for all"}
    assert records.frozen("kate", "s1", "main") is None


def test_sessions_and_agents_are_kept_apart(records: Records) -> None:
    keep(records, session="s1", frozen="one")
    keep(records, session="s2", frozen="two")
    assert records.frozen("kate", "s1", "main") == {"1": "one"}
    assert records.frozen("kate", "s2", "main") == {"1": "two"}
    assert records.frozen("ana", "s1", "main") is None


def test_thawing_ends_the_freeze_of_one_session_and_keeps_its_last_assembly(records: Records) -> None:
    keep(records, session="s1")
    keep(records, session="s2")
    records.thaw("kate", "s1")
    assert records.frozen("kate", "s1", "main") is None
    assert records.last_assembly("kate", "s1") is not None
    assert records.frozen("kate", "s2", "main") is not None
    keep(records, session="s1", frozen="read again")
    assert records.frozen("kate", "s1", "main") == {"1": "read again"}


def test_frozen_text_that_is_not_unicode_survives(records: Records) -> None:
    keep(records, frozen="a\udcffb\0c🐙")
    assert records.frozen("kate", "s1", "main") == {"1": "a\udcffb\0c🐙"}


def test_a_write_that_fails_leaves_neither_half(records: Records) -> None:
    with pytest.raises(TypeError):
        records.keep_assembly("kate", "s1", "main", assembly={"text": "sent"}, frozen={"1": object()})
    assert records.last_assembly("kate", "s1") is None
    assert records.frozen("kate", "s1", "main") is None
    keep(records)  # and the next write is not caught in the failed one
    assert records.last_assembly("kate", "s1") == {"text": "sent"}


# Queue


def test_a_job_that_is_put_waits(records: Records) -> None:
    job = records.queue.put("extract", {"turn": 3, "of": ["a", None]}, key="s1:3")
    assert job == only(records)
    assert (job.kind, job.key, job.payload) == ("extract", "s1:3", {"turn": 3, "of": ["a", None]})
    assert (job.state, job.attempts, job.error, job.result, job.worker) == ("waiting", 0, "", {}, "")
    assert job.not_before == AT_ONCE
    assert job.leased_until is None


@pytest.mark.parametrize("state", ["waiting", "running", "done"])
def test_the_same_key_again_adds_nothing(records: Records, state: str) -> None:
    first = records.queue.put("extract", {"n": 1}, key="k")
    if state != "waiting":
        job = taken(records)
        if state == "done":
            records.queue.finish(job)
    again = records.queue.put("extract", {"n": 2}, key="k", not_before=MUCH_LATER)
    assert again == only(records)
    assert (again.id, again.payload, again.state) == (first.id, {"n": 1}, state)


def test_the_same_key_of_another_kind_is_another_job(records: Records) -> None:
    one = records.queue.put("extract", {}, key="k")
    two = records.queue.put("dream", {}, key="k")
    assert records.queue.jobs() == [one, two]
    assert one.id != two.id


def test_a_failed_job_that_is_put_again_waits_with_what_it_is_given_now(records: Records) -> None:
    records.queue.put("extract", {"n": 1}, key="k")
    records.queue.fail(taken(records), "no", retry_at=None)
    job = records.queue.put("extract", {"n": 2}, key="k")
    assert job == only(records)
    assert (job.state, job.payload, job.attempts, job.error) == ("waiting", {"n": 2}, 0, "")
    assert taken(records).id == job.id


def test_jobs_are_taken_in_the_order_they_were_put(records: Records) -> None:
    for key in ("c", "a", "b"):
        records.queue.put("extract", {}, key=key)
    assert [taken(records).key for _ in range(3)] == ["c", "a", "b"]
    assert take(records) is None


def test_a_job_is_not_taken_before_its_time_and_holds_up_nobody(records: Records) -> None:
    later = records.queue.put("extract", {}, key="later", not_before=LATER)
    records.queue.put("extract", {}, key="now")
    assert later.not_before == LATER
    assert taken(records).key == "now"
    assert take(records, now=LATER - timedelta(microseconds=1)) is None
    assert taken(records, now=LATER).key == "later"


def test_a_worker_takes_only_what_it_can_do(records: Records) -> None:
    records.queue.put("dream", {}, key="1")
    records.queue.put("extract", {}, key="2")
    records.queue.put("compact", {}, key="3")
    assert take(records, "nothing of the kind") is None
    assert records.queue.take((), now=NOW, lease=LEASE, worker="ann") is None
    assert taken(records, "compact", "extract").kind == "extract"
    assert taken(records, "compact", "extract").kind == "compact"
    assert taken(records, "dream").kind == "dream"


def test_a_taken_job_says_by_whom_and_until_when(records: Records) -> None:
    records.queue.put("extract", {"n": 1}, key="k")
    job = taken(records)
    assert (job.state, job.attempts, job.worker, job.leased_until) == ("running", 1, "ann", LATER)
    assert job.payload == {"n": 1}
    assert job == only(records)


def test_what_a_dead_worker_held_is_taken_again_when_its_lease_ends(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    taken(records)
    assert take(records, now=LATER - timedelta(microseconds=1), worker="bob") is None
    job = taken(records, now=LATER, worker="bob")
    assert (job.attempts, job.worker, job.leased_until) == (2, "bob", LATER + LEASE)


def test_an_extended_lease_ends_later(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    job = taken(records)
    longer = records.queue.extend(job, now=NOW + LEASE / 2, lease=LEASE)
    assert longer.leased_until == NOW + LEASE * 1.5
    assert take(records, now=LATER, worker="bob") is None
    assert taken(records, now=NOW + LEASE * 1.5, worker="bob").attempts == 2
    with pytest.raises(LeaseLost):
        records.queue.extend(longer, now=LATER, lease=LEASE)


def test_a_late_worker_may_go_on_while_nobody_else_has_its_job(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    job = taken(records)
    job = records.queue.extend(job, now=MUCH_LATER, lease=LEASE)
    assert job.leased_until == MUCH_LATER + LEASE
    records.queue.finish(job)
    assert only(records).state == "done"


def test_a_finished_job_keeps_its_result_and_is_not_taken_again(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    job = taken(records)
    records.queue.finish(job, {"facts": 2})
    done = only(records)
    assert (done.state, done.result, done.attempts, done.leased_until) == ("done", {"facts": 2}, 1, None)
    assert take(records, now=MUCH_LATER) is None


def test_finishing_twice_is_finishing_once(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    job = taken(records)
    records.queue.finish(job, {"facts": 2})
    records.queue.finish(job, {"facts": 9})
    assert only(records).result == {"facts": 2}


@pytest.mark.parametrize("end", ["finish", "retry", "give up", "extend"])
def test_who_lost_the_lease_changes_nothing(records: Records, end: str) -> None:
    records.queue.put("extract", {}, key="k")
    slow = taken(records)
    quick = taken(records, now=LATER, worker="bob")
    with pytest.raises(LeaseLost) as refusal:
        end_it(records, slow, end)
    assert isinstance(refusal.value, Conflict)
    assert refusal.value.code == "lease_lost"
    assert refusal.value.hint
    assert only(records) == quick
    records.queue.finish(quick)
    with pytest.raises(LeaseLost):
        end_it(records, slow, end)
    assert only(records).state == "done"


def test_the_same_worker_can_lose_a_lease_to_itself(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    before = taken(records)
    now = taken(records, now=LATER)
    with pytest.raises(LeaseLost):
        records.queue.finish(before)
    records.queue.finish(now)
    assert only(records).state == "done"


@pytest.mark.parametrize("end", ["finish", "retry", "give up", "extend"])
@pytest.mark.parametrize("back", ["again", "put"])
def test_a_claim_of_before_a_job_was_put_back_is_not_one_of_after(
    records: Records, back: str, end: str
) -> None:
    """Attempts begin anew, and so cannot tell one claim from the other."""
    records.queue.put("extract", {}, key="k")
    old = taken(records)
    records.queue.fail(old, "no", retry_at=None)
    if back == "again":
        records.queue.again(old.id)
    else:
        records.queue.put("extract", {}, key="k")
    with pytest.raises(LeaseLost):
        end_it(records, old, end)
    new = taken(records)
    assert (new.attempts, new.worker) == (old.attempts, old.worker)
    with pytest.raises(LeaseLost):
        end_it(records, old, end)
    assert only(records) == new


def test_a_job_that_went_wrong_waits_for_its_next_time(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    job = taken(records)
    records.queue.fail(job, "the model is away", retry_at=LATER)
    waiting = only(records)
    assert (waiting.state, waiting.error, waiting.attempts) == ("waiting", "the model is away", 1)
    assert (waiting.not_before, waiting.leased_until) == (LATER, None)
    assert take(records) is None
    assert taken(records, now=LATER).attempts == 2
    with pytest.raises(LeaseLost):
        records.queue.finish(job)


def test_a_job_that_is_given_up_is_not_taken_until_it_is_put_back(records: Records) -> None:
    records.queue.put("extract", {"n": 1}, key="k")
    job = taken(records)
    records.queue.fail(job, "hopeless", retry_at=None)
    records.queue.fail(job, "said twice", retry_at=None)
    failed = only(records)
    assert (failed.state, failed.error, failed.leased_until) == ("failed", "hopeless", None)
    assert take(records, now=MUCH_LATER) is None
    again = records.queue.again(job.id)
    assert (again.state, again.attempts, again.error, again.payload) == ("waiting", 0, "", {"n": 1})
    assert taken(records).attempts == 1


@pytest.mark.parametrize(("first", "second"), [("finish", "give up"), ("give up", "finish")])
def test_a_claim_ends_one_way(records: Records, first: str, second: str) -> None:
    records.queue.put("extract", {}, key="k")
    job = taken(records)
    end_it(records, job, first)
    ended = only(records)
    with pytest.raises(LeaseLost):
        end_it(records, job, second)
    assert only(records) == ended


@pytest.mark.parametrize("number", [0, -1, 7, 2**63, -(2**80)])
def test_a_number_that_no_job_has_is_not_found(records: Records, number: int) -> None:
    records.queue.put("extract", {}, key="k")
    with pytest.raises(UnknownJob) as refusal:
        records.queue.again(number)
    with pytest.raises(UnknownJob):
        records.queue.get(number)
    assert isinstance(refusal.value, NotFound)
    assert str(number) in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize("state", ["waiting", "running", "done"])
def test_only_a_failed_job_is_put_back(records: Records, state: str) -> None:
    job = records.queue.put("extract", {}, key="k")
    if state != "waiting":
        job = taken(records)
        if state == "done":
            records.queue.finish(job)
    before = only(records)
    assert records.queue.again(job.id) == before == only(records)
    assert before.state == state


def test_paging_shows_each_job_once(records: Records) -> None:
    numbers = [records.queue.put("extract", {}, key=str(n)).id for n in range(7)]
    seen: list[int] = []
    while page := records.queue.jobs(limit=3, after=seen[-1] if seen else 0):
        assert len(page) <= 3
        seen += [job.id for job in page]
    assert seen == numbers
    assert records.queue.jobs(limit=0) == records.queue.jobs(limit=-5) == []
    assert len(records.queue.jobs(limit=2**70, after=-(2**70))) == 7
    assert records.queue.jobs(after=2**70) == []


def test_jobs_are_listed_and_counted_by_state(records: Records) -> None:
    assert records.queue.counts() == {"waiting": 0, "running": 0, "done": 0, "failed": 0}
    for key in "abcdef":
        records.queue.put("extract", {}, key=key)
    records.queue.finish(taken(records))
    records.queue.fail(taken(records), "no", retry_at=None)
    taken(records)
    assert records.queue.counts() == {"waiting": 3, "running": 1, "done": 1, "failed": 1}
    assert [job.key for job in records.queue.jobs("waiting")] == ["d", "e", "f"]
    assert [job.key for job in records.queue.jobs("done")] == ["a"]
    assert [job.key for job in records.queue.jobs("failed")] == ["b"]
    assert [job.key for job in records.queue.jobs("running")] == ["c"]


def test_a_job_that_is_let_go_of_may_be_taken_at_once_and_its_attempt_does_not_count(
    records: Records,
) -> None:
    records.queue.put("extract", {}, key="k", not_before=NOW)
    records.queue.fail(taken(records), "once", retry_at=NOW)
    held = taken(records)
    records.queue.release(held)
    free = records.queue.get(held.id)
    assert (free.state, free.attempts, free.error, free.leased_until) == ("waiting", 1, "once", None)
    with pytest.raises(LeaseLost):
        records.queue.finish(held)
    other = taken(records)
    assert other.attempts == 2
    records.queue.release(held)
    assert only(records) == other


def test_jobs_are_listed_by_kind(records: Records) -> None:
    for kind, key in (("extract", "a"), ("delegate", "b"), ("extract", "c"), ("m\udcff", "d")):
        records.queue.put(kind, {}, key=key)
    taken(records)
    assert [job.key for job in records.queue.jobs(kind="extract")] == ["a", "c"]
    assert [job.key for job in records.queue.jobs("waiting", kind="extract")] == ["c"]
    assert [job.key for job in records.queue.jobs(kind="m\udcff")] == ["d"]
    assert records.queue.jobs(kind="'; DROP TABLE jobs; --") == []


def test_moments_of_any_zone_are_compared_and_come_back_to_the_microsecond(records: Records) -> None:
    bogota = timezone(timedelta(hours=-5))
    job = records.queue.put("extract", {}, key="k", not_before=LATER.astimezone(bogota))
    assert job.not_before == LATER
    assert job.not_before.tzinfo is UTC
    assert take(records, now=(LATER - timedelta(microseconds=1)).astimezone(bogota)) is None
    assert taken(records, now=LATER.astimezone(bogota)).key == "k"


def test_a_moment_without_a_zone_is_a_mistake_and_changes_nothing(records: Records) -> None:
    naive = NOW.replace(tzinfo=None)
    with pytest.raises(TypeError):
        records.queue.put("extract", {}, key="k", not_before=naive)
    assert records.queue.jobs() == []
    job = records.queue.put("extract", {}, key="k")
    with pytest.raises(TypeError):
        take(records, now=naive)
    assert only(records) == job


def test_a_lease_without_end_ends_with_the_calendar(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    job = records.queue.take(["extract"], now=NOW, lease=timedelta.max, worker="ann")
    assert job is not None
    assert job.leased_until == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_comes_back_as_it_was(records: Records, text: str) -> None:
    records.queue.put(text, {text: [text]}, key=text)
    records.queue.put(text, {}, key=text)
    job = taken(records, text, worker=text)
    assert (job.kind, job.key, job.payload, job.worker) == (text, text, {text: [text]}, text)
    records.queue.fail(job, text, retry_at=NOW)
    assert only(records).error == text
    records.queue.finish(taken(records, text), {text: text})
    assert only(records).result == {text: text}


def test_of_a_long_error_the_beginning_is_kept(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    records.queue.fail(taken(records), "x" * 1_000_000, retry_at=None)
    assert only(records).error == "x" * ERROR_CHARACTERS


def test_more_than_a_job_may_hold_is_refused(records: Records) -> None:
    with pytest.raises(RecordTooLarge) as refusal:
        records.queue.put("extract", {"text": "x" * PAYLOAD_CHARACTERS}, key="k")
    assert isinstance(refusal.value, UsageError)
    assert refusal.value.code == "record_too_large"
    assert refusal.value.hint
    with pytest.raises(RecordTooLarge):
        records.queue.put("extract", {}, key="k" * (NAME_CHARACTERS + 1))
    assert records.queue.jobs() == []
    records.queue.put("extract", {"text": "x" * (PAYLOAD_CHARACTERS - 100)}, key="k" * NAME_CHARACTERS)
    assert only(records).state == "waiting"


def test_what_is_no_json_is_a_mistake_and_changes_nothing(records: Records) -> None:
    with pytest.raises(TypeError):
        records.queue.put("extract", {"what": object()}, key="k")
    assert records.queue.jobs() == []


def test_of_many_threads_one_has_each_job(records: Records) -> None:
    for number in range(60):
        records.queue.put("extract", {}, key=str(number))
    ready = Barrier(6, timeout=30)

    def work(number: int) -> list[str]:
        ready.wait()
        keys: list[str] = []
        while (job := take(records, worker=f"worker {number}")) is not None:
            records.queue.finish(job)
            keys.append(job.key)
        return keys

    with ThreadPoolExecutor(6) as threads:
        done = [key for keys in threads.map(work, range(6)) for key in keys]
    assert sorted(done, key=int) == [str(number) for number in range(60)]
    assert records.queue.counts()["done"] == 60


def test_many_threads_that_put_the_same_put_it_once(records: Records) -> None:
    ready = Barrier(6, timeout=30)

    def put(_: int) -> list[int]:
        ready.wait()
        return [records.queue.put("extract", {}, key=str(key)).id for key in range(20)]

    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(put, range(6)))
    assert len({tuple(answer) for answer in answers}) == 1
    assert len(records.queue.jobs()) == 20


def end_it(records: Records, job: Job, how: str) -> None:
    match how:
        case "finish":
            records.queue.finish(job)
        case "retry":
            records.queue.fail(job, "no", retry_at=NOW)
        case "give up":
            records.queue.fail(job, "no", retry_at=None)
        case _:
            records.queue.extend(job, now=NOW, lease=LEASE)


def write_all(records: Records) -> None:
    records.keep_assembly("kate", "s1", "main", assembly={"text": "sent"}, frozen={})
    records.queue.put("extract", {}, key="k")
    records.usage.add(spent(), turn="t1")
    records.audit.note(at=NOW, actor="kate", action="write")
    records.recalls.add([recall()])
    records.facts.add([Fact(id="f", agent="kate", layer="project", kind="note", text="t", key="t", at=NOW)])
    records.facts.advance("kate", "s1", expect=0, to=7)
    change = records.changes.begin(
        Change(
            at=NOW,
            actor="kate",
            action="append",
            path="p",
            before=None,
            after="d",
            splice=Splice(0, b"", b"x"),
        )
    )
    records.changes.settle(change.id, "done")
    proposal = records.proposals.add(
        Proposal(key="k", at=NOW, agent="kate", actor="kate", action="add", why="w", reason="r", path="p")
    )
    records.proposals.decide(proposal.id, "approved", at=NOW, by="owner")


def written(records: Records) -> list[bool]:
    return [
        records.last_assembly("kate", "s1") is not None,
        bool(records.queue.jobs()),
        records.usage.last("kate", "s1") is not None,
        bool(records.audit.events()),
        bool(records.recalls.count("kate", NOW)),
        bool(records.facts.find()),
        records.facts.cursor("kate", "s1") == 7,
        bool(records.changes.list(state="done")),
        bool(records.proposals.list(["approved"])),
    ]


def write_and_fail(records: Records, write: Callable[[], object]) -> None:
    with records.transaction():
        write()
        raise KeyError


# Transaction


def test_all_parts_are_kept_together(records: Records) -> None:
    with records.transaction():
        write_all(records)
        assert written(records) == [True] * 9
    assert written(records) == [True] * 9


def test_all_parts_are_undone_together(records: Records) -> None:
    with pytest.raises(KeyError):
        write_and_fail(records, lambda: write_all(records))
    assert written(records) == [False] * 9
    write_all(records)
    assert written(records) == [True] * 9


def test_a_part_that_fails_is_undone_alone(records: Records) -> None:
    with records.transaction():
        records.queue.put("extract", {}, key="before")
        with pytest.raises(KeyError):
            write_and_fail(records, lambda: records.queue.put("extract", {}, key="inside"))
        records.queue.put("extract", {}, key="after")
    assert [job.key for job in records.queue.jobs()] == ["before", "after"]


def test_a_part_is_kept_only_with_the_whole(records: Records) -> None:
    def inside() -> None:
        with records.transaction():
            records.queue.put("extract", {}, key="inside")

    with pytest.raises(KeyError):
        write_and_fail(records, inside)
    assert records.queue.jobs() == []


def test_a_refusal_inside_leaves_the_rest_to_be_kept(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    slow = taken(records)
    taken(records, now=LATER, worker="bob")
    with records.transaction():
        records.usage.add(spent(), turn="t1")
        with pytest.raises(LeaseLost):
            records.queue.finish(slow)
    assert records.usage.last("kate", "s1") is not None
    assert only(records).worker == "bob"


def test_a_job_finished_with_its_effect_is_done_only_with_its_effect(records: Records) -> None:
    records.queue.put("extract", {}, key="k")
    job = taken(records)

    def work() -> None:
        records.audit.note(at=NOW, actor="kate", action="extract")
        records.queue.finish(job)

    with pytest.raises(KeyError):
        write_and_fail(records, work)
    assert records.audit.events() == []
    assert only(records) == job


def test_other_threads_do_not_get_into_it(records: Records) -> None:
    """Each adds two by two; one in between would make another's pair be undone, or kept by halves."""
    ready = Barrier(4, timeout=30)

    def pair(name: str) -> None:
        records.queue.put("extract", {}, key=f"{name}.1")
        records.queue.put("extract", {}, key=f"{name}.2")

    def work(number: int) -> None:
        ready.wait()
        for n in range(15):
            if n % 3:
                with records.transaction():
                    pair(f"{number}.{n}")
            else:
                with suppress(KeyError):
                    write_and_fail(records, lambda n=n: pair(f"{number}.{n}"))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    keys = {job.key for job in records.queue.jobs(limit=1000)}
    assert keys == {f"{a}.{n}.{half}" for a in range(4) for n in range(15) if n % 3 for half in (1, 2)}


def spent(**changes: object) -> Spent:
    figures = {
        "agent": "kate",
        "session": "s1",
        "model": "m",
        "at": NOW,
        "input": 100,
        "cached": 80,
        "output": 7,
    }
    return Spent(**(figures | changes))  # pyright: ignore[reportArgumentType]


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=3),
    st.sampled_from([-1, 2**63, 10**400, math.inf, -math.inf, math.nan, "9" * 5000, [], {}]),
)  # fmt: skip


# Usage


def test_what_a_turn_took_comes_back(records: Records) -> None:
    assert records.usage.last("kate", "s1") is None
    took = spent(cost=0.25, purpose="background", counted=93)
    records.usage.add(took, turn="t1")
    assert records.usage.last("kate", "s1") == took


def test_the_same_turn_counts_once(records: Records) -> None:
    records.usage.add(spent(input=100), turn="t1")
    records.usage.add(spent(input=999), turn="t1")
    assert records.usage.total().input == 100
    records.usage.add(spent(input=10), turn="t2")
    records.usage.add(spent(input=10, session="s2"), turn="t1")
    records.usage.add(spent(input=10, agent="ana"), turn="t1")
    assert records.usage.total().input == 130
    assert records.usage.total().turns == 4


def test_the_last_is_what_was_added_last_for_that_session(records: Records) -> None:
    records.usage.add(spent(output=1), turn="t9")
    records.usage.add(spent(output=2, at=NOW - LEASE), turn="t1")
    records.usage.add(spent(output=3, session="s2"), turn="t2")
    records.usage.add(spent(output=4, agent="ana"), turn="t3")
    last = records.usage.last("kate", "s1")
    assert last is not None
    assert last.output == 2


def test_the_last_of_one_purpose_is_not_that_of_the_other(records: Records) -> None:
    records.usage.add(spent(output=1, counted=90), turn="t1")
    records.usage.add(spent(output=2, purpose="background"), turn="summary")
    turn, background = (records.usage.last("kate", "s1", purpose=own) for own in ("turn", "background"))
    assert turn == spent(output=1, counted=90)
    assert background == spent(output=2, purpose="background")
    assert records.usage.last("kate", "s1") == background
    assert records.usage.last("kate", "s2", purpose="turn") is None


def test_nothing_adds_up_to_nothing(records: Records) -> None:
    assert records.usage.total() == Total(turns=0, input=0, cached=0, output=0, cost=None, unpriced=0)


def test_sums_cover_what_is_asked_for(records: Records) -> None:
    records.usage.add(spent(cost=0.5), turn="1")
    records.usage.add(spent(cost=0.25, agent="ana", purpose="background"), turn="2")
    records.usage.add(spent(session="s2", at=LATER), turn="3")
    assert records.usage.total() == Total(turns=3, input=300, cached=240, output=21, cost=0.75, unpriced=1)
    assert records.usage.total(agent="kate").turns == 2
    assert records.usage.total(session="s1").turns == 2
    assert records.usage.total(purpose="background").cost == 0.25
    assert records.usage.total(since=LATER).turns == 1
    assert records.usage.total(since=LATER + timedelta(microseconds=1)).turns == 0
    assert records.usage.total(agent="kate", session="s2", purpose="turn", since=NOW).cost is None
    assert records.usage.total(agent="").turns == 0


@pytest.mark.parametrize(
    ("told", "believed"),
    [
        ({"input": -5, "cached": -5, "output": -1}, (0, 0, 0, None)),
        ({"input": 10**30, "cached": 10**30, "output": 10**400}, (MOST_TOKENS, MOST_TOKENS, MOST_TOKENS, None)),
        ({"input": 10, "cached": 50}, (10, 10, 7, None)),
        ({"input": math.nan, "output": math.inf, "cost": math.nan}, (0, 0, 0, None)),
        ({"input": None, "output": "many", "cost": "free"}, (0, 0, 0, None)),
        ({"input": 12.7, "cached": True, "output": "7"}, (12, 1, 7, None)),
        ({"cost": -0.01}, (100, 80, 7, None)),
        ({"cost": math.inf}, (100, 80, 7, None)),
        ({"cost": 10**400}, (100, 80, 7, None)),
        ({"cost": 0}, (100, 80, 7, 0.0)),
    ],
)  # fmt: skip
def test_a_provider_that_lies_is_believed_within_reason(
    records: Records, told: dict[str, object], believed: tuple[int, int, int, float | None]
) -> None:
    records.usage.add(spent(**told), turn="t1")
    last = records.usage.last("kate", "s1")
    assert last is not None
    assert (last.input, last.cached, last.output, last.cost) == believed


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    figures=st.fixed_dictionaries(dict.fromkeys(("input", "cached", "output", "cost", "counted"), ANYTHING)),
    turn=st.uuids(),
)
def test_no_figure_whatever_breaks_a_turn(records: Records, figures: dict[str, object], turn: UUID) -> None:
    records.usage.add(spent(**figures), turn=str(turn))
    last = records.usage.last("kate", "s1")
    assert last is not None
    assert 0 <= last.cached <= last.input <= MOST_TOKENS
    assert 0 <= last.output <= MOST_TOKENS
    assert 0 <= last.counted <= MOST_TOKENS
    total = records.usage.total()
    assert total.cost is None or (math.isfinite(total.cost) and total.cost >= 0)


@pytest.mark.parametrize("text", HOSTILE)
def test_names_may_be_any_text(records: Records, text: str) -> None:
    records.usage.add(spent(agent=text, session=text, model=text), turn=text)
    records.usage.add(spent(agent=text, session=text, model=text), turn=text)
    last = records.usage.last(text, text)
    assert last == spent(agent=text, session=text, model=text)
    assert records.usage.total(agent=text, session=text).turns == 1


def test_of_a_long_model_name_the_beginning_is_kept(records: Records) -> None:
    records.usage.add(spent(model="m" * 10_000), turn="t1")
    last = records.usage.last("kate", "s1")
    assert last is not None
    assert 0 < len(last.model) < 1_000


# Audit


def test_an_event_comes_back_as_it_was_noted(records: Records) -> None:
    event = records.audit.note(
        at=NOW, actor="kate", action="write", target="MEMORY.md", session="s1", detail={"bytes": 3}
    )
    assert records.audit.events() == [event]
    assert (event.at, event.actor, event.action) == (NOW, "kate", "write")
    assert (event.target, event.session, event.detail) == ("MEMORY.md", "s1", {"bytes": 3})


def test_the_same_event_twice_happened_twice(records: Records) -> None:
    one = records.audit.note(at=NOW, actor="kate", action="write")
    two = records.audit.note(at=NOW, actor="kate", action="write")
    assert records.audit.events() == [two, one]


def test_the_newest_is_what_was_noted_last_whatever_the_clock_said(records: Records) -> None:
    records.audit.note(at=LATER, actor="kate", action="first")
    records.audit.note(at=NOW, actor="kate", action="second")
    assert [event.action for event in records.audit.events()] == ["second", "first"]


def test_pages_lead_down_and_up_again_over_every_event(records: Records) -> None:
    everything = [records.audit.note(at=NOW, actor="kate", action=str(n)) for n in range(7)][::-1]
    down = [records.audit.events(limit=3)]
    while page := records.audit.events(limit=3, before=down[-1][-1].id):
        down.append(page)
    assert [event for page in down for event in page] == everything
    up = [down[-1]]
    while page := records.audit.events(limit=3, after=up[0][0].id):
        up.insert(0, page)
    assert [event for page in up for event in page] == everything
    assert records.audit.events(after=everything[4].id, before=everything[0].id) == everything[1:4]


def test_events_are_found_by_action_and_target(records: Records) -> None:
    for action, target in [("write", "a"), ("write", "b"), ("trash", "a"), ("write", "a")]:
        records.audit.note(at=NOW, actor="kate", action=action, target=target)
    assert [event.target for event in records.audit.events(action="write")] == ["a", "b", "a"]
    assert [event.action for event in records.audit.events(target="a")] == ["write", "trash", "write"]
    assert len(records.audit.events(action="write", target="a", limit=1)) == 1
    assert records.audit.events(action="") == []


def test_odd_bounds_are_answered(records: Records) -> None:
    event = records.audit.note(at=NOW, actor="kate", action="write")
    assert records.audit.events(limit=0) == records.audit.events(limit=-1) == []
    assert records.audit.events(before=2**70, after=-(2**70), limit=2**70) == [event]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_noted_may_be_any_text(records: Records, text: str) -> None:
    records.audit.note(at=NOW, actor=text, action=text, target=text, session=text, detail={text: text})
    (event,) = records.audit.events(action=text, target=text)
    assert (event.actor, event.session, event.detail) == (text, text, {text: text})


def test_more_than_an_event_may_hold_is_refused(records: Records) -> None:
    with pytest.raises(RecordTooLarge):
        records.audit.note(at=NOW, actor="k", action="a", detail={"text": "x" * PAYLOAD_CHARACTERS})
    with pytest.raises(RecordTooLarge):
        records.audit.note(at=NOW, actor="k", action="a", target="x" * (NAME_CHARACTERS + 1))
    assert records.audit.events() == []


def recall(**changes: object) -> RecallEvent:
    event = {
        "agent": "kate", "session": "s1", "at": NOW, "query": "what does Ana use?", "path": "MEMORY.md",
        "line": 3, "tier": "profile", "rank": 1, "score": 0.5, "text": "Ana uses a Samsung.", "who": "prepare",
    }  # fmt: skip
    return RecallEvent(**(event | changes))  # pyright: ignore[reportArgumentType]


# Recalls


def test_recalls_come_back_newest_first(records: Records) -> None:
    events = [recall(rank=1), recall(rank=2, who="tool"), recall(rank=3, at=LATER, who="chat")]
    records.recalls.add(events)
    assert records.recalls.since("kate", NOW) == events[::-1]
    assert records.recalls.since("kate", NOW, 2) == [events[2], events[1]]


def test_recalls_are_counted_from_a_moment_on(records: Records) -> None:
    records.recalls.add([recall(), recall(), recall(at=LATER), recall(agent="ana")])
    assert records.recalls.count("kate", NOW) == 3
    assert records.recalls.count("kate", NOW + timedelta(microseconds=1)) == 1
    assert records.recalls.count("kate", MUCH_LATER) == 0
    assert records.recalls.count("ana", NOW) == 1
    assert records.recalls.since("kate", LATER) == [recall(at=LATER)]


def test_recalls_are_added_all_or_none(records: Records) -> None:
    with pytest.raises(TypeError):
        records.recalls.add([recall(), recall(at=NOW.replace(tzinfo=None))])
    with pytest.raises(RecordTooLarge):
        records.recalls.add([recall(), recall(path="x" * (NAME_CHARACTERS + 1))])
    assert records.recalls.count("kate", NOW - LEASE) == 0


def test_nothing_recalled_is_nothing_added(records: Records) -> None:
    records.recalls.add([])
    assert records.recalls.since("kate", AT_ONCE) == []


def test_of_long_texts_the_beginning_is_kept(records: Records) -> None:
    records.recalls.add([recall(query="q" * 100_000, text="t" * 100_000)])
    (event,) = records.recalls.since("kate", NOW)
    assert event.query == "q" * QUERY_CHARACTERS
    assert event.text == "t" * TEXT_CHARACTERS


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_counts_nothing(records: Records, score: float) -> None:
    records.recalls.add([recall(score=score, line=2**80, rank=-(2**80))])
    (event,) = records.recalls.since("kate", NOW)
    assert (event.score, event.rank) == (0.0, 0)
    assert event.line > 1_000_000


@pytest.mark.parametrize("text", HOSTILE)
def test_what_was_recalled_may_be_any_text(records: Records, text: str) -> None:
    event = recall(agent=text, session=text, query=text, path=text, tier=text, text=text)
    records.recalls.add([event])
    assert records.recalls.since(text, NOW) == [event]
    assert records.recalls.count(text, NOW) == 1
