"""Models by their names, each loaded when it is picked, and how fast one speaks."""

from collections.abc import AsyncIterator

from msgspec import Struct

from carrel.errors import UsageError
from carrel.files import show
from carrel.runtime.model import Model, Reply, Request

OFFLINE = "offline"
NAMES = (OFFLINE,)
_LONGEST = 80


class UnknownModel(UsageError):
    """No model that Carrel can speak with has this name."""

    code = "unknown_model"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no model '{show(name[:_LONGEST])}' to speak with.",
            hint=f"There is: {', '.join(NAMES)}. It needs no network, and only quotes.",
        )


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


def pick_model(name: str | None = None) -> Model:
    """Return the model of this name; without one, the offline model."""
    if name not in (None, OFFLINE):
        raise UnknownModel(name)
    from carrel.runtime.offline import OfflineModel  # noqa: PLC0415 - who names another does not pay for it

    return OfflineModel()
