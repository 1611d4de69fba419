"""What was remembered when: each hit that reached a model, for the sweep that promotes by recall."""

from collections.abc import Collection, Iterable
from datetime import datetime
from math import isfinite
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

Who = Literal["prepare", "tool", "chat"]

QUERY_CHARACTERS = 1_000
"""How much is kept of a query: it may be a whole message, and every hit repeats it."""

TEXT_CHARACTERS = 4_000

WORTH = 1_000_000
"""Into so many parts a score is divided to be added up: whole numbers have the same sum in any order."""

QUARTER = 900_000_000
"""Microseconds of a quarter of an hour: the days of every time zone begin with one."""

MOST_REMEMBERED = 10_000
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


class Remembered(Struct, frozen=True, kw_only=True):
    """One text that was recalled from one place, and what all these recalls have in common.

    `worth` is the sum of the scores, each held to 0..1, in millionths; `odd` counts those that had to be.
    `queries` are numbers that stand for the queries, `quarters` the quarters of an hour since 1970.
    """

    tier: str
    path: str
    line: int
    text: str
    hits: int
    worth: int
    last: datetime
    queries: frozenset[int]
    quarters: frozenset[int]
    odd: int = 0


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

    def remembered(
        self,
        agent: str,
        *,
        tiers: Collection[str],
        until: datetime,
        after: datetime | None = None,
        limit: int = MOST_REMEMBERED,
    ) -> list[Remembered]:
        """Return each text of these tiers that was recalled after one moment and until another.

        What was recalled most often comes first, and of equals what was recalled first.
        """
        ...

    def forget(self, texts: Collection[str]) -> int:
        """Remove every recall of a text, or by a query, that holds one of these; return how many went."""
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
