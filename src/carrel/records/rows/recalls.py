"""Recalls as rows, and what they have in common as one row for each text."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from carrel.records.content import as_written, named
from carrel.records.recalls import RecallEvent, Remembered
from carrel.records.rows.columns import FromText, from_moment, to_moment, to_text

PLACE = ("agent", "path", "line", "tier", "text")
"""The columns of what was recalled."""

RECALL = ("session", "at", "query", "rank", "score", "who")
"""The columns of when and why it was; with the agent above."""


def from_place(event: RecallEvent, text: FromText) -> tuple[Any, ...]:
    """Return the columns of what was recalled; what cannot be kept is refused."""
    agent, path, tier = (text(named(name)) for name in (event.agent, event.path, event.tier))
    return (agent, path, event.line, tier, text(event.text))


def from_recall(event: RecallEvent, text: FromText) -> tuple[Any, ...]:
    """Return the columns of a recall; one that cannot be kept is refused.

    A question is kept without its secrets. What it recalled stands in a file already.
    """
    session, query = text(named(event.session)), text(_screened(event.query))
    return (session, from_moment(event.at), query, event.rank, event.score, event.who)


@as_written("A recall")
def to_recall(row: tuple[Any, ...]) -> RecallEvent:
    """Return the recall of all these columns: those of its place, then its own."""
    agent, path, line, tier, text, session, at, query, rank, score, who = row
    return RecallEvent(
        agent=to_text(agent),
        session=to_text(session),
        at=to_moment(at),
        query=to_text(query),
        path=to_text(path),
        line=line,
        tier=to_text(tier),
        rank=rank,
        score=score,
        text=to_text(text),
        who=who,
    )


@as_written("A recall")
def to_remembered(row: Sequence[Any], queries: Iterable[int], quarters: Iterable[int]) -> Remembered:
    """Return what the recalls of one text have in common."""
    tier, path, line, text, hits, worth, last, odd = row
    return Remembered(
        tier=to_text(tier),
        path=to_text(path),
        line=line,
        text=to_text(text),
        hits=hits,
        worth=worth,
        last=to_moment(last),
        queries=frozenset(queries),
        quarters=frozenset(quarters),
        odd=odd,
    )


@lru_cache(maxsize=8)  # one query recalls many texts
def _screened(query: str) -> str:
    from carrel.screen.secrets import redact  # noqa: PLC0415 - who recalls nothing has no use for it

    return redact(query).text
