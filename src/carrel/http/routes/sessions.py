"""Sessions: listed, read page by page, recorded once, titled, compacted, forked, exported and removed."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Annotated, Any, get_args

from fastapi import Depends, Header, Path, Query
from msgspec import Meta, Struct
from msgspec.structs import asdict
from starlette.responses import Response, StreamingResponse

from carrel.context.forecast import Forecast
from carrel.context.forecast import forecast as foretell
from carrel.findings import Finding
from carrel.http.answers import Page, attached
from carrel.http.desk import Desk, OwnerReader, OwnerWriter, Reader, Writer
from carrel.http.routing import Routes, sent
from carrel.runtime.compact import Compacted
from carrel.runtime.removing import Gone, remove
from carrel.sessions.export import Form, export
from carrel.sessions.fork import fork
from carrel.sessions.message import Role
from carrel.sessions.placed import Placed
from carrel.sessions.places import valid_session
from carrel.sessions.rows import EntryRow, ForkedRow, ListedSession, entry_row, forked_row, listed
from carrel.sessions.store import UnknownSession
from carrel.sessions.turn import OthersInstructions
from carrel.workspace.scope import Scope

routes = Routes("sessions", "/w/{workspace}")

Session = Annotated[str, Path(max_length=200)]

SOURCE = "http"
"""Where messages come from that do not say it."""

_HIGHEST = 2**62
_PREVIEW = 4_000


class SessionShown(ListedSession, frozen=True, kw_only=True):
    """A session with what its log says of itself, and what is wrong with it."""

    header: Mapping[str, Any] | None
    findings: tuple[Finding, ...]


Spoken = Annotated[
    dict[str, Any],
    Meta(
        extra_json_schema={
            "required": ["role"],
            "properties": {
                "role": {"enum": list(get_args(Role))},
                "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]},
                "message_id": {"type": "string", "minLength": 1, "maxLength": 256},
                "tool_calls": {"type": "array", "items": {"type": "object"}},
                "timestamp": {"type": "string", "format": "date-time"},
                **{name: {"type": "string"} for name in ("name", "tool_call_id", "sender_id", "source")},
            },
        }
    ),
]


class Messages(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages to be recorded, in their order.

    Each has a role and a content, and may have message_id, name, tool_calls, tool_call_id, timestamp,
    sender_id and source. One with an id that is known changes nothing.
    """

    messages: Annotated[tuple[Spoken, ...], Meta(min_length=1, max_length=1_000)]
    source: Annotated[str, Meta(max_length=200)] = SOURCE


class RecordedMessage(Struct, frozen=True, kw_only=True):
    """A message that is durable now; `is_new` is false where it was recorded before."""

    message_id: str
    is_new: bool


class Recorded(Struct, frozen=True, kw_only=True):
    """What was recorded, and whether it ends a turn."""

    messages: tuple[RecordedMessage, ...]
    is_ended: bool
    findings: tuple[Finding, ...]


