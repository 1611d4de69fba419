"""One agent at work in one session: what the loop needs of it, put together from its parts."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from carrel import plainjson
from carrel.context.assemble import Assembly
from carrel.findings import Finding
from carrel.runtime.callbacks import Callbacks
from carrel.runtime.model import Outcome, Spend, ToolSpec
from carrel.runtime.record import Scribe
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.turn import Said, said
from carrel.tools.registry import Registry
from carrel.workspace.scope import Scope


class SessionDesk(Struct, frozen=True, kw_only=True):
    """A session's desk; whoever sits down at it holds a turn with `run_turn`."""

    agent: str
    session: str
    scope: Scope
    callbacks: Callbacks
    scribe: Scribe
    registry: Registry
    preparing: Callable[[str], Assembly]
    model: str = ""
    source: str = ""
    sender_id: str | None = None
    """Who speaks to the agent."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may call."""
        return self.registry.specs()

    def record(
        self, messages: Sequence[Message], *, spend: Spend | None = None, finish: Outcome = "stop"
    ) -> tuple[Finding, ...]:
        """Write messages down for good, and return what is to be said about that."""
        spoken = [self._said(message, finish) for message in messages]
        recording = self.scribe.record(
            self.session, spoken, spend=spend, model=self.model, scope=self.scope, source=self.source
        )
        return recording.findings

    def prepare(self, message: Message) -> Assembly:
        """Assemble the context for the user's message, which is recorded already."""
        return self.preparing(message.to_text())

    def call(self, call: ToolCall) -> str:
        """Run one call, and return its result as JSON."""
        return plainjson.dumps(self.registry.call(call.name, call.arguments)).decode()

    def _said(self, message: Message, finish: Outcome) -> Said:
        own = said(message)
        if message.role == "user":
            return Said(role=own.role, content=own.content, sender_id=self.sender_id)
        if message.role == "assistant":
            return Said(role=own.role, content=own.content, tool_calls=own.tool_calls, finish=finish)
        return own
