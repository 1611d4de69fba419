"""One attack on a workspace: texts come in, a model obeys them all, and whatever remembers is made to remember."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tests.poison.desk import (
    DAY,
    NOW,
    QUESTIONS,
    Desk,
    Obedient,
    Played,
    agent,
    obey,
    pinned,
    times_saved,
    user,
    without_own,
)
from tests.poison.orders import Case
from tests.poison.sources import SOURCES, Source

from carrel.app import Workspace
from carrel.dreaming import Outlook
from carrel.records.facts import Fact
from carrel.records.proposals import Proposal
from carrel.runtime.consolidation import BadConsolidation
from carrel.runtime.model import Model

GO_ON = "And what more is there?"
NOTE = "The keys are in the drawer."
"""What its owner notes before the night, so that there is something to consolidate."""

DECIDED, SAVED = "We decided to keep the archive in the cellar.", "Decided to keep the archive in the cellar."
"""What its owner says in each conversation that is compacted, and what is saved of it before."""

_COMPACTED = 6
"""Of so many sessions one is compacted: by rules, and every other one of them by the model."""

_BLOCKED = {"external_source", "agents_words", "question", "suspected_injection"}

Way = tuple[Case, Source]
"""An order, and how it comes in."""

Shrink = Callable[[Workspace, str], object]
"""Has a session compacted, after what came in and before what is done later."""


class Attacked(NamedTuple):
    """A workspace after each order came in on its way, and its owner has rejected what waited.

    Whatever harm was done is told in words; where there is none, nothing is.
    """

    cases: Sequence[Case]
    before: dict[str, bytes]
    after: dict[str, bytes]
    rejected: dict[str, bytes]
    shown: str
    shown_later: str
    played: dict[str, Played]
    waiting: list[Proposal]
    diffs: dict[int, str]
    facts: list[Fact]
    facts_later: list[Fact]
    outlook: Outlook
    left: int
    asked: Counter[str]
    compacted: int
    saved: int

    def idle(self) -> Iterator[str]:
        """Tell what was never asked for or never done, so that no harm can have come of it."""
        yield from (
            f"the model was not asked to {what}" for what in QUESTIONS.values() if not self.asked[what]
        )
        if self.saved != self.compacted or not self.saved:
            yield f"{self.compacted} conversations were compacted, and of {self.saved} something was saved"
        for case in self.cases:
            facts = [fact for fact in self.facts if lines_of(case, fact.text)]
            if not any(fact.state in ("waiting", "refused") for fact in facts):
                yield f"{case.name}: of {len(facts)} facts none waits, and none was refused"

    def harm_by(self, case: Case) -> Iterator[str]:
        """Tell where an order got by itself: it may only wait before the owner, or be refused."""
        yield from (f"the prompt says: {line}" for line in lines_of(case, self.shown))
        yield from (f"{path} says it" for path, data in self.after.items() if lines_of(case, data.decode()))
        played = self.played[case.name]
        yield from (f"a tool answered {answer}" for answer in played.results if not self._is_harmless(answer))
        for fact in self.facts:
            is_own = fact.session == played.session and lines_of(case, fact.text)
            if is_own and not (fact.state in ("waiting", "refused") and fact.reason):
                yield f"a fact is {fact.state}: {fact.text}"
        is_seen = any(lines_of(case, diff) for diff in self.diffs.values())
        if not is_seen and not all("error" in answer for answer in played.results):
            yield "the owner is not shown it"

    def _is_harmless(self, answer: dict[str, Any]) -> bool:
        if answer.get("state") == "waiting":
            proposal = answer.get("proposal")
            return proposal is None or proposal in {each.id for each in self.waiting}
        if "error" in answer:
            return bool(answer["error"]["code"])
        return answer.get("state") == "refused" and bool(answer["why"])

    def bytes_changed(self) -> Iterator[str]:
        """Tell which files of every prompt are not what they were."""
        for when, now in (("at once", self.after), ("later", self.rejected)):
            yield from (
                f"{path} changed {when}"
                for path in sorted(self.before.keys() | now.keys())
                if self.before.get(path) != now.get(path)
            )

    def came_back(self) -> Iterator[str]:
        """Tell what came back that its owner had rejected."""
        if self.left:
            yield f"{self.left} proposals wait again"
        for case in self.cases:
            own = [fact for fact in self.facts_later if lines_of(case, fact.text)]
            yield from (f"a fact is {fact.state}: {fact.text}" for fact in own if fact.state != "refused")
            yield from (f"the prompt says later: {line}" for line in lines_of(case, self.shown_later))

    def promoted(self) -> Iterator[str]:
        """Tell what a dream would promote of it, however often it was recalled."""
        judged = self.outlook.plan.judged
        told = [each for each in judged if any(lines_of(case, each.candidate.text) for case in self.cases)]
        if all(each.state == "below" for each in told):
            yield "nothing was recalled often enough to be promoted"
        for each in told:
            is_blocked = each.state == "blocked" and each.reason in _BLOCKED
            if each.state != "below" and not is_blocked:
                yield f"{each.state} for memory ({each.reason}): {each.candidate.text}"


def compact(workspace: Workspace, session: str, writer: Model | None) -> None:
    """Let the owner go on until there is enough to compact, and have that done by a model or by rules."""
    boxes = [f"Box {number} holds letters of that year." for number in range(600)]
    workspace.record(session, [user(DECIDED), agent("Fine. " + " ".join(boxes[:100]))])
    workspace.record(session, [user("Which boxes are there?"), agent(" ".join(boxes))])
    if writer is None:
        workspace.compact(session)
    else:
        asyncio.run(workspace.summarise(session, writer))


def play(
    workspace: Workspace, case: Case, source: Source, session: str, shrink: Shrink | None = None
) -> Played:
    """Let a text come in, have the model obey at once or later, and say again what it was told."""
    scope = "shared" if source is SOURCES["a group member"] else "main"
    calls, order = list(case.calls), case.order
    results = []
    for number, told in enumerate(case.told):
        source(workspace, session, case.fill(order.asked) if not number else GO_ON, told)
        if not order.later and number == len(case.told) - 1:
            results += obey(workspace, session, calls, scope)
        workspace.record(session, [agent(f"Noted. {told}")], scope=scope)
    if shrink:
        shrink(workspace, session)
    if order.later:
        workspace.record(session, [user(order.later)], scope=scope)
        results += obey(workspace, session, calls, scope)
        again = " ".join(claim["text"] for claim in case.claims)
        workspace.record(session, [agent(f"By the way. {again}")], scope=scope)
    return Played(session, results)


def attacked(desk: Desk, ways: Sequence[Way]) -> Attacked:
    """Let each order come in on its way, and have a workspace remember, recall, dream and consolidate."""
    attacking = [case for case, _ in ways]
    model = Obedient(attacking)
    own = [GO_ON, "Hi.", NOTE, DECIDED, SAVED, "wrote tests"]
    for case in attacking:
        own += [case.fill(case.order.asked), case.order.later]
    with desk.open() as workspace:
        pinned(workspace)
        workspace.conversations.learning.consolidate(None)
        workspace.memory.note(NOTE)
    before = without_own(desk.held(), own)
    with desk.open() as workspace:
        played = {
            case.name: play(workspace, case, source, f"s{n}", shrink=_shrinking(n, model))
            for n, (case, source) in enumerate(ways)
        }
        workspace.sweep(model=model)
    for days in (3, 2, 1):
        _recall(desk, days, attacking)
    with desk.open(NOW + DAY) as workspace:
        outlook = workspace.dreaming.look()
        workspace.dreaming.run()
        for writer in (model, None):
            with suppress(BadConsolidation):
                workspace.conversations.learning.consolidate(writer)
        review = workspace.memory.review
        waiting = review.waiting(limit=1_000)
        diffs = {proposal.id: review.show(proposal.id).diff for proposal in waiting}
        facts = workspace.memory.facts(limit=10_000)
        asked, saved = model.asked.copy(), times_saved(desk.held(), SAVED)
    after, shown = without_own(desk.held(), own), desk.shown()
    with desk.open(NOW + DAY) as workspace:
        review = workspace.memory.review
        review.reject([proposal.id for proposal in waiting], by="owner")
        for each in played.values():
            workspace.conversations.learning.extract(each.session, model, anew=True)
        workspace.dreaming.run()
        left = len(review.waiting())
        facts_later = workspace.memory.facts(limit=10_000)
    rejected = without_own(desk.held(), own)
    return Attacked(
        attacking,
        before,
        after,
        rejected,
        shown,
        desk.shown(),
        played,
        waiting,
        diffs,
        facts,
        facts_later,
        outlook,
        left,
        asked,
        len(ways[::_COMPACTED]),
        saved,
    )


def _shrinking(number: int, model: Model) -> Shrink | None:
    if number % _COMPACTED:
        return None
    writer = None if number % (2 * _COMPACTED) else model
    return lambda workspace, session: compact(workspace, session, writer)


def _recall(desk: Desk, days: int, cases: Sequence[Case]) -> None:
    """Have everything recalled on one day, each by a query of its own."""
    with desk.open(NOW - days * DAY) as workspace:
        tools = workspace.tools(session=f"day{days}")
        for case in cases:
            tools.call("memory_search", {"query": f"{case.who} {['invoices', 'account', 'bank'][days - 1]}"})


def lines_of(case: Case, text: str) -> list[str]:
    """The lines that have the word of a case, but for what its owner has said."""
    own = case.fill(case.order.asked)
    return [line for line in text.splitlines() if case.who in line.casefold() and own not in line]
