"""The worker: takes what is due from the queue, does it, and says how it went.

A job is done at least once: a worker that dies leaves a lease that ends, and the next one takes the job
again. So each kind of work must be such that doing it again adds nothing.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from carrel.errors import CarrelError, NotFound, Refused, UsageError
from carrel.findings import Finding
from carrel.records import Payload, Records
from carrel.records.queue import Job, LeaseLost, Queue
from carrel.runtime.spending import SpendingCap

Work = Callable[[Job], Payload | None]
"""Does one job and returns what is to be kept of it; what it raises is kept instead."""

LEASE = timedelta(minutes=20)
"""Longer than any job may take: nobody else takes it meanwhile."""

ATTEMPTS = 5
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)

_HOPELESS = (UsageError, NotFound, Refused)

_Outcome = Literal["done", "failed", "retrying", "lost"]


class Swept(Struct, frozen=True, kw_only=True):
    """How many jobs are done now, given up, or to be tried again later, and how many of any kind are left."""

    done: int = 0
    failed: int = 0
    retrying: int = 0
    left: int = 0
    findings: tuple[Finding, ...] = ()


def _nobody(_: Job) -> None:
    """Tell nobody."""


def sweep(
    records: Records,
    work: Mapping[str, Work],
    *,
    worker: str,
    now: Callable[[], datetime],
    limit: int = 100,
    lease: timedelta = LEASE,
    stopped: Callable[[], tuple[Finding, ...]] = tuple,
    given_up: Callable[[Job], object] = _nobody,
) -> Swept:
    """Do the jobs of these kinds that are due, at most so many, in the order in which they were put.

    Where `stopped` says why no more may be done, the rest waits. `given_up` is told of a job that failed for
    good.
    """
    outcomes: list[_Outcome] = []
    findings: tuple[Finding, ...] = ()
    while len(outcomes) < limit and not (findings := stopped()):
        job = records.queue.take(tuple(work), now=now(), lease=lease, worker=worker)
        if job is None:
            break
        outcomes.append(_attempt(records, job, work[job.kind], now, given_up))
    counts = records.queue.counts()
    return Swept(
        done=outcomes.count("done"),
        failed=outcomes.count("failed"),
        retrying=outcomes.count("retrying"),
        left=counts["waiting"] + counts["running"],
        findings=findings,
    )


def let_go(queue: Queue, worker: str) -> None:
    """Give back all that a worker took and will not end: else nobody takes it before its lease ends."""
    after = 0
    while page := queue.jobs("running", after=after):
        for job in page:
            if job.worker == worker:
                queue.release(job)
        after = page[-1].id


def retry_at(job: Job, now: datetime) -> datetime | None:
    """Return when a job that went wrong is tried again: each time twice as late, and at last never."""
    if job.attempts >= ATTEMPTS:
        return None
    return now + min(FIRST_WAIT * 2 ** (job.attempts - 1), LONGEST_WAIT)


def _attempt(
    records: Records,
    job: Job,
    work: Work,
    now: Callable[[], datetime],
    given_up: Callable[[Job], object],
) -> _Outcome:
    """Do one job; of what it raises only an interruption goes further, and then the job is let go of."""
    try:
        if job.attempts > ATTEMPTS:  # it was begun that often and never ended: it kills its worker
            later, why = None, f"Begun {ATTEMPTS} times and never ended."
        else:
            try:
                records.queue.finish(job, work(job))
            except LeaseLost:
                raise
            except CarrelError as error:
                later, why = (
                    None if _is_hopeless(error) else retry_at(job, now()),
                    f"{error.code}: {error.message}",
                )
            except Exception as error:  # noqa: BLE001 - one broken job must not keep the others from being done
                later, why = retry_at(job, now()), f"{type(error).__name__}: {error}"
            else:
                return "done"
        records.queue.fail(job, why, retry_at=later)
    except LeaseLost:  # it took too long, and somebody else does it now
        return "lost"
    except BaseException as error:
        if not isinstance(error, Exception):
            with suppress(CarrelError):
                records.queue.release(job)
        raise
    if later is not None:
        return "retrying"
    with suppress(Exception):  # it is given up, told or not
        given_up(job)
    return "failed"


def _is_hopeless(error: CarrelError) -> bool:
    """Tell whether it would go the same way again, by the error or by the one that it passes on."""
    told = (error, error.__cause__)
    if any(isinstance(each, SpendingCap) for each in told):
        return False  # another day has another cap
    return any(isinstance(each, _HOPELESS) for each in told)
