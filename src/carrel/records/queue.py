"""Work that waits: jobs that outlive the process that asked for them.

A job is worked on at least once. It is put once per (kind, key), taken under a lease by one worker at a
time, and taken again when that worker is not heard of before the lease ends.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import Conflict, NotFound
from carrel.records.content import Payload

State = Literal["waiting", "running", "done", "failed"]

AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""The `not_before` of a job that waits for no time."""

FAR_OFF = timedelta(days=7)
"""Nothing waits or is worked on for so long: what is due even later was put off by a clock that was wrong."""

ERROR_CHARACTERS = 4_000
"""How much is kept of what went wrong."""


class Job(Struct, frozen=True, kw_only=True):
    """One piece of work, as it was when it was read.

    `attempts` counts how often it was taken since it was put, or put back; `claim` only grows, and so tells
    one taking from all others. `worker` is who took it last; `leased_until` is none unless it is running.
    """

    id: int
    kind: str
    key: str
    payload: Payload
    state: State
    attempts: int
    not_before: datetime
    error: str
    result: Payload
    claim: int
    worker: str
    leased_until: datetime | None


class DamagedJob(Job, frozen=True, kw_only=True):
    """What is left of a job that holds what nobody wrote: its error says so, and it has no payload."""


class LeaseLost(Conflict):
    """The job is no longer this worker's; nothing of it was changed."""

    code = "lease_lost"

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"Job {job.id} ({job.kind}) is no longer held by {job.worker or 'this worker'}.",
            hint="Drop this result; a lease that is extended in time keeps a job from being taken again.",
        )
        self.job = job


class UnknownJob(NotFound):
    """No job has this number."""

    code = "unknown_job"

    def __init__(self, number: int) -> None:
        super().__init__(f"There is no job {number}.", hint="carrel jobs list shows their numbers.")


class Queue(Protocol):
    """Durable jobs; each verb is whole or nothing, and joins the transaction it is called in.

    One that cannot be read is a DamagedJob, which keeps nobody from the others.
    """

    def put(self, kind: str, payload: Payload, *, key: str, not_before: datetime | None = None) -> Job:
        """Add a job, or return the one of this kind and key, whatever it was put with.

        So a repeated call adds nothing, even when the work is done. A failed one is put back, with this
        payload.
        """
        ...

    def take(self, kinds: Collection[str], *, now: datetime, lease: timedelta, worker: str) -> Job | None:
        """Claim the job that was put first among those due: waiting, or running beyond its lease.

        Whoever takes decides when `attempts` are enough, and then fails it: a job may kill its worker. One
        that is damaged is failed here, and the next one taken.
        """
        ...

    def extend(self, job: Job, *, now: datetime, lease: timedelta) -> Job:
        """Hold a taken job for longer from now on; it may be late, as long as nobody else has taken it."""
        ...

    def finish(self, job: Job, result: Payload | None = None) -> None:
        """Say that a taken job is done; saying it twice changes nothing."""
        ...

    def fail(self, job: Job, error: str, *, retry_at: datetime | None) -> None:
        """Say that a taken job went wrong: it waits until `retry_at`, or is given up without one."""
        ...

    def release(self, job: Job) -> None:
        """Let go of a taken job: anybody may take it at once, and this attempt does not count.

        One that is no longer held stays as it is.
        """
        ...

    def again(self, number: int) -> Job:
        """Put a failed job back, its attempts forgotten; any other is returned as it is.

        One that is damaged stays, and is RecordDamaged: it would only fail again.
        """
        ...

    def get(self, number: int) -> Job:
        """Return a job, else UnknownJob."""
        ...

    def jobs(
        self, state: State | None = None, *, kind: str | None = None, limit: int = 100, after: int = 0
    ) -> list[Job]:
        """Return jobs in the order they were put, beginning after the one with this number."""
        ...

    def holding(self, texts: Collection[str]) -> int:
        """Return how many jobs hold one of these texts."""
        ...

    def purge(self, texts: Collection[str]) -> int:
        """Empty the jobs that are over and hold one of these texts, for good; return how many these are.

        One that waits or is under way keeps what it needs.
        """
        ...

    def counts(self) -> dict[State, int]:
        """Return how many jobs are in each state."""
        ...
