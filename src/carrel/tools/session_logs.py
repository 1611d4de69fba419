"""An agent's own transcripts: what sessions there are, what was said, and where something was said.

Whoever makes the tool decides whose sessions it sees: this agent's own, and in shared scope only the current.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Protocol

from msgspec import Meta, Struct

from carrel.files.paths import BadId
from carrel.sessions.places import valid_session
from carrel.settings import LARGEST
from carrel.tools.excerpt import around, clip, words_of
from carrel.tools.registry import BadArguments, Tool

NAME = "session_logs"
DEFAULT_LIMIT = 50
MOST = 500
DEFAULT_CHARACTERS = 200
FEWEST_CHARACTERS = 20
MOST_CHARACTERS = 4_000
LONGEST_QUERY = 1_000

Result = dict[str, Any]


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session in a list."""

    id: str
    title: str = ""
    agent_id: str = ""
    source_plugin: str = ""
    entries: int = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None


class LoggedEntry(Struct, frozen=True, kw_only=True):
    """One entry of a transcript; `number` counts from 1 within its session."""

    number: int
    timestamp: str
    role: str
    content: str
    message_id: str | None = None
    source_plugin: str = ""
    sender_id: str | None = None


class LogPage(Struct, frozen=True, kw_only=True):
    """Some entries of one session in their order; `total` is how many it has."""

    header: Mapping[str, Any] | None
    total: int
    entries: Sequence[LoggedEntry]


class LogHit(Struct, frozen=True, kw_only=True):
    """An entry that a search found, and its session."""

    session: str
    entry: LoggedEntry


class Logs(Protocol):
    """The transcripts that an agent may look at."""

    @property
    def current(self) -> str | None:
        """The session that the call is made in."""
        ...

    def sessions(self, *, limit: int, offset: int) -> tuple[Sequence[SessionRow], int]:
        """Return sessions, the newest first, without the first `offset`, and how many there are in all."""
        ...

    def page(self, session: str, *, first: int, limit: int) -> LogPage | None:
        """Return at most `limit` entries from number `first` on; none when there is no such session."""
        ...

    def search(self, words: str, *, limit: int) -> Sequence[LogHit]:
        """Return the newest entries in which every word occurs, without case and accents."""
        ...


class SessionLogs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look at."""

    action: Annotated[
        Literal["list_sessions", "read_session", "search", "recent"],
        Meta(
            description="list_sessions: your sessions, newest first. read_session: the entries of one, "
            "oldest first. search: entries in which every word of `query` occurs. recent: the last entries "
            "of a session."
        ),
    ]
    session_id: Annotated[
        str | None,
        Meta(description="For read_session, and for recent if not the current session."),
    ] = None
    query: Annotated[str, Meta(description="For search: words, in any order.", max_length=LONGEST_QUERY)] = ""
    limit: Annotated[
        int,
        Meta(
            description=f"Most rows to return, at most {MOST}.",
            extra_json_schema={"minimum": 1, "maximum": MOST},
        ),
    ] = DEFAULT_LIMIT
    max_chars: Annotated[
        int,
        Meta(
            description="Most characters of each content or preview.",
            extra_json_schema={"minimum": FEWEST_CHARACTERS, "maximum": MOST_CHARACTERS},
        ),
    ] = DEFAULT_CHARACTERS
    offset: Annotated[
        int,
        Meta(
            description="For list_sessions and read_session: number of the first row, from 1; `more` of the "
            "page before.",
            extra_json_schema={"minimum": 1},
        ),
    ] = 1
    before: Annotated[
        int | None,
        Meta(description="For recent: only entries before this number; `more` of the page before."),
    ] = None


def session_log_tools(logs: Logs | None) -> tuple[Tool, ...]:
    """Return the tool over an agent's transcripts, none where it has none."""
    if logs is None:
        return ()
    return (
        Tool(
            name=NAME,
            description="Look into your own past sessions: list them, read one, search them, or see what was "
            "said last.",
            parameters=SessionLogs,
            run=partial(session_logs, logs),
        ),
    )


def session_logs(logs: Logs, asked: SessionLogs) -> Result:
    """Do one of four things; numbers out of range are brought into range."""
    actions: dict[str, Callable[[Logs, SessionLogs, int, int], Result]] = {
        "list_sessions": _list_sessions,
        "read_session": _read_session,
        "search": _search,
        "recent": _recent,
    }
    limit = min(max(1, asked.limit), MOST)
    characters = min(max(FEWEST_CHARACTERS, asked.max_chars), MOST_CHARACTERS)
    return actions[asked.action](logs, asked, limit, characters)


