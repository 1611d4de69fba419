"""What one turn has others do: how deep it stands itself, until when it lasts, and who is under way."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from threading import Event as Flag
from threading import Lock
from time import monotonic
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from carrel.records.usage import Purpose, Usage
from carrel.runtime.desk import SessionDesk
from carrel.runtime.loop import Event, Limits, run_turn
from carrel.runtime.loop.threads import in_thread, surely
from carrel.runtime.model import Model, Outcome
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.turn import Said
from carrel.tools import delegate as asking

DEPTH = 3
MOST = 16
"""How often one turn, with all that it leads to, may have others work."""

LONGEST = 300.0
SHARE = 0.8
"""Of the seconds that the asking turn has left: it needs the rest to answer."""

MOST_ROUNDS = 50
CLOSING = 10.0

_CALL: ContextVar[str] = ContextVar("call", default="")


class Account(Struct, frozen=True):
    """Where it is kept what a turn and all who work for it spend, and whose session pays."""

    usage: Callable[[], Usage]
    agent: str
    session: str


def current_call() -> str:
    """Return the id of the call that is being run here, nothing where none is."""
    return _CALL.get()


class Errands:
    """What one turn has others do: how deep it stands itself, until when it lasts, and who is under way.

    `ids` begins the ids of the question and the answer where doing it again must record nothing new. What all
    of them spend goes to one `account`, that of the workspace in which the first of them was asked.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        depth: int = 0,
        spent: list[str] | None = None,
        ids: str = "",
        account: Account | None = None,
        purpose: Purpose = "turn",
    ) -> None:
        self.limits = limits or Limits()
        self.depth = depth
        self.ids = ids
        self.account = account
        self.purpose: Purpose = purpose
        self._spent: list[str] = [] if spent is None else spent
        self._deadline: float | None = None
        self._lock = Lock()
        self._idle = Flag()
        self._going = 0
        self._is_over = False
        self._tasks: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = {}

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions of all who were asked by this turn and by those who work for it."""
        return tuple(self._spent)

    def begin(self) -> None:
        """Let the turn's time begin."""
        if self.limits.timeout is not None:
            self._deadline = monotonic() + self.limits.timeout

    def admit(self, session: str) -> None:
        """Take note of one more errand; one too many, or too deep, is refused."""
        if self.depth >= DEPTH:
            raise asking.TooDeep(DEPTH)
        self._spent.append(session)  # one list for all that a turn leads to, and appending is atomic
        if len(self._spent) > MOST:
            raise asking.TooManyDelegations(MOST)

    def below(self, rounds: int | None, *, ids: str = "") -> "Errands":
        """Return the errands of a turn that is held for this one, within what this one has left."""
        left = None if self._deadline is None else max(0.0, self._deadline - monotonic())
        limits = replace(
            self.limits,
            timeout=LONGEST if left is None else min(LONGEST, left * SHARE),
            rounds=self.limits.rounds if rounds is None else min(rounds, MOST_ROUNDS),
        )
        return Errands(
            limits=limits,
            depth=self.depth + 1,
            spent=self._spent,
            ids=ids,
            account=self.account,
            purpose=self.purpose,
        )

    @contextmanager
    def under_way(self) -> Generator[None]:
        """Be known as somebody who works for this turn, from opening the workspace to closing it."""
        with self._lock:
            self._going += 1
            self._idle.clear()
        try:
            yield
        finally:
            with self._lock:
                self._going -= 1
                if not self._going:
                    self._idle.set()

    @contextmanager
    def stoppable(self) -> Generator[None]:
        """Let the running task be cancelled when this turn is over, or at once where it is over already."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        with self._lock:
            if self._is_over:
                raise asyncio.CancelledError
            self._tasks[task] = loop
        try:
            yield
        finally:
            with self._lock:
                del self._tasks[task]

    async def end(self) -> None:
        """Stop those who still work for this turn, and wait until they have written down what they had."""
        with self._lock:
            self._is_over = True
            going = self._going
            for task, loop in self._tasks.items():
                loop.call_soon_threadsafe(task.cancel)
        if going:
            await surely(in_thread(self._idle.wait, CLOSING))


class ErrandDesk(SessionDesk, frozen=True, kw_only=True):
    """A session's desk in a turn that may have others work, or is such work itself."""

    errands: Errands

    def call(self, call: ToolCall) -> str:
        """Run one call, which knows its own id meanwhile."""
        token = _CALL.set(call.id)
        try:
            return super().call(call)
        finally:
            _CALL.reset(token)

    def _said(self, message: Message, finish: Outcome) -> Said:
        own, ids = super()._said(message, finish), self.errands.ids
        if ids and own.role == "user":
            return replace(own, message_id=f"{ids}-question")
        if ids and own.role == "assistant" and not own.tool_calls and finish in ("stop", "length"):
            return replace(own, message_id=f"{ids}-answer")
        return own


async def hold_turn(desk: ErrandDesk, model: Model, message: Message) -> AsyncGenerator[Event, None]:
    """Yield the events of one turn within its limits; nobody works for it any more when it is over."""
    desk.errands.begin()
    try:
        async with aclosing(run_turn(desk, model, message, limits=desk.errands.limits)) as events:
            async for event in events:
                yield event
    finally:
        await desk.errands.end()
