"""The Model port: what a model is given, what it sends while it speaks, and what it has said in the end."""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import UsageError
from carrel.sessions.message import Message, ToolCall
from carrel.tools.registry import ToolSpec

__all__ = ["OFFLINE", "ContextTooLong", "Finish", "Model", "Outcome", "Reply", "Request", "Spend", "ToolSpec"]

OFFLINE = "offline"
"""The name of the model that is always there, and of the rules that it goes by."""

Finish = Literal["stop", "tools", "length", "cancelled", "error"]
"""Why a model stopped speaking."""

Outcome = Literal[Finish, "tool_rounds"]
"""Why a reply is the last of what is recorded: as the model says, or since it may call no more tools."""


class Spend(Struct, frozen=True, kw_only=True):
    """The tokens of one call as the provider says; `cached` is the part of `input` that it had already."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def __add__(self, other: "Spend") -> "Spend":
        """Return what two calls cost together."""
        return Spend(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
        )


class Request(Struct, frozen=True, kw_only=True):
    """One call of a model: all that it may read, and the tools that it may ask for.

    The first `stable` messages will be the same in the next call: a provider may keep what it made of them.
    Tools that may not be called any more are named all the same, since a provider keeps them too.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    may_call: bool = True
    stable: int = 0


class Reply(Struct, frozen=True, kw_only=True):
    """All that a model said in one call; no spend where the provider did not tell."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    spend: Spend | None = None
    finish: Finish = "stop"


class ContextTooLong(UsageError):
    """The request is longer than the model's window; nothing was answered."""

    code = "context_too_long"

    def __init__(self, model: str) -> None:
        super().__init__(
            f"What {model} was asked to read is longer than its window.",
            hint="Compact the session (carrel sessions compact), or set model.context_window to what it has.",
        )


class Model(Protocol):
    """Answers requests.

    A stream is the pieces of the text as they come, then exactly one Reply with the whole. Closing the
    stream stops the answer. A request that is too long for it is ContextTooLong, before the first piece.
    """

    @property
    def name(self) -> str:
        """The name that people call the model by, such as `offline`."""
        ...

    def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Yield pieces of text, and the Reply last."""
        ...
