"""How a conversation is shown: to a person at a terminal, as plain text in a pipe, or as lines of JSON."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct, to_builtins

from carrel import plainjson
from carrel.cli import output, picture
from carrel.cli.chat.account import Account
from carrel.cli.errors import show_error
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.runtime.loop import CallEnded, CallStarted, Ended, Event, Piece, Shortening
from carrel.runtime.prices import cost_of
from carrel.sessions.message import ToolCall

SCHEMA_VERSION = 1
_LONGEST_ARGUMENT = 60
_DIRECTIONS = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSAFE = {
    code: f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *_DIRECTIONS)
    if chr(code) not in "\n\t"
}
"""What would move the cursor of a terminal, or turn a text around."""


class Told(Struct, frozen=True):
    """What a command, or the opening of a session, has to say: as an event, and as lines."""

    event: str
    document: Mapping[str, Any]
    lines: tuple[str, ...]
    is_quiet: bool = False


class Voice(Protocol):
    """Shows a conversation as it happens."""

    def tell(self, told: Told) -> None:
        """Show what was asked for."""
        ...

    def show(self, event: Event) -> None:
        """Show what happens in a turn, as it happens."""
        ...

    def close(self, ended: Ended, message_id: str | None, account: Account | None) -> None:
        """Show the end of a turn, and what it cost."""
        ...

    def stopped(self) -> None:
        """Show that a turn was stopped."""
        ...

    def warn(self, findings: Iterable[Finding]) -> None:
        """Say what a person should know, once."""
        ...

    def note(self, text: str) -> None:
        """Say something by the way."""
        ...

    def fail(self, error: CarrelError) -> None:
        """Say that a turn failed, where the conversation goes on."""
        ...

    def end_line(self) -> None:
        """End what was not ended when the conversation ends."""
        ...


class TextVoice:
    """Text: at a terminal all of it where the person looks; else the answers alone on standard output."""

    def __init__(self, name: str, *, is_prompted: bool) -> None:
        self._name = name
        self._is_prompted = is_prompted
        self._is_mid_line = False
        self._has_spoken = False
        self._warned: set[Finding] = set()

    def tell(self, told: Told) -> None:
        """Print its lines, those that were not asked for by the way."""
        say = self.note if told.is_quiet else output.line
        for text in told.lines:
            say(text)

    def show(self, event: Event) -> None:
        """Print pieces as they come, and a line for each call."""
        if isinstance(event, Piece):
            self._speak(event.text)
        elif isinstance(event, Shortening):
            self.note("· summarising what was said before …")
        elif isinstance(event, CallStarted):
            self.note(f"· {title_of(event.call)}")
        elif isinstance(event, CallEnded) and event.failed:
            self.note(f"· {title_of(event.call)}: failed")

    def close(self, ended: Ended, message_id: str | None, account: Account | None) -> None:
        """End the answer, say why it ended where it is not whole, and what it cost in one line."""
        del message_id
        self.end_line()
        self._has_spoken = False
        self.warn(ended.findings)
        if ended.finish != "stop":
            self.note(f"(not the whole answer: {ended.finish})")
        if account is not None:
            self.note(_cost_of(account))

    def stopped(self) -> None:
        """Say so."""
        self.note("(stopped)")
        self._has_spoken = False

    def warn(self, findings: Iterable[Finding]) -> None:
        """Print what was not said yet."""
        for finding in findings:
            if finding not in self._warned:
                self._warned.add(finding)
                text = f"{finding.severity}: {output.printable(finding.message)} [{finding.code}]"
                self.note(f"{text} {output.printable(finding.hint)}".rstrip())

    def note(self, text: str) -> None:
        """Print a quiet line; in a pipe beside the answers."""
        self.end_line()
        output.line(output.styled(text, dim=True), to_stderr=not self._is_prompted)

    def fail(self, error: CarrelError) -> None:
        """Print the error and its hint."""
        self.end_line()
        self._has_spoken = False
        show_error(error.code, error.message, error.hint, as_json=False)

    def end_line(self) -> None:
        """End a line of the answer that has not ended."""
        if self._is_mid_line:
            output.line()
            self._is_mid_line = False

    def _speak(self, text: str) -> None:
        if self._is_prompted:
            text = text.translate(_UNSAFE)
            if not self._has_spoken:
                output.write(output.styled(f"{self._name}> ", bold=True))
        self._has_spoken = True
        output.write(text)
        self._is_mid_line = not text.endswith("\n")


class JsonVoice:
    """One JSON object a line, for machines; warnings are part of the events."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._findings: list[Finding] = []

    def tell(self, told: Told) -> None:
        """Print the document as an event."""
        _put({"event": told.event, **told.document})

    def show(self, event: Event) -> None:
        """Print pieces, calls and results as they come."""
        if isinstance(event, Piece):
            _put({"event": "piece", "text": event.text})
        elif isinstance(event, Shortening):
            _put({"event": "shortening"})
        elif isinstance(event, CallStarted):
            _put({"event": "call", **event.call.to_json()})
        elif isinstance(event, CallEnded):
            about = {"id": event.call.id, "name": event.call.name}
            _put({"event": "result", **about, "failed": event.failed, "result": event.result})

    def close(self, ended: Ended, message_id: str | None, account: Account | None) -> None:
        """Print the whole answer, its id, why it ended, and what it cost."""
        findings = dict.fromkeys((*self._findings, *ended.findings))
        self._findings = []
        _put(
            {
                "event": "ended",
                "text": ended.reply.text,
                "message_id": message_id,
                "finish": ended.finish,
                "rounds": ended.rounds,
                "usage": to_builtins(ended.spend),
                "cost": cost_of(self._model, ended.spend) if ended.spend else None,
                "context": account.to_json() if account else None,
                "findings": to_builtins(list(findings)),
            }
        )

    def stopped(self) -> None:
        """Print that nothing more comes of this turn."""
        self._findings = []
        _put({"event": "stopped"})

    def warn(self, findings: Iterable[Finding]) -> None:
        """Keep them for the end of the turn."""
        self._findings += findings

    def note(self, text: str) -> None:
        """Say nothing: a machine is told by events."""

    def fail(self, error: CarrelError) -> None:
        """Print the error."""
        show_error(error.code, error.message, error.hint, as_json=True)

    def end_line(self) -> None:
        """Do nothing: every line is whole."""


def _cost_of(account: Account) -> str:
    line = picture.turn_line(account.window, account.used, account.cached, account.recalled)
    left = account.turns_to_compact
    return line if left is None else f"{line} · {picture.turns_left(left)}"


def safe(text: str) -> str:
    """Return a text that a terminal shows and does not obey, line breaks and all."""
    return text.translate(_UNSAFE)


def _put(event: Mapping[str, Any]) -> None:
    output.line(plainjson.dumps(event).decode())


def title_of(call: ToolCall) -> str:
    """Return a call in a few words: its name, and the first thing that it was given."""
    given = [value for value in (call.parsed() or {}).values() if isinstance(value, str | int)]
    first = str(given[0]) if given else ""
    short = first if len(first) <= _LONGEST_ARGUMENT else f"{first[:_LONGEST_ARGUMENT]}…"
    return output.printable(f"{call.name} {short}".rstrip())
