"""Facts in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from collections.abc import Collection, Iterable
from typing import Any, get_args

from carrel.records.content import named
from carrel.records.database import Database
from carrel.records.facts import Fact, FactState, Store, UnknownFact, buried
from carrel.records.rows.columns import from_whole
from carrel.records.rows.facts import COLUMNS, from_fact, to_fact
from carrel.records.sqlite.columns import among, from_text, where

_COLUMNS = ", ".join(COLUMNS)
_VALUES = ", ".join("?" * len(COLUMNS))
_ADD = f"INSERT INTO facts ({_COLUMNS}) VALUES ({_VALUES}) ON CONFLICT (id) DO NOTHING RETURNING number"
_UPDATE = f"UPDATE facts SET ({_COLUMNS}) = ({_VALUES}) WHERE id = ? RETURNING number"
_GET = f"SELECT number, {_COLUMNS} FROM facts WHERE id = ?"
_CURSOR = "SELECT entry FROM cursors WHERE agent = ? AND session = ?"
_FIRST = """
    INSERT INTO cursors VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET entry = excluded.entry WHERE entry = ? RETURNING entry
    """
_ADVANCE = "UPDATE cursors SET entry = ?3 WHERE agent = ?1 AND session = ?2 AND entry = ?4 RETURNING entry"


class SqliteFacts:
    """One row for each fact; its number, which nobody sees, is the order they were added in."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, facts: Iterable[Fact]) -> int:
        """Keep those whose id is new."""
        rows = [from_fact(fact, from_text) for fact in facts]
        if not rows:
            return 0
        with self._database.transaction():
            return sum(len(self._database.rows(_ADD, row)) for row in rows)

    def get(self, fact: str) -> Fact:
        """Return the fact with this id."""
        return to_fact(self._find(fact)[1:])

    def update(self, fact: Fact) -> None:
        """Keep a fact as it is now."""
        if not self._database.rows(_UPDATE, (*from_fact(fact, from_text), from_text(fact.id))):
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
        texts = {
            "line": line,
            "subject": subject,
            "session": session,
            "path": path,
            "agent": agent,
        }
        given = [("change", from_whole(change))] if change is not None else []
        given += [(name, from_text(text)) for name, text in texts.items() if text is not None]
        # The first leads to the fewest. A plus keeps SQLite from the index of any other, and from the one of
        # several states, whose facts would have to be sorted before the first of them is known.
        terms = ["key IN (?, ?)"] if key is not None else []
        terms += [
            f"{'+' if position else ''}{name} = ?" for position, (name, _) in enumerate(given, len(terms))
        ]
        alone = len(states) == 1 and terms in ([], ["agent = ?"])
        terms.append(among("state" if alone else "+state", states))
        which, values = where(("store = ?", store), ("number > ?", self._find(after)[0] if after else None))
        sql = f"SELECT {_COLUMNS} FROM facts WHERE {' AND '.join(terms)} AND {which} ORDER BY number LIMIT ?"
        keys = () if key is None else (from_text(key), buried(key))
        wanted = (*keys, *(value for _, value in given), *states, *values, max(from_whole(limit), 0))
        found = self._database.rows(sql, wanted)
        return [to_fact(row) for row in found]

    def counts(self, agent: str | None = None) -> dict[FactState, int]:
        """Return how many facts are in each state."""
        which, values = where(("agent = ?", None if agent is None else from_text(agent)))
        rows = self._database.rows(f"SELECT state, count(*) FROM facts WHERE {which} GROUP BY state", values)
        return dict.fromkeys(get_args(FactState), 0) | {row[0]: row[1] for row in rows}

    def cursor(self, agent: str, session: str) -> int:
        """Return up to which entry facts were taken."""
        rows = self._database.rows(_CURSOR, (from_text(agent), from_text(session)))
        return rows[0][0] if rows else 0

    def advance(self, agent: str, session: str, *, expect: int, to: int) -> bool:
        """Move the cursor if it still stands where it was seen."""
        values = (from_text(named(agent)), from_text(named(session)), from_whole(to), from_whole(expect))
        return bool(self._database.rows(_ADVANCE if expect else _FIRST, values))

    def _find(self, fact: str) -> tuple[Any, ...]:
        rows = self._database.rows(_GET, (from_text(fact),))
        if not rows:
            raise UnknownFact(fact)
        return rows[0]
