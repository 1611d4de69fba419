"""Usage in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from carrel.records.content import named
from carrel.records.database import Database
from carrel.records.sqlite.columns import from_moment, from_text, to_moment, to_text, where
from carrel.records.usage import Purpose, Spent, Total, believable

_COLUMNS = "agent, session, model, at, input, cached, output, cost, purpose, counted"
_ADD = f"INSERT INTO usage (turn, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_LAST = f"SELECT {_COLUMNS} FROM usage WHERE "
_TOTAL = """
    SELECT count(*), coalesce(sum(input), 0), coalesce(sum(cached), 0), coalesce(sum(output), 0),
        sum(cost), count(*) - count(cost)
    FROM usage WHERE """


class SqliteUsage:
    """One row for each turn."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, spent: Spent, *, turn: str) -> None:
        """Keep what a turn took, once."""
        known = believable(spent)
        values = (
            from_text(named(turn)),
            from_text(named(known.agent)),
            from_text(named(known.session)),
            from_text(known.model),
            from_moment(known.at),
            known.input,
            known.cached,
            known.output,
            known.cost,
            known.purpose,
            known.counted,
        )
        self._database.rows(_ADD, values)

    def last(self, agent: str, session: str, *, purpose: Purpose | None = None) -> Spent | None:
        """Return what was added last for a session."""
        which, values = where(
            ("agent = ?", from_text(agent)), ("session = ?", from_text(session)), ("purpose = ?", purpose)
        )
        rows = self._database.rows(f"{_LAST}{which} ORDER BY id DESC LIMIT 1", values)
        return _spent(rows[0]) if rows else None

    def turns(self, agent: str, session: str, *, limit: int) -> list[Spent]:
        """Return what the last turns of a session took, the oldest first."""
        rows = self._database.rows(
            f"{_LAST}agent = ? AND session = ? AND purpose = 'turn' ORDER BY id DESC LIMIT ?",
            (from_text(agent), from_text(session), limit),
        )
        return [_spent(row) for row in reversed(rows)]

    def total(
        self,
        *,
        since: datetime | None = None,
        agent: str | None = None,
        session: str | None = None,
        purpose: Purpose | None = None,
    ) -> Total:
        """Return the sums over all that match."""
        which, values = where(
            ("at >= ?", None if since is None else from_moment(since)),
            ("agent = ?", None if agent is None else from_text(agent)),
            ("session = ?", None if session is None else from_text(session)),
            ("purpose = ?", purpose),
        )
        turns, every, cached, output, cost, unpriced = self._database.rows(_TOTAL + which, values)[0]
        return Total(turns=turns, input=every, cached=cached, output=output, cost=cost, unpriced=unpriced)


def _spent(row: Sequence[Any]) -> Spent:
    owner, place, model, at, every, cached, output, cost, kind, counted = row
    return Spent(
        agent=to_text(owner),
        session=to_text(place),
        model=to_text(model),
        at=to_moment(at),
        input=every,
        cached=cached,
        output=output,
        cost=cost,
        purpose=kind,
        counted=counted,
    )
