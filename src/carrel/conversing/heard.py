"""What a model has read in a session beside its window: what was summarised, and what was recalled."""

from collections.abc import Collection
from datetime import UTC, datetime

from carrel.errors import CarrelError
from carrel.memory.extract import RECALL
from carrel.memory.trust import OUTSIDE, owners_of, trusts_of
from carrel.records import Records
from carrel.records.recalls import RecallEvent
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Entry
from carrel.workspace.scope import Scope

_MOST_BEFORE = 500  # entries that a summary stands for
_MOST_RECALLS = 500
_TURN = 50
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
UNSEEN = Entry(role="tool", name="unseen")
"""What a model may have read that no log knows of: its turn is tainted."""

_MEMORY = frozenset(("journal", "profile"))
"""The tiers of memory itself, into which nothing from outside comes unseen."""


def heard_in(sessions: Sessions, session: str | None) -> tuple[Entry, ...]:
    """Return what the model has read of a session by now; a turn records all of it before it calls a tool.

    What a summary stands for is among it: a summary repeats what was read.
    """
    if session is None:
        return ()
    compaction, placed = sessions.seen(session, scope=Scope.MAIN)
    entries = [each.entry for each in placed]
    if compaction is None:
        return tuple(entries)
    end = placed[0].number if placed else sessions.measure(session)[0] + 1
    before = sessions.entries(session, max(1, end - _MOST_BEFORE))
    return (*(each.entry for each in before if each.number < end), *entries)


def recalled_in(
    sessions: Sessions, records: Records, session: str | None, owners: Collection[str]
) -> tuple[Entry, ...]:
    """Return what the model was reminded of in a session and that came from outside, as results of a tool."""
    if session is None:
        return ()
    events = records.recalls.since(sessions.places.agent, _BEGINNING, _MOST_RECALLS)
    own = (each for each in events if each.session == session and _is_outside(sessions, each, owners))
    return tuple(
        Entry(role="tool", name=RECALL, content=text) for text in dict.fromkeys(each.text for each in own)
    )


def _is_outside(sessions: Sessions, event: RecallEvent, owners: Collection[str]) -> bool:
    """Tell whether a passage is neither of memory nor said by the owner, or by the agent of itself."""
    if event.tier in _MEMORY:
        return False
    session = sessions.places.session_of(event.path) if event.tier == "session" else None
    if session is None:
        return True
    first = max(1, event.line - _TURN)
    most = event.line - first + 1 + event.text.count("\n")
    try:
        entries = [each.entry for each in sessions.page(session, first=first, limit=most).entries]
    except CarrelError:  # it is gone: nobody can tell any more
        return True
    owners = owners or owners_of(sessions, session, None)
    told = [place for place in range(event.line - first, len(entries)) if _is_in(entries[place], event.text)]
    return not told or any(_trusted(entries[: place + 1], owners) in OUTSIDE for place in told)


def _is_in(entry: Entry, passage: str) -> bool:
    text = entry.to_text().strip()
    return bool(text) and (text in passage or passage in text)


def _trusted(entries: list[Entry], owners: Collection[str]) -> str:
    """Return how far the last of some entries may be trusted, by the turn that it stands in."""
    begin = len(entries) - 1
    while begin and entries[begin].role != "user":
        begin -= 1
    return trusts_of(entries[begin:], owners)[-1]
