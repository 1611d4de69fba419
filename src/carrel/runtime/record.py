"""After a message: it is written down, and at the end of a turn all that follows from it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from carrel import plainjson
from carrel.clock import Clock
from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.findings import Finding
from carrel.records import Records
from carrel.records.usage import Purpose, Spent, Usage
from carrel.runtime.model import Spend
from carrel.runtime.prices import cost_of
from carrel.sessions.account import Recorded
from carrel.sessions.store import Sessions
from carrel.sessions.turn import BadMessage, Sayable, stamp
from carrel.workspace.scope import Scope

Work = Callable[[], tuple[Finding, ...] | None]


class Recording(Struct, frozen=True, kw_only=True):
    """Messages that are durable now, and whether they end a turn."""

    messages: tuple[Recorded, ...]
    is_ended: bool = False
    spent: Spent | None = None
    """What the call took that the last of them answers, where the provider told."""
    findings: tuple[Finding, ...] = ()


def nothing(_session: str, _number: int) -> None:
    """Let a turn end, and nothing more."""


class Scribe(Struct, frozen=True, kw_only=True):
    """Writes down what one agent hears and says."""

    agent: str
    model: str
    sessions: Sessions
    records: Callable[[], Records]
    """Opened where something is kept in them: a log needs only itself."""
    clock: Clock
    files: FileStore
    events: str = ""
    """The file in which every turn leaves a line, where the layout has one."""
    account: Callable[[], Usage] | None = None
    """Where it is kept what calls cost, if that is not among the records."""
    purpose: Purpose = "turn"
    ended: Callable[[str, int], object] = nothing
    """Told of a session in which a turn has ended, and of its last entry."""

    @property
    def usage(self) -> Usage:
        """The account of what calls cost."""
        return self.account() if self.account else self.records().usage

    def record(
        self,
        session: str,
        messages: Sequence[Sayable],
        *,
        spend: Spend | None = None,
        counted: int = 0,
        model: str = "",
        scope: Scope,
        source: str = "",
    ) -> Recording:
        """Write messages down for good; with the last of a turn, bring what is derived up to date.

        `counted` is what Carrel counted of the call that `spend` is for. Only the messages decide whether
        this succeeds: what fails after them is a finding.
        """
        if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadMessage("is to stand in a list")
        recorded = self.sessions.record(session, messages, scope=scope, source=source)
        findings = list(_remarks(recorded))
        spent = self._spent(session, spend, model, counted) if spend is not None and recorded else None
        if spent is not None:
            turn = recorded[-1].message_id
            findings += self._attempt(lambda: self.usage.add(spent, turn=turn))
        is_ended = bool(recorded) and recorded[-1].ends_turn and recorded[-1].is_new
        if is_ended:
            findings += self._attempt(lambda: self.sessions.settle(session, in_passing=True))
            if self.events:
                findings += self._attempt(lambda: self._tell(session, recorded[-1]))
            findings += self._attempt(lambda: self._end(session, recorded[-1]))
        return Recording(messages=tuple(recorded), is_ended=is_ended, spent=spent, findings=tuple(findings))

    def _attempt(self, work: Work) -> tuple[Finding, ...]:
        try:
            return work() or ()
        except CarrelError as error:
            return (Finding(code=error.code, message=error.message, hint=error.hint),)

    def _spent(self, session: str, spend: Spend, model: str, counted: int) -> Spent:
        return Spent(
            agent=self.agent,
            session=session,
            model=model or self.model,
            at=self.clock.now(),
            input=spend.input,
            cached=spend.cached,
            output=spend.output,
            cost=cost_of(model or self.model, spend),
            counted=counted,
            purpose=self.purpose,
        )

    def _end(self, session: str, last: Recorded) -> None:
        self.ended(session, last.number)

    def _tell(self, session: str, last: Recorded) -> None:
        line = {
            "type": "turn",
            "timestamp": stamp(self.clock.now()),
            "agent_id": self.agent,
            "session_id": session,
            "message_id": last.message_id,
        }
        self.files.append(self.events, plainjson.dumps(line) + b"\n")


def _remarks(recorded: Sequence[Recorded]) -> Iterator[Finding]:
    """Say what became of messages other than that they were written down."""
    for message in recorded:
        if message.redacted:
            kinds = ", ".join(message.redacted)
            said = f"Message {message.message_id} was stored without its secrets ({kinds})."
            yield Finding(code="secrets_redacted", message=said, hint="transcripts.secrets: keep stores all.")
        if message.differs:
            said = f"Message {message.message_id} was recorded before, with another content; that one stays."
            yield Finding(code="message_id_reused", message=said, hint="Give every message its own id.")
