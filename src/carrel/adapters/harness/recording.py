"""What is recorded of a harness's session: at its stops, and before it shortens its history."""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from carrel import plainjson
from carrel.adapters.harness import cursors, recall
from carrel.adapters.harness.cursors import Cursor
from carrel.adapters.harness.keeping import put
from carrel.adapters.harness.kept import Kept
from carrel.adapters.harness.transcripts import Spoken, lines_of, messages_of
from carrel.adapters.harness.wire import (
    MOST_RECALLED,
    Asked,
    BadHook,
    Payload,
    prompt_of,
    reply_of,
    session_of,
    transcript_of,
)
from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.records.recalls import RecallEvent
from carrel.runtime.callbacks import CompactionBegins
from carrel.sessions.message import Message
from carrel.sessions.places import behind
from carrel.sessions.transcript import Entry
from carrel.sessions.turn import said
from carrel.workspace.scope import Scope, parse_scope
from carrel.workspace.tiers import standing_of

_AT_ONCE = 16 * 1024 * 1024
"""Bytes of a transcript that one hook reads; the next one goes on behind them."""

_BATCH = 200


class Recorded(Struct, frozen=True, kw_only=True):
    """How many messages are new in a session, and what a person should know of it."""

    session: str
    messages: int = 0
    asked: Entry | None = None
    """The last of them that a person said."""
    notes: tuple[str, ...] = ()


def record(workspace: Workspace, asked: Asked, payload: Payload, root: str) -> Recorded:
    """Write down what a harness's session has said since the last time; before a compaction, flush it too."""
    name = session_of(payload)
    if not name:
        raise BadHook("the payload names no session")
    session = behind(asked.harness, name)
    if transcript_of(asked.harness, payload):
        return _from_transcript(workspace, asked, session, cursors.key_of(asked, payload, root))
    recorded = _write(workspace, asked, session, list(_told(asked, payload, session)))
    if asked.event == "pre-compact":
        _flush(workspace, session, parse_scope(asked.scope))
    return recorded


def _from_transcript(workspace: Workspace, asked: Asked, session: str, key: list[str]) -> Recorded:
    folder = workspace.config.directories.cache / "hooks"
    with _opened(key[-1]) as fd:
        found = os.fstat(fd)
        before = cursors.find(str(folder), key)
        if before is None or not before.is_of(fd):
            before = Cursor(found.st_ino)
        data = os.pread(fd, _AT_ONCE, before.offset)
        whole = data.rfind(b"\n") + 1 or (len(data) if len(data) == _AT_ONCE else 0)
        mark = cursors.mark_at(fd, before.offset + whole)
    lines, bad = lines_of(data[:whole], before.offset)
    recorded = _write(workspace, asked, session, messages_of(asked.harness, session, lines))
    end, flushed = before.offset + whole, before.flushed
    if asked.event == "pre-compact":
        _flush(workspace, session, parse_scope(asked.scope))
        flushed = end
    with suppress(CarrelError, OSError):  # then it is read again, and nothing recorded twice
        kept = cursors.to_keep(key, Cursor(found.st_ino, end, mark, flushed))
        put(folder, cursors.name_of(key), plainjson.dumps(kept))
    return replace(recorded, notes=tuple(_remarks(bad, found.st_size - before.offset - len(data))))


def _remarks(bad: int, left: int) -> Iterator[str]:
    if bad:
        yield f"{bad:,} lines of the transcript are no JSON objects and were passed over"
    if left > 0:
        yield f"{left:,} bytes of the transcript are left for the next hook"


def _told(asked: Asked, payload: Payload, session: str) -> Iterator[Spoken]:
    """Yield what the harness itself tells of a turn, where it keeps no transcript."""
    turn = next((str(payload[key]) for key in ("generation_id", "turn_id") if payload.get(key)), "")
    role = "user" if asked.event == "prompt" else "assistant"
    text = prompt_of(payload) if role == "user" else reply_of(payload)
    if text:
        told = sha256(plainjson.dumps([session, turn, role, text if turn else os.urandom(8).hex(), text]))
        yield {"role": role, "content": text, "message_id": f"{asked.harness}-{told.hexdigest()[:32]}"}


def _write(workspace: Workspace, asked: Asked, session: str, messages: Sequence[Spoken]) -> Recorded:
    """Record messages, each once by its id; one that cannot be recorded does not keep the others out."""
    new: list[Entry] = []
    fit = [each for each in messages if _fits(each)]
    for begin in range(0, len(fit), _BATCH):
        batch = fit[begin : begin + _BATCH]
        recording = workspace.record(session, batch, scope=asked.scope, source=asked.harness)
        new += [each.entry for each in recording.messages if each.is_new]
    said_last = next((entry for entry in reversed(new) if entry.role == "user"), None)
    return Recorded(session=session, messages=len(new), asked=said_last)


def note_recalls(workspace: Workspace, recorded: Recorded, answer: Kept) -> None:
    """Write down what a prompt was reminded of, as any recall is: promotion goes by it.

    The hook that told it loads no engine; what it found is found here again, in what it looked at.
    """
    entry, agent = recorded.asked, workspace.agent.id
    if entry is None:
        return
    query = entry.to_text()
    events = [
        RecallEvent(
            agent=agent,
            session=recorded.session,
            at=workspace.config.clock.now(),
            query=query,
            path=each.path,
            line=each.number,
            tier=standing_of(each.path, workspace.layout, [agent]).tier,
            rank=rank,
            score=each.score,
            text=each.text,
            who="prepare",
        )
        for rank, each in enumerate(recall.find(query, answer.lines, answer.words, MOST_RECALLED), 1)
    ]
    if events:
        workspace.records.recalls.add(events)


def _fits(message: dict[str, Any]) -> bool:
    try:
        said(message)
    except CarrelError:
        return False
    return True


def _flush(workspace: Workspace, session: str, scope: Scope) -> None:
    """Save what the turns state before the harness forgets them; a model reads them later, from the log."""
    if not workspace.sessions.exists(session):
        return
    _, seen = workspace.sessions.seen(session, scope=Scope.MAIN)
    messages = tuple(Message("user", "") for _ in seen)
    event = CompactionBegins(agent=workspace.agent.id, session=session, scope=scope, messages=messages)
    workspace.conversations.learning.flush()(event)


@contextmanager
def _opened(path: str) -> Generator[int]:
    """Open a transcript to read; what is no file is not waited for."""
    try:
        fd = os.open(Path(path).expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise BadHook(f"the transcript {path[:200]} cannot be read: {problem}") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise BadHook(f"the transcript {path[:200]} is no file")
        yield fd
    finally:
        os.close(fd)
