"""The history of a session as the next call takes it: a summary, if there is one, and what was said since."""

from collections.abc import Sequence

from carrel.runtime.large import clip_old
from carrel.sessions.message import Message
from carrel.sessions.placed import Placed
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction
from carrel.workspace.scope import Scope

SUMMARY = "Summary of the conversation so far:"
"""What stands above a summary that is sent in place of older messages."""


HANDED = "agent"
"""The source of what another agent says in a session."""


def history_of(
    sessions: Sessions, session: str, *, scope: Scope, message: str | None
) -> tuple[tuple[Message, ...], int]:
    """Return what the model sees of a session before the new message, and how much of it is a summary.

    The new message may be recorded already, as it should be before a call: then it is not shown twice.
    """
    seen = sessions.seen(session, scope=scope)
    return history_from(seen, sessions.screened(message) if message else None)


def history_from(
    seen: tuple[Compaction | None, Sequence[Placed]], message: str | None
) -> tuple[tuple[Message, ...], int]:
    """Return the same of what was seen of a session, by the message as a transcript keeps it."""
    compaction, placed = seen
    messages = [each.entry.to_message() for each in placed]
    if message and (at := _question(placed, message)) is not None:
        messages.pop(at)
    clipped = clip_old(messages)
    if compaction is None:
        return clipped, 0
    return (Message("user", f"{SUMMARY}\n\n{compaction.summary}"), *clipped), 1


def _question(placed: Sequence[Placed], message: str) -> int | None:
    """Return where the new message stands: last, but for what other agents have handed in since."""
    for number in range(len(placed) - 1, -1, -1):
        entry = placed[number].entry
        if entry.role != "user":
            return None
        if entry.to_text() == message:
            return number
        if entry.source_plugin != HANDED:
            return None
    return None
