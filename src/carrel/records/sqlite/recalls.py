"""Recalls in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from carrel.records.content import named
from carrel.records.database import Database
from carrel.records.recalls import RecallEvent, bounded
from carrel.records.sqlite.columns import from_moment, from_text, from_whole, to_moment, to_text

_COLUMNS = "agent, session, at, query, path, line, tier, rank, score, text, who"
_ADD = f"INSERT INTO recalls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_COUNT = "SELECT count(*) FROM recalls WHERE agent = ? AND at >= ?"
_SINCE = f"SELECT {_COLUMNS} FROM recalls WHERE agent = ? AND at >= ? ORDER BY at DESC, id DESC LIMIT ?"


class SqliteRecalls:
    """One row for each recall."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, events: Iterable[RecallEvent]) -> None:
        """Keep them all, or none."""
        rows = [_row(bounded(event)) for event in events]
        if rows:
            with self._database.transaction():
                for row in rows:
                    self._database.rows(_ADD, row)

    def count(self, agent: str, since: datetime) -> int:
        """Return how many there were from then on."""
        return self._database.rows(_COUNT, (from_text(agent), from_moment(since)))[0][0]

    def since(self, agent: str, since: datetime, limit: int = 200) -> list[RecallEvent]:
        """Return those from then on, newest first."""
        values = (from_text(agent), from_moment(since), max(from_whole(limit), 0))
        return [_event(row) for row in self._database.rows(_SINCE, values)]


def _row(event: RecallEvent) -> tuple[Any, ...]:
    return (
        from_text(named(event.agent)),
        from_text(named(event.session)),
        from_moment(event.at),
        from_text(event.query),
        from_text(named(event.path)),
        event.line,
        from_text(named(event.tier)),
        event.rank,
        event.score,
        from_text(event.text),
        event.who,
    )


def _event(row: tuple[Any, ...]) -> RecallEvent:
    agent, session, at, query, path, line, tier, rank, score, text, who = row
    return RecallEvent(
        agent=to_text(agent),
        session=to_text(session),
        at=to_moment(at),
        query=to_text(query),
        path=to_text(path),
        line=line,
        tier=to_text(tier),
        rank=rank,
        score=score,
        text=to_text(text),
        who=who,
    )
