"""The queue in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, get_args

from msgspec.structs import replace

from carrel.records.content import Payload, RecordDamaged, named, pack, sayings
from carrel.records.postgres.columns import OWN, digest, from_text, numbered, where
from carrel.records.postgres.ledger import Ledger
from carrel.records.queue import (
    AT_ONCE,
    ERROR_CHARACTERS,
    FAR_OFF,
    DamagedJob,
    Job,
    LeaseLost,
    State,
    UnknownJob,
)
from carrel.records.rows.columns import from_moment, from_whole, to_moment
from carrel.records.rows.queue import COLUMNS, to_job

_COLUMNS = ", ".join(COLUMNS)
# What is known takes no number. A failed one that another puts back, and one that another adds, in this very
# moment is in neither answer: then there is none, and the next look finds it.
_PUT = f"""
    WITH known AS MATERIALIZED (
        SELECT {_COLUMNS} FROM carrel.jobs WHERE {OWN} AND name_hash = {digest("kind", "key")}
    ), {numbered("jobs", given="WHERE NOT EXISTS (SELECT FROM known)")}, added AS (
        INSERT INTO carrel.jobs (
            tenant, workspace, id, kind, key, payload, state, attempts, not_before, error, result, claim,
            worker, due
        )
        SELECT %(tenant)s, %(workspace)s, value, %(kind)s, %(key)s, %(payload)s, 'waiting', 0, %(due)s, '',
            '{{}}', 0, '', %(due)s
        FROM number ON CONFLICT (tenant, workspace, name_hash) DO NOTHING RETURNING {_COLUMNS}
    ), back AS (
        UPDATE carrel.jobs SET payload = %(payload)s, state = 'waiting', attempts = 0, not_before = %(due)s,
            error = '', claim = claim + 1, due = %(due)s
        WHERE {OWN} AND id = (SELECT id FROM known) AND state = 'failed' RETURNING {_COLUMNS}
    )
    SELECT {_COLUMNS} FROM known WHERE state <> 'failed' UNION ALL SELECT {_COLUMNS} FROM added
    UNION ALL SELECT {_COLUMNS} FROM back
    """
# Whoever is about to take a job holds its row, and others look at the next one instead of waiting. What is
# far off is looked for only where nothing is due, and by itself: an OR would look through all that is open.
_OPEN = f"{OWN} AND due IS NOT NULL AND kind = ANY(%(kinds)s::bytea[])"
_HELD = "ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
_TAKE = f"""
    WITH first AS MATERIALIZED (SELECT id FROM carrel.jobs WHERE {_OPEN} AND due <= %(now)s {_HELD}),
        far AS MATERIALIZED (SELECT id FROM carrel.jobs WHERE {_OPEN} AND due > %(far)s {_HELD})
    UPDATE carrel.jobs SET state = 'running', attempts = attempts + 1, claim = claim + 1, worker = %(worker)s,
        due = %(until)s
    WHERE {OWN} AND id = coalesce((SELECT id FROM first), (SELECT id FROM far)) RETURNING {_COLUMNS}
    """
_MINE = f"WHERE {OWN} AND id = %(id)s AND claim = %(claim)s AND state = 'running'"
_EXTEND = f"UPDATE carrel.jobs SET due = %(until)s {_MINE} RETURNING id"
_FINISH = f"""
    UPDATE carrel.jobs SET state = 'done', result = %(result)s, error = '', due = NULL {_MINE} RETURNING id
    """
_RETRY = f"""
    UPDATE carrel.jobs SET state = 'waiting', error = %(error)s, not_before = %(due)s, due = %(due)s {_MINE}
    RETURNING id
    """
_GIVE_UP = f"UPDATE carrel.jobs SET state = 'failed', error = %(error)s, due = NULL {_MINE} RETURNING id"
_ENDED = f"SELECT state FROM carrel.jobs WHERE {OWN} AND id = %(id)s AND claim = %(claim)s"
_RELEASE = f"""
    UPDATE carrel.jobs SET state = 'waiting', attempts = attempts - 1, claim = claim + 1, due = not_before
    {_MINE}
    """
_AGAIN = f"""
    UPDATE carrel.jobs SET state = 'waiting', attempts = 0, error = '', claim = claim + 1, due = not_before
    WHERE {OWN} AND id = %(id)s AND state = 'failed' RETURNING {_COLUMNS}
    """
_HOLDS = """
    EXISTS (
        SELECT FROM unnest(%(texts)s::bytea[], %(sayings)s::text[]) AS sought (text, said)
        WHERE strpos(payload, said) > 0 OR strpos(result, said) > 0 OR position(text IN error) > 0
    )
    """
_HOLDING = f"SELECT count(*) FROM carrel.jobs WHERE {OWN} AND {_HOLDS}"
_PURGE = f"""
    UPDATE carrel.jobs SET payload = '{{}}', result = '{{}}', error = ''
    WHERE {OWN} AND due IS NULL AND {_HOLDS} RETURNING id
    """
_COUNTS = f"SELECT state, count(*) FROM carrel.jobs WHERE {OWN} GROUP BY state"


class PostgresQueue:
    """Jobs in a table; a claim is one statement, so of many workers one has it and none waits."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def put(self, kind: str, payload: Payload, *, key: str, not_before: datetime | None = None) -> Job:
        """Add a job, or return the one there is."""
        name = {"kind": from_text(named(kind)), "key": from_text(named(key))}
        given = {"payload": pack(payload), "due": from_moment(not_before or AT_ONCE)}
        while not (rows := self._ledger.repeatable(_PUT, **name, **given)):
            pass
        return to_job(rows[0])

    def take(self, kinds: Collection[str], *, now: datetime, lease: timedelta, worker: str) -> Job | None:
        """Claim the first job that is due."""
        claim = {
            "now": from_moment(now),
            "far": from_moment(now, FAR_OFF),
            "until": from_moment(now, lease),
            "worker": from_text(named(worker)),
        }
        if not kinds:
            return None
        of_these = [from_text(kind) for kind in kinds]
        while rows := self._ledger.rows(_TAKE, kinds=of_these, **claim):
            job = to_job(rows[0])
            if not isinstance(job, DamagedJob):
                return job
            self.fail(job, job.error, retry_at=None)
        return None

    def extend(self, job: Job, *, now: datetime, lease: timedelta) -> Job:
        """Hold a taken job for longer."""
        until = from_moment(now, lease)
        if not self._ledger.repeatable(_EXTEND, until=until, **_claim(job)):
            raise LeaseLost(job)
        return replace(job, leased_until=to_moment(until))

    def finish(self, job: Job, result: Payload | None = None) -> None:
        """Say that a taken job is done."""
        self._end(job, _FINISH, "done", result=pack(result or {}))

    def fail(self, job: Job, error: str, *, retry_at: datetime | None) -> None:
        """Say that a taken job went wrong."""
        what = from_text(error[:ERROR_CHARACTERS])
        if retry_at is None:
            self._end(job, _GIVE_UP, "failed", error=what)
        else:
            self._end(job, _RETRY, "waiting", error=what, due=from_moment(retry_at))

    def release(self, job: Job) -> None:
        """Let go of a taken job."""
        self._ledger.repeatable(_RELEASE, **_claim(job))

    def again(self, number: int) -> Job:
        """Put a failed job back."""
        if isinstance(self.get(number), DamagedJob):
            raise RecordDamaged(f"Job {number}")
        rows = self._ledger.repeatable(_AGAIN, id=from_whole(number))
        return to_job(rows[0]) if rows else self.get(number)

    def get(self, number: int) -> Job:
        """Return a job."""
        sql = f"SELECT {_COLUMNS} FROM carrel.jobs WHERE {OWN} AND id = %(id)s"
        rows = self._ledger.rows(sql, id=from_whole(number))
        if not rows:
            raise UnknownJob(number)
        return to_job(rows[0])

    def jobs(
        self, state: State | None = None, *, kind: str | None = None, limit: int = 100, after: int = 0
    ) -> list[Job]:
        """Return jobs in the order they were put."""
        which = where(("id > %(after)s", after), ("state = %(state)s", state), ("kind = %(kind)s", kind))
        rows = self._ledger.rows(
            f"SELECT {_COLUMNS} FROM carrel.jobs WHERE {which} ORDER BY id LIMIT %(limit)s",
            after=from_whole(after),
            state=state,
            kind=from_text(kind or ""),
            limit=max(from_whole(limit), 0),
        )
        return [to_job(row) for row in rows]

    def holding(self, texts: Collection[str]) -> int:
        """Return how many jobs hold one of these texts."""
        return self._ledger.rows(_HOLDING, **_sought(texts))[0][0]

    def purge(self, texts: Collection[str]) -> int:
        """Empty the jobs that are over and hold one of these texts, for good."""
        with self._ledger.transaction():
            return len(self._ledger.rows(_PURGE, **_sought(texts)))

    def counts(self) -> dict[State, int]:
        """Return how many jobs are in each state."""
        return dict.fromkeys(get_args(State), 0) | {row[0]: row[1] for row in self._ledger.rows(_COUNTS)}

    def _end(self, job: Job, sql: str, ended: State, **given: Any) -> None:
        """End a claim; where this very claim has ended in this way before, all is well."""
        if self._ledger.repeatable(sql, **given, **_claim(job)):
            return
        rows = self._ledger.rows(
            _ENDED, **_claim(job)
        )  # with eyes of its own: another may just have ended it
        if not rows or rows[0][0] != ended:
            raise LeaseLost(job)


def _claim(job: Job) -> dict[str, int]:
    return {"id": job.id, "claim": job.claim}


def _sought(texts: Collection[str]) -> dict[str, list[Any]]:
    pairs = sayings(texts)
    return {"texts": [from_text(text) for text, _ in pairs], "sayings": [said for _, said in pairs]}
