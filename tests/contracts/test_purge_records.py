"""What all Records promise of what is forgotten for good; conftest.py says which are held to it."""

from datetime import UTC, datetime, timedelta

import pytest

from carrel.records import Records
from carrel.records.postgres import PostgresRecords
from carrel.records.recalls import RecallEvent

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
LEASE = timedelta(minutes=5)
TEXT = 'Ana said "zanzibarquokka"\nand left.'


def put(records: Records, key: str, **payload: object):
    return records.queue.put("errand", payload, key=key)


def end(records: Records, result: object = None, *, error: str = "") -> None:
    job = records.queue.take(("errand",), now=NOW, lease=LEASE, worker="w")
    assert job is not None
    if error:
        records.queue.fail(job, error, retry_at=None)
    else:
        records.queue.finish(job, {"answer": result})


def test_jobs_that_are_over_are_emptied_and_stay_over(records: Records) -> None:
    put(records, "asked", task=f"Look: {TEXT}")
    end(records)
    put(records, "answered", task="Look.")
    end(records, ["deep", {"said": TEXT}])
    put(records, "failed", task="Look.")
    end(records, error=f"cannot: {TEXT}")
    put(records, "other", task="Look elsewhere.")
    end(records, "Nothing.")
    assert records.queue.holding([TEXT]) == 3
    assert records.queue.purge([TEXT, "", "unheard of"]) == 3
    assert records.queue.purge([TEXT]) == records.queue.holding([TEXT]) == 0
    jobs = {job.key: job for job in records.queue.jobs()}
    assert [jobs[key].state for key in ("asked", "answered", "failed")] == ["done", "done", "failed"]
    assert all(not jobs[key].payload and not jobs[key].error for key in ("asked", "answered", "failed"))
    assert jobs["other"].result == {"answer": "Nothing."}
    assert put(records, "asked", task="again").state == "done"


def test_a_job_that_waits_or_is_under_way_keeps_what_it_needs(records: Records) -> None:
    put(records, "under way", task=TEXT)
    records.queue.take(("errand",), now=NOW, lease=LEASE, worker="w")
    put(records, "waits", task=TEXT)
    assert records.queue.purge([TEXT]) == 0
    assert records.queue.holding([TEXT]) == 2
    assert {job.payload["task"] for job in records.queue.jobs()} == {TEXT}


@pytest.mark.parametrize(
    "text", ["a\0b and more", "\udcff not Unicode", "é 🐙 \u202e", "'; DROP TABLE jobs; --", "%_"]
)
def test_any_text_can_be_looked_for(records: Records, text: str) -> None:
    put(records, "1", task=f"before {text} after")
    end(records, "ok")
    assert records.queue.purge([text]) == 1


def test_a_text_is_found_beside_one_that_is_not_unicode(records: Records) -> None:
    beside = {"task": "Café 🐙 \udcff"}
    put(records, "1", **beside)
    end(records, "ok")
    records.keep_assembly("kate", "s1", "main", assembly=beside, frozen=beside)
    assert records.queue.purge(["Café 🐙"]) == 1
    assert records.forget(["Café 🐙"]) == 2


def test_nothing_is_lost_where_the_file_is_written_anew(records: Records) -> None:
    put(records, "kept", task="Look.")
    event = RecallEvent(
        agent="kate", session="s1", at=NOW, query="q", path="MEMORY.md", line=1, tier="profile", rank=1, score=0.5,
        text=TEXT, who="tool",
    )  # fmt: skip
    records.recalls.add([event])
    records.recalls.forget([TEXT])
    asks = "VACUUM FULL" if isinstance(records, PostgresRecords) else ""  # a server's disk is its owner's
    assert all(asks in told and bool(told) == bool(asks) for told in (records.scrub(), records.scrub()))
    assert [job.key for job in records.queue.jobs()] == ["kept"]
    assert records.recalls.count("kate", NOW - LEASE) == 0
