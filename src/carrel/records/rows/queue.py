"""Jobs as rows."""

from typing import Any

from carrel.records.content import as_written, unpack
from carrel.records.queue import Job
from carrel.records.rows.columns import to_moment, to_text

COLUMNS = (
    "id",
    "kind",
    "key",
    "payload",
    "state",
    "attempts",
    "not_before",
    "error",
    "result",
    "claim",
    "worker",
    "due",
)


@as_written("A job")
def to_job(row: tuple[Any, ...]) -> Job:
    """Return the job of these columns."""
    number, kind, key, payload, state, attempts, not_before, error, result, claim, worker, due = row
    return Job(
        id=number,
        kind=to_text(kind),
        key=to_text(key),
        payload=unpack(payload),
        state=state,
        attempts=attempts,
        not_before=to_moment(not_before),
        error=to_text(error),
        result=unpack(result),
        claim=claim,
        worker=to_text(worker),
        leased_until=to_moment(due) if state == "running" else None,
    )
