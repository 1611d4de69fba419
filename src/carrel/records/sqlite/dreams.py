"""Dreams in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, get_args

from carrel.records.content import as_written, named
from carrel.records.database import Database
from carrel.records.dreams import Dream, DreamOvertaken, DreamState, PromotionState, UnknownDream
from carrel.records.facts import buried
from carrel.records.rows.columns import from_whole, to_moment, to_text
from carrel.records.rows.dreams import DREAM, PROMOTION, from_dream, from_promotion, to_dream
from carrel.records.sqlite.columns import among, from_text, where

_COLUMNS = ", ".join(DREAM)
_VALUES = ", ".join("?" * len(DREAM))
_LAST = "SELECT coalesce(max(id), 0) FROM dreams WHERE agent = ?"
_PLAN = f"INSERT INTO dreams ({_COLUMNS}) VALUES ({_VALUES}) RETURNING id"
_UPDATE = f"UPDATE dreams SET ({_COLUMNS}) = ({_VALUES}) WHERE id = ? RETURNING id"
_GIVEN = ", ".join(PROMOTION)
_EACH = ", ".join("?" * len(PROMOTION))
_PROMOTE = f"INSERT INTO promotions (dream, place, agent, {_GIVEN}) VALUES (?, ?, ?, {_EACH})"
_TURN = "UPDATE promotions SET state = ? WHERE dream = ? AND place = ?"
_OPEN = "SELECT 1 FROM promotions WHERE agent = ? AND key = ? AND state IN ('planned', 'promoted')"
# One that was taken back and promoted again counts as promoted.
_PROMOTED = """
    SELECT key, min(promotions.state = 'reverted'), max(ended)
    FROM promotions JOIN dreams ON dreams.id = dream
    WHERE promotions.agent = ? AND promotions.state IN ('planned', 'promoted', 'reverted') GROUP BY key
    """
_COUNTS = "SELECT state, count(*) FROM promotions WHERE agent = ? GROUP BY state"
_PURGE = """
    UPDATE promotions SET text = '', subject = '', key = ?,
        state = CASE state WHEN 'planned' THEN 'dropped' ELSE state END
    WHERE key = ? RETURNING dream
    """


class SqliteDreams:
    """One row for each run, and one for each of its promotions, in their order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def plan(self, dream: Dream, *, after: int) -> Dream:
        """Keep what is about to be written."""
        row, agent = from_dream(dream, from_text), from_text(named(dream.agent))
        promotions = [from_promotion(promotion, from_text) for promotion in dream.promotions]
        with self._database.transaction():
            rivals = (self._database.rows(_OPEN, (agent, key)) for key, *_ in promotions)
            if self._database.rows(_LAST, (agent,))[0][0] != after or any(rivals):
                raise DreamOvertaken
            number = self._database.rows(_PLAN, row)[0][0]
            for place, given in enumerate(promotions):
                self._database.rows(_PROMOTE, (number, place, agent, *given))
        return self.get(number)

    def get(self, number: int) -> Dream:
        """Return a run."""
        rows = self._database.rows(f"SELECT id, {_COLUMNS} FROM dreams WHERE id = ?", (from_whole(number),))
        if not rows:
            raise UnknownDream(number)
        return next(self._dreams(rows))

    def update(self, dream: Dream) -> None:
        """Keep a run as it is now."""
        with self._database.transaction():
            if not self._database.rows(_UPDATE, (*from_dream(dream, from_text), from_whole(dream.id))):
                raise UnknownDream(dream.id)
            for place, promotion in enumerate(dream.promotions):
                self._database.rows(_TURN, (promotion.state, dream.id, place))

    def list(
        self,
        *,
        agent: str | None = None,
        states: Collection[DreamState] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> list[Dream]:
        """Return runs that are all this, the newest first."""
        which, values = where(
            ("agent = ?", None if agent is None else from_text(agent)),
            ("id < ?", None if before is None else from_whole(before)),
        )
        sql = f"""
            SELECT id, {_COLUMNS} FROM dreams WHERE {which} AND {among("state", states)}
            ORDER BY id DESC LIMIT ?
            """
        rows = self._database.rows(sql, (*values, *states, max(from_whole(limit), 0)))
        return [*self._dreams(rows)]

    @as_written("A dream")
    def promoted(self, agent: str) -> dict[str, datetime | None]:
        """Return what was promoted, and since when it no longer is."""
        rows = self._database.rows(_PROMOTED, (from_text(agent),))
        return {
            to_text(key): to_moment(ended) if is_back and ended is not None else None
            for key, is_back, ended in rows
        }

    def purge(self, keys: Collection[str]) -> int:
        """Forget the texts of promotions with these keys for good."""
        with self._database.transaction():
            gone = (self._database.rows(_PURGE, (buried(key), from_text(key))) for key in keys)
            return sum(map(len, gone))

    def counts(self, agent: str) -> dict[PromotionState, int]:
        """Return how many promotions are in each state."""
        rows = self._database.rows(_COUNTS, (from_text(agent),))
        return dict.fromkeys(get_args(PromotionState), 0) | {row[0]: row[1] for row in rows}

    def _dreams(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Dream]:
        sql = f"SELECT {_GIVEN} FROM promotions WHERE dream = ? ORDER BY place"
        for row in rows:
            yield to_dream(row, self._database.rows(sql, (row[0],)))
