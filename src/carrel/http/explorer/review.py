"""What waits for the owner's word: each change of memory with what it would do and what it came from."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.http.explorer.choosing import hidden_from, numbered
from carrel.http.explorer.evidence import Spoken, spoken
from carrel.http.explorer.pages import Looking, page
from carrel.http.explorer.pages import router as pages
from carrel.http.routes.review import list_proposals
from carrel.memory.proposed import diff_of
from carrel.records.proposals import Proposal

router = pages()

_SHOWN = 12
_DIFF = 6_000
_TITLES = {
    "external_source": "From outside",
    "suspected_injection": "Reads like an order",
    "replaces_owner_text": "Replaces your own words",
    "taken_back": "You took this back before",
    "section_conflict": "Two edits at the same time",
    "unasked_removal": "A removal that you did not ask for",
}


class Waiting(Struct, frozen=True, kw_only=True):
    """A proposal as the owner looks at it."""

    proposal: Proposal
    called: str
    diff: str
    is_cut: bool
    said: tuple[Spoken, ...]

    @property
    def can_reword(self) -> bool:
        """Whether other words can stand in its place: there is one text, and not several facts."""
        return self.proposal.action != "remove" and len(self.proposal.facts) <= 1


@router.get("/review")
def review(viewer: Looking) -> HTMLResponse:
    """Show what waits, by why it waits; or what was decided."""
    if hidden := hidden_from(viewer, title="Review", here="review"):
        return hidden
    asked, own = viewer.request.query_params, viewer.desk.workspace
    state = asked.get("state", "waiting")
    state = state if state in ("waiting", "approved", "rejected") else "waiting"
    found = list_proposals(viewer.desk, state=[state], cursor=numbered(viewer, "cursor") or 0, limit=_SHOWN)
    shown = [_waiting(own, own.records.proposals.get(row.id)) for row in found.items]
    return page(
        viewer,
        "review.html",
        title="Review",
        here="review",
        state=state,
        groups=_groups(shown),
        counts=own.records.proposals.counts(),
        next_cursor=found.next_cursor,
    )


def _waiting(workspace: Workspace, proposal: Proposal) -> Waiting:
    text = diff_of(proposal)
    return Waiting(
        proposal=proposal,
        called=workspace.memory.called(proposal.store, proposal.path),
        diff=text[:_DIFF],
        is_cut=len(text) > _DIFF,
        said=spoken(workspace, proposal.agent, proposal.session, proposal.evidence),
    )


def _groups(shown: Sequence[Waiting]) -> list[dict[str, Any]]:
    """Return proposals by why they wait, in the order in which the first of each was made."""
    groups: dict[str, list[Waiting]] = {}
    for each in shown:
        groups.setdefault(each.proposal.why, []).append(each)
    return [
        {
            "why": why,
            "title": _TITLES.get(why, why.replace("_", " ").capitalize()),
            "reason": own[0].proposal.reason,
            "items": own,
        }
        for why, own in groups.items()
    ]
