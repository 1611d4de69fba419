"""`carrel chat`: a conversation in a terminal, or through a pipe."""

import asyncio
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from typing import Any, Literal, TextIO

import click

from carrel.cli import complete, output
from carrel.cli.chat.account import account_of
from carrel.cli.chat.background import Background
from carrel.cli.chat.commands import run_command
from carrel.cli.chat.input import PipedLines, PromptedLines, Typed, read_message
from carrel.cli.chat.session import Place, look_back, name_of, new_session, opening, resuming
from carrel.cli.chat.voice import JsonVoice, TextVoice, Voice
from carrel.cli.options import Shared, shared_options
from carrel.cli.rehearsal import writes
from carrel.context.assemble import Assembly
from carrel.context.compare import recollect
from carrel.context.report import Report, Row
from carrel.errors import CarrelError
from carrel.runtime.loop import Ended, Event, Prepared
from carrel.runtime.model import Model
from carrel.runtime.models import Paced

Outcome = Literal["done", "stopped", "left"]


@click.command()
@click.option(
    "--session",
    metavar="ID",
    shell_complete=complete.sessions,
    help="The conversation to go on with; else a new one.",
)
@click.option(
    "--model",
    "model_name",
    metavar="PROVIDER:MODEL",
    help="Who answers; else as the settings say.",
)
@click.option(
    "--source", metavar="NAME", default="cli", show_default=True, help="Where it is held, for the log."
)
@click.option(
    "--pace",
    type=click.FloatRange(0, 60),
    hidden=True,
    help="Wait before each piece of an answer: for the demo, which kills it in the middle.",
)
@shared_options
@writes
def chat(
    shared: Shared, session: str | None, model_name: str | None, source: str, pace: float | None
) -> None:
    r"""Talk with the agent; what is said is kept as it is said.

    A line is a message. A backslash at its end continues it; several lines between two marks of three
    quotation marks are one. /help lists the commands, Ctrl-C stops an answer, Ctrl-D leaves.

    In a pipe, each line of standard input is a message; the answers go to standard output and everything
    else to standard error. With --json standard output is one event a line.

    \b
    Examples:
      carrel chat                                     a new conversation
      carrel chat --session 2026-04-24-k3f9           an earlier one
      echo "Which phone does Ana use?" | carrel chat --session s1
      carrel chat --json < questions.txt
    """
    with shared.open() as workspace, asyncio.Runner() as runner:
        model = workspace.model(model_name)
        past = look_back(workspace, session, shared.scope) if session is not None else None
        name = session if session is not None else new_session(workspace)
        place = Place(workspace=workspace, session=name, scope=shared.scope)
        is_prompted = not shared.as_json and _is_terminal(sys.stdin) and _is_terminal(sys.stdout)
        speaker = name_of(workspace, shared.scope)
        voice = JsonVoice(model.name) if shared.as_json else TextVoice(speaker, is_prompted=is_prompted)
        voice.tell(opening(place, past, speaker, model.name))
        memory = Background(shared.open, model_name)
        talk = _Talk(
            runner, voice, place, Paced(model, pace) if pace else model, source=source, ended=memory.begin
        )
        if is_prompted:
            _converse(talk, PromptedLines())
            voice.note(_farewell(shared, place))
        else:
            _answer_all(talk, PipedLines())
        if workspace.conversations.learning.session_ended():
            memory.begin()
        if not memory.leave():
            voice.note("Memory is still at work on what was said: `carrel sweep` finishes it.")


