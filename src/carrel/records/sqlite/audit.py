"""The audit in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from datetime import datetime

from carrel.records.audit import Event
from carrel.records.content import Payload, named, pack
from carrel.records.database import Database
from carrel.records.rows.audit import COLUMNS, to_event
from carrel.records.rows.columns import from_moment, from_whole
from carrel.records.sqlite.columns import from_text, where

_COLUMNS = ", ".join(COLUMNS)
_NOTE = f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) RETURNING id, {_COLUMNS}"


class SqliteAudit:
    """One row for each event; triggers refuse to change or remove one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(
        self,
        *,
        at: datetime,
        actor: str,
        action: str,
        target: str = "",
        session: str = "",
        detail: Payload | None = None,
    ) -> Event:
        """Add an event."""
        names = (from_text(named(name)) for name in (actor, action, target, session))
        return to_event(self._database.rows(_NOTE, (from_moment(at), *names, pack(detail or {})))[0])

    def events(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        action: str | None = None,
        target: str | None = None,
        limit: int = 100,
    ) -> list[Event]:
        """Return a page of events, newest first."""
        which, values = where(
            ("id > ?", None if after is None else from_whole(after)),
            ("id < ?", None if before is None else from_whole(before)),
            ("action = ?", None if action is None else from_text(action)),
            ("target = ?", None if target is None else from_text(target)),
        )
        upwards = after is not None and before is None
        sql = f"""
            SELECT id, {_COLUMNS} FROM audit WHERE {which}
            ORDER BY id {"" if upwards else "DESC"} LIMIT ?
            """
        rows = self._database.rows(sql, (*values, max(from_whole(limit), 0)))
        return [to_event(row) for row in (reversed(rows) if upwards else rows)]
