"""The journal as consolidation reads it: which entries are new, and which of them may enter memory.

An entry is known by what it says, and not by when its file was touched. What came from outside is left out,
and so is what its owner had forgotten; what reads like an order waits for its owner's word.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from carrel.files import Entry, FileStore, Unreadable
from carrel.memory import journal
from carrel.memory.consolidate.pieces import Piece
from carrel.memory.dream.statements import Statement, statements
from carrel.memory.fact import LONGEST, key_of, normalise
from carrel.memory.trust import OUTSIDE, is_suspect, least
from carrel.records.facts import Fact, Facts
from carrel.screen.policy import Screen
from carrel.workspace.layout import Layout
from carrel.workspace.tiers import standing_of

ARCHIVE = "archive"
"""The folder in the journal's own for what is old: it is searched, and never consolidated again."""

MOST_ENTRIES = 400
"""Entries that one run takes."""

Left = Literal["external_source", "forgotten", "superseded", "private", "too_long"]
"""Why an entry is left out."""

_HASH = 16
_AROUND = 16  # tokens of what stands around an entry in a question
_MOST_ALIKE = 50
_TOPICS = {"decision": "Decisions", "outcome": "Outcomes", "strategy": "Strategies"}
_OTHER = "Notes"


class Day(Struct, frozen=True):
    """The file of a day: its name in the journal's folder, its path, and its day."""

    name: str
    path: str
    date: str


class Batch(Struct, frozen=True, kw_only=True):
    """What one run takes of the journal; `files` is what will have been taken, by the names of files.

    `waiting` are statements that read like orders. `left` counts what is left out, by why; `days` are the
    files in which something is new that the next run will take, `unread` those that cannot be read.
    """

    pieces: tuple[Piece, ...] = ()
    waiting: tuple[Piece, ...] = ()
    left: Mapping[Left, int] = {}
    taken: int = 0
    days: int = 0
    unread: tuple[str, ...] = ()
    files: Mapping[str, tuple[str, ...]] = {}


def folder_of(layout: Layout) -> str:
    """Return the folder of a journal; NoJournal where the layout keeps none."""
    return journal.day_path(layout, date.min).rpartition("/")[0]


def days_of(files: FileStore, layout: Layout, *, archived: bool = False) -> list[Day]:
    """Return the files of the journal, the oldest first; with `archived`, those of its archive too."""
    folder = folder_of(layout)
    found = [day for entry in files.list(folder) if (day := _day(entry, folder, "", layout))]
    if archived:
        inner = f"{folder}/{ARCHIVE}"
        old = (_day(entry, folder, f"{ARCHIVE}/", layout) for entry in files.list(inner))
        found += [day for day in old if day]
    return sorted(found, key=lambda day: (day.date, day.name))


