"""The history of a session as the next call takes it: a summary, if there is one, and what was said since."""

from carrel.runtime.large import clip_old
from carrel.sessions.message import Message
from carrel.sessions.store import Sessions
from carrel.workspace.scope import Scope

SUMMARY = "Summary of the conversation so far:"
"""What stands above a summary that is sent in place of older messages."""


def history_of(
    sessions: Sessions, session: str, *, scope: Scope, message: str | None
) -> tuple[tuple[Message, ...], int]:
    """Return what the model sees of a session before the new message, and how much of it is a summary.

    The new message may be recorded already, as it should be before a call: then it is not shown twice.
    """
    compaction, placed = sessions.seen(session, scope=scope)
    messages = [each.entry.to_message() for each in placed]
    last = messages[-1] if messages else None
    if last is not None and last.role == "user" and message and last.content == sessions.screened(message):
        messages.pop()
    clipped = clip_old(messages)
    if compaction is None:
        return clipped, 0
    return (Message("user", f"{SUMMARY}\n\n{compaction.summary}"), *clipped), 1
