"""Changes in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

import zlib
from typing import Any

from carrel.records.changes import PAGE_BYTES, SPLICE_BYTES, Change, ChangeState, Splice, UnknownChange
from carrel.records.content import RecordTooLarge, named, whole
from carrel.records.database import Database, DatabaseUnavailable
from carrel.records.facts import Store
from carrel.records.sqlite.columns import from_moment, from_text, from_whole, to_moment, to_text, where

_COLUMNS = (
    "at, actor, action, store, path, before, after, start, old, old_size, new, new_size, agent, session, "
    "reason, state, undoes, revision, line"
)
_BEGIN = f"INSERT INTO changes ({_COLUMNS}) VALUES ({', '.join('?' * 19)}) RETURNING id, {_COLUMNS}"
_DROP = "DELETE FROM changes WHERE id = ? AND state = 'begun'"
_SETTLE = "UPDATE changes SET state = ? WHERE id = ? RETURNING id"
_KEEP = "UPDATE changes SET revision = ? WHERE id = ? RETURNING id"
_PURGE = """
    UPDATE changes SET start = -1, line = 0, old = x'', old_size = 0, new = x'', new_size = 0,
        revision = CASE revision WHEN '' THEN 'purged' ELSE revision END
    WHERE id = ? RETURNING id
    """
_FAST = 1
"""How hard to compress: prose is halved at once, and more effort gains little."""


class SqliteChanges:
    """One row for each change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, change: Change) -> Change:
        """Keep what is about to be written."""
        return _change(self._database.rows(_BEGIN, _row(change))[0])

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
        return _change(rows[0])

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
        return [_change(row) for row in rows]


def _row(change: Change) -> tuple[Any, ...]:
    return (
        from_moment(change.at),
        from_text(named(change.actor)),
        from_text(named(change.action)),
        change.store,
        from_text(named(change.path)),
        None if change.before is None else from_text(named(change.before)),
        None if change.after is None else from_text(named(change.after)),
        from_whole(change.splice.start),
        *_deflated(change.splice.old),
        *_deflated(change.splice.new),
        from_text(named(change.agent)),
        from_text(named(change.session)),
        from_text(whole(change.reason)),
        change.state,
        from_whole(change.undoes),
        from_text(named(change.commit)),
        from_whole(change.splice.line),
    )


def _change(row: tuple[Any, ...]) -> Change:
    number, at, actor, action, store, path, before, after, start, old, old_size, new, new_size, *rest = row
    agent, session, reason, state, undoes, revision, line = rest
    return Change(
        id=number,
        at=to_moment(at),
        actor=to_text(actor),
        action=to_text(action),
        store=store,
        path=to_text(path),
        before=None if before is None else to_text(before),
        after=None if after is None else to_text(after),
        splice=Splice(start, _inflated(number, old, old_size), _inflated(number, new, new_size), line),
        agent=to_text(agent),
        session=to_text(session),
        reason=to_text(reason),
        state=state,
        undoes=undoes,
        commit=to_text(revision),
    )


def _deflated(side: bytes) -> tuple[bytes, int]:
    """Return one side of a splice the shorter way, and how long it is."""
    size = len(side)
    if size > SPLICE_BYTES:
        hint = "Split the file: memory changes only files that are read as a whole."
        raise RecordTooLarge("A change of a file", size, SPLICE_BYTES, unit="bytes", hint=hint)
    return min(side, zlib.compress(side, _FAST), key=len), size


def _inflated(number: int, column: bytes, size: int) -> bytes:
    """Return one side of a splice; what somebody else put there takes no more room than one of ours."""
    if len(column) >= size:
        return column
    stream = zlib.decompressobj()
    try:
        side = stream.decompress(column, min(size, SPLICE_BYTES) + 1)  # to its end, where its checksum stands
    except zlib.error:
        side = b""
    if len(side) != size or not stream.eof:
        hint = "Restore the records from a backup; the files themselves are as they were."
        raise DatabaseUnavailable(f"Change {number} is damaged and cannot be shown or undone.", hint=hint)
    return side
