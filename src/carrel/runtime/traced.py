"""A model whose calls are told to OpenTelemetry: how long each took and what it cost, not what was said."""

from collections.abc import AsyncIterator

from msgspec import Struct

from carrel import telemetry
from carrel.runtime.model import Model, Reply, Request


class Traced(Struct, frozen=True):
    """Another model, and a span for each of its answers."""

    model: Model

    @property
    def name(self) -> str:
        """The name of the model itself."""
        return self.model.name

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Yield what the model yields."""
        with telemetry.begun(
            f"chat {self.name}", gen_ai__operation__name="chat", gen_ai__request__model=self.name
        ) as span:
            async for piece in self.model.stream(request):
                if isinstance(piece, Reply) and piece.spend is not None:
                    span.set_attribute("gen_ai.usage.input_tokens", piece.spend.input)
                    span.set_attribute("gen_ai.usage.cache_read.input_tokens", piece.spend.cached)
                    span.set_attribute("gen_ai.usage.output_tokens", piece.spend.output)
                yield piece


def traced(model: Model) -> Model:
    """Return the model itself where nobody listens."""
    return Traced(model) if telemetry.listens() else model
