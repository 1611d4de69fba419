"""What speaks MCP is loaded when it is asked for: nobody hangs, whatever becomes of that."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from carrel.http import mcp
from carrel.http.mcp import Endpoint

PATIENCE = 30.0


class Speaker:
    """What answers; it may fail to begin, or to end."""

    def __init__(self, fails: str = "") -> None:
        self.fails, self.is_over = fails, False

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def live() -> AsyncIterator[None]:
            if self.fails == "beginning":
                raise RuntimeError(self.fails)
            yield
            self.is_over = True
            if self.fails == "ending":
                raise RuntimeError(self.fails)

        return live()

    async def __call__(self, _: object, __: object, send: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        await send("answered")


async def ask(endpoint: Endpoint) -> list[str]:
    told = list[str]()

    async def send(answer: Any) -> None:
        told.append(answer)

    async def receive() -> Any:
        return None

    await asyncio.wait_for(endpoint({"type": "http"}, receive, send), PATIENCE)
    return told


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Say what comes of each attempt to load it, the last one for all that follow."""

    def say(*outcomes: Speaker | Exception) -> None:
        left = list(outcomes)

        def attempt() -> Speaker:
            found = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(mcp, "_load", attempt)

    return say


def test_it_is_loaded_for_the_first_request_and_ended_with_the_server(load: Callable[..., None]) -> None:
    speaker = Speaker()
    load(speaker)

    async def run() -> None:
        endpoint = Endpoint()
        for _ in range(2):  # an application may be started again
            async with endpoint.lifespan():
                assert await asyncio.gather(ask(endpoint), ask(endpoint)) == [["answered"]] * 2
            assert speaker.is_over

    asyncio.run(run())


@pytest.mark.parametrize("bad", [ImportError("no disk"), Speaker("beginning")])
def test_what_could_not_be_loaded_is_told_and_tried_again(
    load: Callable[..., None], bad: Speaker | Exception
) -> None:
    load(bad, Speaker())

    async def run() -> None:
        endpoint = Endpoint()
        async with endpoint.lifespan():
            with pytest.raises((ImportError, RuntimeError)):
                await ask(endpoint)
            assert await ask(endpoint) == ["answered"]

    asyncio.run(run())


@pytest.mark.parametrize("is_asked", [True, False])
def test_it_ends_though_it_was_never_asked_for_or_fails_at_its_end(
    load: Callable[..., None], is_asked: bool
) -> None:
    load(Speaker("ending"))

    async def run() -> bool:
        endpoint = Endpoint()
        async with endpoint.lifespan():
            if is_asked:
                await ask(endpoint)
        return True

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE))


def test_who_hangs_up_while_it_is_loaded_does_so_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly() -> Speaker:
        time.sleep(0.2)
        return Speaker()

    monkeypatch.setattr(mcp, "_load", slowly)

    async def run() -> list[str]:
        endpoint = Endpoint()
        async with endpoint.lifespan():
            first = asyncio.create_task(ask(endpoint))
            await asyncio.sleep(0.05)
            first.cancel()
            return await ask(endpoint)

    assert asyncio.run(run()) == ["answered"]
