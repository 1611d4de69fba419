"""Sessions, entries and forks as every surface shows them."""

from typing import Any

from msgspec import Struct, field

from carrel import plainjson
from carrel.findings import Finding
from carrel.sessions.account import SessionRow
from carrel.sessions.fork import Forked
from carrel.sessions.message import Role, ToolCall
from carrel.sessions.placed import Placed
from carrel.sessions.transcript import Content, Entry, Finish


class ListedSession(Struct, frozen=True, kw_only=True):
    """A session as a list has it; `damaged` counts the lines of its log that cannot be read."""

    id: str
    title: str
    summary: str
    updated: str = field(name="updatedAt")
    started: str = field(name="createdAt")
    entries: int
    source: str
    agent: str
    damaged: int


class EntryRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message as its line in the log has it, with its number; what says nothing is left out.

    `is_cut` says that there is more of it than is shown: its content is then the beginning of its text.
    """

    number: int
    timestamp: str
    role: Role
    content: Content
    message_id: str
    source_plugin: str
    sender_id: str | None = None
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    scope: str = ""
    finish: Finish = "stop"
    redacted: tuple[str, ...] = ()
    is_cut: bool = False


class Origin(Struct, frozen=True, kw_only=True):
    """The session that another was made from, and the last message that was copied."""

    session: str
    message_id: str


class ForkedRow(Struct, frozen=True, kw_only=True):
    """A session that was made from another; `left_out` counts calls of tools at the end without a result."""

    session: str
    forked_from: Origin
    entries: int
    left_out: int
    findings: tuple[Finding, ...]


def listed(row: SessionRow) -> ListedSession:
    """Return a session as every list has it."""
    return ListedSession(
        id=row.id,
        title=row.title,
        summary=row.summary,
        updated=row.updated,
        started=row.started,
        entries=row.entries,
        source=row.source,
        agent=row.agent_id,
        damaged=row.damaged,
    )


def entry_row(placed: Placed, *, characters: int | None = None) -> EntryRow:
    """Return an entry as every surface shows it, of each text in it no more than so many characters."""
    entry = placed.entry
    content, is_cut = _shortened(entry, characters)
    calls = tuple(_short_call(call, characters) for call in entry.tool_calls)
    return EntryRow(
        number=placed.number,
        timestamp=entry.timestamp,
        role=entry.role,
        content=content,
        message_id=entry.message_id,
        source_plugin=entry.source_plugin,
        sender_id=entry.sender_id,
        name=entry.name,
        tool_calls=calls,
        tool_call_id=entry.tool_call_id,
        scope=entry.scope,
        finish=entry.finish,
        redacted=entry.redacted,
        is_cut=is_cut or calls != entry.tool_calls,
    )


def forked_row(made: Forked) -> ForkedRow:
    """Return a fork as every surface shows it."""
    return ForkedRow(
        session=made.session,
        forked_from=Origin(session=made.origin, message_id=made.message_id),
        entries=made.entries,
        left_out=made.left_out,
        findings=made.findings,
    )


def _shortened(entry: Entry, characters: int | None) -> tuple[Content, bool]:
    """Return an entry's content, and whether it is the beginning of its text only."""
    if characters is None or _size_of(entry.content) <= characters:
        return entry.content, False
    text = entry.to_text()
    return text[:characters], True


def _short_call(call: ToolCall, characters: int | None) -> ToolCall:
    if characters is None or _size_of(call.arguments) <= characters:
        return call
    written = call.arguments if isinstance(call.arguments, str) else plainjson.dumps(call.arguments).decode()
    return ToolCall(id=call.id, name=call.name, arguments=written[:characters])


def _size_of(value: Any) -> int:
    return len(value if isinstance(value, str) else plainjson.dumps(value))
