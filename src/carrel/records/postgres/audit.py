"""The audit in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from datetime import datetime

from carrel.records.audit import Event
from carrel.records.content import Payload, named, pack
from carrel.records.postgres.columns import from_text, numbered, places, values, where
from carrel.records.postgres.ledger import Ledger
from carrel.records.rows.audit import COLUMNS, to_event
from carrel.records.rows.columns import from_moment, from_whole

_COLUMNS = ", ".join(COLUMNS)
_NOTE = f"""
    WITH {numbered("audit")}
    INSERT INTO carrel.audit (tenant, workspace, id, {_COLUMNS})
    SELECT %(tenant)s, %(workspace)s, value, {places(COLUMNS)} FROM number RETURNING id
    """


class PostgresAudit:
    """One row for each event; nobody has the right to change or remove one."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

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
        row = (from_moment(at), *names, pack(detail or {}))
        return to_event((self._ledger.rows(_NOTE, **values(COLUMNS, row))[0][0], *row))

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
        which = where(
            ("id > %(after)s", after),
            ("id < %(before)s", before),
            ("action_hash = sha256(%(action)s)", action),
            ("target_hash = sha256(%(target)s)", target),
        )
        upwards = after is not None and before is None
        rows = self._ledger.rows(
            f"SELECT id, {_COLUMNS} FROM carrel.audit WHERE {which} "
            f"ORDER BY id {'' if upwards else 'DESC'} LIMIT %(limit)s",
            after=from_whole(after or 0),
            before=from_whole(before or 0),
            action=from_text(action or ""),
            target=from_text(target or ""),
            limit=max(from_whole(limit), 0),
        )
        return [to_event(row) for row in (reversed(rows) if upwards else rows)]
