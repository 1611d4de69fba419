"""Changes in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from carrel.records.changes import PAGE_BYTES, Change, ChangeState, UnknownChange
from carrel.records.content import named
from carrel.records.database import Database
from carrel.records.facts import Store
from carrel.records.rows.changes import COLUMNS, from_change, to_change
from carrel.records.rows.columns import from_whole
from carrel.records.sqlite.columns import from_text, where

_COLUMNS = ", ".join(COLUMNS)
_VALUES = ", ".join("?" * len(COLUMNS))
_BEGIN = f"INSERT INTO changes ({_COLUMNS}) VALUES ({_VALUES}) RETURNING id, {_COLUMNS}"
_DROP = "DELETE FROM changes WHERE id = ? AND state = 'begun'"
_SETTLE = "UPDATE changes SET state = ? WHERE id = ? RETURNING id"
_KEEP = "UPDATE changes SET revision = ? WHERE id = ? RETURNING id"
_PURGE = """
    UPDATE changes SET start = -1, line = 0, old = x'', old_size = 0, new = x'', new_size = 0,
        revision = CASE revision WHEN '' THEN 'purged' ELSE revision END
    WHERE id = ? RETURNING id
    """


class SqliteChanges:
    """One row for each change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, change: Change) -> Change:
        """Keep what is about to be written."""
        return to_change(self._database.rows(_BEGIN, from_change(change, from_text))[0])

    def settle(self, number: int, state: ChangeState | None) -> None:
        """Say what became of a change."""
        if state is None:
            self._database.rows(_DROP, (from_whole(number),))
        elif not self._database.rows(_SETTLE, (state, from_whole(number))):
            raise UnknownChange(number)

    def keep_commit(self, number: int, commit: str) -> None:
        """Say which commit holds a change."""
        if not self._database.rows(_KEEP, (from_text(named(commit)), from_whole(number))):
            raise UnknownChange(number)

    def purge(self, number: int) -> None:
        """Forget the bytes of a change for good."""
        if not self._database.rows(_PURGE, (from_whole(number),)):
            raise UnknownChange(number)

    def get(self, number: int) -> Change:
        """Return a change."""
        rows = self._database.rows(f"SELECT id, {_COLUMNS} FROM changes WHERE id = ?", (from_whole(number),))
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
        few = "+" if path is not None or committed is False else ""  # few are of one path, and most are done
        which, values = where(
            ("store = ?", store),
            ("path = ?", None if path is None else from_text(path)),
            (f"{few}state = ?", state),
            ("id < ?", None if before is None else from_whole(before)),
        )
        if committed is not None:
            which += " AND revision != ''" if committed else " AND revision = ''"
        sql = f"""
            WITH page AS MATERIALIZED (
                SELECT id, old_size + new_size AS size FROM changes WHERE {which} ORDER BY id DESC LIMIT ?
            ), fitting AS (
                SELECT id, sum(size) OVER (ORDER BY id DESC) - size AS newer FROM page
            )
            SELECT id, {_COLUMNS} FROM fitting JOIN changes USING (id) WHERE newer < ? ORDER BY id DESC
            """
        rows = self._database.rows(sql, (*values, max(from_whole(limit), 0), PAGE_BYTES))
        return [to_change(row) for row in rows]
