"""What an agent learns from its conversations: facts, what is saved before history shrinks, consolidation."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property

from msgspec import Struct
from msgspec.structs import asdict, replace

from carrel.conversing import parts
from carrel.errors import CarrelError
from carrel.files import Unreadable
from carrel.findings import Finding
from carrel.memory.consolidate.consolidator import Consolidated
from carrel.memory.flush import Flush
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author
from carrel.records.facts import FactState
from carrel.records.queue import State
from carrel.remembering import Memory
from carrel.runtime.consolidation import Consolidation
from carrel.runtime.model import OFFLINE, Model
from carrel.runtime.offline.claims import claims_of
from carrel.runtime.remember import ACTOR, BadExtraction, Due, Learnt, Remember
from carrel.runtime.retention import Retention
from carrel.sessions.places import valid_session
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf


class DueIn(Due, frozen=True, kw_only=True):
    """Whether facts are to be taken from a session, else why not."""

    session: str


class MemoryStatus(Struct, frozen=True, kw_only=True):
    """How memory is doing: what was learnt, what waits, and where facts are taken next."""

    agent: str
    enabled: bool
    facts: Mapping[FactState, int]
    waiting: int
    jobs: Mapping[State, int]
    sessions: tuple[DueIn, ...]
    findings: tuple[Finding, ...]


class Learning:
    """Makes memory of what one agent heard and said; `model` is who is asked where nobody is named."""

    def __init__(
        self,
        shelf: Shelf,
        sessions: Sessions,
        memory: Callable[[], Memory],
        *,
        model: Callable[[], Model],
        allow: Callable[[Model], object],
    ) -> None:
        self._shelf = shelf
        self._sessions = sessions
        self._memory = memory
        self._model = model
        self._allow = allow

    @cached_property
    def remember(self) -> Remember:
        """Who takes facts from what was said."""
        return parts.open_remember(self._shelf, self._sessions, self._keeper, self._allow)

    @cached_property
    def consolidation(self) -> Consolidation:
        """Who makes memory of the journal."""
        return parts.open_consolidation(self._shelf, self._keeper, self.remember.asking)

    @cached_property
    def retention(self) -> Retention:
        """Who takes away what is older than the settings keep."""
        return parts.open_retention(
            self._shelf,
            self._sessions,
            self.consolidation,
            self.remember,
        )

    def flush(self) -> Flush:
        """Return who saves what is about to leave a history."""
        shelf = self._shelf
        return Flush(
            agent=shelf.agent,
            sessions=self._sessions,
            records=lambda: shelf.records,
            keeper=self._keeper,
            extract=claims_of,
            put=lambda session, number: self._due(session, number, least=1),
            clock=shelf.config.clock,
            owners=self.remember.owners,
        )

    def turn_ended(self, session: str, number: int) -> None:
        """Let facts be taken from a session once enough turns are new; that waits in the queue."""
        self._due(session, number)

    def extract(self, session: str | None, model: Model | None, *, anew: bool = False) -> Learnt:
        """Take facts from what is new in a session, else in all of them, now.

        With `anew`, from all that was said there; what is known is not written again.
        """
        model = self._model() if model is None else model
        if session is not None:
            self._sessions.row(valid_session(session))
            return self.remember.extract(session, model, anew=anew)
        learnt, failed = Learnt(), list[CarrelError]()
        for row in reversed(self._sessions.rows()[0]):
            try:
                learnt += self.remember.extract(row.id, model, anew=anew)
            except (BadExtraction, Unreadable) as error:  # the next session may be answered better
                failed.append(error)
        if failed and not learnt.turns:
            raise failed[0]
        told = (Finding(code=each.code, message=each.message, hint=each.hint) for each in failed)
        return replace(learnt, findings=tuple(dict.fromkeys((*learnt.findings, *told))))

    def outlook(self, limit: int = 5) -> dict[str, Due]:
        """Return whether facts are due to be taken from the sessions that were used last, and why not."""
        rows, _ = self._sessions.rows(limit=limit)
        model = self._shelf.called_model() or OFFLINE
        return {row.id: self.remember.outlook(row.id, model=model) for row in rows}

    def status(self) -> MemoryStatus:
        """Return how memory is doing."""
        records, agent = self._shelf.records, self._shelf.agent
        return MemoryStatus(
            agent=agent.id,
            enabled=agent.memory_enabled,
            facts=records.facts.counts(agent.id),
            waiting=records.proposals.counts()["waiting"],
            jobs=records.queue.counts(),
            sessions=tuple(DueIn(session=name, **asdict(due)) for name, due in self.outlook().items()),
            findings=self._memory().findings(),
        )

    def consolidate(self, model: Model | None, *, dry_run: bool = False) -> Consolidated:
        """Take what is new in the journal into MEMORY.md, now."""
        return self.consolidation.run(self._model() if model is None else model, dry_run=dry_run)

    def put_on_time(self, now: datetime) -> None:
        """Put what comes by itself into the queue: consolidation, and the end of what is too old."""
        self.consolidation.put_on_time(now)
        self.retention.put()

    def session_ended(self) -> bool:
        """Let the journal be consolidated after a session, where that is wanted; tell whether it will be."""
        if not self._shelf.config.settings.consolidation.automatic:
            return False
        try:
            return self.consolidation.put(self._shelf.config.clock.now()) is not None
        except CarrelError:  # what is wrong is told by whoever consolidates
            return False

    def catch_up(self) -> tuple[Finding, ...]:
        """Write what could not be written before; what cannot be yet stays planned, and it is told why."""
        try:
            if self._shelf.records.facts.counts().get("planned"):
                self._memory().keeper.finish(Author(actor=ACTOR, action="append"))
            if self._shelf.agent.workspace_git.enabled:
                return self._memory().pen.catch_up()
        except CarrelError as error:
            return (Finding(code=error.code, message=error.message, hint=error.hint),)
        return ()

    def _due(self, session: str, number: int, least: int | None = None) -> object:
        return self.remember.due(session, number, model=self._shelf.called_model() or OFFLINE, least=least)

    def _keeper(self) -> Keeper:
        return self._memory().keeper
