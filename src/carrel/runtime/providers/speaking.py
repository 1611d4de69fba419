"""A provider's model behind the Model port: connects when asked, and tries again until it has spoken."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from carrel.runtime.model import Reply, Request
from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.retries import Retries, Timing, Trial
from carrel.runtime.providers.trouble import Trouble

if TYPE_CHECKING:
    from carrel.runtime.providers.wire import Connection


class ProviderModel:
    """A model that answers over the network; owns a connection for each event loop that asks.

    A connection ends with its loop, or with `close`.
    """

    def __init__(self, endpoint: Endpoint, *, retries: Retries, silence: float, timing: Timing) -> None:
        self._endpoint = endpoint
        self._retries = retries
        self._silence = silence
        self._timing = timing
        self._open: dict[asyncio.AbstractEventLoop, tuple[Connection, AsyncGenerator[None, None]]] = {}

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r})"

    @property
    def name(self) -> str:
        """The name that people call the model by."""
        return self._endpoint.name

    async def stream(self, request: Request) -> AsyncGenerator[str | Reply, None]:
        """Yield pieces of text as they arrive, and the Reply last.

        What fails before the first piece is tried again, as far as it may help.
        """
        connection = await self._connect()
        trial = Trial(self._retries, self._timing)
        while True:
            spoke = False
            try:
                async with aclosing(connection.answer(request)) as answer:
                    async for item in answer:
                        spoke = spoke or bool(item)
                        yield item
            except Trouble as trouble:
                wait = trial.next_wait(trouble.after) if trouble.again and not spoke else None
                if wait is None:
                    raise trouble.error(trial.attempts) from None
            else:
                return
            await self._timing.sleep(wait)

    async def close(self) -> None:
        """Close the connection of the running loop; a later question opens another."""
        kept = self._open.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept[1].aclose()

    async def _connect(self) -> "Connection":
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            made = await asyncio.to_thread(self._make)
            if loop not in self._open:  # another question may have been quicker
                await self._keep(loop, made)
        return self._open[loop][0]

    async def _keep(self, loop: asyncio.AbstractEventLoop, connection: "Connection") -> None:
        for closed in [other for other in self._open if other.is_closed()]:
            del self._open[closed]
        keeper = _until_the_end(connection)
        self._open[loop] = (connection, keeper)
        await anext(keeper)

    def _make(self) -> "Connection":
        from carrel.runtime.providers.wire import Connection  # noqa: PLC0415 - a second's work, once

        return Connection(self._endpoint, silence=self._silence, clock=self._timing.clock)


async def _until_the_end(connection: "Connection") -> AsyncGenerator[None, None]:
    """Close a connection when this generator is closed, which a loop does for all of them when it ends."""
    try:
        yield
    finally:
        await connection.close()