class Description(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a session is called and about; what is left out stays as it is."""

    title: Annotated[str, Meta(max_length=1_000)] | None = None
    summary: Annotated[str, Meta(max_length=20_000)] | None = None


class Compaction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether only to show what would be done."""

    dry_run: bool = False


class CompactedSession(Compacted, frozen=True, kw_only=True):
    """A session whose history is shorter now, or would be."""

    session: str
    dry_run: bool


class Fork(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last message that is copied, by its id or number, else all are; and the new session's id."""

    at: Annotated[str, Meta(max_length=300)] | None = None
    to: Annotated[str, Meta(max_length=200)] | None = None


class Outlook(Forecast, frozen=True, kw_only=True):
    """How full the window of a session is."""

    session: str


@routes.get("/sessions", Page[ListedSession])
def list_sessions(
    desk: OwnerReader,
    cursor: Annotated[int, Query(ge=0, le=_HIGHEST, description="So many are left out")] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> Page[ListedSession]:
    """List the agent's sessions, the last used first."""
    rows, total = desk.own.sessions.rows(limit=limit, offset=cursor)
    end = cursor + len(rows)
    return Page(items=tuple(map(listed, rows)), next_cursor=str(end) if rows and end < total else None)


@routes.get("/sessions/{session}", SessionShown)
def show_session(desk: OwnerReader, session: Session) -> SessionShown:
    """Return what is known of a session as a whole."""
    sessions = desk.own.sessions
    row, page = sessions.row(session), sessions.page(session, limit=0)
    return SessionShown(**asdict(listed(row)), header=page.header, findings=page.findings)


@routes.get("/sessions/{session}/entries", Page[EntryRow])
def list_entries(
    desk: Reader,
    session: Session,
    cursor: Annotated[
        int, Query(ge=-_HIGHEST, le=_HIGHEST, description="The number of the first; -10: the last ten")
    ] = 1,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    characters: Annotated[
        int, Query(ge=1, le=20_000, description="Of each text; what is longer says is_cut")
    ] = _PREVIEW,
) -> Page[EntryRow]:
    """Return what was said in a session, from a number on.

    Shared scope is shown what was said before others, numbered as if there were nothing else.
    """
    entries = _entries(desk, desk.session(session), cursor)
    rows = [entry_row(placed, characters=characters) for placed in islice(entries, limit + 1)]
    more = str(rows[limit].number) if len(rows) > limit else None
    return Page(items=tuple(rows[:limit]), next_cursor=more)


@routes.post("/sessions/{session}/entries", Recorded, takes=Messages)
def record_messages(
    desk: Writer,
    session: Session,
    body: Annotated[Messages, Depends(sent(Messages))],
    idempotency_key: Annotated[str | None, Header(max_length=255)] = None,
) -> Recorded:
    """Write messages down for good, all of them or none; a new id begins a new session.

    `Idempotency-Key` gives ids to the messages without one, so that a request that is sent again adds
    nothing.
    """
    if desk.scope is not Scope.MAIN and any(each.get("role") == "system" for each in body.messages):
        raise OthersInstructions
    messages = [
        _identified(message, desk, session, idempotency_key, place)
        for place, message in enumerate(body.messages)
    ]
    session = desk.session(session)
    done = desk.own.record(session, messages, scope=desk.scope, source=body.source)
    new = sum(message.is_new for message in done.messages)
    if new:
        desk.note("session.record", session, session=session, messages=new)
    return Recorded(
        messages=tuple(
            RecordedMessage(message_id=each.message_id, is_new=each.is_new) for each in done.messages
        ),
        is_ended=done.is_ended,
        findings=done.findings,
    )


@routes.patch("/sessions/{session}", ListedSession, takes=Description)
def describe_session(
    desk: OwnerWriter, session: Session, body: Annotated[Description, Depends(sent(Description))]
) -> ListedSession:
    """Give a session a title or a summary, in its log and in the catalog."""
    sessions = desk.own.sessions
    sessions.row(session)
    if body.title is not None or body.summary is not None:
        desk.own.update_session_index(session, summary=body.summary, title=body.title)
        desk.note("session.describe", session, session=session)
    return listed(sessions.row(session))


@routes.post("/sessions/{session}:compact", CompactedSession, takes=Compaction)
def compact_session(
    desk: OwnerWriter, session: Session, body: Annotated[Compaction, Depends(sent(Compaction))]
) -> CompactedSession:
    """Let a summary stand for all but the last turns of a session; its log keeps every word."""
    own = desk.own
    done = own.conversations.preview(session) if body.dry_run else own.compact(session)
    if not body.dry_run:
        desk.note("session.compact", session, session=session, entries=done.entries, through=done.through)
    return CompactedSession(**asdict(done), session=session, dry_run=body.dry_run)


@routes.post("/sessions/{session}:fork", ForkedRow, takes=Fork, status=201)
def fork_session(
    desk: OwnerWriter, session: Session, body: Annotated[Fork, Depends(sent(Fork))]
) -> ForkedRow:
    """Make a new session with a copy of another's entries, up to one of them."""
    own = desk.own
    made = fork(own.sessions, session, at=body.at, to=body.to, now=own.config.clock.now())
    desk.note("session.fork", made.session, session=made.session, origin=made.origin, entries=made.entries)
    return forked_row(made)


@routes.get("/sessions/{session}/forecast", Outlook)
def forecast_session(desk: OwnerReader, session: Session) -> Outlook:
    """Say how full the window is, and in how many turns history will be saved and compacted."""
    own = desk.own
    own.sessions.row(session)
    report = own.assemble(session).report
    told = report.forecast or foretell(report.tokens.used, report.tokens.window, ())
    return Outlook(**asdict(told), session=session)


@routes.get("/sessions/{session}/export", None, media="text/plain")
def export_session(
    desk: OwnerReader,
    session: Session,
    form: Annotated[Form, Query(alias="format", description="md, html or jsonl")] = "md",
) -> Response:
    """Return a session for somebody to read, or its log's own lines, as a file to be saved."""
    pieces = export(desk.own.sessions, session, form)
    data = (piece.encode("utf-8", "replace") for piece in pieces)
    return StreamingResponse(data, media_type="text/plain", headers=attached(f"{session}.{form}"))


@routes.delete("/sessions/{session}", Gone)
def remove_session(desk: OwnerWriter, session: Session) -> Gone:
    """Move a session to the trash: its log, its window, its attachments."""
    own = desk.own
    gone = remove(own.sessions, valid_session(session), discard=own.discard, thaw=own.records.thaw)
    desk.note("session.remove", session, session=session, files=len(gone.kept))
    return gone


def _entries(desk: Desk, session: str, first: int) -> Iterator[Placed]:
    """Yield entries from a number on as far as the listener was there; a negative one counts from the end."""
    sessions = desk.own.sessions
    if desk.scope is Scope.MAIN:
        total = sessions.row(session).entries
        yield from sessions.entries(session, first if first > 0 else max(1, total + 1 + first))
        return
    heard = [placed.number for placed in sessions.entries(session) if _is_shared(placed)]
    if not heard:  # whether others were never there, or nobody was, is not said
        raise UnknownSession(session)
    skipped = first - 1 if first > 0 else max(0, len(heard) + first)
    if skipped >= len(heard):
        return
    shown = (placed for placed in sessions.entries(session, heard[skipped]) if _is_shared(placed))
    for number, placed in enumerate(shown, skipped + 1):
        yield Placed(number, placed.entry)


def _is_shared(placed: Placed) -> bool:
    return placed.entry.scope == Scope.SHARED


def _identified(
    message: dict[str, Any], desk: Desk, session: str, key: str | None, place: int
) -> dict[str, Any]:
    """Give a message the id that the same request would give it again; another's key makes other ids."""
    if key is None or message.get("message_id"):
        return message
    told = "\0".join((desk.access.name, desk.scope, session, key, str(place)))
    return {**message, "message_id": sha256(told.encode("utf-8", "replace")).hexdigest()[:32]}
