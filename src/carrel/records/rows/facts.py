"""Facts as rows."""

from typing import Any

from carrel.records.content import as_written, named, whole
from carrel.records.facts import Fact
from carrel.records.rows.columns import (
    FromText,
    from_moment,
    from_texts,
    from_whole,
    to_moment,
    to_text,
    to_texts,
)

COLUMNS = (
    "id",
    "agent",
    "layer",
    "kind",
    "text",
    "key",
    "at",
    "session",
    "evidence",
    "trust",
    "subject",
    "valid_from",
    "valid_until",
    "state",
    "reason",
    "store",
    "path",
    "section",
    "line",
    "superseded_by",
    "replaces",
    "seen",
    "pinned",
    "change",
)


def from_fact(fact: Fact, text: FromText) -> tuple[Any, ...]:
    """Return the columns of a fact; one that cannot be kept is refused."""
    return (
        text(named(fact.id)),
        text(named(fact.agent)),
        fact.layer,
        text(named(fact.kind)),
        text(whole(fact.text)),
        text(whole(fact.key)),
        from_moment(fact.at),
        text(named(fact.session)),
        from_texts(fact.evidence),
        fact.trust,
        text(named(fact.subject)),
        text(named(fact.valid_from)),
        text(named(fact.valid_until)),
        fact.state,
        text(whole(fact.reason)),
        fact.store,
        text(named(fact.path)),
        text(named(fact.section)),
        text(whole(fact.line)),
        text(named(fact.superseded_by)),
        text(named(fact.replaces)),
        from_whole(fact.seen),
        int(fact.pinned),
        from_whole(fact.change),
    )


@as_written("A fact")
def to_fact(row: tuple[Any, ...]) -> Fact:
    """Return the fact of these columns."""
    fact, agent, layer, kind, text, key, at, session, evidence, trust, subject, begin, end, *rest = row
    state, reason, store, path, section, line, superseded_by, replaces, seen, pinned, change = rest
    return Fact(
        id=to_text(fact),
        agent=to_text(agent),
        layer=layer,
        kind=to_text(kind),
        text=to_text(text),
        key=to_text(key),
        at=to_moment(at),
        session=to_text(session),
        evidence=to_texts(evidence),
        trust=trust,
        subject=to_text(subject),
        valid_from=to_text(begin),
        valid_until=to_text(end),
        state=state,
        reason=to_text(reason),
        store=store,
        path=to_text(path),
        section=to_text(section),
        line=to_text(line),
        superseded_by=to_text(superseded_by),
        replaces=to_text(replaces),
        seen=seen,
        pinned=bool(pinned),
        change=change,
    )
