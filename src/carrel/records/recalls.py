"""What was remembered when: each hit that reached a model, for the sweep that promotes by recall."""

from collections.abc import Iterable
from datetime import datetime
from math import isfinite
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

Who = Literal["prepare", "tool", "chat"]

QUERY_CHARACTERS = 1_000
"""How much is kept of a query: it may be a whole message, and every hit repeats it."""

TEXT_CHARACTERS = 4_000
_MOST = 2**31 - 1


class RecallEvent(Struct, frozen=True, kw_only=True):
    """One hit of one query that was given to a model; of long queries and texts the beginning is kept."""

    agent: str
    session: str
    at: datetime
    query: str
    path: str
    line: int
    tier: str
    rank: int
    score: float
    text: str
    who: Who


class Recalls(Protocol):
    """The recalls of every agent."""

    def add(self, events: Iterable[RecallEvent]) -> None:
        """Keep them all, or none."""
        ...

    def count(self, agent: str, since: datetime) -> int:
        """Return how many there were from then on."""
        ...

    def since(self, agent: str, since: datetime, limit: int = 200) -> list[RecallEvent]:
        """Return those from then on, newest first."""
        ...


def bounded(event: RecallEvent) -> RecallEvent:
    """Return the event as it is kept: beginnings of texts, and numbers that can be added up."""
    return replace(
        event,
        query=event.query[:QUERY_CHARACTERS],
        text=event.text[:TEXT_CHARACTERS],
        line=min(max(event.line, 0), _MOST),
        rank=min(max(event.rank, 0), _MOST),
        score=event.score if isfinite(event.score) else 0.0,
    )
