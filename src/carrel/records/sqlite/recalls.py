"""Recalls in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cache

from carrel.records.database import Database
from carrel.records.recalls import MOST_REMEMBERED, QUARTER, WORTH, RecallEvent, Remembered, bounded
from carrel.records.rows.columns import from_moment, from_texts, from_whole
from carrel.records.rows.recalls import from_place, from_recall, to_recall, to_remembered
from carrel.records.sqlite.columns import from_text

_ASK = "INSERT INTO queries (text) VALUES (?) RETURNING id"
_ASKED = "SELECT id FROM queries WHERE text = ?"
_SAME = "agent = ?1 AND path = ?2 AND line = ?3 AND tier = ?4 AND text = ?5"
_KEEP = f"""
    INSERT INTO recalled (agent, path, line, tier, text)
    SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM recalled WHERE {_SAME})
    """
_ADD = f"""
    INSERT INTO recalls (agent, recalled, session, at, query, rank, score, who)
    SELECT ?1, (SELECT id FROM recalled WHERE {_SAME}), ?6, ?7, ?8, ?9, ?10, ?11
    """
_COUNT = "SELECT count(*) FROM recalls WHERE agent = ? AND at >= ?"
_SINCE = """
    SELECT recalls.agent, path, line, tier, recalled.text, session, at, queries.text, rank, score, who
    FROM recalls JOIN queries ON queries.id = query JOIN recalled ON recalled.id = recalled
    WHERE recalls.agent = ? AND at >= ? ORDER BY at DESC, recalls.id DESC LIMIT ?
    """
# The plus keeps SQLite from the index by time: nearly all are wanted, and are read sooner in their order.
_REMEMBERED = f"""
    WITH texts AS (
        SELECT recalled AS number, count(*) AS hits,
            sum(CAST(round(min(max(score, 0.0), 1.0) * {WORTH}) AS INTEGER)) AS worth, max(at) AS last,
            group_concat(DISTINCT query) AS queries, group_concat(DISTINCT at / {QUARTER}) AS quarters,
            sum(score NOT BETWEEN 0 AND 1) AS odd
        FROM recalls WHERE +agent = ?1 AND at <= ?2 AND at > ?3 GROUP BY recalled
    )
    SELECT tier, path, line, text, hits, worth, last, odd, queries, quarters
    FROM texts JOIN recalled ON recalled.id = number
    WHERE tier IN (SELECT value FROM json_each(?4)) ORDER BY hits DESC, number LIMIT ?5
    """

_FORGOTTEN = """
    DELETE FROM recalls WHERE recalled IN (SELECT id FROM recalled WHERE instr(text, ?1))
        OR query IN (SELECT id FROM queries WHERE instr(text, ?1)) RETURNING id
    """
_LEFT = (
    "DELETE FROM recalled WHERE instr(text, ?1)",
    "DELETE FROM queries WHERE instr(text, ?1)",
)
_BEGINNING = -(2**63)


class SqliteRecalls:
    """One row for each recall; what was recalled and what was asked are kept once, however often it was."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, events: Iterable[RecallEvent]) -> None:
        """Keep them all, or none."""
        events = [bounded(event) for event in events]
        kept = [(from_place(event, from_text), from_recall(event, from_text)) for event in events]
        if kept:
            with self._database.transaction():
                number = cache(self._query)
                self._database.each(_KEEP, [place for place, _ in kept])
                self._database.each(
                    _ADD,
                    [
                        (*place, session, at, number(query), *rest)
                        for place, (session, at, query, *rest) in kept
                    ],
                )

    def count(self, agent: str, since: datetime) -> int:
        """Return how many there were from then on."""
        return self._database.rows(_COUNT, (from_text(agent), from_moment(since)))[0][0]

    def since(self, agent: str, since: datetime, limit: int = 200) -> list[RecallEvent]:
        """Return those from then on, newest first."""
        values = (from_text(agent), from_moment(since), max(from_whole(limit), 0))
        return [to_recall(row) for row in self._database.rows(_SINCE, values)]

    def remembered(
        self,
        agent: str,
        *,
        tiers: Collection[str],
        until: datetime,
        after: datetime | None = None,
        limit: int = MOST_REMEMBERED,
    ) -> list[Remembered]:
        """Return each text that was recalled, most often first."""
        values = (
            from_text(agent),
            from_moment(until),
            _BEGINNING if after is None else from_moment(after),
            from_texts(tuple(tiers)),
            max(from_whole(limit), 0),
        )
        rows = self._database.rows(_REMEMBERED, values)
        return [to_remembered(row, _numbers(queries), _numbers(quarters)) for *row, queries, quarters in rows]

    def forget(self, texts: Collection[str]) -> int:
        """Remove every recall of a text, or by a query, that holds one of these."""
        gone = 0
        with self._database.transaction():
            for text in filter(None, texts):
                gone += len(self._database.rows(_FORGOTTEN, (from_text(text),)))
                for statement in _LEFT:
                    self._database.rows(statement, (from_text(text),))
        return gone

    def _query(self, text: str | bytes) -> int:
        """Return the number of what was asked, a new one where it was asked for the first time."""
        rows = self._database.rows(_ASKED, (text,)) or self._database.rows(_ASK, (text,))
        return rows[0][0]


def _numbers(column: str) -> Iterator[int]:
    return map(int, column.split(","))
