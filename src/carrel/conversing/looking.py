"""A model that searches: what it finds is noted, since what is recalled often is promoted."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from typing import Any

from msgspec import Struct

from carrel.errors import CarrelError
from carrel.index import Filter, Found, Query
from carrel.records.recalls import RecallEvent
from carrel.runtime.hits import found_to_json
from carrel.searching import Searching
from carrel.shelf import Shelf
from carrel.tools.memory import MOST_HITS, MemorySearch
from carrel.tools.registry import BadArguments
from carrel.workspace.scope import Scope


class Looking(Struct, frozen=True):
    """Searches for one agent in one session, as far as its listener may know."""

    shelf: Shelf
    searching: Callable[[], Searching]
    session: str | None
    scope: Scope

    def __call__(self, asked: MemorySearch) -> dict[str, Any]:
        """Return hits as every surface shows them."""
        within = Filter(
            tiers=(asked.tier,) if asked.tier else (),
            sections=(asked.section,) if asked.section else (),
            since=_day("since", asked.since),
            until=_day("until", asked.until),
        )
        query = Query(text=asked.query, limit=min(max(1, asked.limit), MOST_HITS), within=within)
        found = self.searching().find(query, scope=self.scope, session=self.session)
        if self.session is not None:
            with suppress(CarrelError):  # what cannot be noted is found all the same
                self.shelf.records.recalls.add(self._events(self.session, asked.query, found))
        return found_to_json(found)

    def _events(self, session: str, query: str, found: Found) -> Iterator[RecallEvent]:
        for rank, hit in enumerate(found.hits, 1):
            yield RecallEvent(
                agent=self.shelf.agent.id,
                session=session,
                at=self.shelf.config.clock.now(),
                query=query,
                path=hit.chunk.path,
                line=hit.chunk.line,
                tier=hit.chunk.tier,
                rank=rank,
                score=hit.score,
                text=hit.chunk.text,
                who="tool",
            )


def _day(name: str, given: str | None) -> str:
    """Return a day as hits have it; one that is none would ask for everything, or for nothing."""
    if not given:
        return ""
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        raise BadArguments("memory_search", f"`{name}` must be a day, YYYY-MM-DD") from None
