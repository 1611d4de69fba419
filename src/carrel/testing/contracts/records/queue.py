"""What Records promise of work that waits: it is put once and taken by one, whose claim ends one way."""

from datetime import timedelta

import pytest

from carrel.errors import Conflict
from carrel.records import Records
from carrel.records.queue import AT_ONCE, LeaseLost
from carrel.testing.contracts.records.samples import (
    LATER,
    LEASE,
    MUCH_LATER,
    NOW,
    end_it,
    only,
    take,
    taken,
)


class QueueContract:
    """Jobs that are put, taken, finished and given up."""

    def test_a_job_that_is_put_waits(self, records: Records) -> None:
        job = records.queue.put("extract", {"turn": 3, "of": ["a", None]}, key="s1:3")
        assert job == only(records)
        assert (job.kind, job.key, job.payload) == ("extract", "s1:3", {"turn": 3, "of": ["a", None]})
        assert (job.state, job.attempts, job.error, job.result, job.worker) == ("waiting", 0, "", {}, "")
        assert job.not_before == AT_ONCE
        assert job.leased_until is None

    @pytest.mark.parametrize("state", ["waiting", "running", "done"])
    def test_the_same_key_again_adds_nothing(self, records: Records, state: str) -> None:
        first = records.queue.put("extract", {"n": 1}, key="k")
        if state != "waiting":
            job = taken(records)
            if state == "done":
                records.queue.finish(job)
        again = records.queue.put("extract", {"n": 2}, key="k", not_before=MUCH_LATER)
        assert again == only(records)
        assert (again.id, again.payload, again.state) == (first.id, {"n": 1}, state)

    def test_the_same_key_of_another_kind_is_another_job(self, records: Records) -> None:
        one = records.queue.put("extract", {}, key="k")
        two = records.queue.put("dream", {}, key="k")
        assert records.queue.jobs() == [one, two]
        assert one.id != two.id

    def test_a_failed_job_that_is_put_again_waits_with_what_it_is_given_now(self, records: Records) -> None:
        records.queue.put("extract", {"n": 1}, key="k")
        records.queue.fail(taken(records), "no", retry_at=None)
        job = records.queue.put("extract", {"n": 2}, key="k")
        assert job == only(records)
        assert (job.state, job.payload, job.attempts, job.error) == ("waiting", {"n": 2}, 0, "")
        assert taken(records).id == job.id

    def test_jobs_are_taken_in_the_order_they_were_put(self, records: Records) -> None:
        for key in ("c", "a", "b"):
            records.queue.put("extract", {}, key=key)
        assert [taken(records).key for _ in range(3)] == ["c", "a", "b"]
        assert take(records) is None

    def test_a_job_is_not_taken_before_its_time_and_holds_up_nobody(self, records: Records) -> None:
        later = records.queue.put("extract", {}, key="later", not_before=LATER)
        records.queue.put("extract", {}, key="now")
        assert later.not_before == LATER
        assert taken(records).key == "now"
        assert take(records, now=LATER - timedelta(microseconds=1)) is None
        assert taken(records, now=LATER).key == "later"

    def test_a_worker_takes_only_what_it_can_do(self, records: Records) -> None:
        records.queue.put("dream", {}, key="1")
        records.queue.put("extract", {}, key="2")
        records.queue.put("compact", {}, key="3")
        assert take(records, "nothing of the kind") is None
        assert records.queue.take((), now=NOW, lease=LEASE, worker="ann") is None
        assert taken(records, "compact", "extract").kind == "extract"
        assert taken(records, "compact", "extract").kind == "compact"
        assert taken(records, "dream").kind == "dream"

    def test_a_taken_job_says_by_whom_and_until_when(self, records: Records) -> None:
        records.queue.put("extract", {"n": 1}, key="k")
        job = taken(records)
        assert (job.state, job.attempts, job.worker, job.leased_until) == ("running", 1, "ann", LATER)
        assert job.payload == {"n": 1}
        assert job == only(records)

    def test_what_a_dead_worker_held_is_taken_again_when_its_lease_ends(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        taken(records)
        assert take(records, now=LATER - timedelta(microseconds=1), worker="bob") is None
        job = taken(records, now=LATER, worker="bob")
        assert (job.attempts, job.worker, job.leased_until) == (2, "bob", LATER + LEASE)

    def test_an_extended_lease_ends_later(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        job = taken(records)
        longer = records.queue.extend(job, now=NOW + LEASE / 2, lease=LEASE)
        assert longer.leased_until == NOW + LEASE * 1.5
        assert take(records, now=LATER, worker="bob") is None
        assert taken(records, now=NOW + LEASE * 1.5, worker="bob").attempts == 2
        with pytest.raises(LeaseLost):
            records.queue.extend(longer, now=LATER, lease=LEASE)

    def test_a_late_worker_may_go_on_while_nobody_else_has_its_job(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        job = taken(records)
        job = records.queue.extend(job, now=MUCH_LATER, lease=LEASE)
        assert job.leased_until == MUCH_LATER + LEASE
        records.queue.finish(job)
        assert only(records).state == "done"

    def test_a_finished_job_keeps_its_result_and_is_not_taken_again(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        job = taken(records)
        records.queue.finish(job, {"facts": 2})
        done = only(records)
        assert (done.state, done.result, done.attempts, done.leased_until) == ("done", {"facts": 2}, 1, None)
        assert take(records, now=MUCH_LATER) is None

    def test_finishing_twice_is_finishing_once(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        job = taken(records)
        records.queue.finish(job, {"facts": 2})
        records.queue.finish(job, {"facts": 9})
        assert only(records).result == {"facts": 2}

    @pytest.mark.parametrize("end", ["finish", "retry", "give up", "extend"])
    def test_who_lost_the_lease_changes_nothing(self, records: Records, end: str) -> None:
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

    def test_the_same_worker_can_lose_a_lease_to_itself(self, records: Records) -> None:
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
        self, records: Records, back: str, end: str
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

    def test_a_job_that_went_wrong_waits_for_its_next_time(self, records: Records) -> None:
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

    def test_a_job_that_is_given_up_is_not_taken_until_it_is_put_back(self, records: Records) -> None:
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
    def test_a_claim_ends_one_way(self, records: Records, first: str, second: str) -> None:
        records.queue.put("extract", {}, key="k")
        job = taken(records)
        end_it(records, job, first)
        ended = only(records)
        with pytest.raises(LeaseLost):
            end_it(records, job, second)
        assert only(records) == ended
