"""One agent's turn: record the message, assemble, hear the model, run its tools, until it has answered.

What is recorded is a valid conversation at every moment but one, and that one a crash alone can keep: each
call of a tool is answered once, right after the reply that asked for it. Whatever stops a turn early, what
had arrived is recorded before the caller hears of it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from carrel.findings import Finding
from carrel.runtime.callbacks import Callbacks, TurnBegins, TurnEnded
from carrel.runtime.loop import calls as tools
from carrel.runtime.loop.events import (
    Assembled,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Piece,
    Prepared,
    Shortening,
)
from carrel.runtime.loop.hearing import Hearing, ModelTimeout
from carrel.runtime.loop.threads import in_thread, surely
from carrel.runtime.model import ContextTooLong, Finish, Model, Outcome, Reply, Request, Spend, ToolSpec
from carrel.sessions.message import Message, ToolCall
from carrel.workspace.scope import Scope

__all__ = [
    "Assembled",
    "Call",
    "CallEnded",
    "CallStarted",
    "Desk",
    "Ended",
    "Event",
    "Limits",
    "Outcome",
    "Piece",
    "Prepared",
    "Shortening",
    "run_turn",
]

_T = TypeVar("_T")


class Limits(Struct, frozen=True, kw_only=True):
    """How long a turn may take and how much it may ask for; seconds, characters, or no limit where none."""

    rounds: int = 8
    timeout: float | None = 600.0
    patience: float | None = 120.0
    calls: int = 32
    result: int = 200_000
    reply: int = 4_000_000


class Call(Struct, frozen=True):
    """What the model is to read next; the first `stable` messages as it read them before."""

    messages: tuple[Message, ...]
    stable: int = 0


class Desk(Protocol):
    """What a turn works with: one agent in one session.

    Its methods are synchronous and run in a thread, but for the one that awaits a model.
    """

    @property
    def agent(self) -> str:
        """The agent's id."""
        ...

    @property
    def session(self) -> str:
        """The session's id."""
        ...

    @property
    def scope(self) -> Scope:
        """Who is listening."""
        ...

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may call."""
        ...

    @property
    def callbacks(self) -> Callbacks:
        """Who wants to be told of turns."""
        ...

    def admit(self, message: Message) -> None:
        """Refuse a message that cannot be answered, before it is recorded."""
        ...

    def allow(self) -> None:
        """Refuse a call of the model where no more may be spent."""
        ...

    def record(
        self, messages: Sequence[Message], *, spend: Spend | None = None, finish: Outcome = "stop"
    ) -> Sequence[Finding]:
        """Write messages down for good, in this order, and return what is to be said about that."""
        ...

    def is_full(self, message: Message) -> int | None:
        """Return how many tokens of history should stay, where a model is to summarise the rest first."""
        ...

    async def summarise(self, kept: int) -> Sequence[Finding]:
        """Have a model summarise history, and return what is to be said about that."""
        ...

    def prepare(self, message: Message) -> Assembled:
        """Assemble the context for the user's message, which is recorded already."""
        ...

    def fit(self, message: Message, own: Sequence[Message], *, refused: bool = False) -> Call:
        """Return the next call of a turn that has added `own`; shorter where the last one was `refused`."""
        ...

    def call(self, call: ToolCall) -> str:
        """Run one call and return its result; arguments that make no sense are a typed error."""
        ...


def run_turn(
    desk: Desk, model: Model, message: Message, *, limits: Limits | None = None
) -> AsyncGenerator[Event, None]:
    """Yield the events of one turn.

    A reader that may leave early closes it (`contextlib.aclosing`): that stops the turn like a cancellation,
    and it is recorded when the closing returns.
    """
    return _Turn(desk, model, message, limits or Limits()).run()


