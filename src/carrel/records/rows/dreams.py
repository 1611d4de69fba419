"""Dreams as rows, and each of their promotions as one."""

from collections.abc import Iterable
from typing import Any

from carrel import plainjson
from carrel.records.content import as_written, named, pack, whole
from carrel.records.dreams import Dream, Promotion
from carrel.records.rows.columns import (
    FromText,
    from_moment,
    from_texts,
    from_whole,
    to_moment,
    to_text,
    to_texts,
)

DREAM = (
    "agent",
    "at",
    "path",
    "diary",
    "heading",
    "counts",
    "reason",
    "existed",
    "mark",
    "changes",
    "problem",
    "state",
    "ended",
)
PROMOTION = (
    "key",
    "text",
    "score",
    "hits",
    "days",
    "trust",
    "kind",
    "subject",
    "session",
    "evidence",
    "source",
    "state",
)


def from_dream(dream: Dream, text: FromText) -> tuple[Any, ...]:
    """Return the columns of a run; one that cannot be kept is refused."""
    return (
        text(named(dream.agent)),
        from_moment(dream.at),
        text(named(dream.path)),
        text(named(dream.diary)),
        text(named(dream.heading)),
        pack(dream.counts),
        text(whole(dream.reason)),
        int(dream.existed),
        from_whole(dream.mark),
        plainjson.dumps(dream.changes).decode(),
        text(whole(dream.problem)),
        dream.state,
        None if dream.ended is None else from_moment(dream.ended),
    )


def from_promotion(promotion: Promotion, text: FromText) -> tuple[Any, ...]:
    """Return the columns of a promotion; one that cannot be kept is refused."""
    return (
        text(whole(promotion.key)),
        text(whole(promotion.text)),
        promotion.score,
        from_whole(promotion.hits),
        from_whole(promotion.days),
        promotion.trust,
        text(named(promotion.kind)),
        text(named(promotion.subject)),
        text(named(promotion.session)),
        from_texts(promotion.evidence),
        text(named(promotion.source)),
        promotion.state,
    )


@as_written("A dream")
def to_dream(row: tuple[Any, ...], promotions: Iterable[tuple[Any, ...]]) -> Dream:
    """Return the run of a number and these columns, with the rows of its promotions in their order."""
    number, agent, at, path, diary, heading, counts, reason, *rest = row
    existed, mark, changes, problem, state, ended = rest
    return Dream(
        id=number,
        agent=to_text(agent),
        at=to_moment(at),
        path=to_text(path),
        diary=to_text(diary),
        heading=to_text(heading),
        counts=plainjson.loads(counts),
        reason=to_text(reason),
        promotions=tuple(_promotion(each) for each in promotions),
        existed=bool(existed),
        mark=mark,
        changes=tuple(plainjson.loads(changes)),
        problem=to_text(problem),
        state=state,
        ended=None if ended is None else to_moment(ended),
    )


def _promotion(row: tuple[Any, ...]) -> Promotion:
    key, text, score, hits, days, trust, kind, subject, session, evidence, source, state = row
    return Promotion(
        key=to_text(key),
        text=to_text(text),
        score=score,
        hits=hits,
        days=days,
        trust=trust,
        kind=to_text(kind),
        subject=to_text(subject),
        session=to_text(session),
        evidence=to_texts(evidence),
        source=to_text(source),
        state=state,
    )
