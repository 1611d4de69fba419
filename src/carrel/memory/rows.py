"""Facts, changes, proposals and sections as every surface shows them: the same JSON everywhere."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import asdict

from carrel.findings import Finding
from carrel.markdown.sections import addresses_of, sections
from carrel.memory.keeping import Kept
from carrel.records.changes import Change, ChangeState
from carrel.records.facts import Fact, FactState, Layer, Store, Trust
from carrel.records.proposals import Proposal, ProposalAction, ProposalState


class FactRow(Struct, frozen=True, kw_only=True):
    """A fact: what it says, where it stands, what it came from, and how far it is trusted."""

    id: str
    text: str
    layer: Layer
    kind: str
    subject: str
    state: FactState
    reason: str
    trust: Trust
    agent: str
    session: str
    evidence: tuple[str, ...]
    at: str
    valid_from: str
    valid_until: str
    store: Store
    path: str
    section: str
    superseded_by: str
    replaces: str
    seen: int
    pinned: bool


class KeptRow(Struct, frozen=True, kw_only=True):
    """What became of facts; `known` counts those that were known already."""

    written: tuple[FactRow, ...]
    waiting: tuple[FactRow, ...]
    known: int
    refused: tuple[FactRow, ...]


class LearntRow(KeptRow, frozen=True, kw_only=True):
    """What became of the facts that were taken from so many turns."""

    turns: int
    findings: tuple[Finding, ...]


class ChangeRow(Struct, frozen=True, kw_only=True):
    """A change of one file of memory: who, when, what and why."""

    id: int
    at: str
    actor: str
    action: str
    reason: str
    agent: str
    session: str
    store: Store
    path: str
    before: str | None
    after: str | None
    state: ChangeState
    undoes: int | None
    commit: str | None


class ProposalRow(Struct, frozen=True, kw_only=True):
    """A change that waits for the owner's word, or waited."""

    id: int
    at: str
    agent: str
    actor: str
    action: ProposalAction
    why: str
    reason: str
    store: Store
    path: str
    section: str
    old: str
    new: str
    trust: Trust
    session: str
    evidence: tuple[str, ...]
    state: ProposalState
    decided_by: str | None


class SectionRow(Struct, frozen=True, kw_only=True):
    """A section of a file: its heading, where it stands, and the address that finds it."""

    heading: str
    level: int
    line: int
    tokens: int
    address: str


class Passage(Struct, frozen=True, kw_only=True):
    """The text of a section with what is nested in it, or of a whole file; `digest` is for who changes it."""

    path: str
    section: str | None
    text: str
    digest: str


class Edited(Struct, frozen=True, kw_only=True):
    """The number of a change and the digest of the file that it left; none where nothing changed."""

    change: int | None
    digest: str | None


def fact_row(fact: Fact) -> FactRow:
    """Return a fact as every surface shows it."""
    return FactRow(
        id=fact.id,
        text=fact.text,
        layer=fact.layer,
        kind=fact.kind,
        subject=fact.subject,
        state=fact.state,
        reason=fact.reason,
        trust=fact.trust,
        agent=fact.agent,
        session=fact.session,
        evidence=fact.evidence,
        at=fact.at.isoformat(),
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        store=fact.store,
        path=fact.path,
        section=fact.section,
        superseded_by=fact.superseded_by,
        replaces=fact.replaces,
        seen=fact.seen,
        pinned=fact.pinned,
    )


def kept_row(kept: Kept) -> KeptRow:
    """Return what became of facts as every surface shows it."""
    return KeptRow(
        written=tuple(map(fact_row, kept.written)),
        waiting=tuple(map(fact_row, kept.waiting)),
        known=kept.known,
        refused=tuple(map(fact_row, kept.refused)),
    )


def learnt_row(kept: Kept, turns: int, findings: tuple[Finding, ...]) -> LearntRow:
    """Return what a session taught as every surface shows it."""
    return LearntRow(**asdict(kept_row(kept)), turns=turns, findings=findings)


def change_row(change: Change) -> ChangeRow:
    """Return a change as every surface shows it."""
    return ChangeRow(
        id=change.id,
        at=change.at.isoformat(),
        actor=change.actor,
        action=change.action,
        reason=change.reason,
        agent=change.agent,
        session=change.session,
        store=change.store,
        path=change.path,
        before=change.before,
        after=change.after,
        state=change.state,
        undoes=change.undoes or None,
        commit=change.commit or None,
    )


def proposal_row(proposal: Proposal) -> ProposalRow:
    """Return a proposal as every surface shows it."""
    return ProposalRow(
        id=proposal.id,
        at=proposal.at.isoformat(),
        agent=proposal.agent,
        actor=proposal.actor,
        action=proposal.action,
        why=proposal.why,
        reason=proposal.reason,
        store=proposal.store,
        path=proposal.path,
        section=proposal.section,
        old=proposal.old,
        new=proposal.new,
        trust=proposal.trust,
        session=proposal.session,
        evidence=proposal.evidence,
        state=proposal.state,
        decided_by=proposal.decided_by or None,
    )


def section_rows(text: str, count: Callable[[str], int]) -> tuple[SectionRow, ...]:
    """Return the sections of a text, each with its own tokens."""
    parts = sections(text)
    return tuple(
        SectionRow(
            heading=part.heading,
            level=part.level,
            line=part.line,
            tokens=count(text[part.start : part.own_end]),
            address=address,
        )
        for part, address in zip(parts, addresses_of(parts), strict=True)
    )


def edited(change: Change | None) -> Edited:
    """Return what an edit came to as every surface shows it."""
    return Edited(change=change.id if change else None, digest=change.after if change else None)
