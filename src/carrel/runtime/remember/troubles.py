"""What is wrong with memory, by its records: what could not be taken or written yet, and why."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from carrel.findings import Finding
from carrel.records import Records
from carrel.records.content import shaped
from carrel.records.queue import State
from carrel.runtime.remember import KIND, Errand

REDACTED = "redacted"
"""What the audit calls a write in which marks stand for what is kept out of memory."""

_RECENTLY = timedelta(days=7)
_MOST_JOBS = 1_000
_UNDONE: dict[State, str] = {"waiting": "is tried again", "failed": "was given up"}


class _GivenUp(Struct, frozen=True):
    why: str


class _Redacted(Struct, frozen=True):
    kinds: tuple[str, ...]


def troubles(records: Records, now: datetime) -> Iterator[Finding]:
    """Say which facts could not be taken or written yet, and why."""
    for event in records.audit.events(action="extraction_given_up", limit=1):
        if event.at > now - _RECENTLY:
            why = shaped(event.detail, _GivenUp).why
            yield Finding(
                code="extraction_given_up",
                message=f"Nothing was learnt from a part of session {event.session}: {why}",
                hint=f"`carrel memory extract --anew --session {event.session}` reads it again.",
            )
    if marked := [event for event in records.audit.events(action=REDACTED) if event.at > now - _RECENTLY]:
        kinds = ", ".join(
            sorted({kind for event in marked for kind in shaped(event.detail, _Redacted).kinds})
        )
        yield Finding(
            code="memory_redacted",
            message=f"In {len(marked):,} writes of the last days marks stand for what is kept out: {kinds}.",
            path=marked[0].target,
            severity="info",
            hint="privacy.secrets and privacy.personal say what is done with it.",
        )
    for state, then in _UNDONE.items():
        for job in records.queue.jobs(state, kind=KIND, limit=_MOST_JOBS):
            if job.error and job.payload and not _was_read(records, shaped(job.payload, Errand)):
                yield Finding(
                    code="extraction_failed",
                    message=f"Taking facts from session {job.payload['session']} {then}: {job.error}",
                    hint="`carrel memory extract` takes them at once; --model names another model.",
                )
    if planned := records.facts.counts().get("planned"):
        yield Finding(
            code="facts_unwritten",
            message=f"{planned:,} facts could not be written to their files yet.",
            hint="`carrel sweep` tries again, and says what is in the way.",
        )


def _was_read(records: Records, errand: Errand) -> bool:
    return records.facts.cursor(errand.agent, errand.session) >= errand.through
