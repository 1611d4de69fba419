"""What was done, told in words: the trail and the changes of memory as one list."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from carrel.records.audit import Event
from carrel.records.changes import Change
from carrel.records.facts import Store

_SAID = {
    "file.put": "wrote a file",
    "file.move": "moved a file",
    "file.discard": "moved a file to the trash",
    "section.replace": "rewrote a section",
    "section.append": "added to a section",
    "section.rename": "renamed a section",
    "section.move": "moved a section",
    "section.propose": "was too late with a section, which waits now",
    "fact.add": "remembered",
    "fact.pin": "pinned a fact",
    "fact.unpin": "unpinned a fact",
    "memory.extract": "took facts from what was said",
    "memory.consolidate": "took the journal into the notebook",
    "memory.forget": "forgot",
    "journal.note": "noted in the journal",
    "session.turn": "said something",
    "session.record": "recorded messages",
    "session.describe": "titled a session",
    "session.compact": "compacted a session",
    "session.fork": "forked a session",
    "session.remove": "moved a session to the trash",
    "context.prepare": "prepared a call",
    "tool.call": "called a tool",
    "proposal.approved": "approved a proposal",
    "proposal.rejected": "rejected a proposal",
    "namespace.rename": "renamed a namespace",
    "dream.run": "dreamt",
    "dream.revert": "took a dream back",
    "change.undo": "took a change back",
    "key.create": "made a key",
    "key.revoke": "ended a key",
    "index.sync": "brought the index up to date",
    "index.rebuild": "rebuilt the index",
    "job.retry": "put a job back",
    "job.sweep": "did what waited",
    "add": "remembered",
    "append": "added to memory",
    "supersede": "replaced what was known",
    "note": "noted in the journal",
    "undo": "took a change back",
    "revert": "took a dream back",
    "dream": "promoted what was recalled often",
    "consolidate": "took the journal into the notebook",
    "forget": "forgot",
    "remove": "removed from memory",
    "replace": "rewrote a section",
    "rename": "renamed a section",
    "write": "wrote a file of memory",
}

_DIARY = "wrote its diary"


class Deed(Struct, frozen=True, kw_only=True):
    """One thing that somebody did; `change` is the number of the difference it made, 0 where it has none."""

    at: datetime
    actor: str
    action: str
    said: str
    target: str = ""
    store: Store = "workspace"
    session: str = ""
    change: int = 0
    note: str = ""


def of_event(event: Event) -> Deed:
    """Return an event of the trail in words."""
    change = event.detail.get("change")
    return Deed(
        at=event.at,
        actor=event.actor,
        action=event.action,
        said=_SAID.get(event.action, event.action),
        target=event.target,
        session=event.session,
        change=change if isinstance(change, int) else 0,
        note=", ".join(_plain(event)),
    )


def of_change(change: Change) -> Deed:
    """Return a change of memory in words."""
    return Deed(
        at=change.at,
        actor=change.actor,
        action=change.action,
        said=_DIARY if is_diary(change) else _SAID.get(change.action, change.action),
        target=change.path,
        store=change.store,
        session=change.session,
        change=change.id,
        note=change.reason,
    )


def is_diary(change: Change) -> bool:
    """Tell whether a dream only told of itself: what it promoted stands elsewhere."""
    return change.action == "dream" and change.path.rpartition("/")[2] == "DREAMS.md"


def merged(events: Iterable[Event], changes: Iterable[Change], limit: int) -> Sequence[Deed]:
    """Return the newest of both; what is on the trail and made a change is told once."""
    told = [of_event(event) for event in events]
    known = {deed.change for deed in told if deed.change}
    told += [of_change(change) for change in changes if change.id not in known]
    return sorted(told, key=lambda deed: deed.at, reverse=True)[:limit]


def _plain(event: Event) -> Iterator[str]:
    """Yield the figures of an event that say something to a person."""
    for name, value in event.detail.items():
        if (
            name not in ("change", "changes", "prefix")
            and isinstance(value, int | str)
            and value not in ("", 0)
        ):
            yield f"{name} {value}" if not isinstance(value, bool) else name
