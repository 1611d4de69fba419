"""A session that goes another way from one of its messages on: a new log with a copy of what was said."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import Conflict, NotFound, Unavailable
from carrel.files import Stale, show
from carrel.files.paths import NameTaken
from carrel.findings import Finding
from carrel.sessions.export import WholeLine, whole_lines
from carrel.sessions.placed import NewerLog
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import VERSION, Entry, Header, Title, encode
from carrel.sessions.turn import stamp

_SUFFIX = re.compile(r"-fork(-[0-9]+)?\Z")
_NUMBER = re.compile(r"[0-9]{1,15}")
_ROOM = 110
"""Characters of an id that leave room for what a fork's has more."""


class UnknownMessage(NotFound):
    """No entry of this session has this message id or number."""

    code = "unknown_message"

    def __init__(self, session: str, at: str | int) -> None:
        what = f"entry {at}" if isinstance(at, int) else f"message {show(at[:80])!r}"
        super().__init__(
            f"The session {show(session)!r} has no {what}.",
            hint=f"`carrel sessions show {show(session)}` shows its entries, with numbers and ids.",
        )


class SessionExists(Conflict):
    """A session has this id already."""

    code = "session_exists"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"There is a session {show(session)!r} already.", hint="Choose another id, or leave it out."
        )


class NothingToFork(NotFound):
    """Up to there the session has nothing that could be continued."""

    code = "nothing_to_fork"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"Up to there the session {show(session)!r} has no entry that could be continued.",
            hint="Fork it at a later message; a call of a tool needs its result.",
        )


class Forked(Struct, frozen=True, kw_only=True):
    """A session that was made from another, up to which of its entries.

    `left_out` counts the last ones that were asked for and not taken: a call of a tool without its result.
    """

    session: str
    origin: str
    message_id: str
    entries: int
    left_out: int = 0
    findings: tuple[Finding, ...] = ()


def fork(
    sessions: Sessions, session: str, *, now: datetime, at: str | int | None = None, to: str | None = None
) -> Forked:
    """Make a session with the entries of another up to a message, by its id or its number; else with all.

    It is there whole or not at all. Attachments stay where they are, and are referred to from both.
    """
    if to is not None and sessions.exists(to):
        raise SessionExists(to)
    row = sessions.row(session)
    last = row.entries if at is None else number_at(sessions, session, at)
    copied = list(_copied(sessions, session, None if at is None else last))
    kept = _answered(copied)
    final = next((each for each in reversed(kept) if each.number), None)
    if final is None or not isinstance(final.line, Entry):
        raise NothingToFork(session)
    title = Title(timestamp=stamp(now), title=f"{row.title or session} (fork)")
    lines = b"".join(each.raw + b"\n" for each in kept) + encode(title)
    origin = {"session": session, "message_id": final.line.message_id}
    header = Header(
        id=to or session,
        timestamp=stamp(now),
        agent_id=sessions.places.agent,
        source_plugin=row.source,
        forked_from=origin,
    )
    name = _write(sessions, header, lines) if to is not None else _write_somewhere(sessions, header, lines)
    return Forked(
        session=name,
        origin=session,
        message_id=final.line.message_id,
        entries=final.number,
        left_out=last - final.number,
        findings=_settled(sessions, name),
    )


def number_at(sessions: Sessions, session: str, at: str | int) -> int:
    """Return the number of an entry that is given by its message id, or by that number."""
    number = at if isinstance(at, int) else None
    if isinstance(at, str):
        with suppress(UnicodeEncodeError):  # bytes that are no text, of which no id is made
            number = sessions.number_of(session, at)
        if number is None and _NUMBER.fullmatch(at):
            number = int(at)
    if number is None or not 0 < number <= sessions.row(session).entries:
        raise UnknownMessage(session, at)
    return number


def forks_with_attachments(sessions: Sessions, session: str) -> list[str]:
    """Return the sessions that refer to attachments of this one: forks of it, or of its forks."""
    folder = f"{sessions.places.attachments(session)}/"
    if not sessions.places.files.list(folder.rstrip("/")):
        return []
    return [
        row.id
        for row in sessions.rows()[0]
        if row.id != session
        and (sessions.page(row.id, limit=0).header or {}).get("forked_from")
        and any(_refers(placed.entry, folder) for placed in sessions.entries(row.id))
    ]


def _refers(entry: Entry, folder: str) -> bool:
    parts = entry.content if isinstance(entry.content, list) else []
    found = (cast("dict[str, Any]", part).get("path") for part in parts if isinstance(part, dict))
    return any(isinstance(path, str) and path.startswith(folder) for path in found)


def _copied(sessions: Sessions, session: str, last: int | None) -> Iterator[WholeLine]:
    """Yield the lines of a log up to an entry, without what a fork says of itself."""
    for each in whole_lines(sessions, session):
        if isinstance(each.line, Header) and each.line.version > VERSION:
            raise NewerLog(sessions.log_path(session), each.line.version)
        if not isinstance(each.line, Header | Title):
            yield each
        if last is not None and each.number == last:
            return


def _answered(lines: Sequence[WholeLine]) -> Sequence[WholeLine]:
    """Return the lines up to the last call of a tool that still waits for a result, if they end with one.

    A call that was given up earlier stays: whoever spoke after it knew.
    """
    end = len(lines)
    answers: set[str] = set()
    for place in range(len(lines) - 1, -1, -1):
        entry = lines[place].line
        if not isinstance(entry, Entry):
            continue
        if entry.role == "tool":
            answers.add(entry.tool_call_id)
        elif {call.id for call in entry.tool_calls} <= answers:
            break
        else:
            end = place
            answers.clear()
    return lines[:end]


def _write_somewhere(sessions: Sessions, header: Header, lines: bytes) -> str:
    """Write the new log under the first id that is free, made from the one that was forked."""
    stem = f"{_SUFFIX.sub('', header.id)[:_ROOM]}-fork"
    for number in count(1):
        try:
            return _write(sessions, replace(header, id=stem if number == 1 else f"{stem}-{number}"), lines)
        except (SessionExists, NameTaken):
            continue
    raise AssertionError  # numbers do not end


def _write(sessions: Sessions, header: Header, lines: bytes) -> str:
    try:
        sessions.places.files.write(sessions.places.log(header.id), encode(header) + lines, expect=None)
    except Stale:
        raise SessionExists(header.id) from None
    return header.id


def _settled(sessions: Sessions, session: str) -> tuple[Finding, ...]:
    """Bring what is derived from the new log up to it; the log itself is safe whatever becomes of that."""
    with suppress(Unavailable, Conflict):
        return sessions.settle(session)
    return ()
