"""A provider's model behind the Model port: connects when asked, and tries again until it has spoken."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import Struct

from carrel.runtime.model import Reply, Request
from carrel.runtime.providers.connections import connect
from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.retries import Retries, Timing, Trial
from carrel.runtime.providers.trouble import Trouble


class ProviderModel(Struct, frozen=True, kw_only=True):
    """A model that answers over the network."""

    endpoint: Endpoint
    retries: Retries
    silence: float
    timing: Timing

    @property
    def name(self) -> str:
        """The name that people call the model by."""
        return self.endpoint.name

    async def stream(self, request: Request) -> AsyncGenerator[str | Reply, None]:
        """Yield pieces of text as they arrive, and the Reply last; an empty piece says that it goes on.

        What fails before the first piece is tried again, as far as that may help.
        """
        connection = await connect(self.endpoint, silence=self.silence)
        trial = Trial(self.retries, self.timing)
        while True:
            spoke = False
            try:
                async with aclosing(connection.answer(request, self.timing.clock)) as answer:
                    async for item in answer:
                        spoke = spoke or bool(item)
                        yield item
            except Trouble as trouble:
                wait = trial.next_wait(trouble.after) if trouble.again and not spoke else None
                failure = trouble.error(trial.attempts)
            else:
                return
            if wait is None:
                raise failure  # out here it drags nothing along: what a client raised holds the key
            await self.timing.sleep(wait)
