"""Recalls in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from collections.abc import Collection, Iterable
from datetime import datetime

from carrel.records.postgres.columns import OWN, arrays, from_text, in_columns, where
from carrel.records.postgres.ledger import Ledger
from carrel.records.recalls import MOST_REMEMBERED, QUARTER, WORTH, RecallEvent, Remembered, bounded
from carrel.records.rows.columns import from_moment, from_whole
from carrel.records.rows.recalls import PLACE, RECALL, from_place, from_recall, to_recall, to_remembered

_COLUMNS = (*PLACE, *RECALL)
_TYPES = dict.fromkeys(_COLUMNS, "bytea") | {
    "line": "bigint",
    "at": "bigint",
    "rank": "bigint",
    "score": "double precision",
    "who": "text",
}
# What was asked and recalled is known by its digest, so nobody has to see whether it is there already.
_ADD = f"""
    WITH given AS MATERIALIZED (
        SELECT *, sha256(query) AS asked,
            sha256(sha256(agent) || sha256(path) || int8send(line) || sha256(tier) || sha256(text))
                AS recalled
        FROM {arrays(_TYPES)} AS given ({", ".join(_COLUMNS)}, place)
    ), queries AS (
        INSERT INTO carrel.queries (tenant, workspace, id, text)
        SELECT DISTINCT %(tenant)s, %(workspace)s, asked, query FROM given ON CONFLICT DO NOTHING
    ), recalled AS (
        INSERT INTO carrel.recalled (tenant, workspace, id, {", ".join(PLACE)})
        SELECT DISTINCT %(tenant)s, %(workspace)s, recalled, {", ".join(PLACE)} FROM given
        ON CONFLICT DO NOTHING
    )
    INSERT INTO carrel.recalls (tenant, workspace, agent, session, at, query, recalled, rank, score, who)
    SELECT %(tenant)s, %(workspace)s, agent, session, at, asked, recalled, rank, score, who
    FROM given ORDER BY place
    """
_MINE = where(("agent_hash = sha256(%(agent)s)", True), ("at >= %(since)s", True))
_COUNT = f"SELECT count(*) FROM carrel.recalls WHERE {_MINE}"
_SINCE = f"""SELECT e.agent, path, line, tier, r.text, session, at, q.text, rank, score, who
    FROM (
        SELECT * FROM carrel.recalls WHERE {_MINE} ORDER BY at DESC, id DESC LIMIT %(limit)s
    ) AS e
    JOIN carrel.queries AS q ON q.tenant = e.tenant AND q.workspace = e.workspace AND q.id = e.query
    JOIN carrel.recalled AS r ON r.tenant = e.tenant AND r.workspace = e.workspace AND r.id = e.recalled
    ORDER BY at DESC, e.id DESC
    """
_REMEMBERED = f"""SELECT tier, path, line, text, hits, worth, last, odd, queries, quarters
    FROM (
        SELECT recalled, count(*) AS hits, max(at) AS last, min(id) AS first,
            sum(floor(least(greatest(score, 0), 1) * {WORTH} + 0.5)::bigint)::bigint AS worth,
            count(*) FILTER (WHERE score NOT BETWEEN 0 AND 1) AS odd,
            array_agg(DISTINCT query) AS queries, array_agg(DISTINCT at / {QUARTER}) AS quarters
        FROM carrel.recalls
        WHERE {OWN} AND agent_hash = sha256(%(agent)s) AND at <= %(until)s AND at > %(after)s
        GROUP BY recalled
    ) AS texts
    JOIN carrel.recalled AS r ON {OWN} AND r.id = recalled
    WHERE tier = ANY(%(tiers)s::bytea[]) ORDER BY hits DESC, first LIMIT %(limit)s
    """
_HOLDS = "EXISTS (SELECT FROM unnest(%(texts)s::bytea[]) AS sought WHERE position(sought IN text) > 0)"
_FORGET = f"""
    WITH places AS (
        DELETE FROM carrel.recalled WHERE {OWN} AND {_HOLDS} RETURNING id
    ), asked AS (
        DELETE FROM carrel.queries WHERE {OWN} AND {_HOLDS} RETURNING id
    )
    DELETE FROM carrel.recalls
    WHERE {OWN} AND (recalled IN (SELECT id FROM places) OR query IN (SELECT id FROM asked)) RETURNING id
    """
_BEGINNING = -(2**63)


class PostgresRecalls:
    """One row for each recall; what was recalled and what was asked are kept once, however often it was."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, events: Iterable[RecallEvent]) -> None:
        """Keep them all, or none."""
        kept = [bounded(event) for event in events]
        rows = [(*from_place(event, from_text), *from_recall(event, from_text)) for event in kept]
        if rows:
            with self._ledger.transaction():
                self._ledger.send(_ADD, **in_columns(_COLUMNS, rows))

    def count(self, agent: str, since: datetime) -> int:
        """Return how many there were from then on."""
        return self._ledger.rows(_COUNT, agent=from_text(agent), since=from_moment(since))[0][0]

    def since(self, agent: str, since: datetime, limit: int = 200) -> list[RecallEvent]:
        """Return those from then on, newest first."""
        rows = self._ledger.rows(
            _SINCE, agent=from_text(agent), since=from_moment(since), limit=max(from_whole(limit), 0)
        )
        return [to_recall(row) for row in rows]

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
        rows = self._ledger.rows(
            _REMEMBERED,
            agent=from_text(agent),
            until=from_moment(until),
            after=_BEGINNING if after is None else from_moment(after),
            tiers=[from_text(tier) for tier in tiers],
            limit=max(from_whole(limit), 0),
        )
        return [to_remembered(row, map(_number, queries), quarters) for *row, queries, quarters in rows]

    def forget(self, texts: Collection[str]) -> int:
        """Remove every recall of a text, or by a query, that holds one of these."""
        with self._ledger.transaction():
            return len(self._ledger.rows(_FORGET, texts=[from_text(text) for text in texts if text]))


def _number(query: bytes) -> int:
    return int.from_bytes(query[:8])
