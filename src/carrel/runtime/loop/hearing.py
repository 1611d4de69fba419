"""Hearing a model out: piece by piece, with limits on its silence, its time and its length."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from carrel.errors import CarrelError, Unavailable
from carrel.findings import Finding
from carrel.runtime.model import Model, Reply, Request

CLOSING = 5.0
"""The seconds that a model has to put down an answer nobody waits for."""


class ModelTimeout(Unavailable):
    """The model was silent for too long, or the turn took too long; what had arrived is recorded."""

    code = "model_timeout"

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            f"{what} {seconds:.3g} seconds.",
            hint="Ask again; what had arrived is in the session. A longer limit can be given.",
        )
        self.seconds = seconds

    @classmethod
    def of_turn(cls, seconds: float | None) -> "ModelTimeout":
        """The limit of the whole turn, tools included."""
        return cls("The turn took longer than", seconds or 0.0)

    @classmethod
    def of_silence(cls, model: str, seconds: float | None) -> "ModelTimeout":
        """The limit between two pieces."""
        return cls(f"The model {model} sent nothing for", seconds or 0.0)


class ModelFailed(Unavailable):
    """The model raised an error of its own, which is this one's cause; what had arrived is recorded."""

    code = "model_failed"

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(
            f"The model {model} failed with {problem}.",
            hint="Ask again, or another model; what had arrived is in the session.",
        )


class ModelIncomplete(Unavailable):
    """The model stopped in the middle of its answer; what had arrived is recorded."""

    code = "model_incomplete"

    def __init__(self, model: str, how: str) -> None:
        super().__init__(
            f"The model {model} {how}.",
            hint="Ask again; if it happens each time, the model's adapter is broken.",
        )


class Hearing:
    """One answer while it arrives; owns the stream. `text` is all that arrived, `reply` the end of it."""

    def __init__(
        self,
        model: Model,
        request: Request,
        *,
        deadline: float | None = None,
        timeout: float | None = None,
        patience: float | None = None,
        length: int,
    ) -> None:
        self.reply: Reply | None = None
        self.findings: list[Finding] = []
        self._model = model
        self._request = request
        self._deadline = deadline
        self._timeout = timeout
        self._patience = patience
        self._room = length
        self._pieces: list[str] = []
        self._stream: AsyncIterator[Any] | None = None

    @property
    def text(self) -> str:
        """What has arrived so far."""
        return "".join(self._pieces)

    async def next(self) -> str:
        """Return the next piece; none where the answer is complete, and then `reply` is there."""
        while self.reply is None:
            item = await self._item()
            if isinstance(item, Reply):
                return self._end(item)
            if not isinstance(item, str):
                raise ModelIncomplete(self._model.name, "sent what is neither text nor a reply")
            if item:
                return self._keep(item)
        return ""

    async def close(self) -> None:
        """Let the model put the answer down; what goes wrong with that changes nothing any more."""
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            with suppress(Exception):
                async with asyncio.timeout(CLOSING):
                    await close()

    async def _item(self) -> Any:
        name = self._model.name
        whole, silence = asyncio.timeout_at(self._deadline), asyncio.timeout(self._patience)
        try:
            async with whole, silence:
                await asyncio.sleep(0)  # a model that never waits must not keep the limits from passing
                if self._stream is None:
                    self._stream = aiter(self._model.stream(self._request))
                return await anext(self._stream)
        except StopAsyncIteration:
            raise ModelIncomplete(name, "ended without a complete reply") from None
        except CarrelError:
            raise
        except Exception as error:
            if whole.expired():
                raise ModelTimeout.of_turn(self._timeout) from None
            if silence.expired():
                raise ModelTimeout.of_silence(name, self._patience) from None
            raise ModelFailed(name, type(error).__name__) from error

    def _keep(self, piece: str) -> str:
        """Take a piece in, as far as there is room for it."""
        kept = piece[: self._room]
        self._room -= len(kept)
        self._pieces.append(kept)
        if len(kept) < len(piece):
            self.findings.append(_too_long(self._model.name))
            self.reply = Reply(text=self.text, finish="length")
        return kept

    def _end(self, reply: Reply) -> str:
        """Take the reply, and return what of its text did not come in pieces.

        Where the two differ, what was shown while it came is what was said.
        """
        text = self.text
        rest = reply.text[len(text) :] if reply.text.startswith(text) else ""
        if not rest and reply.text.strip() != text.strip():
            self.findings.append(_differs(self._model.name))
        kept = self._keep(rest)
        if self.reply is None:
            self.reply = replace(reply, text=self.text)
        return kept


def _too_long(model: str) -> Finding:
    return Finding(
        code="reply_cut",
        message=f"The answer of {model} was longer than one reply may be and was cut.",
        hint="Ask for a shorter answer, or for the rest of it.",
    )


def _differs(model: str) -> Finding:
    return Finding(
        code="reply_differs",
        message=f"The whole reply of {model} is not what it sent piece by piece; the pieces were kept.",
        hint="The model's adapter is broken; tell its author.",
    )
