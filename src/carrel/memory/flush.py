"""Flush: what is told in the turns about to leave a history is in the journal before they go.

It is called before any compaction, and raises where it could not save: then history is not shrunk. The same
turns flushed twice add nothing. A model reads them later, from the log, which stays whole.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import tzinfo
from typing import Protocol

from msgspec import Struct

from carrel.clock import Clock
from carrel.memory import journal
from carrel.memory.claims import Claim
from carrel.memory.extract import Stretch, stretch_of
from carrel.memory.judging import facts_of
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author
from carrel.records import Records
from carrel.records.facts import Fact
from carrel.sessions.message import Message
from carrel.sessions.placed import Placed
from carrel.sessions.store import Sessions
from carrel.settings import AgentSettings
from carrel.workspace.scope import Scope

PRIORITY = 0
"""Before what applications have registered: what they do may fail, and this is saved by then."""

ACTOR = "flush"
"""Who changes memory then, as its history says."""

_CATEGORIES: dict[str, journal.Category] = {"decision": "decision"}
_ROOM = 10**9  # rules read everything

Extract = Callable[[Stretch, Sequence[Fact]], Sequence[Claim]]
"""Takes turns, and returns what they state."""


class Compacting(Protocol):
    """A session of which these messages are about to become a summary."""

    @property
    def agent(self) -> str:
        """Whose session it is."""
        ...

    @property
    def session(self) -> str:
        """Which one."""
        ...

    @property
    def messages(self) -> Sequence[Message]:
        """What is about to go, from the first that is still seen on."""
        ...


def _nobody(_: str) -> Collection[str]:
    return ()


class Flush(Struct, frozen=True, kw_only=True):
    """Saves what one agent's turns state; `put` has a model read a session up to an entry later."""

    agent: AgentSettings
    sessions: Sessions
    records: Callable[[], Records]
    keeper: Callable[[], Keeper]
    extract: Extract
    put: Callable[[str, int], object]
    clock: Clock
    owners: Callable[[str], Collection[str]] = _nobody
    """Returns the ids of the owner as a sender in a session."""

    def __call__(self, event: Compacting) -> None:
        """Save what is about to go, unless facts were taken from it before; what cannot be saved raises."""
        if not self.agent.memory_enabled or event.agent != self.agent.id:
            return
        placed = self._unread(event)
        if not placed:
            return
        for fact in self._facts(placed, event.session):
            self._save(fact)
        self.put(event.session, placed[-1].number)

    def _unread(self, event: Compacting) -> Sequence[Placed]:
        """Return the entries that are about to go and that nothing was learnt from yet."""
        _, seen = self.sessions.seen(event.session, scope=Scope.MAIN)
        cursor = self.records().facts.cursor(self.agent.id, event.session)
        if cursor > self.sessions.measure(event.session)[0]:
            cursor = 0  # of another log, which had the same name
        return [each for each in seen[: len(event.messages)] if each.number > cursor]

    def _facts(self, placed: Sequence[Placed], session: str) -> list[Fact]:
        found: list[Fact] = []
        owners = self.owners(session)
        while placed:
            stretch = stretch_of(
                placed, after=0, at=self.clock.now(), count=len, room=_ROOM, owners=owners, is_open=True
            )
            if stretch is None:
                break
            claims = self.extract(stretch, ())
            found += facts_of(claims, stretch, agent=self.agent.id, session=session)
            placed = [each for each in placed if each.number > stretch.through]
        return [fact for fact in found if fact.state != "refused"]

    def _save(self, fact: Fact) -> None:
        """Put what the owner said into the journal; the keeper decides about all else, and lets it wait."""
        keeper, author = self.keeper(), self._author(fact.session)
        if self._is_gone(fact):
            return
        fact = keeper.screened(fact)
        if fact.state == "refused":
            keeper.keep([fact], author)  # which keeps account of it, and nothing else
            return
        if fact.trust != "owner" or fact.reason:
            keeper.keep([fact], author)
            return
        local = fact.at.astimezone(keeper.zone)
        line = _line(fact, keeper.zone)
        try:
            path = journal.day_path(keeper.layout, local.date())
        except journal.NoJournal:
            keeper.keep([fact], author)
        else:
            keeper.pen.append("workspace", path, line, author)

    def _is_gone(self, fact: Fact) -> bool:
        """Tell whether its owner had it forgotten."""
        facts = self.records().facts
        return bool(facts.find(agent=fact.agent, key=fact.key, states=("forgotten", "undone"), limit=1))

    def _author(self, session: str) -> Author:
        return Author(
            actor=ACTOR,
            action="append",
            reason=f"Session {session} is compacted.",
            agent=self.agent.id,
            session=session,
        )


def _line(fact: Fact, zone: tzinfo) -> str:
    return journal.entry(
        fact.text,
        category=_CATEGORIES.get(fact.kind, "note"),
        at=fact.at.astimezone(zone),
        session=fact.session,
        message=fact.evidence[-1] if fact.evidence else "",
    )