class _Talk:
    """A conversation under way; it knows the sections of its last call."""

    def __init__(
        self,
        runner: asyncio.Runner,
        voice: Voice,
        place: Place,
        model: Model,
        *,
        source: str,
        ended: Callable[[], None],
    ) -> None:
        self.voice = voice
        self._place = place
        self._runner = runner
        self._model = model
        self._source = source
        self._ended = ended
        self._report: Report | None = None
        self._before = _last_call(place)

    def hear(self, typed: Typed) -> Outcome:
        """Answer a message, or do what a command says."""
        text = typed.text
        if not text.strip():
            return "done"
        if not typed.is_quoted and text.lstrip().startswith("/"):
            text = text.lstrip()
            if not text.startswith("//"):
                return self._obey(text)
            text = text[1:]
        return self._turn(text)

    def _obey(self, text: str) -> Outcome:
        if text.strip().lower() == "/quit":
            return "left"
        self.voice.tell(run_command(self._place, text))
        return "done"

    def _turn(self, text: str) -> Outcome:
        """Hold a turn; where Ctrl-C stops it, what had arrived is recorded when this returns."""
        self._report, ended = None, None
        try:
            with suppress(KeyboardInterrupt):  # one that comes before or after the turn itself
                ended = self._runner.run(self._held(text))
        finally:
            report = self._report
            before, self._before = self._before, report.sections if report else self._before
        if report is not None:
            self.voice.warn(report.warnings)
        if ended is None:
            self.voice.stopped()
            return "stopped"
        account = account_of(report, before) if report else None
        self.voice.close(ended, _last_reply(self._place), account)
        self._ended()
        return "done"

    async def _held(self, text: str) -> Ended | None:
        """Hold a turn and return its end; none where it was stopped."""
        place, ended = self._place, None
        task = asyncio.current_task()
        assert task is not None
        turn = place.workspace.turn(
            place.session, text, model=self._model, scope=place.scope, source=self._source
        )
        with _stopping(task):
            try:
                async with aclosing(turn) as events:
                    async for event in events:
                        self._show(event)
                        ended = event if isinstance(event, Ended) else None
            except asyncio.CancelledError:
                return None
        return ended

    def _show(self, event: Event) -> None:
        if isinstance(event, Prepared) and isinstance(event.assembly, Assembly):
            self._report = event.assembly.report
        self.voice.show(event)


def _converse(talk: _Talk, lines: PromptedLines) -> None:
    """Talk with somebody at a terminal: nothing but their wish ends it."""
    while True:
        try:
            typed = read_message(lines)
        except KeyboardInterrupt:
            output.line()
            if not lines.begun():
                talk.voice.note("(/quit or Ctrl-D leaves)")
            continue
        except CarrelError as error:
            talk.voice.fail(error)
            continue
        if typed is None:
            output.line()
            return
        try:
            if talk.hear(typed) == "left":
                return
        except KeyboardInterrupt:
            talk.voice.note("(stopped)")
        except CarrelError as error:
            talk.voice.fail(error)


def _answer_all(talk: _Talk, lines: PipedLines) -> None:
    """Answer what comes through a pipe; the first failure ends it."""
    outcome: Outcome = "done"
    try:
        while outcome == "done" and (typed := read_message(lines)):
            outcome = talk.hear(typed)
    except CarrelError:
        talk.voice.end_line()
        raise
    if outcome == "stopped":
        raise KeyboardInterrupt


def _farewell(shared: Shared, place: Place) -> str:
    if not place.workspace.sessions.exists(place.session):
        return "Nothing was said, and nothing is kept."
    return f"Go on with it: {resuming(shared, place.session)}"


@contextmanager
def _stopping(task: "asyncio.Task[Any]") -> Generator[None]:
    """Let Ctrl-C stop this task, as often as it is pressed, and nothing else.

    Where the signal is ignored, as in the background of a shell, it stays so.
    """
    loop = asyncio.get_running_loop()
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        yield
        return
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _last_call(place: Place) -> Sequence[Row]:
    """Return the sections of the session's last call, in whichever process it was made."""
    with suppress(CarrelError):  # records that cannot be read are told of by the turn
        last = place.workspace.records.last_assembly(place.workspace.agent.id, place.session)
        return recollect(last).rows if last is not None else ()
    return ()


def _last_reply(place: Place) -> str | None:
    """Return the id of the reply that was recorded last."""
    entries = place.workspace.sessions.page(place.session, first=-1, limit=1).entries
    return entries[0].entry.message_id if entries and entries[0].entry.role == "assistant" else None


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
