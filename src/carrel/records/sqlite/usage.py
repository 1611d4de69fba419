"""Usage in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from datetime import datetime

from carrel.records.content import named
from carrel.records.database import Database
from carrel.records.rows.columns import from_moment
from carrel.records.rows.usage import COLUMNS, from_spent, to_spent
from carrel.records.sqlite.columns import from_text, where
from carrel.records.usage import Purpose, Spent, Total

_COLUMNS = ", ".join(COLUMNS)
_VALUES = ", ".join("?" * len(COLUMNS))
_ADD = f"INSERT INTO usage (turn, {_COLUMNS}) VALUES (?, {_VALUES}) ON CONFLICT DO NOTHING"
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
        self._database.rows(_ADD, (from_text(named(turn)), *from_spent(spent, from_text)))

    def last(self, agent: str, session: str, *, purpose: Purpose | None = None) -> Spent | None:
        """Return what was added last for a session."""
        which, values = where(
            ("agent = ?", from_text(agent)), ("session = ?", from_text(session)), ("purpose = ?", purpose)
        )
        rows = self._database.rows(f"{_LAST}{which} ORDER BY id DESC LIMIT 1", values)
        return to_spent(rows[0]) if rows else None

    def turns(self, agent: str, session: str, *, limit: int) -> list[Spent]:
        """Return what the last turns of a session took, the oldest first."""
        rows = self._database.rows(
            f"{_LAST}agent = ? AND session = ? AND purpose = 'turn' ORDER BY id DESC LIMIT ?",
            (from_text(agent), from_text(session), limit),
        )
        return [to_spent(row) for row in reversed(rows)]

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
