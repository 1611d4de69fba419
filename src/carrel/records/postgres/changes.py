"""Changes in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from carrel.records.changes import PAGE_BYTES, PURGED, Change, ChangeState, UnknownChange
from carrel.records.content import named
from carrel.records.facts import Store
from carrel.records.postgres.columns import OWN, from_text, numbered, places, values, where
from carrel.records.postgres.ledger import Ledger
from carrel.records.rows.changes import COLUMNS, from_change, to_change
from carrel.records.rows.columns import from_whole

_COLUMNS = ", ".join(COLUMNS)
_BEGIN = f"""
    WITH {numbered("changes")}
    INSERT INTO carrel.changes (tenant, workspace, id, {_COLUMNS})
    SELECT %(tenant)s, %(workspace)s, value, {places(COLUMNS)} FROM number RETURNING id
    """
_THIS = f"WHERE {OWN} AND id = %(id)s"
_DROP = f"DELETE FROM carrel.changes {_THIS} AND state = 'begun'"
_SETTLE = f"UPDATE carrel.changes SET state = %(state)s {_THIS} RETURNING id"
_KEEP = f"UPDATE carrel.changes SET revision = %(revision)s {_THIS} RETURNING id"
_PURGE = f"""
    UPDATE carrel.changes SET start = -1, line = 0, old = '', old_size = 0, new = '', new_size = 0,
        revision = CASE revision WHEN '' THEN '{PURGED}' ELSE revision END
    {_THIS} RETURNING id
    """


class PostgresChanges:
    """One row for each change."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def begin(self, change: Change) -> Change:
        """Keep what is about to be written."""
        row = from_change(change, from_text)
        return to_change((self._ledger.rows(_BEGIN, **values(COLUMNS, row))[0][0], *row))

    def settle(self, number: int, state: ChangeState | None) -> None:
        """Say what became of a change."""
        if state is None:
            self._ledger.repeatable(_DROP, id=from_whole(number))
        elif not self._ledger.repeatable(_SETTLE, id=from_whole(number), state=state):
            raise UnknownChange(number)

    def keep_commit(self, number: int, commit: str) -> None:
        """Say which commit holds a change."""
        if not self._ledger.repeatable(_KEEP, id=from_whole(number), revision=from_text(named(commit))):
            raise UnknownChange(number)

    def purge(self, number: int) -> None:
        """Forget the bytes of a change for good."""
        if not self._ledger.repeatable(_PURGE, id=from_whole(number)):
            raise UnknownChange(number)

    def get(self, number: int) -> Change:
        """Return a change."""
        rows = self._ledger.rows(f"SELECT id, {_COLUMNS} FROM carrel.changes {_THIS}", id=from_whole(number))
        if not rows:
            raise UnknownChange(number)
        return to_change(rows[0])

    def list(
        self,
        *,
        store: Store | None = None,
        path: str | None = None,
        state: ChangeState | None = None,
        committed: bool | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Change]:
        """Return changes that are all this, the newest first."""
        which = where(
            ("store = %(store)s", store),
            ("path_hash = sha256(%(path)s)", path),
            ("state = %(state)s", state),
            ("id < %(last)s", before),
            ("revision <> ''" if committed else "revision = ''", committed),
        )
        sql = f"""SELECT id, {_COLUMNS} FROM (
                SELECT id AS fits, sum(size) OVER (ORDER BY id DESC) - size AS newer FROM (
                    SELECT id, old_size + new_size AS size FROM carrel.changes WHERE {which}
                    ORDER BY id DESC LIMIT %(limit)s
                ) AS page
            ) AS sized JOIN carrel.changes ON {OWN} AND id = fits WHERE newer < %(most)s ORDER BY id DESC
            """
        rows = self._ledger.rows(
            sql,
            store=store,
            path=from_text(path or ""),
            state=state,
            last=from_whole(before or 0),
            limit=max(from_whole(limit), 0),
            most=PAGE_BYTES,
        )
        return [to_change(row) for row in rows]
