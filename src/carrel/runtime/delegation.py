"""Delegation: another agent holds a turn of its own, at its own desk, for one that asked it to.

A delegated turn runs in an event loop of its own, in the thread of the tool that asked: it needs nothing of
the asking turn's loop, so that no number of waiting turns can keep each other from going on. It ends with the
asking turn: that one's limits are passed down, and its end, however it comes, stops those who work for it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, aclosing
from hashlib import sha256
from os import urandom
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, json
from msgspec.structs import asdict

from carrel.context.build import Ground
from carrel.context.render import printable_surrogates
from carrel.errors import CarrelError
from carrel.files.disk import typed_failures
from carrel.files.local import LinkOutside
from carrel.records import Payload
from carrel.records.content import shaped
from carrel.records.database import find_link
from carrel.records.queue import Job, Queue
from carrel.runtime import roster
from carrel.runtime.errands import Errands, current_call
from carrel.runtime.history import HANDED
from carrel.runtime.loop import Ended, Event
from carrel.runtime.model import Model
from carrel.runtime.record import Scribe
from carrel.sessions.message import Message
from carrel.sessions.places import valid_session
from carrel.sessions.store import Sessions
from carrel.sessions.turn import Said
from carrel.settings import AgentSettings
from carrel.tools import delegate as asking
from carrel.tools.delegate import Answered, Delegate, Queued
from carrel.tools.registry import Tool
from carrel.workspace.scope import Scope, parse_scope
from carrel.workspace.subagents import Subagent

KIND = "delegate"
"""The kind of a job that is a delegated task."""

SOURCE = HANDED
"""Where the messages of a delegated session come from, as its header and its entries say."""


class Seat(Struct, frozen=True, kw_only=True):
    """Where and as whom a delegate works: alone in a folder, on its caller's files, or as the peer it is."""

    agent: AgentSettings
    kind: Literal["isolated", "inherited", "peer"]
    scope: Scope
    folder: str = ""
    is_made: bool = False
    """Whether the folder is made when it is first needed; one that was declared must exist."""
    rounds: int | None = None


class Host(Protocol):
    """A delegate's own workspace, opened."""

    @property
    def sessions(self) -> Sessions:
        """The delegate's sessions."""
        ...

    def turn(
        self,
        session: str,
        message: str,
        *,
        model: Model,
        scope: str,
        source: str,
        sender: str,
        errands: Errands,
    ) -> AsyncGenerator[Event, None]:
        """Hold one turn within the limits of its errands, as `hold_turn` does."""
        ...


class Errand(Struct, frozen=True, kw_only=True):
    """A task as it waits in the queue; the caller's scope counts where its files are worked on."""

    caller: str
    agent: str
    task: str
    session: str
    scope: str
    asked_in: str = ""
    """The caller's session, which is told the answer."""