def _list_sessions(logs: Logs, asked: SessionLogs, limit: int, _: int) -> Result:
    skipped = _number(asked.offset) - 1
    rows, total = logs.sessions(limit=limit, offset=skipped)
    end = skipped + len(rows)
    shown = [
        {
            "session_id": row.id,
            "title": row.title,
            "agent_id": row.agent_id,
            "source_plugin": row.source_plugin,
            "entry_count": row.entries,
            "first_timestamp": row.first_timestamp,
            "last_timestamp": row.last_timestamp,
        }
        for row in rows
    ]
    return {
        "ok": True,
        "count": len(rows),
        "sessions": shown,
        "more": end + 1 if rows and end < total else None,
    }


def _read_session(logs: Logs, asked: SessionLogs, limit: int, characters: int) -> Result:
    session = _named(asked)
    if session is None:
        raise BadArguments(NAME, "`session_id` is missing", hint="list_sessions shows what there is.")
    first = _number(asked.offset)
    found = logs.page(session, first=first, limit=limit)
    if found is None:
        return _not_found(session)
    following = found.entries[-1].number + 1 if found.entries else first
    return {
        "ok": True,
        "session_id": session,
        "header": found.header,
        "total_entries": found.total,
        "returned": len(found.entries),
        "offset": first,
        "truncated": len(found.entries) < found.total,
        "entries": [_entry(entry, characters) for entry in found.entries],
        "more": following if found.entries and following <= found.total else None,
    }


def _recent(logs: Logs, asked: SessionLogs, limit: int, characters: int) -> Result:
    session = _named(asked) or logs.current
    if session is None:
        hint = "Give `session_id`; list_sessions shows what there is."
        raise BadArguments(NAME, "there is no current session", hint=hint)
    known = logs.page(session, first=1, limit=1)
    if known is None and asked.session_id:
        return _not_found(session)
    total = known.total if known else 0  # nothing of the current session may be recorded yet
    end = total if asked.before is None else min(total, _number(asked.before) - 1)
    first = max(1, end - limit + 1)
    found = logs.page(session, first=first, limit=end - first + 1) if end else None
    entries = found.entries if found else ()
    return {
        "ok": True,
        "session_id": session,
        "total_entries": total,
        "count": len(entries),
        "entries": [_entry(entry, characters) for entry in entries],
        "more": first if first > 1 and entries else None,
    }


def _search(logs: Logs, asked: SessionLogs, limit: int, characters: int) -> Result:
    query = asked.query.strip()
    words = words_of(query)
    if not words:
        problem = "`query` has no words" if query else "`query` is missing"
        raise BadArguments(NAME, problem, hint="Give the words to look for.")
    hits = logs.search(query, limit=limit + 1)
    shown = [
        {
            "session_id": hit.session,
            "number": hit.entry.number,
            "message_id": hit.entry.message_id,
            "timestamp": hit.entry.timestamp,
            "role": hit.entry.role,
            "source_plugin": hit.entry.source_plugin,
            "preview": around(hit.entry.content, words, characters),
        }
        for hit in hits[:limit]
    ]
    return {
        "ok": True,
        "query": query,
        "count": len(shown),
        "hits": shown,
        "truncated": len(hits) > limit,
    }


def _number(given: int) -> int:
    """Return the number of a row, in the range that every store can count to."""
    return min(max(1, given), LARGEST)


def _named(asked: SessionLogs) -> str | None:
    """Return the session that was asked for, if its id can be one."""
    if not asked.session_id:
        return None
    try:
        return valid_session(asked.session_id)
    except BadId as error:
        raise BadArguments(NAME, f"`session_id`: {error.message[:-1]}", hint=error.hint) from None


def _not_found(session: str) -> Result:
    return {"ok": False, "error": "session_not_found", "session_id": session}


def _entry(entry: LoggedEntry, characters: int) -> Result:
    content, is_cut = clip(entry.content, characters)
    return {
        "number": entry.number,
        "timestamp": entry.timestamp,
        "role": entry.role,
        "source_plugin": entry.source_plugin,
        "message_id": entry.message_id,
        "sender_id": entry.sender_id,
        "content": content,
        "truncated": is_cut,
    }
