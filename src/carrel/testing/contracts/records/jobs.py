"""What Records promise of jobs: how they are listed, what they may hold, and what threads do to them at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier

import pytest

from carrel.errors import NotFound, UsageError
from carrel.records import Records
from carrel.records.content import NAME_CHARACTERS, PAYLOAD_CHARACTERS, RecordTooLarge
from carrel.records.queue import ERROR_CHARACTERS, LeaseLost, UnknownJob
from carrel.testing.contracts.records.samples import (
    HOSTILE,
    LATER,
    NOW,
    only,
    take,
    taken,
)


class JobsContract:
    """Jobs as rows: pages, moments, texts and limits."""

    @pytest.mark.parametrize("number", [0, -1, 7, 2**63, -(2**80)])
    def test_a_number_that_no_job_has_is_not_found(self, records: Records, number: int) -> None:
        records.queue.put("extract", {}, key="k")
        with pytest.raises(UnknownJob) as refusal:
            records.queue.again(number)
        with pytest.raises(UnknownJob):
            records.queue.get(number)
        assert isinstance(refusal.value, NotFound)
        assert str(number) in refusal.value.message
        assert refusal.value.hint

    @pytest.mark.parametrize("state", ["waiting", "running", "done"])
    def test_only_a_failed_job_is_put_back(self, records: Records, state: str) -> None:
        job = records.queue.put("extract", {}, key="k")
        if state != "waiting":
            job = taken(records)
            if state == "done":
                records.queue.finish(job)
        before = only(records)
        assert records.queue.again(job.id) == before == only(records)
        assert before.state == state

    def test_paging_shows_each_job_once(self, records: Records) -> None:
        numbers = [records.queue.put("extract", {}, key=str(n)).id for n in range(7)]
        seen: list[int] = []
        while page := records.queue.jobs(limit=3, after=seen[-1] if seen else 0):
            assert len(page) <= 3
            seen += [job.id for job in page]
        assert seen == numbers
        assert records.queue.jobs(limit=0) == records.queue.jobs(limit=-5) == []
        assert len(records.queue.jobs(limit=2**70, after=-(2**70))) == 7
        assert records.queue.jobs(after=2**70) == []

    def test_jobs_are_listed_and_counted_by_state(self, records: Records) -> None:
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
        self,
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

    def test_jobs_are_listed_by_kind(self, records: Records) -> None:
        for kind, key in (("extract", "a"), ("delegate", "b"), ("extract", "c"), ("m\udcff", "d")):
            records.queue.put(kind, {}, key=key)
        taken(records)
        assert [job.key for job in records.queue.jobs(kind="extract")] == ["a", "c"]
        assert [job.key for job in records.queue.jobs("waiting", kind="extract")] == ["c"]
        assert [job.key for job in records.queue.jobs(kind="m\udcff")] == ["d"]
        assert records.queue.jobs(kind="'; DROP TABLE jobs; --") == []

    def test_moments_of_any_zone_are_compared_and_come_back_to_the_microsecond(
        self, records: Records
    ) -> None:
        bogota = timezone(timedelta(hours=-5))
        job = records.queue.put("extract", {}, key="k", not_before=LATER.astimezone(bogota))
        assert job.not_before == LATER
        assert job.not_before.tzinfo is UTC
        assert take(records, now=(LATER - timedelta(microseconds=1)).astimezone(bogota)) is None
        assert taken(records, now=LATER.astimezone(bogota)).key == "k"

    def test_a_moment_without_a_zone_is_a_mistake_and_changes_nothing(self, records: Records) -> None:
        naive = NOW.replace(tzinfo=None)
        with pytest.raises(TypeError):
            records.queue.put("extract", {}, key="k", not_before=naive)
        assert records.queue.jobs() == []
        job = records.queue.put("extract", {}, key="k")
        with pytest.raises(TypeError):
            take(records, now=naive)
        assert only(records) == job

    def test_a_lease_without_end_ends_with_the_calendar(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        job = records.queue.take(["extract"], now=NOW, lease=timedelta.max, worker="ann")
        assert job is not None
        assert job.leased_until == datetime.max.replace(tzinfo=UTC)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_text_comes_back_as_it_was(self, records: Records, text: str) -> None:
        records.queue.put(text, {text: [text]}, key=text)
        records.queue.put(text, {}, key=text)
        job = taken(records, text, worker=text)
        assert (job.kind, job.key, job.payload, job.worker) == (text, text, {text: [text]}, text)
        records.queue.fail(job, text, retry_at=NOW)
        assert only(records).error == text
        records.queue.finish(taken(records, text), {text: text})
        assert only(records).result == {text: text}

    def test_of_a_long_error_the_beginning_is_kept(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        records.queue.fail(taken(records), "x" * 1_000_000, retry_at=None)
        assert only(records).error == "x" * ERROR_CHARACTERS

    def test_more_than_a_job_may_hold_is_refused(self, records: Records) -> None:
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

    def test_what_is_no_json_is_a_mistake_and_changes_nothing(self, records: Records) -> None:
        with pytest.raises(TypeError):
            records.queue.put("extract", {"what": object()}, key="k")
        assert records.queue.jobs() == []

    def test_of_many_threads_one_has_each_job(self, records: Records) -> None:
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

    def test_many_threads_that_put_the_same_put_it_once(self, records: Records) -> None:
        ready = Barrier(6, timeout=30)

        def put(_: int) -> list[int]:
            ready.wait()
            return [records.queue.put("extract", {}, key=str(key)).id for key in range(20)]

        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(put, range(6)))
        assert len({tuple(answer) for answer in answers}) == 1
        assert len(records.queue.jobs()) == 20
