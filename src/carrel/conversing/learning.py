"""What an agent learns from its conversations: facts, what is saved before history shrinks, consolidation."""

from collections.abc import Callable
from functools import cached_property

from msgspec.structs import replace

from carrel.conversing import parts
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.memory.consolidate.consolidator import Consolidated
from carrel.memory.flush import Flush
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author
from carrel.remembering import Memory
from carrel.runtime.consolidation import Consolidation
from carrel.runtime.model import OFFLINE, Model
from carrel.runtime.offline.claims import claims_of
from carrel.runtime.remember import ACTOR, BadExtraction, Due, Learnt, Remember
from carrel.sessions.places import valid_session
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf


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
        """Take facts from what is new in a session, else in those that were used last, now.

        With `anew`, from all that was said there; what is known is not written again.
        """
        model = self._model() if model is None else model
        if session is not None:
            self._sessions.row(valid_session(session))
            return self.remember.extract(session, model, anew=anew)
        rows, _ = self._sessions.rows(limit=parts.LOOKED_OVER)
        learnt, failed = Learnt(), list[BadExtraction]()
        for row in reversed(rows):
            try:
                learnt += self.remember.extract(row.id, model, anew=anew)
            except BadExtraction as error:  # the next session may be answered better
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

    def consolidate(self, model: Model | None, *, dry_run: bool = False) -> Consolidated:
        """Take what is new in the journal into MEMORY.md, now."""
        return self.consolidation.run(self._model() if model is None else model, dry_run=dry_run)

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
