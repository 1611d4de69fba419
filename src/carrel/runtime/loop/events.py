"""What happens in a turn, as whoever reads along is told."""

from typing import Protocol

from msgspec import Struct

from carrel.findings import Finding
from carrel.runtime.model import Outcome, Reply, Spend
from carrel.sessions.message import Message, ToolCall


class Assembled(Protocol):
    """What the turn needs of an assembly."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, the user's own last."""
        ...

    @property
    def stable(self) -> int:
        """How many leading messages the next call will have as well."""
        ...


class Shortening(Struct, frozen=True):
    """A model summarises history before the turn goes on, which may take a while."""


class Prepared(Struct, frozen=True):
    """The context is assembled; the model is asked next."""

    assembly: Assembled


class Piece(Struct, frozen=True):
    """The model said something."""

    text: str


class CallStarted(Struct, frozen=True):
    """A tool begins."""

    call: ToolCall


class CallEnded(Struct, frozen=True):
    """A tool's result is recorded."""

    call: ToolCall
    result: str
    failed: bool


class Ended(Struct, frozen=True, kw_only=True):
    """The turn is over and recorded; `spend` is that of all its calls, `finish` says why it ended."""

    reply: Reply
    spend: Spend | None
    rounds: int
    finish: Outcome
    findings: tuple[Finding, ...]


Event = Shortening | Prepared | Piece | CallStarted | CallEnded | Ended
