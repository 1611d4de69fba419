"""What waits for the owner's word: changes of memory that nobody else may decide."""

from collections.abc import Collection
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import Conflict, NotFound
from carrel.records.facts import Store, Trust

ProposalAction = Literal["add", "append", "replace", "rename", "remove", "supersede", "write"]
ProposalState = Literal["waiting", "approved", "rejected"]
Verdict = Literal["approved", "rejected"]

TEXT_CHARACTERS = 1_000_000
"""What `old` and `new` may have; nobody can judge more, and it belongs into a file."""

MOST_WAITING = 1_000
"""Proposals that may wait before tools and extraction make no more: nobody reads a longer list."""


class Proposal(Struct, frozen=True, kw_only=True):
    """One change that waits: `old` is what stands there now, `new` what would.

    `why` is a code such as `external_source`; `reason` says it in words for people. The same `key` is
    proposed once. `facts` become written when it is approved, and refused when it is not.
    """

    id: int = 0
    key: str
    at: datetime
    agent: str
    actor: str
    action: ProposalAction
    why: str
    reason: str
    store: Store = "workspace"
    path: str
    section: str = ""
    old: str = ""
    new: str = ""
    trust: Trust = "external"
    session: str = ""
    evidence: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    state: ProposalState = "waiting"
    decided_at: datetime | None = None
    decided_by: str = ""


class UnknownProposal(NotFound):
    """No proposal has this number."""

    code = "unknown_proposal"

    def __init__(self, number: int) -> None:
        super().__init__(f"There is no proposal {number}.", hint="carrel memory review lists what waits.")


class AlreadyDecided(Conflict):
    """Somebody has approved or rejected this proposal before."""

    code = "already_decided"

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(
            f"Proposal {proposal.id} was {proposal.state} already.",
            hint="carrel memory history shows what came of it.",
        )


class Proposals(Protocol):
    """What waits and what was decided; each verb is whole or nothing, and joins the transaction it is in."""

    def add(self, proposal: Proposal) -> Proposal:
        """Keep a proposal and return it with its number; one with this key is returned as it is."""
        ...

    def get(self, number: int) -> Proposal:
        """Return a proposal, else UnknownProposal."""
        ...

    def list(
        self,
        states: Collection[ProposalState] = ("waiting",),
        *,
        agent: str | None = None,
        limit: int = 100,
        after: int = 0,
    ) -> list[Proposal]:
        """Return proposals in these states in the order they were made, beginning after one of them.

        No states means any.
        """
        ...

    def decide(
        self, number: int, state: Verdict, *, at: datetime, by: str, new: str | None = None
    ) -> Proposal:
        """Approve or reject one that waits, with another text if one is given; else AlreadyDecided."""
        ...

    def purge(self, number: int) -> None:
        """Forget the texts of a proposal for good, else UnknownProposal."""
        ...

    def counts(self) -> dict[ProposalState, int]:
        """Return how many proposals are in each state."""
        ...
