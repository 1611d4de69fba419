"""Facts follow their lines: one stands while the change that wrote it does, and not while one forgets it."""

from collections.abc import Callable, Iterator
from itertools import islice

from msgspec.structs import replace

from carrel.memory.consolidate.shelving import ARCHIVING, move_facts, shelved
from carrel.memory.sorting import OWNER_TEXT
from carrel.memory.splice import hunks_of
from carrel.records import Records
from carrel.records.changes import Change
from carrel.records.facts import Fact, FactState, UnknownFact

FORGETTING = frozenset(("forget", "remove"))
"""The actions by which a line goes because its fact is forgotten."""

_MOST_LINES = 10_000

Stands = Callable[[Fact], bool]
"""Tells whether the line of a fact stands in its file now."""


def follow(records: Records, change: Change, stands: Stands) -> None:
    """Let the facts that a change wrote, forgot or brought back stand or not as their lines do.

    Doing it again changes nothing. What was forgotten for good has no line that could come back.
    """
    while change.undoes:
        change = records.changes.get(change.undoes)
    is_done = change.state == "done"
    with records.transaction():
        for fact in records.facts.find(change=change.id, states=("undone" if is_done else "written",)):
            records.facts.update(replace(fact, state="written" if is_done else "undone"))
            if fact.replaces and (old := _known(records, fact.replaces)) is not None:
                records.facts.update(_superseded(old, fact) if is_done else _standing(old, fact))
        if change.action == ARCHIVING and change.after is None:
            old, new = change.path, shelved(change.path)
            move_facts(records, *((old, new) if is_done else (new, old)))
        if change.action in FORGETTING:
            for fact in _taken_by(records, change):
                if stands(fact) != is_done and (state := _turned(fact, is_done=is_done)) is not None:
                    records.facts.update(replace(fact, state=state))


def _taken_by(records: Records, change: Change) -> Iterator[Fact]:
    """Yield the facts whose lines a change has taken out of its file."""
    lines = (line.decode("utf-8", "surrogateescape") for hunk in hunks_of(change.splice) for line in hunk.old)
    for line in dict.fromkeys(islice((line.rstrip("\r\n") for line in lines), _MOST_LINES)):
        if line:
            yield from records.facts.find(store=change.store, path=change.path, line=line)


def _turned(fact: Fact, *, is_done: bool) -> FactState | None:
    """Return the state that a fact has once its line is gone, or is back; none where it keeps its own."""
    if is_done:
        return "forgotten" if fact.state in ("written", "undone") else None
    if fact.state != "forgotten":
        return None
    return "undone" if fact.reason == OWNER_TEXT else "written"  # the owner's own line was never a fact


def _known(records: Records, fact: str) -> Fact | None:
    try:
        return records.facts.get(fact)
    except UnknownFact:  # a line of the owner's that was never a fact
        return None


def _superseded(old: Fact, by: Fact) -> Fact:
    return replace(old, state="superseded", superseded_by=by.id, valid_until=by.valid_from)


def _standing(old: Fact, by: Fact) -> Fact:
    if old.superseded_by != by.id:
        return old
    return replace(old, state="written", superseded_by="", valid_until="")
