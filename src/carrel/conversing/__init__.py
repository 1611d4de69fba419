"""Conversations of one agent: loaded by the first thing that needs one, since a report does not."""

from collections.abc import AsyncGenerator, Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from functools import cached_property, partial

from msgspec.structs import replace

from carrel import telemetry
from carrel.context.inputs import Inputs
from carrel.conversing import parts
from carrel.conversing.learning import Learning
from carrel.conversing.looking import Looking
from carrel.conversing.summariser import Summariser
from carrel.conversing.sweeping import Sweeping
from carrel.findings import Finding
from carrel.memory.flush import PRIORITY
from carrel.opening import Opened, pick_agent
from carrel.records import Payload
from carrel.records.queue import Job
from carrel.remembering import Memory
from carrel.runtime.callbacks import Callbacks
from carrel.runtime.caller import Caller
from carrel.runtime.compact import KEPT_TOKENS, Compacted, Compactor, CoolDown, is_all_of
from carrel.runtime.delegation import SOURCE as HANDED
from carrel.runtime.delegation import Delegation, Seat
from carrel.runtime.errands import Account, ErrandDesk, Errands, hold_turn
from carrel.runtime.loop import Event
from carrel.runtime.loop.threads import in_thread
from carrel.runtime.model import Model, Spend
from carrel.runtime.models import OFFLINE, pick_model
from carrel.runtime.prices import FREE, price_of
from carrel.runtime.record import Recording, Scribe, nothing
from carrel.runtime.remember.troubles import troubles
from carrel.runtime.spending import BackgroundStopped
from carrel.runtime.sweep import Swept
from carrel.runtime.traced import traced
from carrel.searching import Searching
from carrel.sessions.message import Message
from carrel.sessions.places import valid_session
from carrel.sessions.store import Sessions
from carrel.sessions.turn import Sayable
from carrel.settings import AgentSettings
from carrel.shelf import Shelf
from carrel.tools.registry import Registry
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

Reopen = Callable[[Opened, AgentSettings, Opened], "AbstractContextManager[Conversations]"]
"""Opens the conversations of another agent: in this directory, as this agent, with those settings."""


