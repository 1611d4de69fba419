"""Asking a model over a stub: everything it said, in order, and how that ended; time passes only in figures."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from tests.stubs.anthropic import AnthropicStub
from tests.stubs.scripted import StubServer

from carrel.clock import FixedClock
from carrel.errors import CarrelError
from carrel.runtime.model import Model, Reply, Request
from carrel.runtime.providers import ProviderModel, Retries, Timing, open_model
from carrel.sessions.message import Message

KEY = "sk-stub-0123456789abcdef0123456789abcdef"
NOW = datetime(2026, 4, 24, 12, 0, tzinfo=UTC)
HELLO = Request(messages=(Message("system", "You are Kate."), Message("user", "Hi.")))


class Heard(Struct, kw_only=True):
    """What came of a question; `error` where it ended with one."""

    pieces: list[str]
    reply: Reply | None = None
    error: BaseException | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def code(self) -> str:
        assert isinstance(self.error, CarrelError), self.error
        return self.error.code


class Hourglass:
    """Time that passes when somebody sleeps, and never by itself; `waits` is how long each sleep was."""

    def __init__(self, chance: float = 0.0) -> None:
        self.waits: list[float] = []
        self._chance = chance

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)

    def timing(self) -> Timing:
        return Timing(
            sleep=self.sleep,
            elapsed=lambda: sum(self.waits),
            chance=lambda: self._chance,
            clock=FixedClock(NOW),
        )


def model_at(
    stub: StubServer,
    *,
    name: str = "",
    glass: Hourglass | None = None,
    retries: Retries | None = None,
    silence: float = 20.0,
    key: str = KEY,
) -> ProviderModel:
    """Open the model that a stub plays."""
    claude = isinstance(stub, AnthropicStub)
    return open_model(
        name or ("anthropic:claude-stub" if claude else "openai:gpt-4o-stub"),
        base_url=getattr(stub, "url"),  # noqa: B009 - every stub of a provider has one
        key_variable="STUB_KEY" if key else None,
        environ={"STUB_KEY": key},
        retries=retries,
        silence=silence,
        timing=(glass or Hourglass()).timing(),
    )


def ask(model: Model, request: Request = HELLO) -> Heard:
    """Ask one question in a loop of its own."""
    return ask_all(model, [request])[0]


def ask_all(model: Model, requests: Sequence[Request]) -> list[Heard]:
    """Ask questions one after the other in one loop."""

    async def run() -> list[Heard]:
        return [await hear(model, request) for request in requests]

    return asyncio.run(run())


async def hear(model: Model, request: Request = HELLO) -> Heard:
    """Hear an answer out."""
    heard = Heard(pieces=[])
    try:
        async for item in model.stream(request):
            take(heard, item)
    except Exception as error:  # noqa: BLE001 - what it is, the test says
        heard.error = error
    return heard


def take(heard: Heard, item: Any) -> None:
    assert heard.reply is None, "the reply is the last that a stream yields"
    if isinstance(item, Reply):
        heard.reply = item
    elif item:
        heard.pieces.append(item)
