"""Proposals as rows."""

from typing import Any

from carrel.records.content import as_written, named, whole
from carrel.records.proposals import TEXT_CHARACTERS, Proposal
from carrel.records.rows.columns import FromText, from_moment, from_texts, to_moment, to_text, to_texts

COLUMNS = (
    "key",
    "at",
    "agent",
    "actor",
    "action",
    "why",
    "reason",
    "store",
    "path",
    "section",
    "old",
    "new",
    "trust",
    "session",
    "evidence",
    "facts",
    "state",
    "decided_at",
    "decided_by",
)


def from_proposal(proposal: Proposal, text: FromText) -> tuple[Any, ...]:
    """Return the columns of a proposal; one that cannot be kept is refused."""
    return (
        text(named(proposal.key)),
        from_moment(proposal.at),
        text(named(proposal.agent)),
        text(named(proposal.actor)),
        proposal.action,
        text(named(proposal.why)),
        text(whole(proposal.reason)),
        proposal.store,
        text(named(proposal.path)),
        text(named(proposal.section)),
        text(whole(proposal.old, TEXT_CHARACTERS)),
        text(whole(proposal.new, TEXT_CHARACTERS)),
        proposal.trust,
        text(named(proposal.session)),
        from_texts(proposal.evidence),
        from_texts(proposal.facts),
        proposal.state,
        None if proposal.decided_at is None else from_moment(proposal.decided_at),
        text(named(proposal.decided_by)),
    )


@as_written("A proposal")
def to_proposal(row: tuple[Any, ...]) -> Proposal:
    """Return the proposal of a number and these columns."""
    number, key, at, agent, actor, action, why, reason, store, path, section, old, new, *rest = row
    trust, session, evidence, facts, state, decided_at, decided_by = rest
    return Proposal(
        id=number,
        key=to_text(key),
        at=to_moment(at),
        agent=to_text(agent),
        actor=to_text(actor),
        action=action,
        why=to_text(why),
        reason=to_text(reason),
        store=store,
        path=to_text(path),
        section=to_text(section),
        old=to_text(old),
        new=to_text(new),
        trust=trust,
        session=to_text(session),
        evidence=to_texts(evidence),
        facts=to_texts(facts),
        state=state,
        decided_at=None if decided_at is None else to_moment(decided_at),
        decided_by=to_text(decided_by),
    )
