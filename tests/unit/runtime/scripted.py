"""A desk that writes into a list, and what else tests of a turn need."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from carrel.errors import UsageError
from carrel.findings import Finding
from carrel.runtime.callbacks import Callbacks
from carrel.runtime.loop import Call, Event, Limits, Outcome, run_turn
from carrel.runtime.model import Model, Reply, Spend, ToolSpec
from carrel.sessions.message import Message, ToolCall
from carrel.workspace.scope import Scope


class Context(Struct, frozen=True):
    """What a plain desk prepares: the messages alone."""

    messages: tuple[Message, ...]
    stable: int = 0


class Written(Struct, frozen=True):
    """One call of `record`."""

    messages: tuple[Message, ...]
    spend: Spend | None
    finish: Outcome


class PlainDesk:
    """A desk without files: `written` is what was recorded, `tools` are plain functions of their arguments.

    `before` is called with the name of each step, in its thread, and may raise or wait.
    """

    agent = "kate"
    session = "s1"
    scope = Scope.MAIN

    def __init__(
        self,
        functions: Mapping[str, Callable[..., str]] | None = None,
        *,
        before: Callable[[str], None] | None = None,
        history: Sequence[Message] = (),
    ) -> None:
        self.functions = dict(functions or {})
        self.callbacks = Callbacks()
        self.written: list[Written] = []
        self.steps: list[str] = []
        self._before = before
        self._history = tuple(history)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        schema = {"type": "object", "properties": {}}
        return tuple(ToolSpec(name=name, description=name, parameters=schema) for name in self.functions)

    @property
    def log(self) -> list[Message]:
        """The conversation as it is recorded."""
        return [message for written in self.written for message in written.messages]

    def admit(self, message: Message) -> None:
        """Anything may be said."""

    def allow(self) -> None:
        """Anything may be spent."""

    def record(
        self, messages: Sequence[Message], *, spend: Spend | None = None, finish: Outcome = "stop"
    ) -> tuple[Finding, ...]:
        self._step(f"record {messages[0].role}")
        self.written.append(Written(tuple(messages), spend, finish))
        return ()

    def prepare(self, message: Message) -> Context:
        self._step("prepare")
        return self._context(message)

    def _context(self, message: Message) -> Context:
        parts = (message.to_text(), "<session>\nsession: s1\n</session>")
        return Context((Message("system", "You are Kate."), *self._history, Message("user", parts)))

    def is_full(self, message: Message) -> int | None:  # noqa: ARG002 - it never is
        return None

    async def summarise(self, kept: int) -> tuple[Finding, ...]:  # noqa: ARG002 - as above
        raise AssertionError("nobody asked for a summary")

    def fit(self, message: Message, own: Sequence[Message], *, refused: bool = False) -> Call:
        self._step("fit again" if refused else "fit")
        return Call((*self._context(message).messages, *own))

    def call(self, call: ToolCall) -> str:
        self._step(f"call {call.name}")
        arguments = call.parsed()
        if arguments is None:
            raise UsageError("The arguments are not a JSON object.", hint="Write them again.")
        return self.functions[call.name](**arguments)

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if self._before is not None:
            self._before(name)


class Interruption:
    """Cancels the running turn from a thread at one step, and lets the step go on once that is done."""

    def __init__(self, at: str, *, times: int = 1) -> None:
        self.at = at
        self.fired = False
        self.task: asyncio.Task[Any] | None = None
        self._times = times

    def __call__(self, name: str) -> None:
        if name != self.at or self.fired or self.task is None:
            return
        self.fired = True
        done = threading.Event()
        loop = self.task.get_loop()
        for _ in range(self._times):
            loop.call_soon_threadsafe(self.task.cancel)
            # Two rounds of the loop: the cancellation is thrown in before the step goes on.
            loop.call_soon_threadsafe(loop.call_soon, done.set)
            done.wait(10)
            done.clear()


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward, so that an hour passes at once and only when it should."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


def skip(seconds: float) -> None:
    """Put the clock of the running loop forward."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skipped += seconds


def call(name: str, own: str = "c1", /, **arguments: Any) -> ToolCall:
    return ToolCall(id=own, name=name, arguments=arguments)


def asks(*calls: ToolCall, text: str = "", spend: Spend | None = None) -> Reply:
    return Reply(text=text, tool_calls=calls, finish="tools", spend=spend)


def play(
    model: Model,
    desk: PlainDesk,
    text: str = "Hi.",
    *,
    limits: Limits | None = None,
    heard: list[Any] | None = None,
) -> list[Event]:
    """Run one turn to its end and return its events; `heard` has them even if the turn raises."""
    events: list[Any] = [] if heard is None else heard

    async def run() -> None:
        async for event in run_turn(desk, model, Message("user", text), limits=limits):
            events.append(event)  # noqa: PERF401 - what came before an error counts too

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(run())
    return events


def interrupted(
    model: Model,
    desk: PlainDesk,
    stop: Interruption | Callable[[Event], bool],
    *,
    limits: Limits | None = None,
) -> list[Any]:
    """Run one turn that is cancelled at a step of the desk, or after an event; return the events before it."""
    events: list[Any] = []

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        if isinstance(stop, Interruption):
            stop.task = task
        async for event in run_turn(desk, model, Message("user", "Hi."), limits=limits):
            events.append(event)
            if not isinstance(stop, Interruption) and stop(event):
                task.cancel()

    async def watch() -> None:
        task = asyncio.create_task(run())
        await asyncio.wait({task})
        events.append("cancelled" if task.cancelled() else task.exception() or "ended")

    asyncio.run(watch())
    return events


def assert_valid(log: Sequence[Message]) -> None:
    """Each call is answered exactly once, right after the reply that asked for it, and nothing else is."""
    expected: list[str] = []
    for message in log:
        if message.role == "tool":
            assert expected, "a result that no call asked for"
            assert message.tool_call_id == expected.pop(0)
            continue
        assert not expected, f"calls without a result: {expected}"
        expected = [one.id for one in message.tool_calls]
        assert all(expected)
        assert len(set(expected)) == len(expected)
    assert not expected, f"calls without a result: {expected}"
