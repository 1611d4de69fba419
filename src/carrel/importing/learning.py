"""Statements that are brought in as facts; the keeper of memory has the last word on each."""

from contextlib import suppress
from datetime import UTC, datetime

from carrel.errors import NotFound
from carrel.importing.piece import Piece
from carrel.importing.step import BEFORE, CROWDED, Learn, Step, step_of
from carrel.importing.target import Target
from carrel.memory.fact import fact_id, key_of
from carrel.memory.sorting import CROWDED_OUT
from carrel.memory.written import bullets, line_of, sense_of
from carrel.records.facts import Fact, Facts

_STANDING = ("planned", "written")
_GONE = ("undone", "forgotten", "refused")
_ALIKE = 20


def plan_fact(target: Target, kind: str, piece: Piece, text: str) -> Step:
    """Return what becomes of a statement; it keeps its date, and its file and line as evidence."""
    if not target.desk.agent.memory_enabled:
        return step_of(piece, "", "skipped", f"the memory of {target.agent} is switched off")
    fact = _fact(target, kind, piece, text)
    keeper = target.desk.memory.keeper
    path = keeper.target(fact).path
    screened = keeper.screened(fact)
    if screened.state == "refused":
        return step_of(piece, path, "skipped", f"it holds what is kept out of memory ({screened.reason})")
    if why := _known(target, fact, path):
        return step_of(piece, path, "same", why)
    if target.is_crowded and not target.mine:
        return step_of(piece, path, "skipped", CROWDED)
    target.learnt.add(fact.key)
    if target.mine:
        return step_of(piece, path, "new", "", Learn(fact=fact))
    target.wait()
    return step_of(piece, path, "proposal", "", Learn(fact=fact))


def _fact(target: Target, kind: str, piece: Piece, text: str) -> Fact:
    """Return a fact that is the same one wherever its line has moved to."""
    session = f"import.{kind}"
    written = datetime.fromtimestamp(piece.modified_ns / 10**9, UTC) if piece.modified_ns else None
    return Fact(
        id=fact_id(target.agent, session, (piece.source,), text),
        agent=target.agent,
        layer="project",
        kind="note",
        text=text,
        key=key_of(text),
        at=written or target.desk.config.clock.now(),
        session=session,
        evidence=(piece.origin,),
        trust="owner" if target.mine else "external",
        section=piece.section,
    )


def _met_before(facts: Facts, fact: Fact, *, mine: bool) -> str:
    """Return what the records say against a fact."""
    with suppress(NotFound):
        same = facts.get(fact.id)
        if same.reason != CROWDED_OUT:
            return "it waits for you" if same.state == "waiting" else BEFORE
    for each in facts.find(agent=fact.agent, key=fact.key, limit=_ALIKE):
        if each.state in _STANDING:
            return "it is known"
        if each.state == "waiting" and not mine:
            return "it waits for you"
        if each.state in _GONE and not mine and each.reason != CROWDED_OUT:
            return "you took it back, or did not want it"
    return ""


def _known(target: Target, fact: Fact, path: str) -> str:
    """Return why a fact is not learnt: it is known, waits already, or its owner took it back."""
    if fact.key in target.learnt:
        return "it is said twice"
    if (records := target.records) and (why := _met_before(records.facts, fact, mine=target.mine)):
        return why
    now = target.now(path)
    text = now.data.decode("utf-8", "replace") if now and now.data else ""
    sense = sense_of(line_of(fact, "bullet", UTC))
    return "it is known" if any(sense_of(each.line) == sense for each in bullets(text)) else ""
