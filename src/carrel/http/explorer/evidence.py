"""What was said, and by whom: the messages that a fact or a proposal names as its evidence."""

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.memory.review import LONGEST_EVIDENCE
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Entry

SHOWN = 2
"""Messages of one fact that a page shows; the session has the others."""


class Spoken(Struct, frozen=True, kw_only=True):
    """One message: where it stands, who said it, when and what; one that is gone has no speaker."""

    session: str
    message: str
    speaker: str = ""
    at: str = ""
    text: str = ""


def spoken(
    workspace: Workspace, agent: str, session: str, messages: Sequence[str], most: int = SHOWN
) -> tuple[Spoken, ...]:
    """Return the messages of a session with these ids, as far as they can be had."""
    if not session:
        return ()
    own = None
    with suppress(CarrelError):
        own = workspace.transcripts.of(agent)
    return tuple(_spoken(own, session, message) for message in messages[:most])


def _spoken(sessions: Sessions | None, session: str, message: str) -> Spoken:
    nothing = Spoken(session=session, message=message)
    if sessions is None:
        return nothing
    with suppress(CarrelError):  # it was deleted, or cannot be read
        if number := sessions.number_of(session, message):
            for placed in sessions.page(session, first=number, limit=1).entries:
                return _told(session, placed.entry)
    return nothing


def _told(session: str, entry: Entry) -> Spoken:
    return Spoken(
        session=session,
        message=entry.message_id,
        speaker=_speaker(entry),
        at=entry.timestamp,
        text=entry.to_text()[:LONGEST_EVIDENCE],
    )


def _speaker(entry: Entry) -> str:
    """Say who spoke: a role, and the name or the sender where one is known."""
    who = entry.sender_id or entry.name
    return f"{entry.role} {who}" if who else str(entry.role)