class Conversations:
    """What one agent hears and says, and whom it has work for it; `inputs` gives those of a call."""

    def __init__(
        self,
        shelf: Shelf,
        callbacks: Callbacks,
        *,
        base: Opened,
        inputs: Callable[[str | None, str | None, str], Inputs],
        reopen: Reopen,
        sessions: Callable[[], Sessions],
        searching: Callable[[], Searching],
        memory: Callable[[], Memory],
        written: Callable[[str], None],
    ) -> None:
        self._shelf = shelf
        self._callbacks = callbacks
        self._base = base
        self._inputs = inputs
        self._reopen = reopen
        self._sessions = sessions
        self._searching = searching
        self._memory = memory
        self._written = written

    @property
    def sessions(self) -> Sessions:
        """The agent's sessions."""
        return self._sessions()

    @cached_property
    def scribe(self) -> Scribe:
        """Who writes down what the agent hears and says."""
        return parts.open_scribe(
            self._shelf, self.sessions, lambda: self._shelf.records, self.learning.turn_ended
        )

    @cached_property
    def learning(self) -> Learning:
        """What the agent learns from what it hears and says."""
        return Learning(
            self._shelf,
            self.sessions,
            self._memory,
            model=self.background_model,
            allow=self._allow_background,
        )

    @cached_property
    def _compactor(self) -> Compactor:
        shelf = self._shelf
        agent, clock = shelf.agent.id, shelf.config.clock
        self._callbacks.on("before_compaction", self.learning.flush(), priority=PRIORITY)
        return Compactor(
            agent=agent,
            sessions=self.sessions,
            callbacks=self._callbacks,
            count=shelf.counts.count,
            cool_down=CoolDown(agent=agent, clock=clock, audit=lambda: shelf.records.audit),
        )

    def model(self, name: str | None = None) -> Model:
        """Return the model of this name, else the one that the owner's settings name to be called.

        A name without a provider serves to count by; the offline model answers then. In a dry run it always
        does: nothing is sent, and nothing spent.
        """
        given = self._shelf.config.settings.model
        model = pick_model(
            name or self._shelf.called_model(),
            base_url=given.base_url,
            key_variable=given.key_variable,
            environ=self._base.environ,
        )
        is_rehearsed = self._shelf.config.directories.stage is not None
        return traced(pick_model() if is_rehearsed else model)

    def caller(self, session: str, scope: str, model: Model | None = None) -> Caller:
        """Return who prepares the calls of a session before this listener, for a model if that is known."""
        return Caller(
            assembler=self._shelf.assembler,
            records=lambda: self._shelf.records,
            compactor=self._compactor,
            session=valid_session(session),
            inputs=lambda message: self._inputs(session, message, scope),
            model=None if model is None or model.name == OFFLINE else model.name,
        )

    def record(
        self,
        session: str,
        messages: Sequence[Sayable],
        *,
        usage: Spend | None,
        model: str,
        scope: str,
        source: str,
    ) -> Recording:
        """Write messages down for good, and tell who wants to know of a turn that they end."""
        listener = parse_scope(scope)
        recording = self.scribe.record(
            session, messages, spend=usage, model=model, scope=listener, source=source
        )
        self._written(self.sessions.places.log(session))
        if not recording.is_ended or not self._callbacks.listens("after_turn"):
            return recording
        ended = parts.ended_turn(self.sessions, self._shelf.agent.id, session, listener)
        return replace(recording, findings=(*recording.findings, *self._callbacks.after_turn(ended)))

    def tools(
        self,
        session: str | None,
        scope: str,
        *,
        errands: Errands | None = None,
        model: Model | None = None,
        unseen: bool = False,
    ) -> Registry:
        """Return the tools of the agent before one listener; `unseen` for a model that lives elsewhere."""
        delegation = self._delegation(session or "", scope, errands or Errands(), model)
        return parts.tools_of(
            self._shelf,
            self.sessions,
            lambda: self._shelf.records,
            session=None if session is None else valid_session(session),
            scope=parse_scope(scope),
            model=model.name if model else None,
            look=Looking(self._shelf, self._searching, session, parse_scope(scope)),
            others=delegation.tools(),
            keeper=lambda: self._memory().keeper,
            written=self._written,
            unseen=unseen,
        )

    def turn(
        self,
        session: str,
        message: str,
        *,
        model: Model | None = None,
        scope: str = Scope.MAIN,
        source: str = "",
        sender: str | None = None,
        errands: Errands | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Hold one turn; `errands` is what it has in common with the turn that asked for it, if one did."""
        model = self.model() if model is None else model
        errands = errands or Errands()
        errands.account = account = errands.account or self._account(session)
        desk = ErrandDesk(
            agent=self._shelf.agent.id,
            session=valid_session(session),
            scope=parse_scope(scope),
            callbacks=self._callbacks,
            scribe=replace(
                self.scribe,
                account=account.usage,
                purpose=errands.purpose,
                # What one agent tells another is hearsay: nothing is learnt from it.
                ended=nothing if source == HANDED else self.scribe.ended,
            ),
            registry=self.tools(session, scope, errands=errands, model=model),
            errands=errands,
            sender_id=sender,
            caller=self.caller(session, scope, model),
            count=self._shelf.counts.count,
            model=model.name,
            source=source,
            keep=partial(parts.keep_result, self._shelf, self.sessions, valid_session(session), model.name),
            allowing=partial(self._allow, model.name, errands, account),
            summarising=self._summariser(session, scope, model),
        )
        return self._followed(hold_turn(desk, model, Message("user", message)), session)

    async def _followed(
        self, events: AsyncGenerator[Event, None], session: str
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a turn; what was said in it is searched when it is over, and nobody waits."""
        agent = self._shelf.agent.id
        with telemetry.begun(
            f"invoke_agent {agent}",
            gen_ai__operation__name="invoke_agent",
            gen_ai__agent__id=agent,
            gen_ai__conversation__id=session,
        ):
            try:
                async with aclosing(events):
                    async for event in events:
                        yield event
            finally:
                self._searching().follow(session)

    def compact(self, session: str, scope: str) -> Compacted:
        """Compact a session by rules; others than the owner may where all of it was said before them."""
        self.sessions.row(session)
        if not is_all_of(self.sessions, session, parse_scope(scope)):
            raise HiddenByScope(f"session {session}")
        return self._compactor.compact(session)

    def preview(self, session: str) -> Compacted:
        """Return what compacting a session by rules would do, for its owner; nothing is written."""
        self.sessions.row(session)
        return self._compactor.preview(session)

    async def summarise(self, session: str, scope: str, model: Model | None) -> Compacted:
        """Compact a session by a model's summary, else by rules; others than the owner as above."""
        compact = partial(self.compact, session, scope)
        model = self.background_model() if model is None else model
        if model.name == OFFLINE:
            return await in_thread(compact)
        if not await in_thread(is_all_of, self.sessions, session, parse_scope(scope)):
            raise HiddenByScope(f"session {session}")
        summariser = self._summariser_by(model, session, scope)
        attempt = await summariser.attempt(KEPT_TOKENS)
        done = attempt.compacted or await in_thread(compact)  # which says why, or does it
        return replace(done, findings=tuple(dict.fromkeys((*attempt.findings, *done.findings))))

    def sweep(self, model: Model | None, limit: int, kinds: Collection[str] | None = None) -> Swept:
        """Do what waits in the queue: what agents left for others to do, and facts to be taken."""
        late = self.learning.catch_up()
        sweeping = Sweeping(
            shelf=self._shelf, account=self._account(""), of_agent=self._of_agent, model=model
        )
        swept = sweeping.sweep(limit, kinds)
        known = troubles(self._shelf.records, self._shelf.config.clock.now())
        return replace(swept, findings=(*swept.findings, *late, *known))

    @contextmanager
    def _of_agent(self, agent: str) -> "Generator[Conversations]":
        """Open the conversations of an agent of this workspace, which may be these."""
        if agent == self._shelf.agent.id:
            yield self
            return
        own = pick_agent(self._base.config.settings, agent)
        with self._reopen(self._base.moved_to(own.workspace), own, self._base) as conversations:
            yield conversations

    def work(self, job: Job, model: Model | None, errands: Errands | None = None) -> Payload:
        """Do a task that this agent left for another, and hand it the answer, once."""
        model = model or self.background_model()
        delegation = self._delegation("", Scope.SHARED, errands or Errands(), model)
        done = delegation.work(job)
        delegation.hand_back(job, str(done["text"]), self.scribe)
        return done

    def give_up(self, job: Job) -> None:
        """Tell the session in which a task was asked that nothing came of it."""
        self._delegation("", Scope.SHARED, Errands(), None).hand_back(job, None, self.scribe)

    def close(self) -> None:
        """Let go of what writes into the sessions."""
        vars(self).pop("scribe", None)

    def background_model(self) -> Model:
        """Return the model for work that nobody waits for, else the one that answers."""
        return self.model(self._shelf.config.settings.model.background)

    def _delegation(self, session: str, scope: str, errands: Errands, model: Model | None) -> Delegation:
        return Delegation(
            ground=self._shelf.assembler.ground,
            session=session,
            scope=parse_scope(scope),
            trusted=self._shelf.config.trusted,
            errands=errands,
            open=self._seated,
            models=lambda seat: self._model_for(seat, model),
            queued=lambda: self._shelf.records.queue,
        )

    def _model_for(self, seat: Seat, model: Model | None) -> Model:
        """Return who answers for a delegate: its own model if that may be called, else its caller's."""
        own = self._shelf.called_model(seat.agent) if seat.agent.model else None
        return self.model(own) if own or model is None else model

    def _seated(self, seat: Seat) -> "AbstractContextManager[Conversations]":
        opened = parts.opened_for(self._shelf, self._base, seat)
        return self._reopen(opened, seat.agent, self._base if seat.kind == "peer" else opened)

    def _account(self, session: str) -> Account:
        return Account(lambda: self._shelf.records.usage, self._shelf.agent.id, session)

    def _allow(self, model: str, errands: Errands, account: Account) -> tuple[Finding, ...]:
        """Refuse a call beyond a cap, unless its model costs nothing."""
        if price_of(model) == FREE:
            return ()
        allowance = parts.allow(self._shelf, account, errands.purpose, others=errands.sessions)
        if not allowance.allowed:
            raise BackgroundStopped(allowance.findings[0])
        return allowance.findings

    def _allow_background(self, model: Model) -> None:
        self._allow(model.name, Errands(purpose="background"), self._account(""))

    def _summariser(self, session: str, scope: str, model: Model) -> Summariser | None:
        if model.name == OFFLINE:
            return None  # what it would do is done by rules, when the call is prepared
        model = self.background_model() if self._shelf.config.settings.model.background else model
        return self._summariser_by(model, session, scope)

    def _summariser_by(self, model: Model, session: str, scope: str) -> Summariser:
        return Summariser(
            shelf=self._shelf,
            compactor=self._compactor,
            model=model,
            session=session,
            scope=parse_scope(scope),
        )
