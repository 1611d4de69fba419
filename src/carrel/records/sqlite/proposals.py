"""Proposals in SQLite."""

# ruff: noqa: S608 - statements are made of words in this file alone; values are bound

from collections.abc import Collection
from datetime import datetime
from typing import get_args

from carrel.records.content import named, whole
from carrel.records.database import Database
from carrel.records.proposals import (
    TEXT_CHARACTERS,
    AlreadyDecided,
    Proposal,
    ProposalState,
    UnknownProposal,
    Verdict,
)
from carrel.records.rows.columns import from_moment, from_whole
from carrel.records.rows.proposals import COLUMNS, from_proposal, to_proposal
from carrel.records.sqlite.columns import among, from_text, where

_COLUMNS = ", ".join(COLUMNS)
_ADD = f"""
    INSERT INTO proposals ({_COLUMNS}) VALUES ({", ".join("?" * len(COLUMNS))})
    ON CONFLICT (key) DO NOTHING RETURNING id, {_COLUMNS}
    """
_SELECT = f"SELECT id, {_COLUMNS} FROM proposals WHERE "
_DECIDE = f"""
    UPDATE proposals SET state = ?, decided_at = ?, decided_by = ?, new = coalesce(?, new)
    WHERE id = ? AND state = 'waiting' RETURNING id, {_COLUMNS}
    """
_PURGE = "UPDATE proposals SET old = '', new = '', section = '' WHERE id = ? RETURNING id"


class SqliteProposals:
    """One row for each proposal; to decide is one statement, so of many deciders one has the word."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, proposal: Proposal) -> Proposal:
        """Keep a proposal, or return the one there is."""
        row = from_proposal(proposal, from_text)
        with self._database.transaction():
            rows = self._database.rows(_ADD, row) or self._database.rows(f"{_SELECT} key = ?", row[:1])
        return to_proposal(rows[0])

    def get(self, number: int) -> Proposal:
        """Return a proposal."""
        rows = self._database.rows(f"{_SELECT} id = ?", (from_whole(number),))
        if not rows:
            raise UnknownProposal(number)
        return to_proposal(rows[0])

    def list(
        self,
        states: Collection[ProposalState] = ("waiting",),
        *,
        agent: str | None = None,
        limit: int = 100,
        after: int = 0,
    ) -> list[Proposal]:
        """Return proposals in the order they were made."""
        one = len(states) == 1  # a plus keeps SQLite from an index that leads to many, or must be sorted
        which, values = where(
            ("id > ?", from_whole(after)),
            (f"{'+' * one}agent = ?", None if agent is None else from_text(agent)),
        )
        state = among("state" if one else "+state", states)
        sql = f"{_SELECT}{which} AND {state} ORDER BY id LIMIT ?"
        rows = self._database.rows(sql, (*values, *states, max(from_whole(limit), 0)))
        return [to_proposal(row) for row in rows]

    def decide(
        self, number: int, state: Verdict, *, at: datetime, by: str, new: str | None = None
    ) -> Proposal:
        """Approve or reject one that waits."""
        text = None if new is None else from_text(whole(new, TEXT_CHARACTERS))
        values = (state, from_moment(at), from_text(named(by)), text, from_whole(number))
        rows = self._database.rows(_DECIDE, values)
        if not rows:
            raise AlreadyDecided(self.get(number))
        return to_proposal(rows[0])

    def purge(self, number: int) -> None:
        """Forget the texts of a proposal for good."""
        if not self._database.rows(_PURGE, (from_whole(number),)):
            raise UnknownProposal(number)

    def counts(self) -> dict[ProposalState, int]:
        """Return how many proposals are in each state."""
        rows = self._database.rows("SELECT state, count(*) FROM proposals GROUP BY state")
        return dict.fromkeys(get_args(ProposalState), 0) | {row[0]: row[1] for row in rows}
