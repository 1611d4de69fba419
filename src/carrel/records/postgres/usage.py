"""Usage in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from datetime import datetime

from carrel.records.content import named
from carrel.records.postgres.columns import digest, from_text, places, values, where
from carrel.records.postgres.ledger import Ledger
from carrel.records.rows.columns import from_moment
from carrel.records.rows.usage import COLUMNS, from_spent, to_spent
from carrel.records.usage import Purpose, Spent, Total

_COLUMNS = ", ".join(COLUMNS)
_ADD = f"""
    INSERT INTO carrel.usage (tenant, workspace, turn, {_COLUMNS})
    VALUES (%(tenant)s, %(workspace)s, %(turn)s, {places(COLUMNS)})
    ON CONFLICT (tenant, workspace, turn_hash) DO NOTHING
    """
_TOTAL = (
    "SELECT count(*), coalesce(sum(input), 0)::bigint, coalesce(sum(cached), 0)::bigint, "
    "coalesce(sum(output), 0)::bigint, sum(cost), count(*) - count(cost) FROM carrel.usage WHERE "
)


class PostgresUsage:
    """One row for each turn."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, spent: Spent, *, turn: str) -> None:
        """Keep what a turn took, once."""
        row = values(COLUMNS, from_spent(spent, from_text))
        self._ledger.repeatable(_ADD, turn=from_text(named(turn)), **row)

    def last(self, agent: str, session: str, *, purpose: Purpose | None = None) -> Spent | None:
        """Return what was added last for a session."""
        which = where(
            (f"session_hash = {digest('agent', 'session')}", session), ("purpose = %(purpose)s", purpose)
        )
        rows = self._ledger.rows(
            f"SELECT {_COLUMNS} FROM carrel.usage WHERE {which} ORDER BY id DESC LIMIT 1",
            agent=from_text(agent),
            session=from_text(session),
            purpose=purpose,
        )
        return to_spent(rows[0]) if rows else None

    def turns(self, agent: str, session: str, *, limit: int) -> list[Spent]:
        """Return what the last turns of a session took, the oldest first."""
        own = f"session_hash = {digest('agent', 'session')}"
        which = where((own, session), ("purpose = 'turn'", session))
        rows = self._ledger.rows(
            f"SELECT {_COLUMNS} FROM carrel.usage WHERE {which} ORDER BY id DESC LIMIT %(limit)s",
            agent=from_text(agent),
            session=from_text(session),
            limit=limit,
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
        which = where(
            ("at >= %(since)s", since),
            ("agent = %(agent)s", agent),
            ("session = %(session)s", session),
            ("purpose = %(purpose)s", purpose),
        )
        rows = self._ledger.rows(
            _TOTAL + which,
            since=None if since is None else from_moment(since),
            agent=from_text(agent or ""),
            session=from_text(session or ""),
            purpose=purpose,
        )
        turns, every, cached, output, cost, unpriced = rows[0]
        return Total(turns=turns, input=every, cached=cached, output=output, cost=cost, unpriced=unpriced)
