"""The queue in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, get_args

from carrel.records.content import Payload, RecordDamaged, named, pack, sayings
from carrel.records.database import Database
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
from carrel.records.rows.columns import from_moment, from_whole
from carrel.records.rows.queue import COLUMNS, to_job
from carrel.records.sqlite.columns import from_text, where

# As bytes: of a text that is none there would be no row at all, neither of its job nor of the others.
_TEXTS = ("kind", "key", "payload", "state", "error", "result", "worker")
_COLUMNS = ", ".join(f"CAST({name} AS BLOB)" if name in _TEXTS else name for name in COLUMNS)
_PUT = f"""
    INSERT INTO jobs (kind, key, payload, state, attempts, not_before, error, result, claim, worker, due)
    VALUES (?, ?, ?, 'waiting', 0, ?4, '', '{{}}', 0, '', ?4)
    ON CONFLICT (kind, key) DO UPDATE
    SET payload = excluded.payload, state = 'waiting', attempts = 0, not_before = ?4, error = '',
        claim = claim + 1, due = ?4
    WHERE state = 'failed'
    RETURNING {_COLUMNS}
    """
_FIND = f"SELECT {_COLUMNS} FROM jobs WHERE kind = ? AND key = ?"
_DUE = """
    SELECT id FROM jobs INDEXED BY jobs_open
    WHERE due IS NOT NULL AND (due <= ? OR due > ?) AND kind IN ({}) ORDER BY id LIMIT 1
    """
_TAKE = """
    UPDATE jobs SET state = 'running', attempts = attempts + 1, claim = claim + 1, worker = ?, due = ?
    WHERE id = ({}) RETURNING {}
    """
_MINE = "id = ? AND claim = ? AND state = 'running'"
_EXTEND = f"UPDATE jobs SET due = ? WHERE {_MINE} RETURNING {_COLUMNS}"
_FINISH = f"UPDATE jobs SET state = 'done', result = ?, error = '', due = NULL WHERE {_MINE} RETURNING id"
_RETRY = f"UPDATE jobs SET state = 'waiting', error = ?, not_before = ?2, due = ?2 WHERE {_MINE} RETURNING id"
_GIVE_UP = f"UPDATE jobs SET state = 'failed', error = ?, due = NULL WHERE {_MINE} RETURNING id"
_RELEASE = f"""
    UPDATE jobs SET state = 'waiting', attempts = attempts - 1, claim = claim + 1, due = not_before
    WHERE {_MINE}
    """
_AGAIN = """
    UPDATE jobs SET state = 'waiting', attempts = 0, error = '', claim = claim + 1, due = not_before
    WHERE id = ? AND state = 'failed'
    """

_HOLDS = "(instr(payload, ?1) OR instr(result, ?1) OR instr(error, ?2))"
_PURGE = f"""
    UPDATE jobs SET payload = '{{}}', result = '{{}}', error = ''
    WHERE due IS NULL AND {_HOLDS} RETURNING id
    """
_HOLDING = f"SELECT id FROM jobs WHERE {_HOLDS}"


class SqliteQueue:
    """Jobs in a table; a claim is one statement, so of many workers one has it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, kind: str, payload: Payload, *, key: str, not_before: datetime | None = None) -> Job:
        """Add a job, or return the one there is."""
        name = (from_text(named(kind)), from_text(named(key)))
        values = (*name, pack(payload), from_moment(not_before or AT_ONCE))
        with self._database.transaction():
            rows = self._database.rows(_PUT, values) or self._database.rows(_FIND, name)
        return to_job(rows[0])

    def take(self, kinds: Collection[str], *, now: datetime, lease: timedelta, worker: str) -> Job | None:
        """Claim the first job that is due."""
        due = _DUE.format(", ".join("?" * len(kinds)))
        which = (from_moment(now), from_moment(now, FAR_OFF), *map(from_text, kinds))
        if not kinds or not self._database.rows(due, which):
            return None  # an idle worker asks often, and must not keep others from writing
        values = (from_text(named(worker)), from_moment(now, lease), *which)
        while rows := self._database.rows(_TAKE.format(due, _COLUMNS), values):
            job = to_job(rows[0])
            if not isinstance(job, DamagedJob):
                return job
            self.fail(job, job.error, retry_at=None)
        return None

    def extend(self, job: Job, *, now: datetime, lease: timedelta) -> Job:
        """Hold a taken job for longer."""
        rows = self._database.rows(_EXTEND, (from_moment(now, lease), job.id, job.claim))
        if not rows:
            raise LeaseLost(job)
        return to_job(rows[0])

    def finish(self, job: Job, result: Payload | None = None) -> None:
        """Say that a taken job is done."""
        self._end(job, _FINISH, (pack(result or {}),), {"done"})

    def fail(self, job: Job, error: str, *, retry_at: datetime | None) -> None:
        """Say that a taken job went wrong."""
        what = from_text(error[:ERROR_CHARACTERS])
        if retry_at is None:
            self._end(job, _GIVE_UP, (what,), {"failed"})
        else:
            self._end(job, _RETRY, (what, from_moment(retry_at)), {"waiting"})

    def release(self, job: Job) -> None:
        """Let go of a taken job."""
        self._database.rows(_RELEASE, (job.id, job.claim))

    def again(self, number: int) -> Job:
        """Put a failed job back."""
        with self._database.transaction():
            self._database.rows(_AGAIN, (from_whole(number),))
            job = self.get(number)
            if isinstance(job, DamagedJob):
                raise RecordDamaged(f"Job {number}")
        return job

    def get(self, number: int) -> Job:
        """Return a job."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (from_whole(number),))
        if not rows:
            raise UnknownJob(number)
        return to_job(rows[0])

    def jobs(
        self, state: State | None = None, *, kind: str | None = None, limit: int = 100, after: int = 0
    ) -> list[Job]:
        """Return jobs in the order they were put."""
        which, values = where(
            ("id > ?", from_whole(after)),
            ("state = ?", state),
            ("kind = ?", None if kind is None else from_text(kind)),
        )
        sql = f"SELECT {_COLUMNS} FROM jobs WHERE {which} ORDER BY id LIMIT ?"
        return [to_job(row) for row in self._database.rows(sql, (*values, max(from_whole(limit), 0)))]

    def holding(self, texts: Collection[str]) -> int:
        """Return how many jobs hold one of these texts."""
        return self._count(_HOLDING, texts)

    def purge(self, texts: Collection[str]) -> int:
        """Empty the jobs that are over and hold one of these texts, for good."""
        with self._database.transaction():
            return self._count(_PURGE, texts)

    def _count(self, sql: str, texts: Collection[str]) -> int:
        found: set[int] = set()
        for text, said in sayings(texts):
            found |= {row[0] for row in self._database.rows(sql, (said, from_text(text)))}
        return len(found)

    def counts(self) -> dict[State, int]:
        """Return how many jobs are in each state."""
        rows = self._database.rows("SELECT state, count(*) FROM jobs GROUP BY state")
        return dict.fromkeys(get_args(State), 0) | {row[0]: row[1] for row in rows}

    def _end(self, job: Job, sql: str, values: tuple[Any, ...], ended: set[str]) -> None:
        """End a claim; where this very claim has ended in this way before, all is well."""
        claim = (job.id, job.claim)
        with self._database.transaction():
            if self._database.rows(sql, (*values, *claim)):
                return
            rows = self._database.rows("SELECT state FROM jobs WHERE id = ? AND claim = ?", claim)
            if not rows or rows[0][0] not in ended:
                raise LeaseLost(job)
