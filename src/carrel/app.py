"""The composition root: settings, files, records and engine put together as a Workspace."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from carrel import __version__, making
from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.compare import Comparison, NothingToCompare, compare, recollect
from carrel.context.explain import Explanation, explain
from carrel.context.inputs import Inputs
from carrel.context.report import Report
from carrel.files.paths import clean
from carrel.findings import Finding
from carrel.making import Made
from carrel.opening import (
    DEFAULT_AGENT,
    find_workspace,
    open_directory,
    pick_agent,
    stand_ins,
    time_zone,
)
from carrel.records.database import DatabaseUnavailable, NewerFormat
from carrel.runtime.health import Health, examine, missing_files, visible_to
from carrel.runtime.prepare import prepare, preview, records_unavailable
from carrel.sessions.message import Message
from carrel.sessions.places import valid_session
from carrel.settings import AgentSettings
from carrel.shelf import Shelf
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

if TYPE_CHECKING:  # what only conversations need is loaded by the first of them
    from carrel.records.queue import Job
    from carrel.runtime.callbacks import Callbacks
    from carrel.runtime.compact import Compacted
    from carrel.runtime.delegation import Delegation, Errands, Seat
    from carrel.runtime.loop import Event, Limits
    from carrel.runtime.model import Model, Spend
    from carrel.runtime.record import Recording, Scribe
    from carrel.runtime.sweep import Swept
    from carrel.sessions.store import Sessions
    from carrel.sessions.turn import Sayable
    from carrel.tools.registry import Registry

__all__ = ["DEFAULT_AGENT", "NothingToCompare", "Workspace", "find_workspace", "pick_agent"]


class Workspace(Shelf):
    """One agent's workspace: reads it, assembles from it, looks after it.

    Close it, or use it as a context manager.
    """

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        agent: str | None = None,
        layout: str | None = None,
        environ: Mapping[str, str] | None = None,
        team: bool = False,
        lower: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Open a directory as it is, whichever system's workspace it holds; as a `team`, for no one agent.

        What is absent in it is read from the `lower` directory, which is never written.
        """
        environ = os.environ if environ is None else environ
        opened = open_directory(path, environ=environ, layout=layout, lower=lower)
        nobody = team and agent is None and len(opened.config.settings.agents) > 1
        chosen = AgentSettings(id=DEFAULT_AGENT) if nobody else pick_agent(opened.config.settings, agent)
        return cls(opened.moved_to(chosen.workspace), chosen, base=opened)

    @classmethod
    def init(
        cls,
        path: str | os.PathLike[str],
        *,
        layout: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Made:
        """Make a workspace in a directory, new or not; what exists is kept.

        The result is trusted, unless what stood there before would decide something that needs trust.
        """
        environ = os.environ if environ is None else environ
        return making.init(path, layout=layout, version=__version__, environ=environ)

    @classmethod
    def restore(cls, path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> Made:
        """Bring back a workspace from its manifest: what is missing is made, what exists is kept."""
        return making.restore(path, environ=os.environ if environ is None else environ)

    @classmethod
    def trust(cls, path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> None:
        """Let a workspace's own settings name models, paths and commands from now on."""
        making.approve(path, environ=os.environ if environ is None else environ)

    @cached_property
    def sessions(self) -> "Sessions":
        """The agent's sessions, for its owner: it hides nothing."""
        from carrel import conversing  # noqa: PLC0415 - a report does not pay for it

        return conversing.open_sessions(self, self._places)

    @cached_property
    def callbacks(self) -> "Callbacks":
        """Who wants to be told of turns and compactions: `workspace.callbacks.on("after_turn", tell)`."""
        from carrel.runtime.callbacks import Callbacks  # noqa: PLC0415 - for conversations only

        return Callbacks()

    @cached_property
    def scribe(self) -> "Scribe":
        """Who writes down what the agent hears and says."""
        from carrel import conversing  # noqa: PLC0415 - as above

        return conversing.open_scribe(self, self.sessions, lambda: self.records)

    def assemble(
        self,
        session: str | None = None,
        query: str | None = None,
        scope: str = Scope.MAIN,
        budget: Budget | None = None,
    ) -> Assembly:
        """Return what a model would read now, with the account of it, and record nothing."""
        inputs = self._inputs(session, query, scope)
        records = self.records if session and self._has_records() else None
        return preview(self.assembler, records, inputs, budget=budget)

    def prepare(
        self,
        session: str,
        message: str | None = None,
        scope: str = Scope.MAIN,
        budget: Budget | None = None,
        *,
        reload: bool = False,
    ) -> Assembly:
        """Return the context for a call that will be made: it is remembered, and the session is frozen.

        Record the user's message first, so that it is durable before the model is called: it is not shown
        twice. Callbacks that fail are warnings of the report.
        """
        from carrel.runtime.callbacks import TurnBegins  # noqa: PLC0415 - as above

        listener, said = parse_scope(scope), Message("user", message or "")
        event = TurnBegins(agent=self.agent.id, session=session, scope=listener, message=said)
        findings = self.callbacks.before_turn(event)
        assembly = self._prepare(session, message, scope, budget, reload=reload)
        return assembly.with_warnings(findings) if findings else assembly

    def record(
        self,
        session: str,
        messages: "Sequence[Sayable]",
        usage: "Spend | None" = None,
        *,
        scope: str = Scope.MAIN,
        source: str = "",
    ) -> "Recording":
        """Write messages down for good, each once by its id; a reply without calls ends the turn."""
        from carrel import conversing  # noqa: PLC0415 - as above

        listener = parse_scope(scope)
        recording = self.scribe.record(session, messages, spend=usage, scope=listener, source=source)
        if not recording.is_ended or not self.callbacks.listens("after_turn"):
            return recording
        ended = conversing.ended_turn(self.sessions, self.agent.id, session, listener)
        return replace(recording, findings=(*recording.findings, *self.callbacks.after_turn(ended)))

    def tools(self, *, session: str | None = None, scope: str = Scope.MAIN) -> "Registry":
        """Return the tools that the agent may call before this listener, in this session."""
        from carrel.runtime.delegation import Errands  # noqa: PLC0415 - as above
        from carrel.runtime.offline import OfflineModel  # noqa: PLC0415 - as above

        return self._tools(session, scope, Errands(), OfflineModel())

    def _tools(self, session: str | None, scope: str, errands: "Errands", model: "Model") -> "Registry":
        from carrel import conversing  # noqa: PLC0415 - as above

        return conversing.tools_of(
            self,
            self.sessions,
            lambda: self.records,
            session=None if session is None else valid_session(session),
            view=self._eyes(scope),
            scope=parse_scope(scope),
            others=self._delegation(session or "", scope, errands, model).tools(),
        )

    def _delegation(self, session: str, scope: str, errands: "Errands", model: "Model") -> "Delegation":
        from carrel import conversing  # noqa: PLC0415 - as above

        return conversing.delegation(
            self,
            session,
            parse_scope(scope),
            errands,
            model,
            seated=self._seated,
            records=lambda: self.records,
        )

    def _seated(self, seat: "Seat") -> "Workspace":
        """Open the workspace in which a delegate works."""
        from carrel import conversing  # noqa: PLC0415 - as above

        opened = conversing.opened_for(self, self._base, seat)
        return Workspace(opened, seat.agent, base=self._base if seat.kind == "peer" else opened)

    def sweep(self, *, model: "Model", limit: int = 100) -> "Swept":
        """Do what waits in the queue: what agents of this workspace left for others to do."""
        from carrel import conversing  # noqa: PLC0415 - as above
        from carrel.runtime.delegation import Errands  # noqa: PLC0415 - as above

        def delegated(job: "Job") -> Mapping[str, object]:
            chosen = pick_agent(self._base.config.settings, str(job.payload["caller"]))
            with Workspace(self._base.moved_to(chosen.workspace), chosen, base=self._base) as caller:
                return caller._delegation("", Scope.SHARED, Errands(), model).work(job)

        return conversing.sweep_queue(self, self.records, delegated, limit=limit)

    def turn(
        self,
        session: str,
        message: str,
        *,
        model: "Model | None" = None,
        scope: str = Scope.MAIN,
        source: str = "",
        sender: str | None = None,
        limits: "Limits | None" = None,
        errands: "Errands | None" = None,
    ) -> "AsyncGenerator[Event, None]":
        """Hold one turn with a model, else with the offline one, and yield what happens.

        `errands` is what a turn that is itself delegated has in common with the one that asked for it.
        """
        from carrel import conversing  # noqa: PLC0415 - as above
        from carrel.runtime.delegation import ErrandDesk, Errands, hold_turn  # noqa: PLC0415
        from carrel.runtime.offline import OfflineModel  # noqa: PLC0415

        model = OfflineModel() if model is None else model
        errands = Errands(limits=limits) if errands is None else errands
        desk = ErrandDesk(
            agent=self.agent.id,
            session=valid_session(session),
            scope=parse_scope(scope),
            callbacks=self.callbacks,
            scribe=self.scribe,
            registry=self._tools(session, scope, errands, model),
            errands=errands,
            sender_id=sender,
            preparing=lambda text: self._go_on(session, text, scope),
            model=model.name,
            source=source,
            keep=partial(conversing.keep_result, self, self.sessions, valid_session(session)),
            allowing=partial(conversing.allow_turn, self, session, model.name),
        )
        return hold_turn(desk, model, Message("user", message))

    def compact(self, session: str, *, scope: str = Scope.MAIN) -> "Compacted":
        """Let a summary stand for all but the last turns of a session; its log stays whole."""
        from carrel import conversing  # noqa: PLC0415 - as above

        listener = parse_scope(scope)
        return conversing.compact(self, self.sessions, self.callbacks, valid_session(session), listener)

    def list_session_logs(self, *, scope: str = Scope.MAIN) -> Sequence[str]:
        """Return the paths of all logs of sessions, of every agent, sorted."""
        from carrel import conversing  # noqa: PLC0415 - as above

        visible = visible_to(self.assembler.ground, parse_scope(scope))
        return sorted(
            entry.path
            for places in conversing.all_places(self)
            for entry in self.files.list(places.folder)
            if places.session_of(entry.path) and visible(entry.path)
        )

    def update_session_index(
        self, session: str, summary: str | None = None, title: str | None = None
    ) -> None:
        """Give a session a summary or a title, in its log and in the catalog."""
        self.sessions.describe(session, title=title, summary=summary)
        self.sessions.settle(session)

    def explain(self, path: str, session: str | None = None, query: str | None = None) -> Explanation:
        """Say why a file is in the prompt, cut, out or hidden; for the owner."""
        return explain(self.assembler, self._inputs(session, query, Scope.MAIN), clean(path))

    def compare_scopes(self, session: str | None = None, query: str | None = None) -> Comparison:
        """Compare what the owner's call and anyone else's would hold."""
        main = self.assemble(session, query, Scope.MAIN).report
        shared = self.assemble(session, query, Scope.SHARED).report
        seen = {row.name for row in shared.sections}
        hidden = [row.out("hidden") for row in main.sections if row.sha256 and row.name not in seen]
        sections = compare(main.sections, (*shared.sections, *hidden))
        return Comparison(before="main", after="shared", sections=sections)

    def compare_budgets(
        self, budget: Budget, session: str | None = None, query: str | None = None, scope: str = Scope.MAIN
    ) -> Comparison:
        """Compare a call under the limits in force with one under another budget."""
        now = self.assemble(session, query, scope).report
        then = self.assemble(session, query, scope, budget).report
        sections = compare(now.sections, then.sections)
        return Comparison(before="limits in force", after="given budget", sections=sections)

    def compare_last(self, session: str, query: str | None = None, scope: str = Scope.MAIN) -> Comparison:
        """Compare a session's last call with one that would be made now."""
        last = self.records.last_assembly(self.agent.id, session) if self._has_records() else None
        if last is None:
            raise NothingToCompare(session)
        if parse_scope(scope) is Scope.SHARED and recollect(last).scope != Scope.SHARED:
            raise HiddenByScope(f"the last call of session {session}")
        report = self.assemble(session, query, scope).report
        sections = compare(recollect(last).rows, report.sections)
        return Comparison(
            before="last call", after="now", sections=sections, changed_by=report.prefix.changed_by
        )

    def filled_settings(self) -> dict[str, tuple[object, str]]:
        """Return what stands in for settings that nobody gave, each with its origin."""
        return stand_ins(self.config.settings, self.layout)

    def validate(self, *, scope: str = Scope.MAIN) -> tuple[Finding, ...]:
        """Return what the layout expects and the directory lacks; nothing here is an error."""
        ground = self.assembler.ground
        return missing_files(self.files, ground, visible_to(ground, parse_scope(scope)))

    def report(self, *, scope: str = Scope.MAIN) -> Report:
        """Return the account of what a model would read now, without a session."""
        return self.assemble(scope=scope).report

    def health(self, *, scope: str = Scope.MAIN) -> Health:
        """Look the whole workspace over; of private files shared scope learns only the number."""
        report, listener = self.assemble(scope=scope).report, parse_scope(scope)
        health = examine(self.files, self.assembler.ground, report, listener)
        if listener is Scope.SHARED:
            return health
        from carrel import conversing  # noqa: PLC0415 - as above

        found = (*conversing.look_over(self, lambda: self.sessions), *self._records_faults())
        return replace(health, findings=(*health.findings, *found))

    def _records_faults(self) -> tuple[Finding, ...]:
        try:
            if self._has_records():
                self.records.layout()
        except (DatabaseUnavailable, NewerFormat) as error:
            return (records_unavailable(error),)
        return ()

    def _prepare(
        self,
        session: str,
        message: str | None,
        scope: str,
        budget: Budget | None = None,
        *,
        reload: bool = False,
    ) -> Assembly:
        inputs = self._inputs(session, message, scope)
        return prepare(self.assembler, self.records, inputs, budget=budget, reload=reload)

    def _go_on(self, session: str, message: str, scope: str) -> Assembly:
        """Return the context of a turn, without what the records would say where they cannot be used.

        What was said is in the log by then: a conversation must not end for want of the rest.
        """
        try:
            return self._prepare(session, message, scope)
        except (DatabaseUnavailable, NewerFormat) as error:
            assembly = preview(self.assembler, None, self._inputs(session, message, scope))
            return assembly.with_warnings([records_unavailable(error)])

    def _inputs(self, session: str | None, query: str | None, scope: str) -> Inputs:
        zone, listener = self.config.settings.time_zone, parse_scope(scope)
        inputs = Inputs(
            scope=listener,
            now=self.config.clock.now().astimezone(time_zone(zone)),
            time_zone=zone,
            session=valid_session(session) if session is not None else None,
            query=query,
        )
        if session is None:
            return inputs
        from carrel.runtime.history import history_of  # noqa: PLC0415 - for conversations only

        history = history_of(self.sessions, session, scope=listener, message=query)
        return replace(inputs, history=history)
