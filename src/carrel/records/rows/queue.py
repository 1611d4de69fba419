"""Jobs as rows."""

from typing import Any, get_args

from msgspec import convert

from carrel.records.content import RecordDamaged, as_written, to_payload
from carrel.records.queue import AT_ONCE, DamagedJob, Job, State
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


def to_job(row: tuple[Any, ...]) -> Job:
    """Return the job of these columns, or a DamagedJob with what can be read of it."""
    number, kind, key, payload, state, attempts, not_before, error, result, claim, worker, due = row
    try:
        with as_written(f"Job {number}"):
            return Job(
                id=number,
                kind=to_text(kind),
                key=to_text(key),
                payload=to_payload(payload),
                state=(known := convert(to_text(state), State)),
                attempts=attempts,
                not_before=to_moment(not_before),
                error=to_text(error),
                result=to_payload(result),
                claim=claim,
                worker=to_text(worker),
                leased_until=to_moment(due) if known == "running" else None,
            )
    except RecordDamaged as damage:
        return DamagedJob(
            id=number,
            kind=_legible(kind),
            key=_legible(key),
            payload={},
            state=next((each for each in get_args(State) if each == _legible(state)), "failed"),
            attempts=attempts,
            not_before=AT_ONCE,
            error=f"{damage.code}: {damage.message}",
            result={},
            claim=claim,
            worker=_legible(worker),
            leased_until=None,
        )


def _legible(column: Any) -> str:
    return column.decode(errors="replace") if isinstance(column, bytes) else str(column)