class _Turn:
    """A turn under way: `_own` is what it added to the conversation, `_open` the calls without a result."""

    def __init__(self, desk: Desk, model: Model, message: Message, limits: Limits) -> None:
        self._desk = desk
        self._model = model
        self._message = message
        self._limits = limits
        self._deadline: float | None = None
        self._given: Call = Call(())
        self._is_refused = False
        self._own: list[Message] = []
        self._open: list[ToolCall] = []
        self._note = ""
        self._reply: Reply | None = None
        self._hearing: Hearing | None = None
        self._unwritable = False
        self._rounds = 0
        self._spend: Spend | None = None
        self._findings: list[Finding] = []

    async def run(self) -> AsyncGenerator[Event, None]:
        """Yield what happens; however it ends, the record is whole when this returns."""
        if self._limits.timeout is not None:
            self._deadline = asyncio.get_running_loop().time() + self._limits.timeout
        await in_thread(self._desk.admit, self._message)
        try:
            await self._write([self._message])
            await self._begin()
            if kept := await in_thread(self._desk.is_full, self._message):
                yield Shortening()
                self._findings += await self._desk.summarise(kept)
            assembly = await surely(in_thread(self._desk.prepare, self._message))
            self._given = Call(assembly.messages, assembly.stable)
            yield Prepared(assembly)
            outcome: Outcome | None = None
            while outcome is None:
                self._hearing = hearing = self._ask()
                try:
                    while piece := await hearing.next():
                        yield Piece(piece)
                except ContextTooLong as error:
                    await self._shorten(hearing, error)
                    continue
                outcome = await self._take(hearing)
                for call in tuple(self._open):
                    yield CallStarted(call)
                    answer = await self._run(call)
                    yield CallEnded(call, answer.text, answer.failed)
                if outcome is None:
                    await in_thread(self._desk.allow)
                    self._given = await in_thread(self._desk.fit, self._message, tuple(self._own))
            yield await self._end(outcome)
        except BaseException as error:
            await self._wind_up(error)
            raise

    async def _begin(self) -> None:
        desk = self._desk
        event = TurnBegins(agent=desk.agent, session=desk.session, scope=desk.scope, message=self._message)
        self._findings += await self._in_time(lambda: desk.callbacks.before_turn(event))

    async def _shorten(self, hearing: Hearing, error: ContextTooLong) -> None:
        """Ask for less where the model could not take it all; the second time is the last."""
        await hearing.close()
        if self._is_refused or hearing.text:
            raise error
        self._is_refused = True
        fit = partial(self._desk.fit, self._message, tuple(self._own), refused=True)
        shorter = await surely(in_thread(fit))
        if shorter.messages == self._given.messages:
            raise error
        self._given = shorter

    def _ask(self) -> Hearing:
        """Put the question: the same context in every round, and what this turn has added to it."""
        return Hearing(
            self._model,
            Request(
                messages=self._given.messages,
                tools=self._desk.tools,
                may_call=self._rounds < self._limits.rounds,
                stable=self._given.stable,
            ),
            deadline=self._deadline,
            timeout=self._limits.timeout,
            patience=self._limits.patience,
            length=self._limits.reply,
        )

    async def _take(self, hearing: Hearing) -> Outcome | None:
        """Record a complete reply; return how it ends the turn, nothing where its calls are to be run."""
        reply = self._reply = self._settle(hearing)
        refused = self._refuse(reply)
        outcome: Outcome = refused or ("tools" if reply.tool_calls else _plain(reply.finish))
        spoken = Message("assistant", reply.text, tool_calls=reply.tool_calls)
        results = _not_run(reply.tool_calls, refused) if refused else []
        try:
            await self._write([spoken, *results], spend=reply.spend, finish=outcome)
        finally:
            await hearing.close()
        if outcome != "tools":
            return outcome
        self._rounds += 1
        return None

    def _settle(self, hearing: Hearing) -> Reply:
        """Return the reply with calls that can be answered, and take note of what was wrong with it."""
        assert hearing.reply is not None
        reply = hearing.reply
        settled = tools.settle(reply.tool_calls, self._ids(), self._limits.calls)
        reply = replace(reply, tool_calls=settled.calls)
        self._findings += (*hearing.findings, *settled.findings, *_notice(reply))
        last = tools.NO_MORE if self._rounds + 1 == self._limits.rounds else ""
        self._note = " ".join(note for note in (settled.note, last) if note)
        if reply.spend is not None:
            self._spend = reply.spend if self._spend is None else self._spend + reply.spend
        return reply

    def _refuse(self, reply: Reply) -> Outcome | None:
        """Return why the calls of a reply are not run, if they are not."""
        if not reply.tool_calls:
            return None
        if self._rounds >= self._limits.rounds:
            return "tool_rounds"
        return reply.finish if reply.finish in ("cancelled", "error") else None

    async def _run(self, call: ToolCall) -> tools.Answer:
        """Run a call and record what it gave."""
        names = [tool.name for tool in self._desk.tools]
        limit = self._limits.result
        answer = await self._in_time(lambda: tools.answer(call, self._desk.call, known=names, limit=limit))
        if self._note and len(self._open) == 1:
            answer = replace(answer, text=f"{answer.text}\n\n{self._note}")
        self._findings += answer.findings
        await self._write([tools.result_of(call, answer.text)])
        return answer

    async def _end(self, outcome: Outcome) -> Ended:
        assert self._reply is not None
        desk = self._desk
        event = TurnEnded(
            agent=desk.agent,
            session=desk.session,
            scope=desk.scope,
            message=self._message,
            reply=self._reply,
            finish=outcome,
        )
        self._findings += await in_thread(desk.callbacks.after_turn, event)
        return Ended(
            reply=self._reply,
            spend=self._spend,
            rounds=self._rounds,
            finish=outcome,
            findings=tuple(dict.fromkeys(self._findings)),
        )

    async def _wind_up(self, error: BaseException) -> None:
        """Record what a turn that stops early leaves behind: the text that had arrived, and open calls."""
        stopped = isinstance(error, asyncio.CancelledError | GeneratorExit)
        why = tools.OUT_OF_TIME if isinstance(error, ModelTimeout) else tools.STOPPED
        left: list[Message] = []
        hearing = self._hearing
        if hearing is not None and hearing.text:
            left.append(Message("assistant", hearing.text))
        left += [tools.result_of(call, tools.explain("stopped", why)) for call in self._open]
        try:
            if left and not self._unwritable:
                await self._write(left, finish="cancelled" if stopped else "error")
        except Exception as failure:  # noqa: BLE001 - the first error is the one to raise
            error.add_note(f"What had arrived could not be recorded: {type(failure).__name__}: {failure}")
        finally:
            if hearing is not None:
                await hearing.close()

    async def _write(
        self, messages: list[Message], *, spend: Spend | None = None, finish: Outcome = "stop"
    ) -> None:
        """Record, and take note of what is recorded, whoever cancels meanwhile."""

        async def work() -> None:
            try:
                noticed = await in_thread(self._desk.record, messages, spend=spend, finish=finish)
            except BaseException:
                self._unwritable = True
                raise
            self._findings += noticed
            self._note_down(messages)

        await surely(work())

    def _note_down(self, messages: list[Message]) -> None:
        for message in messages:
            if message.role == "assistant":
                self._hearing = None
                self._open += message.tool_calls
            elif message.role == "tool":
                self._open = [call for call in self._open if call.id != message.tool_call_id]
            if message.role != "user":  # the user's own stands in the assembly
                self._own.append(message)

    def _ids(self) -> set[str]:
        seen = (*self._given.messages, *self._own)
        return {call.id for message in seen for call in message.tool_calls}

    async def _in_time(self, work: Callable[[], _T]) -> _T:
        """Wait for something that is not ours no longer than the turn may take; it is not begun too late."""
        limit = asyncio.timeout_at(self._deadline)
        try:
            async with limit:
                await asyncio.sleep(0)
                return await in_thread(work)
        except TimeoutError:
            if limit.expired():
                raise ModelTimeout.of_turn(self._limits.timeout) from None
            raise


def _plain(finish: Finish) -> Finish:
    """Return why a reply without calls ended: some say that they want tools and name none."""
    return "stop" if finish == "tools" else finish


def _notice(reply: Reply) -> tuple[Finding, ...]:
    if reply.text.strip() or reply.tool_calls:
        return ()
    message = "The model answered with nothing."
    return (Finding(code="empty_reply", message=message, hint="Ask again, or in other words."),)


def _not_run(calls: Sequence[ToolCall], outcome: Outcome) -> list[Message]:
    why = tools.NOT_RUN if outcome == "tool_rounds" else tools.BROKEN_OFF
    return [tools.result_of(call, tools.explain("not_run", why)) for call in calls]