def hash_of(statement: Statement) -> str:
    """Return what an entry is known by: its words as they are written, whatever stands around them."""
    return sha256(" ".join(statement.lines.split()).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def entries_of(files: FileStore, day: Day) -> dict[str, Statement] | None:
    """Return the entries of a day by their hashes, none where it cannot be read; no dreams."""
    try:
        content = files.read(day.path)
    except Unreadable:
        return None
    text = content.data.decode("utf-8-sig", "replace") if content else ""
    told = (each for each in statements(text, in_journal=True) if not each.is_dreamt)
    return {hash_of(each): each for each in told}


class Reading(Struct, frozen=True, kw_only=True):
    """Reads what is new in a journal, as much as one run may take; `taken` are the hashes of the rest."""

    files: FileStore
    facts: Facts
    agent: str
    before: str
    taken: Mapping[str, Collection[str]]
    screen: Screen = Screen()

    def new_in(self, day: Day, entries: Mapping[str, Statement]) -> list[str]:
        """Return the hashes of the entries of a day that are new."""
        known = frozenset(self.taken.get(day.name, ()))
        return [] if day.date < self.before else [own for own in entries if own not in known]

    def batch(self, days: Sequence[Day], *, count: Callable[[str], int], room: int) -> Batch:
        """Return the oldest entries that are new, as many as have room; the others are left for later."""
        pieces: list[Piece] = []
        waiting: list[Piece] = []
        left: dict[Left, int] = {}
        files: dict[str, tuple[str, ...]] = {}
        unread: list[str] = []
        taken = behind = 0
        for day in days:
            if room <= 0 or taken >= MOST_ENTRIES:  # the rest is not even read: it may be years
                behind += 1
                files[day.name] = tuple(self.taken.get(day.name, ()))
                continue
            entries = entries_of(self.files, day)
            if entries is None:
                unread.append(day.path)
                files[day.name] = tuple(self.taken.get(day.name, ()))
                continue
            new, used = self.new_in(day, entries), 0
            for own in new:
                if room <= 0 or taken + used >= MOST_ENTRIES:
                    break
                used += 1
                piece = self._piece(day, own, entries[own])
                if why := self._why(day, entries[own], piece):
                    left[why] = left.get(why, 0) + 1
                elif is_suspect(entries[own].lines, piece.trust):
                    waiting.append(piece)
                else:
                    pieces.append(piece)
                    room -= count(piece.text) + _AROUND
            taken += used
            behind += used < len(new)
            rest = frozenset(new[used:])
            files[day.name] = tuple(own for own in entries if own not in rest)
        return Batch(
            pieces=tuple(pieces),
            waiting=tuple(waiting),
            left=left,
            taken=taken,
            days=behind,
            unread=tuple(unread),
            files=files,
        )

    def has_new(self, days: Sequence[Day]) -> bool:
        """Tell whether there is anything to take."""
        return any(self.new_in(day, entries_of(self.files, day) or {}) for day in days)

    def _piece(self, day: Day, own: str, statement: Statement) -> Piece:
        found = journal.parse(statement.lines.partition("\n")[0].strip())
        entry = found[0] if found else journal.Entry(text="")
        own_facts = self._written(day, statement)
        message = f"{entry.session}/{entry.message}" if entry.session else ""
        learnt = (f"{fact.session}/{each}" for fact in own_facts if fact.session for each in fact.evidence)
        return Piece(
            text=normalise(self.screen.of(statement.text).text),
            day=day.date,
            topic=_TOPICS.get(entry.category, _OTHER),
            trust=least(fact.trust for fact in own_facts) if own_facts else "owner",
            evidence=tuple(dict.fromkeys(filter(None, (message, *learnt)))) or (f"#{day.path}#{own}",),
        )

    def _why(self, day: Day, statement: Statement, piece: Piece) -> Left | None:
        """Return why an entry is left out, none where it is not."""
        if piece.trust in OUTSIDE:
            return "external_source"
        alike = self.facts.find(agent=self.agent, key=key_of(statement.text), limit=_MOST_ALIKE)
        states = {fact.state for fact in alike}
        if "forgotten" in states:
            return "forgotten"
        if "superseded" in {fact.state for fact in self._written(day, statement, any_state=True)} or (
            "superseded" in states and not states & {"written", "planned"}
        ):
            return "superseded"
        if self.screen.of(statement.text).blocked:
            return "private"
        return "too_long" if len(statement.text) > LONGEST else None

    def _written(self, day: Day, statement: Statement, *, any_state: bool = False) -> list[Fact]:
        """Return the facts that an entry is."""
        line = statement.lines.partition("\n")[0]
        found = self.facts.find(store="workspace", path=day.path, line=line, limit=_MOST_ALIKE)
        return [fact for fact in found if any_state or fact.state in ("written", "planned")]


def _day(entry: Entry, folder: str, inner: str, layout: Layout) -> Day | None:
    """Return the file of a day, none where a name says that it is something else."""
    name = entry.path.rpartition("/")[2]
    standing = standing_of(f"{folder}/{name}", layout, ())
    if standing.tier != "journal" or entry.kind != "file":
        return None
    return Day(f"{inner}{name}", f"{folder}/{inner}{name}", standing.date)
