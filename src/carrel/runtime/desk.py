"""One agent at work in one session: what the loop needs of it, put together from its parts."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct, field

from carrel import plainjson
from carrel.context.assemble import Assembly
from carrel.context.report import Prefix
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.records.usage import Spent
from carrel.runtime.cachewatch import stood, watch
from carrel.runtime.callbacks import Callbacks
from carrel.runtime.large import PAGED, Kept
from carrel.runtime.model import Outcome, Spend, ToolSpec
from carrel.runtime.record import Scribe
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.turn import Said, said
from carrel.tools.registry import Registry
from carrel.workspace.scope import Scope


class Noticed(Struct):
    """What the desk has noticed and not told yet, and what it holds the next call's cache against."""

    findings: list[Finding] = []
    before: Spent | None = None
    prefix: Prefix | None = None
    stood: int | None = None


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
    keep: Callable[[str], Kept] = lambda text: Kept(text=text)
    """Stores a result that is too large for the window."""
    allowing: Callable[[], tuple[Finding, ...]] = tuple
    """Refuses a call that would go beyond a cap on spending."""
    noticed: Noticed = field(default_factory=Noticed)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may call."""
        return self.registry.specs()

    def allow(self) -> None:
        """Refuse where no more may be spent."""
        self.noticed.findings += self.allowing()

    def record(
        self, messages: Sequence[Message], *, spend: Spend | None = None, finish: Outcome = "stop"
    ) -> tuple[Finding, ...]:
        """Write messages down for good, and return what is to be said about that."""
        spoken = [self._said(message, finish) for message in messages]
        recording = self.scribe.record(
            self.session, spoken, spend=spend, model=self.model, scope=self.scope, source=self.source
        )
        if recording.spent is not None:
            self._watch(recording.spent)
        told, self.noticed.findings = self.noticed.findings, []
        return (*recording.findings, *told)

    def prepare(self, message: Message) -> Assembly:
        """Assemble the context for the user's message, which is recorded already."""
        noticed = self.noticed
        with suppress(CarrelError):  # without records there is nothing to hold the cache against
            records = self.scribe.records()
            noticed.before = records.usage.last(self.agent, self.session, purpose="turn")
            noticed.stood = stood(records.last_assembly(self.agent, self.session))
        assembly = self.preparing(message.to_text())
        noticed.prefix = assembly.report.prefix
        return assembly

    def call(self, call: ToolCall) -> str:
        """Run one call, and return its result as JSON."""
        text = plainjson.dumps(self.registry.call(call.name, call.arguments)).decode()
        if call.name in PAGED:
            return text
        kept = self.keep(text)
        self.noticed.findings += kept.findings
        return kept.text

    def _watch(self, spent: Spent) -> None:
        """Hold a call's cache against that of the call before: of another turn first, then of this one."""
        noticed = self.noticed
        found = watch(noticed.before, spent, noticed.prefix, stood=noticed.stood)
        noticed.findings += [found] if found else []
        noticed.before, noticed.prefix, noticed.stood = spent, None, None

    def _said(self, message: Message, finish: Outcome) -> Said:
        own = said(message)
        if message.role == "user":
            return Said(role=own.role, content=own.content, sender_id=self.sender_id)
        if message.role == "assistant":
            return Said(role=own.role, content=own.content, tool_calls=own.tool_calls, finish=finish)
        return own
