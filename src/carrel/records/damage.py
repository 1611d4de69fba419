"""What is told of what holds what nobody wrote, while all the rest is read and written."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from carrel.findings import Finding
from carrel.records.content import RecordDamaged

if TYPE_CHECKING:  # few commands need the queue
    from carrel.records.queue import DamagedJob, Queue


def aside(path: str) -> Finding:
    """Say where a file went that was damaged and begun anew."""
    return Finding(
        code="set_aside",
        path=path,
        message=f"{path} was damaged once and stands aside; what it held is made anew when it is needed.",
        severity="info",
        hint="Your files are whole. Delete it when you like; if it comes again, check the disk.",
    )


def of_damage(error: RecordDamaged, hint: str = "") -> Finding:
    """Say of one record that nothing comes of it."""
    return Finding(code=error.code, message=error.message, severity="error", hint=f"{hint}{error.hint}")


def of_jobs(queue: "Queue") -> Iterator[Finding]:
    """Say so of each job that cannot be read."""
    for job in damaged_jobs(queue):
        shows = f"`carrel jobs show {job.id}` shows what is left of it. "
        yield of_damage(RecordDamaged(f"Job {job.id}"), shows)


def damaged_jobs(queue: "Queue") -> "Iterator[DamagedJob]":
    """Yield the jobs that are to be done, or were given up, and cannot be read."""
    from carrel.records.queue import DamagedJob, State  # noqa: PLC0415 - as above

    for state in get_args(State):
        after = 0
        while state != "done" and (page := queue.jobs(state, after=after)):
            yield from (job for job in page if isinstance(job, DamagedJob))
            after = page[-1].id
