"""Dreams in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, get_args

from carrel.records.content import as_written
from carrel.records.dreams import Dream, DreamOvertaken, DreamState, PromotionState, UnknownDream
from carrel.records.facts import buried
from carrel.records.postgres.columns import (
    OWN,
    arrays,
    from_text,
    in_columns,
    numbered,
    places,
    values,
    where,
)
from carrel.records.postgres.ledger import Ledger
from carrel.records.rows.columns import from_whole, to_moment, to_text
from carrel.records.rows.dreams import DREAM, PROMOTION, from_dream, from_promotion, to_dream

_COLUMNS = ", ".join(DREAM)
_GIVEN = {f"given_{name}": "bytea" for name in PROMOTION} | {
    "given_score": "double precision",
    "given_hits": "bigint",
    "given_days": "bigint",
    "given_trust": "text",
    "given_evidence": "text",
    "given_state": "text",
}
_EACH = ", ".join(_GIVEN)
_PLAN = f"""
    WITH given AS MATERIALIZED (
        SELECT * FROM {arrays(_GIVEN)} AS given ({_EACH}, place)
    ), rivals AS (
        SELECT FROM carrel.dreams WHERE {OWN} AND agent_hash = sha256(%(agent)s)
        HAVING coalesce(max(id), 0) <> %(after)s
        UNION ALL
        SELECT FROM carrel.promotions JOIN given ON key_hash = sha256(given_key)
        WHERE {OWN} AND agent_hash = sha256(%(agent)s) AND state IN ('planned', 'promoted')
    ), {numbered("dreams", given="WHERE NOT EXISTS (SELECT FROM rivals)")}, promoted AS (
        INSERT INTO carrel.promotions (tenant, workspace, dream, place, agent, {", ".join(PROMOTION)})
        SELECT %(tenant)s, %(workspace)s, value, place - 1, %(agent)s, {_EACH} FROM given CROSS JOIN number
    )
    INSERT INTO carrel.dreams (tenant, workspace, id, {_COLUMNS})
    SELECT %(tenant)s, %(workspace)s, value, {places(DREAM)} FROM number RETURNING id
    """
_UPDATE = f"""
    WITH dream AS (
        UPDATE carrel.dreams SET ({_COLUMNS}) = ROW({places(DREAM)}) WHERE {OWN} AND id = %(id)s RETURNING id
    ), turned AS (
        UPDATE carrel.promotions SET state = now
        FROM unnest(%(states)s::text[]) WITH ORDINALITY AS turned (now, nth)
        WHERE {OWN} AND dream = (SELECT id FROM dream) AND place = nth - 1 AND state <> now
    )
    SELECT id FROM dream
    """
# One that was taken back and promoted again counts as promoted.
_PROMOTED = """SELECT key, bool_and(p.state = 'reverted'), max(ended)
    FROM carrel.promotions AS p
    JOIN carrel.dreams AS d ON d.tenant = p.tenant AND d.workspace = p.workspace AND d.id = dream
    WHERE p.tenant = %(tenant)s AND p.workspace = %(workspace)s AND p.agent_hash = sha256(%(agent)s)
        AND p.state IN ('planned', 'promoted', 'reverted')
    GROUP BY key
    """
_COUNTS = f"""SELECT state, count(*) FROM carrel.promotions
    WHERE {OWN} AND agent_hash = sha256(%(agent)s) GROUP BY state
    """
_PURGE = f"""
    UPDATE carrel.promotions SET text = '', subject = '', key = grave,
        state = CASE state WHEN 'planned' THEN 'dropped' ELSE state END
    FROM unnest(%(keys)s::bytea[], %(graves)s::bytea[]) AS sought (name, grave)
    WHERE {OWN} AND key_hash = sha256(name) RETURNING dream
    """


class PostgresDreams:
    """One row for each run, and one for each of its promotions, in their order."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def plan(self, dream: Dream, *, after: int) -> Dream:
        """Keep what is about to be written."""
        row = from_dream(dream, from_text)
        promotions = [from_promotion(promotion, from_text) for promotion in dream.promotions]
        given = in_columns(_GIVEN, promotions)
        with self._ledger.transaction():
            rows = self._ledger.rows(_PLAN, **values(DREAM, row), **given, after=from_whole(after))
        if not rows:
            raise DreamOvertaken
        return to_dream((rows[0][0], *row), promotions)

    def get(self, number: int) -> Dream:
        """Return a run."""
        found = next(self._found(f"{OWN} AND id = %(id)s", id=from_whole(number), limit=1), None)
        if found is None:
            raise UnknownDream(number)
        return found

    def update(self, dream: Dream) -> None:
        """Keep a run as it is now."""
        row = values(DREAM, from_dream(dream, from_text))
        states = [promotion.state for promotion in dream.promotions]
        if not self._ledger.repeatable(_UPDATE, id=from_whole(dream.id), states=states, **row):
            raise UnknownDream(dream.id)

    def list(
        self,
        *,
        agent: str | None = None,
        states: Collection[DreamState] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> list[Dream]:
        """Return runs that are all this, the newest first."""
        which = where(
            ("agent_hash = sha256(%(agent)s)", agent),
            ("id < %(before)s", before),
            ("state = ANY(%(states)s::text[])", states or None),
        )
        found = self._found(
            which,
            agent=from_text(agent or ""),
            before=from_whole(before or 0),
            states=[*states],
            limit=max(from_whole(limit), 0),
        )
        return [*found]

    @as_written("A dream")
    def promoted(self, agent: str) -> dict[str, datetime | None]:
        """Return what was promoted, and since when it no longer is."""
        return {
            to_text(key): to_moment(ended) if is_back and ended is not None else None
            for key, is_back, ended in self._ledger.rows(_PROMOTED, agent=from_text(agent))
        }

    def purge(self, keys: Collection[str]) -> int:
        """Forget the texts of promotions with these keys for good."""
        names, graves = [from_text(key) for key in keys], [from_text(buried(key)) for key in keys]
        with self._ledger.transaction():
            return len(self._ledger.rows(_PURGE, keys=names, graves=graves))

    def counts(self, agent: str) -> dict[PromotionState, int]:
        """Return how many promotions are in each state."""
        rows = self._ledger.rows(_COUNTS, agent=from_text(agent))
        return dict.fromkeys(get_args(PromotionState), 0) | {row[0]: row[1] for row in rows}

    def _found(self, which: str, **given: Any) -> Iterator[Dream]:
        """Yield runs, each of whose rows comes once for each of its promotions."""
        promotion = ", ".join(f"p.{name}" for name in PROMOTION)
        sql = f"""SELECT d.*, p.place, {promotion} FROM (
                SELECT id, {_COLUMNS} FROM carrel.dreams WHERE {which} ORDER BY id DESC LIMIT %(limit)s
            ) AS d
            LEFT JOIN carrel.promotions AS p ON {OWN} AND dream = d.id ORDER BY d.id DESC, place
            """
        for _, own in groupby(self._ledger.rows(sql, **given), key=itemgetter(0)):
            yield _dream([*own])


def _dream(rows: Sequence[tuple[Any, ...]]) -> Dream:
    """Return a run; one without a promotion has one row, with nothing where that would be."""
    width = len(DREAM) + 1
    return to_dream(rows[0][:width], [row[width + 1 :] for row in rows if row[width] is not None])
