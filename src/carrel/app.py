"""The composition root: settings, files, records and engine put together as a Workspace."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from carrel import __version__, making, telemetry
from carrel.context.another import for_model
from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.compare import (
    Comparison,
    NothingToCompare,
    between_budgets,
    between_scopes,
    recollect,
    since,
)
from carrel.context.explain import Explanation, explain
from carrel.context.report import Report
from carrel.files.mounts import tell_of_network
from carrel.files.paths import clean
from carrel.findings import Finding
from carrel.furnished import Furnished
from carrel.making import Made
from carrel.opening import (
    DEFAULT_AGENT,
    extensions_in_use,
    find_workspace,
    open_workspace,
    pick_agent,
    stand_ins,
    team_of,
)
from carrel.records.content import RecordDamaged
from carrel.records.damage import aside, of_damage, of_jobs
from carrel.records.database import DatabaseUnavailable, NewerFormat
from carrel.runtime.health import Health, examine, missing_files, visible_to
from carrel.runtime.prepare import at_hand, preview, records_unavailable
from carrel.sessions.message import Message
from carrel.sessions.places import valid_session
from carrel.settings.remembering import RetentionSettings
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

if TYPE_CHECKING:  # what only conversations need is loaded by the first of them
    from carrel.index import Filter, Found, Mode
    from carrel.runtime.compact import Compacted
    from carrel.runtime.loop import Event, Limits
    from carrel.runtime.model import Model, Spend
    from carrel.runtime.record import Recording
    from carrel.runtime.sweep import Swept
    from carrel.sessions.turn import Sayable
    from carrel.tools.registry import Registry

__all__ = ["DEFAULT_AGENT", "NothingToCompare", "Workspace", "find_workspace", "pick_agent"]


class Workspace(Furnished):
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
        opened = open_workspace(path, environ=environ, layout=layout, lower=lower)
        nobody = team and agent is None and len(opened.config.settings.agents) > 1
        settings = opened.config.settings
        chosen = team_of(settings) if nobody else pick_agent(settings, agent)
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

    def assemble(
        self,
        session: str | None = None,
        query: str | None = None,
        scope: str = Scope.MAIN,
        budget: Budget | None = None,
        *,
        model: str | None = None,
        window: int | None = None,
    ) -> Assembly:
        """Return what a model would read now, with the account of it, and record nothing.

        `model` asks how it would be for another one, counted and fitted as that one's; `window` how it would
        be in another window than the model's.
        """
        with (
            telemetry.span("carrel.assemble_context", carrel__context__scope=scope) as span,
            self.home.foreseeing("assemble", self.agent.id, session, scope),
            for_model(self.assembler, model, self.home.counts) as assembler,
        ):
            inputs = replace(self._inputs(session, query, scope), window=window)
            records = self.records if session and self._has_records() else None
            assembly = preview(assembler, records, inputs, budget=budget).assembly
            return _accounted(assembly, span)

    def at_hand(self, scope: str = Scope.MAIN, budget: Budget | None = None) -> Assembly | None:
        """Return what `assemble` would without a session, if it is kept and no file has changed."""
        with telemetry.span("carrel.assemble_context", carrel__context__scope=scope) as span:
            kept = at_hand(self.assembler, self._inputs(None, None, scope), budget=budget)
            return None if kept is None else _accounted(kept, span)

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
        twice. A history that fills the window is compacted. Callbacks that fail are warnings of the report.
        """
        from carrel.runtime.callbacks import TurnBegins  # noqa: PLC0415 - as above

        listener, said = parse_scope(scope), Message("user", message or "")
        event = TurnBegins(agent=self.agent.id, session=session, scope=listener, message=said)
        with (
            telemetry.span(
                "carrel.assemble_context", carrel__context__scope=scope, gen_ai__conversation__id=session
            ) as span,
            self.home.foreseeing("prepare", self.agent.id, session, scope),
        ):
            findings = self.callbacks.before_turn(event)
            caller = self.conversations.caller(session, scope)
            assembly = _accounted(caller.prepare(message, budget=budget, reload=reload).assembly, span)
            return assembly.with_warnings(findings) if findings else assembly

    def record(
        self,
        session: str,
        messages: "Sequence[Sayable]",
        usage: "Spend | None" = None,
        *,
        model: str = "",
        scope: str = Scope.MAIN,
        source: str = "",
    ) -> "Recording":
        """Write messages down for good, each once by its id; a reply without calls ends the turn.

        `usage` is what the call took that the last of them answers, by `model` or else by the agent's own.
        """
        return self.conversations.record(
            session, messages, usage=usage, model=model, scope=scope, source=source
        )

    def search(
        self,
        query: str,
        *,
        mode: "Mode" = "hybrid",
        limit: int = 10,
        within: "Filter | None" = None,
        scope: str = Scope.MAIN,
        session: str | None = None,
        case: bool = False,
        lines: int = 0,
        facets: bool = False,
        diverse: bool = False,
    ) -> "Found":
        """Return what answers a query, best first, as far as this listener may know of it.

        Any text is a query. Whoever takes part in a session names it: others see what was said before them.
        """
        from carrel.index import Filter, Query  # noqa: PLC0415 - for searching only

        asked = Query(
            text=query,
            mode=mode,
            limit=limit,
            within=within or Filter(),
            case=case,
            lines=lines,
            facets=facets,
            diverse=diverse,
        )
        with (
            telemetry.span("search_memory", gen_ai__operation__name="search_memory") as span,
            self.home.foreseeing("search", self.agent.id, session, scope),
        ):
            found = self.searching.find(asked, scope=parse_scope(scope), session=session)
            span.set_attribute("gen_ai.memory.record.count", len(found.hits))
            return found

    def tools(self, *, session: str | None = None, scope: str = Scope.MAIN) -> "Registry":
        """Return the tools that the agent may call before this listener, in this session."""
        return self.conversations.tools(session, scope)

    def model(self, name: str | None = None) -> "Model":
        """Return the model of this name, else the one that the owner's settings say, else the offline one."""
        return self.conversations.model(name)

    def turn(
        self,
        session: str,
        message: str,
        *,
        model: "Model | None" = None,
        scope: str = Scope.MAIN,
        source: str = "",
        limits: "Limits | None" = None,
    ) -> "AsyncGenerator[Event, None]":
        """Hold one turn with a model, else with the one of the settings, and yield what happens."""
        from carrel.runtime.errands import Errands  # noqa: PLC0415 - for conversations only

        return self.conversations.turn(
            session, message, model=model, scope=scope, source=source, errands=Errands(limits=limits)
        )

    def sweep(
        self, *, model: "Model | None" = None, limit: int = 100, kinds: Sequence[str] | None = None
    ) -> "Swept":
        """Do what waits in the queue, at most so much of it; consolidate, dream and take away if it is time.

        Without an agent of its own, each that is at home here consolidates and dreams for itself.
        """
        with telemetry.span("upsert_memory", gen_ai__operation__name="upsert_memory") as span:
            if kinds is None:
                now = self.config.clock.now()
                self._for_each_agent(lambda each: each.conversations.learning.put_on_time(now))
            swept = self.conversations.sweep(model, limit, kinds)
            if kinds is None:
                self.forgetting.finish()
                self._for_each_agent(lambda each: each.dreaming.run_if_due())
            span.set_attribute("carrel.jobs.done", swept.done)
            return swept

    def _for_each_agent(self, work: "Callable[[Workspace], object]") -> None:
        """Do something as this agent, else as each of those that it stands for."""
        agents = self.config.settings.agents
        if not agents or any(agent.id == self.agent.id for agent in agents):
            work(self)
            return
        for agent in agents:
            with type(self)(self._base.moved_to(agent.workspace), agent, base=self._base) as own:
                work(own)

    def compact(self, session: str, *, scope: str = Scope.MAIN) -> "Compacted":
        """Let a summary stand for all but the last turns of a session; its log stays whole."""
        return self.conversations.compact(valid_session(session), scope)

    async def summarise(
        self, session: str, model: "Model | None" = None, *, scope: str = Scope.MAIN
    ) -> "Compacted":
        """Compact a session by a model's summary; where that is of no use, rules pick one out, and say so."""
        return await self.conversations.summarise(valid_session(session), scope, model)

    def list_session_logs(self, *, scope: str = Scope.MAIN) -> Sequence[str]:
        """Return the paths of all logs of sessions, of every agent, sorted."""
        from carrel.conversing.parts import session_logs  # noqa: PLC0415 - for conversations only

        return session_logs(self, parse_scope(scope))

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
        main, shared = (self.assemble(session, query, scope).report for scope in (Scope.MAIN, Scope.SHARED))
        return between_scopes(main, shared)

    def compare_budgets(
        self, budget: Budget, session: str | None = None, query: str | None = None, scope: str = Scope.MAIN
    ) -> Comparison:
        """Compare a call under the limits in force with one under another budget."""
        now = self.assemble(session, query, scope).report
        return between_budgets(now, self.assemble(session, query, scope, budget).report)

    def compare_last(
        self,
        session: str,
        query: str | None = None,
        scope: str = Scope.MAIN,
        *,
        model: str | None = None,
        window: int | None = None,
    ) -> Comparison:
        """Compare a session's last call with one that would be made now, as `assemble` makes it."""
        last = self.records.last_assembly(self.agent.id, session) if self._has_records() else None
        if last is None:
            raise NothingToCompare(session)
        if parse_scope(scope) is Scope.SHARED and recollect(last).scope != Scope.SHARED:
            raise HiddenByScope(f"the last call of session {session}")
        now = self.assemble(session, query, scope, model=model, window=window)
        return since(recollect(last), now.report)

    def filled_settings(self) -> dict[str, tuple[object, str]]:
        """Return what stands in for settings that nobody gave, each with its origin."""
        return stand_ins(self.config.settings, self.layout)

    def validate(self, *, scope: str = Scope.MAIN) -> tuple[Finding, ...]:
        """Return what the layout expects and the directory lacks; nothing here is an error."""
        ground = self.assembler.ground
        found = missing_files(self.files, ground, visible_to(ground, parse_scope(scope)))
        return (*found, *(each for each in extensions_in_use(self._base) if each.severity == "error"))

    def report(self, *, scope: str = Scope.MAIN) -> Report:
        """Return the account of what a model would read now, without a session."""
        return self.assemble(scope=scope).report

    def health(self, *, scope: str = Scope.MAIN) -> Health:
        """Look the whole workspace over; of private files shared scope learns only the number."""
        report, listener = self.assemble(scope=scope).report, parse_scope(scope)
        health = examine(self.files, self.assembler.ground, report, listener)
        if listener is Scope.SHARED:
            return health
        from carrel.conversing.parts import look_over  # noqa: PLC0415 - for the owner only

        found = (
            *tell_of_network(self.root),
            *extensions_in_use(self._base),
            *look_over(self, lambda: self.sessions),
            *self._faults_of_records(),
            *map(aside, self.home.set_aside()),  # last: whoever looked before may have set something aside
        )
        return replace(health, findings=(*health.findings, *found))

    def _faults_of_records(self) -> tuple[Finding, ...]:
        """Return what is wrong with the records, or what they say is wrong with memory."""
        found: list[Finding] = []
        try:
            if not self._has_records():
                return ()
            self.records.check()
            found += of_jobs(self.records.queue)
            found += self._faults_of_memory()
        except RecordDamaged as error:
            found.append(of_damage(error))
        except (DatabaseUnavailable, NewerFormat) as error:
            found.append(records_unavailable(error))
        return tuple(found)

    def _faults_of_memory(self) -> tuple[Finding, ...]:
        is_kept = self.config.settings.retention == RetentionSettings()
        old = () if is_kept else self.conversations.learning.retention.findings()
        return (*self.memory.findings(), *old)


def _accounted(assembly: Assembly, span: telemetry.Span) -> Assembly:
    """Tell how large an assembly is and what was cut from it, in figures."""
    report = assembly.report
    states = [row.state for row in report.sections]
    span.set_attribute("carrel.context.used_tokens", report.tokens.used)
    span.set_attribute("carrel.context.stable_prefix_tokens", report.prefix.tokens)
    span.set_attribute("carrel.context.prefix_hash", report.prefix.sha256)
    span.set_attribute("carrel.context.truncated_files", states.count("truncated"))
    span.set_attribute("carrel.context.excluded_files", states.count("excluded"))
    return assembly
