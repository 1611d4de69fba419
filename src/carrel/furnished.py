"""The parts of a workspace beside its files, each loaded by the first that needs it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from carrel.context.inputs import Inputs
from carrel.files import Content
from carrel.opening import Opened, time_zone
from carrel.runtime.prepare import recalls
from carrel.sessions.places import valid_session
from carrel.settings import AgentSettings
from carrel.shelf import Shelf
from carrel.workspace.scope import parse_scope

if TYPE_CHECKING:  # what only conversations need is loaded by the first of them
    from carrel.conversing import Conversations
    from carrel.dreaming import Dreaming
    from carrel.forgetting import Forgetting
    from carrel.remembering import Memory
    from carrel.runtime.callbacks import Callbacks
    from carrel.searching import Searching
    from carrel.sessions.placed import Placed
    from carrel.sessions.store import Sessions
    from carrel.transcripts import Transcripts


class Furnished(Shelf):
    """The files of a workspace with all that works on them; a report pays for none of it."""

    @cached_property
    def conversations(self) -> "Conversations":
        """What the agent hears and says; loaded by the first conversation."""
        from carrel.conversing import Conversations  # noqa: PLC0415 - a report does not pay for it

        return Conversations(
            self,
            self.callbacks,
            base=self._base,
            inputs=self._inputs,
            reopen=self._reopen,
            sessions=lambda: self.sessions,
            searching=lambda: self.searching,
            memory=lambda: self.memory,
            written=self._written,
        )

    @cached_property
    def transcripts(self) -> "Transcripts":
        """The sessions of all agents of this directory; loaded by the first that looks at one."""
        from carrel.transcripts import Transcripts  # noqa: PLC0415 - as above

        self.refuse_closed()
        return Transcripts(self)

    @cached_property
    def memory(self) -> "Memory":
        """Notebooks, journal and facts, for the owner; loaded by the first that remembers something."""
        from carrel.remembering import Memory  # noqa: PLC0415 - as above

        return Memory(self, sessions=self.transcripts.of, written=self._written)

    @cached_property
    def dreaming(self) -> "Dreaming":
        """What was recalled often, and what becomes of it; loaded by the first that dreams."""
        from carrel.dreaming import Dreaming  # noqa: PLC0415 - as above

        return Dreaming(self, pen=lambda: self.memory.pen, sessions=lambda: self.sessions)

    @cached_property
    def forgetting(self) -> "Forgetting":
        """What is to be forgotten, everywhere it stands; loaded by the first that forgets."""
        from carrel.forgetting import Forgetting  # noqa: PLC0415 - as above

        return Forgetting(
            self,
            pen=lambda: self.memory.pen,
            sessions=lambda: self.transcripts.everyones,
            namespace=lambda: self.memory.namespace.path,
            let_go=self._leave_search,
        )

    @cached_property
    def searching(self) -> "Searching":
        """The search over files and sessions; loaded by the first that looks for something."""
        from carrel.searching import Searching  # noqa: PLC0415 - as above

        return Searching(
            self,
            environ=self._base.environ,
            sessions=lambda: self.transcripts.everyones,
        )

    @property
    def sessions(self) -> "Sessions":
        """The agent's sessions, for its owner: it hides nothing."""
        return self.transcripts.own

    @cached_property
    def callbacks(self) -> "Callbacks":
        """Who wants to be told of turns and compactions: `workspace.callbacks.on("after_turn", tell)`."""
        from carrel.runtime.callbacks import Callbacks  # noqa: PLC0415 - for conversations only

        return Callbacks()

    def _keep(self, path: str, data: bytes, found: Content | None, *, actor: str) -> int:
        from carrel.memory.pen import Author  # noqa: PLC0415 - as above

        author = Author(actor=actor, action="put")
        return self.memory.pen.put("workspace", path, data, author, expect=found).id

    def _written(self, *paths: str) -> None:
        if (searching := vars(self).get("searching")) is not None:
            searching.expire(paths)

    def _leave_search(self) -> None:
        """Let go of the index; who searches next opens it anew."""
        if (searching := vars(self).pop("searching", None)) is not None:
            searching.close()

    def _inputs(self, session: str | None, query: str | None, scope: str) -> Inputs:
        zone, listener = self.config.settings.time_zone, parse_scope(scope)
        inputs = Inputs(
            scope=listener,
            now=self.config.clock.now().astimezone(time_zone(zone)),
            time_zone=zone,
            session=valid_session(session) if session is not None else None,
            query=query,
        )
        shown: Sequence[Placed] = ()
        if session is not None:
            from carrel.conversing.parts import beside  # noqa: PLC0415 - for conversations only
            from carrel.runtime.history import history_from  # noqa: PLC0415 - as above

            _, shown = seen = self.sessions.seen(session, scope=listener)
            history, summarised = history_from(seen, self.sessions.screened(query) if query else None)
            inputs = replace(inputs, history=history, summarised=summarised, beside=beside(self, session))
        if not query or not recalls(self.layout, self.config.settings.budgets):
            return inputs
        from carrel.recalling import with_recall  # noqa: PLC0415 - for searching only

        return with_recall(self, self.searching, inputs, shown)

    @contextmanager
    def _reopen(self, opened: Opened, agent: AgentSettings, base: Opened) -> "Generator[Conversations]":
        """Open the workspace of another agent for as long as it works."""
        with type(self)(opened, agent, base=base) as workspace:
            yield workspace.conversations
