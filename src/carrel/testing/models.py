"""Models with a script."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from carrel.runtime.model import Reply, Request

SILENCE: Any = object()
"""A step of a script that never ends."""


class ScriptedModel:
    """Plays one script a call, the last one again and again.

    A step is a piece, a Reply, an error to raise, `SILENCE`, or a function to call, which may say the next
    step. `requests` is what it was asked, `closed` how many of its answers have come to an end.
    """

    def __init__(self, *scripts: Iterable[Any], name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        self.closed = 0
        self._scripts = [tuple(script) for script in scripts] or [()]

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Play the next script."""
        script = self._scripts[min(len(self.requests), len(self._scripts) - 1)]
        self.requests.append(request)
        try:
            for step in script:
                said: Any = step() if callable(step) else step
                if said is SILENCE:
                    await asyncio.Event().wait()
                elif isinstance(said, BaseException):
                    raise said
                elif said is not None:
                    yield said
        finally:
            self.closed += 1
