"""Facts in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from collections.abc import Collection, Iterable
from typing import Any, get_args

from carrel.records.content import named
from carrel.records.facts import Fact, FactState, Store, UnknownFact, buried
from carrel.records.postgres.columns import (
    OWN,
    arrays,
    digest,
    from_text,
    in_columns,
    numbered,
    places,
    values,
    where,
)
from carrel.records.postgres.ledger import Ledger
from carrel.records.rows.columns import from_whole
from carrel.records.rows.facts import COLUMNS, from_fact, to_fact

_WORDS = {"layer", "evidence", "trust", "state", "store"}
_FIGURES = {"at", "seen", "pinned", "change"}
_TYPES = {name: "text" if name in _WORDS else "bigint" if name in _FIGURES else "bytea" for name in COLUMNS}
_COLUMNS = ", ".join(COLUMNS)
_ADD = f"""
    WITH fresh AS MATERIALIZED (
        SELECT DISTINCT ON (id) * FROM {arrays(_TYPES)} AS given ({_COLUMNS}, place)
        WHERE NOT EXISTS (SELECT FROM carrel.facts AS known WHERE {OWN} AND known.id_hash = sha256(given.id))
        ORDER BY id, place
    ), {numbered("facts", many="count(*)", given="FROM fresh HAVING count(*) > 0")}
    INSERT INTO carrel.facts (tenant, workspace, number, {_COLUMNS})
    SELECT %(tenant)s, %(workspace)s, value + 1 - row_number() OVER (ORDER BY place DESC), {_COLUMNS}
    FROM fresh CROSS JOIN number ON CONFLICT (tenant, workspace, id_hash) DO NOTHING RETURNING number
    """
_THIS = f"WHERE {OWN} AND id_hash = sha256(%(id)s)"
_UPDATE = f"UPDATE carrel.facts SET ({_COLUMNS}) = ROW({places(COLUMNS)}) {_THIS} RETURNING number"
_SESSION = f"session_hash = {digest('agent', 'session')}"
_CURSOR = f"SELECT entry FROM carrel.cursors WHERE {OWN} AND {_SESSION}"
_FIRST = """
    INSERT INTO carrel.cursors AS cursor (tenant, workspace, agent, session, entry)
    VALUES (%(tenant)s, %(workspace)s, %(agent)s, %(session)s, %(to)s)
    ON CONFLICT (tenant, workspace, session_hash) DO UPDATE SET entry = excluded.entry
    WHERE cursor.entry = %(expect)s RETURNING entry
    """
_ADVANCE = f"""
    UPDATE carrel.cursors SET entry = %(to)s WHERE {OWN} AND {_SESSION} AND entry = %(expect)s RETURNING entry
    """


class PostgresFacts:
    """One row for each fact; its number, which nobody sees, is the order they were added in."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, facts: Iterable[Fact]) -> int:
        """Keep those whose id is new."""
        rows = [from_fact(fact, from_text) for fact in facts]
        if not rows:
            return 0
        with self._ledger.transaction():
            return len(self._ledger.rows(_ADD, **in_columns(COLUMNS, rows)))

    def get(self, fact: str) -> Fact:
        """Return the fact with this id."""
        rows = self._ledger.rows(f"SELECT {_COLUMNS} FROM carrel.facts {_THIS}", id=from_text(fact))
        if not rows:
            raise UnknownFact(fact)
        return to_fact(rows[0])

    def update(self, fact: Fact) -> None:
        """Keep a fact as it is now."""
        if not self._ledger.repeatable(_UPDATE, **values(COLUMNS, from_fact(fact, from_text))):
            raise UnknownFact(fact.id)

    def find(
        self,
        *,
        agent: str | None = None,
        states: Collection[FactState] = (),
        key: str | None = None,
        subject: str | None = None,
        session: str | None = None,
        store: Store | None = None,
        path: str | None = None,
        line: str | None = None,
        change: int | None = None,
        limit: int = 100,
        after: str = "",
    ) -> list[Fact]:
        """Return the facts that are all this, in the order they were added."""
        names = {"agent": agent, "subject": subject, "session": session, "path": path, "line": line}
        which = where(
            *((f"{name}_hash = sha256(%({name})s)", text) for name, text in names.items()),
            ("key_hash IN (sha256(%(key)s), sha256(%(buried)s))", key),
            ("change = %(change)s", change),
            ("store = %(store)s", store),
            ("state = ANY(%(states)s::text[])", states or None),
            (f"number > (SELECT number FROM carrel.facts {_THIS})", after or None),
        )
        rows = self._ledger.rows(
            f"SELECT {_COLUMNS} FROM carrel.facts WHERE {which} ORDER BY number LIMIT %(limit)s",
            **{name: from_text(text or "") for name, text in names.items()},
            key=from_text(key or ""),
            buried=from_text(buried(key or "")),
            change=from_whole(change or 0),
            store=store,
            states=[*states],
            id=from_text(after),
            limit=max(from_whole(limit), 0),
        )
        if after and not rows:
            self.get(after)
        return [to_fact(row) for row in rows]

    def counts(self, agent: str | None = None) -> dict[FactState, int]:
        """Return how many facts are in each state."""
        which = where(("agent_hash = sha256(%(agent)s)", agent))
        sql = f"SELECT state, count(*) FROM carrel.facts WHERE {which} GROUP BY state"
        rows = self._ledger.rows(sql, agent=from_text(agent or ""))
        return dict.fromkeys(get_args(FactState), 0) | {row[0]: row[1] for row in rows}

    def cursor(self, agent: str, session: str) -> int:
        """Return up to which entry facts were taken."""
        rows = self._ledger.rows(_CURSOR, agent=from_text(agent), session=from_text(session))
        return rows[0][0] if rows else 0

    def advance(self, agent: str, session: str, *, expect: int, to: int) -> bool:
        """Move the cursor if it still stands where it was seen."""
        given: dict[str, Any] = {"agent": from_text(named(agent)), "session": from_text(named(session))}
        steps = {"expect": from_whole(expect), "to": from_whole(to)}
        return bool(self._ledger.rows(_ADVANCE if expect else _FIRST, **given, **steps))
