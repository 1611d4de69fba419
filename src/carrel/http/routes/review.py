"""Changes of memory that wait for the owner's word: looked at by who may read, decided by who may decide."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import Depends, Path, Query
from msgspec import Meta, Struct

from carrel.http.answers import Page
from carrel.http.desk import Admin, Desk, OwnerReader
from carrel.http.routing import Routes, sent
from carrel.memory.review import NotAllDecided
from carrel.memory.rows import ProposalRow, proposal_row
from carrel.records.proposals import Proposal, ProposalState, Verdict

routes = Routes("review", "/w/{workspace}")

_HIGHEST = 2**62

Number = Annotated[int, Path(ge=1, le=_HIGHEST)]


class ProposalShown(Struct, frozen=True, kw_only=True):
    """A proposal, what it would change, and the messages that it came from by their ids."""

    proposal: ProposalRow
    diff: str
    said: Mapping[str, str]


class Approval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words to write instead of what was proposed."""

    text: Annotated[str, Meta(max_length=1_000_000)] | None = None


class Decision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One word for several proposals."""

    numbers: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=_HIGHEST)], ...], Meta(min_length=1, max_length=500)
    ]
    verdict: Verdict


class Decided(Struct, frozen=True, kw_only=True):
    """The proposals as they are now."""

    proposals: tuple[ProposalRow, ...]


@routes.get("/proposals", Page[ProposalRow])
def list_proposals(
    desk: OwnerReader,
    state: Annotated[list[ProposalState], Query(max_length=3)] = ["waiting"],  # noqa: B006 - FastAPI copies it
    cursor: Annotated[int, Query(ge=0, le=_HIGHEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Page[ProposalRow]:
    """List the changes of memory that wait, in the order in which they were proposed."""
    found = desk.workspace.records.proposals.list(
        tuple(state), agent=desk.agent, limit=limit + 1, after=cursor
    )
    more = str(found[limit - 1].id) if len(found) > limit else None
    return Page(items=tuple(map(proposal_row, found[:limit])), next_cursor=more)


@routes.get("/proposals/{number}", ProposalShown)
def show_proposal(desk: OwnerReader, number: Number) -> ProposalShown:
    """Return a proposal with what it would change, and what was said that it came from."""
    shown = desk.workspace.memory.review.show(number)
    return ProposalShown(proposal=proposal_row(shown.proposal), diff=shown.diff, said=shown.evidence)


@routes.post("/proposals/{number}:approve", ProposalRow, takes=Approval)
def approve_proposal(
    desk: Admin, number: Number, body: Annotated[Approval, Depends(sent(Approval))]
) -> ProposalRow:
    """Let a change happen, in other words if a text is given."""
    decided = desk.workspace.memory.review.approve([number], by=desk.access.name, text=body.text)
    _note(desk, decided)
    return proposal_row(decided[0])


@routes.post("/proposals/{number}:reject", ProposalRow)
def reject_proposal(desk: Admin, number: Number) -> ProposalRow:
    """Keep a change from happening; it is not proposed again."""
    decided = desk.workspace.memory.review.reject([number], by=desk.access.name)
    _note(desk, decided)
    return proposal_row(decided[0])


@routes.post("/proposals:decide", Decided, takes=Decision)
def decide_proposals(desk: Admin, body: Annotated[Decision, Depends(sent(Decision))]) -> Decided:
    """Approve or reject several proposals. One that no longer fits keeps none of the others back."""
    review = desk.workspace.memory.review
    decide = review.approve if body.verdict == "approved" else review.reject
    try:
        decided = decide(body.numbers, by=desk.access.name)
    except NotAllDecided as error:
        _note(desk, error.decided)
        raise
    _note(desk, decided)
    return Decided(proposals=tuple(map(proposal_row, decided)))


def _note(desk: Desk, decided: Sequence[Proposal]) -> None:
    for proposal in decided:
        desk.note(f"proposal.{proposal.state}", str(proposal.id), path=proposal.path)
