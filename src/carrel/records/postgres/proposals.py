"""Proposals in PostgreSQL."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from collections.abc import Collection
from datetime import datetime
from typing import get_args

from carrel.records.content import named, whole
from carrel.records.postgres.columns import OWN, from_text, numbered, places, values, where
from carrel.records.postgres.ledger import Ledger
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

_COLUMNS = ", ".join(COLUMNS)
_ADD = f"""
    WITH known AS MATERIALIZED (
        SELECT id, {_COLUMNS} FROM carrel.proposals WHERE {OWN} AND key_hash = sha256(%(key)s)
    ), {numbered("proposals", given="WHERE NOT EXISTS (SELECT FROM known)")}, added AS (
        INSERT INTO carrel.proposals (tenant, workspace, id, {_COLUMNS})
        SELECT %(tenant)s, %(workspace)s, value, {places(COLUMNS)} FROM number
        ON CONFLICT (tenant, workspace, key_hash) DO NOTHING RETURNING id, {_COLUMNS}
    )
    SELECT id, {_COLUMNS} FROM known UNION ALL SELECT id, {_COLUMNS} FROM added
    """
_SELECT = f"SELECT id, {_COLUMNS} FROM carrel.proposals WHERE "
_DECIDE = f"""
    UPDATE carrel.proposals SET state = %(state)s, decided_at = %(at)s, decided_by = %(by)s,
        new = coalesce(%(new)s::bytea, new)
    WHERE {OWN} AND id = %(id)s AND state = 'waiting' RETURNING id, {_COLUMNS}
    """
_PURGE = f"""
    UPDATE carrel.proposals SET old = '', new = '', section = '' WHERE {OWN} AND id = %(id)s RETURNING id
    """
_COUNTS = f"SELECT state, count(*) FROM carrel.proposals WHERE {OWN} GROUP BY state"


class PostgresProposals:
    """One row for each proposal; to decide is one statement, so of many deciders one has the word."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, proposal: Proposal) -> Proposal:
        """Keep a proposal, or return the one there is."""
        row = values(COLUMNS, from_proposal(proposal, from_text))
        while not (rows := self._ledger.repeatable(_ADD, **row)):
            pass  # another added it in this moment, and now it is there
        return to_proposal(rows[0])

    def get(self, number: int) -> Proposal:
        """Return a proposal."""
        rows = self._ledger.rows(f"{_SELECT} {OWN} AND id = %(id)s", id=from_whole(number))
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
        which = where(
            ("id > %(after)s", after),
            ("agent_hash = sha256(%(agent)s)", agent),
            ("state = ANY(%(states)s::text[])", states or None),
        )
        rows = self._ledger.rows(
            f"{_SELECT}{which} ORDER BY id LIMIT %(limit)s",
            after=from_whole(after),
            agent=from_text(agent or ""),
            states=[*states],
            limit=max(from_whole(limit), 0),
        )
        return [to_proposal(row) for row in rows]

    def decide(
        self, number: int, state: Verdict, *, at: datetime, by: str, new: str | None = None
    ) -> Proposal:
        """Approve or reject one that waits."""
        text = None if new is None else from_text(whole(new, TEXT_CHARACTERS))
        rows = self._ledger.rows(
            _DECIDE,
            id=from_whole(number),
            state=state,
            at=from_moment(at),
            by=from_text(named(by)),
            new=text,
        )
        if not rows:
            raise AlreadyDecided(self.get(number))
        return to_proposal(rows[0])

    def purge(self, number: int) -> None:
        """Forget the texts of a proposal for good."""
        if not self._ledger.repeatable(_PURGE, id=from_whole(number)):
            raise UnknownProposal(number)

    def counts(self) -> dict[ProposalState, int]:
        """Return how many proposals are in each state."""
        rows = self._ledger.rows(_COUNTS)
        return dict.fromkeys(get_args(ProposalState), 0) | {row[0]: row[1] for row in rows}
