"""What was learnt: facts with their evidence, how memory is doing, and what makes it of sessions and days."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from fastapi import Depends, Path, Query
from msgspec import Meta, Struct

from carrel.conversing.learning import MemoryStatus
from carrel.http.answers import Page
from carrel.http.desk import Desk, OwnerReader, OwnerWriter
from carrel.http.routing import Routes, sent
from carrel.memory.consolidate.rows import ConsolidatedRow, consolidated_row
from carrel.memory.fact import KINDS
from carrel.memory.journal import Category
from carrel.memory.review import said_in
from carrel.memory.rows import (
    ChangeRow,
    Edited,
    FactRow,
    KeptRow,
    LearntRow,
    change_row,
    edited,
    fact_row,
    kept_row,
    learnt_row,
)
from carrel.records.facts import Fact, FactState, Layer
from carrel.sessions.places import valid_session
from carrel.sessions.search import fold

routes = Routes("memory", "/w/{workspace}")

FactId = Annotated[str, Path(max_length=200)]
Session = Annotated[str, Meta(max_length=200)]

_READ_AT_ONCE = 500
_LOOKED_AT = 5_000
"""Facts that one request looks through for words; the cursor goes on from there."""


class NewFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be remembered, and as what."""

    text: Annotated[str, Meta(min_length=1, max_length=100_000)]
    layer: Layer = "project"
    kind: Annotated[str, Meta(pattern=f"^({'|'.join(KINDS)})$")] = "note"
    subject: Annotated[str, Meta(max_length=500)] = ""
    section: Annotated[str, Meta(max_length=500)] = ""


class FactShown(Struct, frozen=True, kw_only=True):
    """A fact, the messages that it was taken from by their ids, and the change that wrote it."""

    fact: FactRow
    said: Mapping[str, str]
    change: ChangeRow | None


class Extraction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From which session, else from all with something new; `anew` from all that was said there."""

    session: Session | None = None
    anew: bool = False


class Consolidation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether only to show what would change."""

    dry_run: bool = False


class Note(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of today's journal."""

    text: Annotated[str, Meta(min_length=1, max_length=100_000)]
    category: Category = "note"
    session: Session = ""


@routes.get("/facts", Page[FactRow])
def list_facts(  # noqa: PLR0917 - each is a parameter of the address
    desk: OwnerReader,
    state: Annotated[list[FactState], Query(max_length=7)] = [],  # noqa: B006 - FastAPI copies it
    session: Annotated[str | None, Query(max_length=200)] = None,
    path: Annotated[str | None, Query(max_length=4_096)] = None,
    query: Annotated[str, Query(max_length=1_000, description="Words that all occur")] = "",
    cursor: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Page[FactRow]:
    """List what the agent learnt, in the order in which it did.

    With a query a page may hold less than its limit, or nothing, and still not be the last.
    """
    words, items, last, looked = fold(query).split(), list[FactRow](), cursor, 0
    for fact in _from(desk, cursor, states=state, session=session, path=path):
        if len(items) == limit or looked == _LOOKED_AT:
            return Page(items=tuple(items), next_cursor=last)
        said = fold(fact.text) if words else ""
        if all(word in said for word in words):
            items.append(fact_row(fact))
        last, looked = fact.id, looked + 1
    return Page(items=tuple(items))


@routes.post("/facts", KeptRow, takes=NewFact)
def add_fact(desk: OwnerWriter, body: Annotated[NewFact, Depends(sent(NewFact))]) -> KeptRow:
    """Remember a statement where facts of its layer, kind and subject belong."""
    kept = desk.own.memory.add(
        body.text, layer=body.layer, kind=body.kind, subject=body.subject, section=body.section
    )
    _note_kept(desk, "fact.add", "", [*kept.written, *kept.waiting])
    return kept_row(kept)


@routes.get("/facts/{fact}", FactShown)
def show_fact(desk: OwnerReader, fact: FactId) -> FactShown:
    """Return a fact with what was said that it was taken from, and the change that wrote it."""
    workspace = desk.workspace
    found = workspace.records.facts.get(fact)
    change = workspace.records.changes.get(found.change) if found.change else None
    return FactShown(
        fact=fact_row(found),
        said=said_in(workspace.transcripts.of)(found),
        change=change_row(change) if change else None,
    )


@routes.post("/facts/{fact}:pin", FactRow)
def pin_fact(desk: OwnerWriter, fact: FactId) -> FactRow:
    """Keep a fact as it is: nobody but its owner replaces or removes it."""
    pinned = desk.workspace.memory.pin(fact)
    desk.note("fact.pin", pinned.id)
    return fact_row(pinned)


@routes.post("/facts/{fact}:unpin", FactRow)
def unpin_fact(desk: OwnerWriter, fact: FactId) -> FactRow:
    """Let a fact be changed again."""
    pinned = desk.workspace.memory.pin(fact, pinned=False)
    desk.note("fact.unpin", pinned.id)
    return fact_row(pinned)


@routes.get("/memory/status", MemoryStatus)
def show_memory_status(desk: OwnerReader) -> MemoryStatus:
    """Say how memory is doing: what was learnt, what waits, and where facts are taken next."""
    return desk.own.conversations.learning.status()


@routes.post("/memory:extract", LearntRow, takes=Extraction)
def extract_facts(desk: OwnerWriter, body: Annotated[Extraction, Depends(sent(Extraction))]) -> LearntRow:
    """Take facts from what was said since the last time, now, with the model of the settings."""
    learnt = desk.own.conversations.learning.extract(body.session, None, anew=body.anew)
    _note_kept(desk, "memory.extract", body.session or "", [*learnt.kept.written, *learnt.kept.waiting])
    return learnt_row(learnt.kept, learnt.turns, learnt.findings)


@routes.post("/memory:consolidate", ConsolidatedRow, takes=Consolidation)
def consolidate_memory(
    desk: OwnerWriter, body: Annotated[Consolidation, Depends(sent(Consolidation))]
) -> ConsolidatedRow:
    """Take what is new in the journal into MEMORY.md, now, with the model of the settings."""
    done = consolidated_row(desk.own.conversations.learning.consolidate(None, dry_run=body.dry_run))
    if not body.dry_run:
        desk.note("memory.consolidate", done.target or "", entries=done.entries)
    return done


@routes.post("/journal", Edited, takes=Note)
def note_in_journal(desk: OwnerWriter, body: Annotated[Note, Depends(sent(Note))]) -> Edited:
    """Add an entry to the journal of today."""
    session = valid_session(body.session) if body.session else ""
    change = desk.workspace.memory.note(body.text, category=body.category, session=session)
    if change is not None:
        desk.note("journal.note", change.path, session=session, change=change.id)
    return edited(change)


def _from(
    desk: Desk, after: str, *, states: Sequence[FactState], session: str | None, path: str | None
) -> Iterator[Fact]:
    """Yield the facts after one, read some at a time."""
    memory = desk.own.memory
    while found := memory.facts(states=states, session=session, path=path, limit=_READ_AT_ONCE, after=after):
        yield from found
        after = found[-1].id


def _note_kept(desk: Desk, action: str, session: str, facts: Sequence[Fact]) -> None:
    """Write down which facts were kept, by their ids: the trail tells nothing of what they say."""
    if facts:
        desk.note(action, facts[0].id, session=session, facts=len(facts), change=facts[-1].change)