class Delegation(Struct, frozen=True, kw_only=True):
    """Whom one agent may ask in one session, and the asking; `models` says who answers for whom."""

    ground: Ground
    session: str
    scope: Scope
    trusted: bool
    errands: Errands
    open: Callable[[Seat], AbstractContextManager[Host]]
    models: Callable[[Seat], Model]
    queued: Callable[[], Queue]

    def tools(self) -> tuple[Tool, ...]:
        """Return the tool that asks others, where there is somebody to ask."""
        return asking.delegate_tools(self.delegates(), self)

    def delegates(self) -> tuple[Delegate, ...]:
        """Return who may be asked: subagents by their declarations, and the peers that settings allow."""
        found = [Delegate(id=each.id, description=each.description) for each in self._subagents(self.scope)]
        found += [
            Delegate(id=agent.id, description=agent.domain or agent.display_name or "", kind="agent")
            for agent in self._peers()
            if asking.matches(agent.id, self.ground.agent.allowed_delegates)
        ]
        return tuple(sorted(found, key=lambda each: each.id))

    def run(self, agent: str, task: str) -> Answered:
        """Hold one turn with another agent and return its answer; called beside the loop, and waits."""
        seat, session = self._seat(agent, self.scope), self._session_for(agent, task)
        self.errands.admit(session)
        return self._hold(seat, session, task)

    def queue(self, agent: str, task: str) -> Queued:
        """Put the task into the queue; the same call puts it once."""
        self._seat(agent, self.scope)
        if self.errands.depth:
            # Its queue is its own, and nobody sweeps that of somebody who only works when asked.
            raise asking.BackgroundNotHere
        session = self._session_for(agent, task)
        self.errands.admit(session)
        own = self.ground.agent.id
        errand = Errand(
            caller=own,
            agent=agent,
            task=task,
            session=session,
            scope=self.scope.value,
            asked_in=self.session,
        )
        job = self.queued().put(KIND, asdict(errand), key=session)
        return Queued(agent=agent, session=session, state=job.state)

    def work(self, job: Job) -> Payload:
        """Do a task from the queue, of any session; an answer that is recorded is not asked for again."""
        errand = shaped(job.payload, Errand)
        seat = self._seat(errand.agent, parse_scope(errand.scope))
        return asking.to_json(self._hold(seat, errand.session, errand.task, ids=errand.session))

    def hand_back(self, job: Job, answer: str | None, scribe: Scribe) -> None:
        """Tell the session in which a task was asked what came of it, once, as words of somebody else."""
        errand = shaped(job.payload, Errand)
        if not errand.asked_in or not scribe.sessions.exists(errand.asked_in):
            return  # nobody asked in a session, or it is deleted
        told = Said(
            role="user",
            content=asking.told_later(errand.agent, errand.task, answer),
            message_id=f"{errand.session}-handed",
            sender_id=errand.agent,
        )
        scribe.record(errand.asked_in, [told], scope=parse_scope(errand.scope), source=SOURCE)

    def _hold(self, seat: Seat, session: str, task: str, *, ids: str = "") -> Answered:
        agent, model = seat.agent.id, self.models(seat)
        with self.errands.under_way():
            try:
                with self.open(seat) as host:
                    if known := _answer_in(host.sessions, agent, ids):
                        return known
                    ended = self._ask(host, model, seat, Message("user", task), session, ids=ids)
                    told = Answered(agent=agent, session=session, text=ended.reply.text, finish=ended.finish)
                    # Another worker may have been quicker: what stands in the log is what was answered.
                    return _answer_in(host.sessions, agent, ids) or told
            except asyncio.CancelledError:
                raise asking.DelegateStopped(agent, session) from None
            except CarrelError as error:
                raise asking.DelegateFailed(agent, session, error) from error

    def _ask(self, host: Host, model: Model, seat: Seat, task: Message, session: str, *, ids: str) -> Ended:
        """Hold the turn to its end, in a loop of its own."""
        events = host.turn(
            session,
            task.to_text(),
            model=model,
            scope=seat.scope,
            source=SOURCE,
            sender=self.ground.agent.id,
            errands=self.errands.below(seat.rounds, ids=ids),
        )

        async def turn() -> Ended:
            async with aclosing(events):
                with self.errands.stoppable():
                    async for event in events:
                        if isinstance(event, Ended):
                            return event
            raise asyncio.CancelledError  # a turn that does not end was stopped

        def hold() -> Ended:
            with asyncio.Runner() as runner:
                return runner.run(turn())

        return hold() if not _is_in_loop() else _beside(hold)

    def _seat(self, name: str, scope: Scope) -> Seat:
        """Return where somebody works who may be asked; anybody else is a typed error."""
        if name == (own := self.ground.agent).id:
            raise asking.AsksItself(name)
        known = [delegate.id for delegate in self.delegates()]
        for subagent in self._subagents(scope):
            if subagent.id == name:
                return seat_of(subagent, own, scope=scope, trusted=self.trusted)
        peer = next((agent for agent in self._peers() if agent.id == name), None)
        if peer is None:
            raise asking.UnknownDelegate(name, known)
        if name not in known:
            raise asking.DelegateNotAllowed(own.id, name, known)
        return Seat(agent=peer, kind="peer", scope=Scope.SHARED)

    def _subagents(self, scope: Scope) -> Sequence[Subagent]:
        found = roster.subagents_of(self.ground, self.ground.documents.reading(), scope)
        return [
            each
            for each in found.loaded
            if not each.declared.hidden
            and each.declared.mode != "primary"
            and each.id != self.ground.agent.id
        ]

    def _peers(self) -> Sequence[AgentSettings]:
        return [agent for agent in self.ground.settings.agents if agent.id != self.ground.agent.id]

    def _session_for(self, agent: str, task: str) -> str:
        """Return the id of the session for one call: the same for the same call, and for no other."""
        own, call = self.ground.agent.id, current_call() or urandom(12).hex()
        told = json.encode((own, self.session, call, agent, printable_surrogates(task)))
        return valid_session(f"from-{own[:64]}-{sha256(told).hexdigest()[:24]}")


def seat_of(subagent: Subagent, caller: AgentSettings, *, scope: Scope, trusted: bool) -> Seat:
    """Return where a subagent works: on its caller's files where it says so, else alone in a folder.

    Only who works on the caller's files is told what the caller's listener may hear; everybody else is
    somebody else. Which model and which folder is the owner's word alone.
    """
    declared = subagent.declared
    inherits = declared.workspace_mode == "shared"
    agent = AgentSettings(
        id=subagent.id,
        display_name=declared.name,
        domain=subagent.description,
        model=declared.model if trusted else None,
        system_prompt_template=subagent.prompt,
        allowed_tools=asking.narrowed(caller.allowed_tools, declared.tools),
        allowed_delegates=caller.allowed_delegates if inherits else (),
        memory_enabled=caller.memory_enabled,
    )
    if inherits:
        return Seat(agent=agent, kind="inherited", scope=scope, rounds=declared.steps)
    given = declared.workspace_path if trusted else None
    return Seat(
        agent=agent,
        kind="isolated",
        scope=Scope.SHARED,
        folder=given or f"agents/{subagent.id}/workspace",
        is_made=not given,
        rounds=declared.steps,
    )


def root_of(root: Path, seat: Seat) -> Path:
    """Return the directory of an isolated seat, made where it may be; no link leads to another one."""
    folder = root / seat.folder
    with typed_failures(seat.folder):
        if odd := find_link(root, folder / "any"):
            raise LinkOutside(odd)
        if seat.is_made:
            folder.mkdir(parents=True, exist_ok=True)
    return folder


def _answer_in(sessions: Sessions, agent: str, session: str) -> Answered | None:
    """Return the answer that stands in a session's log already."""
    if not session or not sessions.exists(session):
        return None
    if (number := sessions.number_of(session, f"{session}-answer")) is None:
        return None
    (placed,) = sessions.page(session, first=number, limit=1).entries
    return Answered(agent=agent, session=session, text=placed.entry.to_text(), finish=placed.entry.finish)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _beside(hold: Callable[[], Ended]) -> Ended:
    """Hold a turn in another thread, where the calling one has a loop that runs."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(hold).result()
