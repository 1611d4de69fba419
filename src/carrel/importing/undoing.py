"""Taking an import back: what it wrote goes, unless somebody has changed it since.

What an import does is noted in the trail, deed by deed; the last deed is taken back first.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct, to_builtins

from carrel.app import Workspace
from carrel.errors import CarrelError, Conflict, NotFound
from carrel.findings import Finding
from carrel.importing.source import place_of
from carrel.importing.step import is_fatal
from carrel.records.audit import Audit, Event
from carrel.records.content import shaped
from carrel.runtime.removing import remove
from carrel.shelf import OWNER

DONE = "import_done"
TAKEN_BACK = "import_taken_back"

_PAGE = 100
_LARGEST = 1 << 30
_NAMED = 5
_GONE = ("undone", "forgotten", "refused")

End = Literal["undone", "gone", "kept"]


class Deed(Struct, frozen=True, kw_only=True):
    """What was done for one piece, and by what it is known again: a mere file is by its digest."""

    path: str
    agent: str = ""
    digest: str | None = None
    """The content of the file, or of the session's log, when it was written."""
    change: int = 0
    proposal: int = 0
    fact: str = ""
    asked: bool = False
    """Whether the fact waited for its owner's word."""
    session: str = ""
    added_to: str = ""
    """A session that was there before: nothing is taken out of a log."""


class Back(Struct, frozen=True, kw_only=True):
    """What became of one deed: undone, gone before, or kept since somebody has changed it."""

    path: str
    action: End
    reason: str = ""


class TakenBack(Struct, frozen=True, kw_only=True):
    """What taking an import back did."""

    source: str
    rows: tuple[Back, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is left."""
        return all(row.action != "kept" for row in self.rows)


class NothingImported(NotFound):
    """Nothing that was imported from there stands."""

    code = "nothing_imported"

    def __init__(self, source: str) -> None:
        super().__init__(
            f"Nothing is known to be imported from {source}, or it was taken back.",
            hint="Name the SOURCE as you did then; `carrel memory undo` takes back single changes.",
        )


class ImportEdited(Conflict):
    """What was imported has been changed since, so that it cannot be taken back as it came."""

    code = "import_edited"


def note_deeds(desk: Workspace, run: str, source: str, deeds: Iterable[Deed]) -> None:
    """Write down what an import has done, so that it can be taken back."""
    desk.records.audit.note(
        at=desk.config.clock.now(),
        actor=OWNER,
        action=DONE,
        target=run,
        detail={"source": source, "deeds": to_builtins(list(deeds))},
    )


def take_back(desk: Workspace, given: str | os.PathLike[str]) -> TakenBack:
    """Take back the last import from a source that stands; what was edited since stays, and is told.

    It can be repeated: what is gone is gone, what stayed is tried again, and where nothing more can be taken
    back of an import, the one before it is next.
    """
    source = str(place_of(given))
    rows: list[Back] = []
    for run in _standing(desk, source):
        own = [_attempt(desk, deed) for deed in _deeds(desk, run)]
        rows += own
        is_whole = all(row.action != "kept" for row in own)
        if is_whole:
            now = desk.config.clock.now()
            desk.records.audit.note(
                at=now, actor=OWNER, action=TAKEN_BACK, target=run, detail={"source": source}
            )
        if is_whole or any(row.action == "undone" for row in own):
            break
    if not rows:
        raise NothingImported(source)
    if (searching := vars(desk).get("searching")) is not None:
        searching.expire()
    return TakenBack(source=source, rows=tuple(rows), findings=tuple(_findings(rows)))


def is_taken_back(audit: Audit, run: object) -> bool:
    """Tell whether nothing is left of an import, so that it may come again."""
    return isinstance(run, str) and bool(audit.events(action=TAKEN_BACK, target=run, limit=1))


def _standing(desk: Workspace, source: str) -> Iterator[str]:
    """Yield the imports from a source that were not taken back, the last one first."""
    audit = desk.records.audit
    of_source = (event.target for event in _events(audit, DONE) if event.detail.get("source") == source)
    yield from (run for run in dict.fromkeys(of_source) if not is_taken_back(audit, run))


def _events(audit: Audit, action: str, run: str | None = None) -> Iterator[Event]:
    """Yield what the trail has, the newest first."""
    before: int | None = None
    while page := audit.events(action=action, target=run, before=before, limit=_PAGE):
        yield from page
        before = page[-1].id


def _deeds(desk: Workspace, run: str) -> Iterator[Deed]:
    """Yield what an import did, the last deed first."""
    for event in _events(desk.records.audit, DONE, run):
        yield from reversed(shaped(event.detail.get("deeds", []), list[Deed]))


def _findings(rows: Iterable[Back]) -> Iterator[Finding]:
    kept = [row.path for row in rows if row.action == "kept"]
    if kept:
        listed = ", ".join(kept[:_NAMED]) + (", …" if len(kept) > _NAMED else "")
        message = f"Changed since the import, and left as it is: {listed}."
        yield Finding(
            code=ImportEdited.code, message=message, hint="Look at each, then edit or remove it by hand."
        )


def _attempt(desk: Workspace, deed: Deed) -> Back:
    try:
        is_done = _take_back(desk, deed)
    except CarrelError as error:
        if is_fatal(error):
            raise
        return Back(path=deed.path, action="kept", reason=error.message)
    return Back(path=deed.path, action="undone" if is_done else "gone")


def _take_back(desk: Workspace, deed: Deed) -> bool:
    """Take back one deed; tell whether there was anything left to do."""
    if deed.added_to:
        raise ImportEdited(f"It was added to session {deed.added_to}, and nothing is taken out of a log.")
    if deed.change:
        return _undo(desk, deed.change)
    if deed.proposal:
        return _withdraw(desk, deed.proposal)
    if deed.fact:
        return _unlearn(desk, deed)
    found = desk.files.read(deed.path, limit=_LARGEST)
    if found is None:
        return False
    if found.digest != deed.digest:
        raise ImportEdited(f"{deed.path} has changed since.")
    # The session of an agent that nobody here is, is a file; others may have one of the same name.
    if deed.session and (sessions := desk.transcripts.of(deed.agent)) is not None:
        remove(sessions, deed.session, discard=desk.discard, thaw=desk.records.thaw)
    else:
        desk.discard(deed.path)
    return True


def _undo(desk: Workspace, number: int) -> bool:
    if desk.records.changes.get(number).state == "undone":
        return False
    desk.memory.undo_change(number)
    return True


def _withdraw(desk: Workspace, number: int) -> bool:
    proposal = desk.records.proposals.get(number)
    if proposal.state == "approved":
        raise ImportEdited(f"You said yes to it since (proposal {number}).")
    if proposal.state == "waiting":
        desk.memory.review.reject([number], by=OWNER)
    return proposal.state == "waiting"


def _unlearn(desk: Workspace, deed: Deed) -> bool:
    fact = desk.records.facts.get(deed.fact)
    if fact.state in _GONE:
        return False
    if fact.state == "waiting":
        waiting = desk.memory.review.all_waiting()
        about = [number for number in waiting if fact.id in desk.records.proposals.get(number).facts]
        desk.memory.review.reject(about, by=OWNER)
        return bool(about)
    if deed.asked:
        raise ImportEdited("You said yes to it since.")
    return _undo(desk, fact.change)
