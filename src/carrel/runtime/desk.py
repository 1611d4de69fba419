"""One agent at work in one session: what the loop needs of it, put together from its parts."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec import Struct, field

from carrel import plainjson
from carrel.context.assemble import Assembly
from carrel.context.build import Window
from carrel.context.calls import to_plain
from carrel.context.report import Prefix
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.records.usage import Spent
from carrel.runtime.cachewatch import stood, watch
from carrel.runtime.callbacks import Callbacks
from carrel.runtime.caller import Caller
from carrel.runtime.large import PAGED, Kept, clip_results
from carrel.runtime.loop import Call
from carrel.runtime.model import Outcome, Spend, ToolSpec
from carrel.runtime.record import Scribe
from carrel.runtime.room import Fitted, OverWindow, kept_of, refuse_over, room_in
from carrel.runtime.spending import surplus
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.turn import Said, said
from carrel.tools.registry import Registry
from carrel.workspace.scope import Scope

Summarising = Callable[[int], Awaitable[tuple[Finding, ...]]]
"""Has a model compact the session until so many tokens stay word for word; returns what is to be said."""


class Noticed(Struct):
    """What the desk has noticed and not told yet, and what it holds the next call against."""

    findings: list[Finding] = []
    before: Spent | None = None
    prefix: Prefix | None = None
    stood: int | None = None
    fitted: Fitted | None = None
    """The call as it was prepared last."""
    looked: Fitted | None = None
    """The call as it will be, where it was looked at before."""
    beside: int = 0
    counted: int = 0
    is_shortened: bool = False
    """Whether history was compacted for this turn."""
    room: int | None = None
    """What a call may have since the provider has refused a longer one."""


class SessionDesk(Struct, frozen=True, kw_only=True):
    """A session's desk; whoever sits down at it holds a turn with `run_turn`."""

    agent: str
    session: str
    scope: Scope
    callbacks: Callbacks
    scribe: Scribe
    registry: Registry
    caller: Caller
    count: Callable[[str], int]
    model: str = ""
    source: str = ""
    sender_id: str | None = None
    """Who speaks to the agent."""
    keep: Callable[[str], Kept] = lambda text: Kept(text=text)
    """Stores a result that is too large for the window."""
    allowing: Callable[[], tuple[Finding, ...]] = tuple
    """Refuses a call that would go beyond a cap on spending."""
    summarising: Summarising | None = None
    noticed: Noticed = field(default_factory=Noticed)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may call."""
        return self.registry.specs()

    def admit(self, message: Message) -> None:
        """Refuse a message that no call can hold, or that nothing may be spent on."""
        window, tokens = self._window, self.count(to_plain(message))
        if window.is_known and tokens > room_in(window.size):
            raise OverWindow(tokens, window.size)
        self.allow()

    def allow(self) -> None:
        """Refuse where no more may be spent."""
        self.noticed.findings += self.allowing()

    def record(
        self, messages: Sequence[Message], *, spend: Spend | None = None, finish: Outcome = "stop"
    ) -> tuple[Finding, ...]:
        """Write messages down for good, and return what is to be said about that."""
        spoken = [self._said(message, finish) for message in messages]
        recording = self.scribe.record(
            self.session,
            spoken,
            spend=spend,
            counted=self.noticed.counted,
            model=self.model,
            scope=self.scope,
            source=self.source,
        )
        if recording.spent is not None:
            self._watch(recording.spent)
        told, self.noticed.findings = self.noticed.findings, []
        return (*recording.findings, *told)

    def is_full(self, message: Message) -> int | None:
        """Return how much of history should stay where a model is to summarise the rest first."""
        if self.summarising is None:
            return None
        beside = self.noticed.beside = self._beside()
        looked = self.caller.look(message.to_text(), beside=beside)
        if looked is None:
            return None
        kept = kept_of(looked.assembly, beside)
        if kept is None and looked.used <= self._room(looked):
            self.noticed.looked = looked
        return kept

    async def summarise(self, kept: int) -> Sequence[Finding]:
        """Have a model summarise history; where that fails, it is done by rules when the call is prepared."""
        assert self.summarising is not None
        findings = await self.summarising(kept)
        self.noticed.is_shortened = any(finding.code == "history_compacted" for finding in findings)
        return findings

    def prepare(self, message: Message) -> Assembly:
        """Assemble the context for the user's message, which is recorded already."""
        noticed, looked = self.noticed, self.noticed.looked
        noticed.looked = None
        if looked is not None:
            noticed.fitted = self.caller.keep(looked)
        else:
            noticed.beside = self._beside()
            noticed.fitted = self.caller.go_on(message.to_text(), beside=noticed.beside, room=noticed.room)
        assembly = noticed.fitted.assembly
        noticed.prefix, noticed.counted = assembly.report.prefix, assembly.report.tokens.used
        told = any(finding.code == "history_compacted" for finding in assembly.report.warnings)
        if noticed.is_shortened or told:
            noticed.before = None  # the cache falls with a compaction, and that is said
        return assembly

    def fit(self, message: Message, own: Sequence[Message], *, refused: bool = False) -> Call:
        """Return the next call of a turn that has added `own`, which is made to fit too.

        Where the provider has `refused` the last one as too long, this one is a third shorter.
        """
        noticed = self.noticed
        if refused:
            noticed.room = max(1, noticed.counted * 2 // 3)
            noticed.findings.append(_refused(noticed.counted + noticed.beside))
            if not own:
                assembly = self.prepare(message)
                return Call(assembly.messages, assembly.stable)
        assert noticed.fitted is not None
        room = self._room(noticed.fitted)
        # What older turns said gives way first, unless all of it would not be enough.
        own = clip_results(own, room - noticed.fitted.fixed, self._size)
        if noticed.fitted.used + self._size(own) > room:
            refitted = self.caller.refit(noticed.fitted, max(0, room - self._size(own)))
            known = noticed.fitted.assembly.report.warnings
            noticed.findings += [each for each in refitted.assembly.report.warnings if each not in known]
            noticed.fitted = refitted
        added = self._size(own)
        noticed.counted = noticed.fitted.used + added
        assembly = noticed.fitted.assembly
        refuse_over(assembly, noticed.beside + added)
        return Call((*assembly.messages, *own), assembly.stable)

    def call(self, call: ToolCall) -> str:
        """Run one call, and return its result as JSON."""
        text = plainjson.dumps(self.registry.call(call.name, call.arguments)).decode()
        if call.name in PAGED:
            return text
        kept = self.keep(text)
        self.noticed.findings += kept.findings
        return kept.text

    def _beside(self) -> int:
        """Return what a call has beside its sections: as the provider counted it last, else the tools."""
        noticed = self.noticed
        with suppress(CarrelError):  # without records there is nothing to hold the next call against
            purpose = self.scribe.purpose
            noticed.before = self.scribe.usage.last(self.agent, self.session, purpose=purpose)
            noticed.stood = stood(self.scribe.records().last_assembly(self.agent, self.session))
        told = surplus(noticed.before, self.model, self._window.size)
        if told is None or told.finding is not None:
            noticed.findings += [told.finding] if told and told.finding else []
            specs = [{"type": "function", "function": tool.to_json()} for tool in self.tools]
            return self.count(plainjson.dumps(specs).decode()) if specs else 0
        return told.tokens

    @property
    def _window(self) -> Window:
        return self.caller.assembler.ground.window_of(self.caller.model)

    def _room(self, fitted: Fitted) -> int:
        noticed = self.noticed
        whole = room_in(fitted.assembly.report.tokens.window, noticed.beside)
        return whole if noticed.room is None else min(whole, noticed.room)

    def _size(self, messages: Sequence[Message]) -> int:
        return sum(self.count(to_plain(message)) for message in messages)

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


def _refused(tokens: int) -> Finding:
    return Finding(
        code="window_smaller",
        message=f"The provider refused a call of about {tokens:,} tokens as too long; it was made shorter.",
        hint="Set model.context_window to what the model takes.",
    )
