"""The commands of a conversation: lines that begin with a slash."""

import shutil
from collections.abc import Callable
from shlex import quote

from msgspec import to_builtins
from msgspec.structs import replace

from carrel.cli import output, picture
from carrel.cli.chat.session import Place, count_shared
from carrel.cli.chat.voice import Told, safe
from carrel.errors import UsageError
from carrel.files import show
from carrel.markdown.outline import outline
from carrel.sessions.account import SessionRow
from carrel.tools.knowledge import tell
from carrel.workspace.scope import Scope, parse_scope

_SESSIONS = 10
_WIDEST = 100
_LONGEST = 40


class UnknownCommand(UsageError):
    """A line of a conversation that begins with a slash and is no command."""

    code = "unknown_command"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no command '{show(name[:_LONGEST])}' in a conversation.",
            hint=f"There are: {', '.join(HELP)}. To say something that begins with /, begin it with //.",
        )


def run_command(place: Place, text: str) -> Told:
    """Do what a line asks for that begins with a slash; `/quit` is for the conversation itself to see to."""
    name, _, argument = text.strip().partition(" ")
    command = _COMMANDS.get(name.lower())
    if command is None:
        raise UnknownCommand(name)
    return command(place, argument.strip())


def _context(place: Place, _: str) -> Told:
    report = place.workspace.assemble(place.session, scope=place.scope).report
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    more = f"Line by line: carrel context report --session {quote(place.session)}"
    lines = (picture.headline(report), *picture.bar(report, width), output.styled(more, dim=True))
    return Told("context", {"report": report.to_json()}, lines)


def _memory(place: Place, wanted: str) -> Told:
    known = tell(outline(place.workspace.read_memory(scope=place.scope) or ""), wanted or None)
    lines: list[str] = []
    for section in known["sections"]:
        lines.append(output.styled(safe(section["heading"]) or "(no heading)", bold=True))
        lines += [f"  - {safe(bullet)}" for bullet in section["bullets"]]
    if not lines:
        what = f"that a heading names {show(wanted)!r}" if wanted else "in MEMORY.md"
        lines.append(f"There is nothing {what}.")
    if known["truncated"]:
        lines.append(output.styled("There is more: carrel files cat MEMORY.md", dim=True))
    return Told("memory", known, tuple(lines))


def _sessions(place: Place, _: str) -> Told:
    rows, total = _rows(place)
    lines = [
        f"{row.updated[:16].replace('T', ' '):16}  {row.entries:>6,}  {row.id}  {output.printable(row.title)}"
        for row in rows
    ]
    if total > len(rows):
        lines.append(output.styled(f"{total - len(rows):,} more: carrel sessions list", dim=True))
    lines = lines or ["There is no session yet: this one begins with the first message."]
    document = {"sessions": to_builtins(rows), "total": total}
    return Told("sessions", document, tuple(lines))


def _rows(place: Place) -> tuple[list[SessionRow], int]:
    """Return the last sessions and how many there are; others learn of none but their own.

    Of that one not even the title, which may be the owner's own words.
    """
    sessions = place.workspace.sessions
    if parse_scope(place.scope) is Scope.MAIN:
        return sessions.rows(limit=_SESSIONS)
    if not sessions.exists(place.session):
        return [], 0
    entries = count_shared(place.workspace, place.session)
    return [replace(sessions.row(place.session), title="", summary="", entries=entries)], 1


def _compact(place: Place, _: str) -> Told:
    done = place.workspace.compact(place.session, scope=place.scope)
    count = "1 message is" if done.entries == 1 else f"{done.entries:,} messages are"
    tokens = f"{done.tokens_before:,} → {done.tokens_after:,} tokens"
    line = f"{count} a summary from now on: {tokens}. The log keeps them all."
    return Told("compacted", to_builtins(done), (line,))


def _forget(place: Place, _: str) -> Told:
    place.workspace.records.thaw(place.workspace.agent.id, place.session)
    lines = (
        "Memory and journal are not kept any longer as the session began: the next message reads the files.",
        output.styled("What was said stays in the session. Single facts cannot be forgotten yet.", dim=True),
    )
    return Told("forgotten", {"session": place.session}, lines)


def _help(_: Place, __: str) -> Told:
    width = max(map(len, HELP))
    told = (*HELP.items(), ("//…", "a message that begins with a slash"))
    lines = [f"{name:{width}}  {what}" for name, what in told]
    ends = '\\ at the end of a line, or """ before and after: a message of several lines'
    return Told("help", {"commands": HELP}, (*lines, ends))


HELP = {
    "/context": "how full the window is, and with what",
    "/memory": "what MEMORY.md holds; with a word, the sections whose headings have it",
    "/sessions": f"the last {_SESSIONS} sessions",
    "/compact": "let a summary stand for all but the last turns",
    "/forget": "read memory and journal anew with the next message",
    "/help": "this list",
    "/quit": "leave; the session can be resumed",
}
_COMMANDS: dict[str, Callable[[Place, str], Told]] = {
    "/context": _context,
    "/memory": _memory,
    "/sessions": _sessions,
    "/compact": _compact,
    "/forget": _forget,
    "/help": _help,
}
