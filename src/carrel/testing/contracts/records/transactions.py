"""What Records promise of a transaction: all or nothing, whoever else writes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

from carrel.records import Records
from carrel.records.queue import LeaseLost
from carrel.testing.contracts.records.samples import (
    LATER,
    NOW,
    only,
    spent,
    taken,
    write_all,
    write_and_fail,
    written,
)


class TransactionsContract:
    """Writes to every part, kept together or not at all."""

    def test_all_parts_are_kept_together(self, records: Records) -> None:
        with records.transaction():
            write_all(records)
            assert written(records) == [True] * 9
        assert written(records) == [True] * 9

    def test_all_parts_are_undone_together(self, records: Records) -> None:
        with pytest.raises(KeyError):
            write_and_fail(records, lambda: write_all(records))
        assert written(records) == [False] * 9
        write_all(records)
        assert written(records) == [True] * 9

    def test_a_part_that_fails_is_undone_alone(self, records: Records) -> None:
        with records.transaction():
            records.queue.put("extract", {}, key="before")
            with pytest.raises(KeyError):
                write_and_fail(records, lambda: records.queue.put("extract", {}, key="inside"))
            records.queue.put("extract", {}, key="after")
        assert [job.key for job in records.queue.jobs()] == ["before", "after"]

    def test_a_part_is_kept_only_with_the_whole(self, records: Records) -> None:
        def inside() -> None:
            with records.transaction():
                records.queue.put("extract", {}, key="inside")

        with pytest.raises(KeyError):
            write_and_fail(records, inside)
        assert records.queue.jobs() == []

    def test_a_refusal_inside_leaves_the_rest_to_be_kept(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        slow = taken(records)
        taken(records, now=LATER, worker="bob")
        with records.transaction():
            records.usage.add(spent(), turn="t1")
            with pytest.raises(LeaseLost):
                records.queue.finish(slow)
        assert records.usage.last("kate", "s1") is not None
        assert only(records).worker == "bob"

    def test_a_job_finished_with_its_effect_is_done_only_with_its_effect(self, records: Records) -> None:
        records.queue.put("extract", {}, key="k")
        job = taken(records)

        def work() -> None:
            records.audit.note(at=NOW, actor="kate", action="extract")
            records.queue.finish(job)

        with pytest.raises(KeyError):
            write_and_fail(records, work)
        assert records.audit.events() == []
        assert only(records) == job

    def test_other_threads_do_not_get_into_it(self, records: Records) -> None:
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
