"""Models by their names, each loaded when it is picked, and how fast one speaks."""

from collections.abc import AsyncIterator, Mapping

from msgspec import Struct

from carrel.runtime.model import OFFLINE, Model, Reply, Request
from carrel.runtime.providers import open_model
from carrel.runtime.providers.errors import UnknownModel

__all__ = ["OFFLINE", "Paced", "UnknownModel", "pick_model"]


class Paced(Struct, frozen=True):
    """A model whose pieces come no faster than one in so many seconds; what it says is the same."""

    model: Model
    seconds: float

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.model.name

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Yield what the model says, with a pause before each piece."""
        import asyncio  # noqa: PLC0415 - picking a model needs no loop

        said = self.model.stream(request)
        try:
            async for item in said:
                if isinstance(item, str):
                    await asyncio.sleep(self.seconds)
                yield item
        finally:
            close = getattr(said, "aclose", None)
            if close is not None:
                await close()


def pick_model(
    name: str | None = None,
    *,
    base_url: str | None = None,
    key_variable: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Model:
    """Return the model of this name; without one, the offline model.

    A provider's model whose name, key or address is wrong is an error here, before anything is recorded.
    """
    if name not in (None, OFFLINE):
        return open_model(name, base_url=base_url, key_variable=key_variable, environ=environ or {})
    from carrel.runtime.offline import OfflineModel  # noqa: PLC0415 - who names another does not pay for it

    return OfflineModel()
