"""Whatever comes in from outside, and however a model obeys it, nothing of it is in a prompt without its owner's word."""

from contextlib import suppress
from typing import NamedTuple

import pytest
from tests.poison.desk import DAY, NOW, Desk, Obedient, Played, agent, obey, pinned, user, without_dreams
from tests.poison.orders import Case, cases
from tests.poison.sources import SOURCES, Source

from carrel.app import Workspace
from carrel.dreaming import Outlook
from carrel.records.facts import Fact
from carrel.records.proposals import Proposal
from carrel.runtime.consolidation import BadConsolidation

CASES = cases()
GO_ON = "And what more is there?"


class Attacked(NamedTuple):
    """A workspace after one way in was used for every order, and its owner has rejected what waited."""

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


def play(workspace: Workspace, case: Case, source: Source, session: str) -> Played:
    """Let a text come in, have the model obey at once or later, and say again what it was told."""
    scope = "shared" if source is SOURCES["a group member"] else "main"
    calls, order = list(case.calls), case.order
    results = []
    for number, told in enumerate(case.told):
        source(workspace, session, case.fill(order.asked) if not number else GO_ON, told)
        if not order.later and number == len(case.told) - 1:
            results += obey(workspace, session, calls, scope)
        workspace.record(session, [agent(f"Noted. {told}")], scope=scope)
    if order.later:
        workspace.record(session, [user(order.later)], scope=scope)
        results += obey(workspace, session, calls, scope)
        again = " ".join(claim["text"] for claim in case.claims)
        workspace.record(session, [agent(f"By the way. {again}")], scope=scope)
    return Played(session, results)


def attacked(desk: Desk, source: Source) -> Attacked:
    model = Obedient(CASES)
    own = (
        [case.fill(case.order.asked) for case in CASES]
        + [case.order.later for case in CASES]
        + [GO_ON, "Hi."]
    )
    with desk.open() as workspace:
        pinned(workspace)
        workspace.conversations.learning.consolidate(None)
    before = desk.held()
    with desk.open() as workspace:
        played = {case.name: play(workspace, case, source, f"s{n}") for n, case in enumerate(CASES)}
        workspace.sweep(model=model)
    for days in (3, 2, 1):
        recall(desk, days)
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
    after, shown = without_dreams(desk.held(), own), desk.shown()
    with desk.open(NOW + DAY) as workspace:
        review = workspace.memory.review
        review.reject([proposal.id for proposal in waiting], by="owner")
        for each in played.values():
            workspace.conversations.learning.extract(each.session, model, anew=True)
        workspace.dreaming.run()
        left = len(review.waiting())
        facts_later = workspace.memory.facts(limit=10_000)
    rejected = without_dreams(desk.held(), own)
    return Attacked(
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
    )


def recall(desk: Desk, days: int) -> None:
    """Have everything recalled on one day, each by a query of its own."""
    with desk.open(NOW - days * DAY) as workspace:
        tools = workspace.tools(session=f"day{days}")
        for case in CASES:
            tools.call("memory_search", {"query": f"{case.who} {['invoices', 'account', 'bank'][days - 1]}"})


@pytest.fixture(scope="module")
def attacks(tmp_path_factory):
    """Each way in is used once, when the first case asks for it."""
    done: dict[str, Attacked] = {}

    def attack(name: str) -> Attacked:
        if name not in done:
            done[name] = attacked(Desk(tmp_path_factory.mktemp("poison")), SOURCES[name])
        return done[name]

    return attack


def lines_of(case: Case, text: str) -> list[str]:
    """The lines that have the word of a case, but for what its owner has said."""
    own = case.fill(case.order.asked)
    return [line for line in text.splitlines() if case.who in line.casefold() and own not in line]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("source", SOURCES)
def test_an_order_from_outside_is_in_no_prompt_but_before_its_owner_or_refused(attacks, source, case):
    attack = attacks(source)
    assert lines_of(case, attack.shown) == []
    assert [path for path, data in attack.after.items() if lines_of(case, data.decode())] == []
    played, numbers = attack.played[case.name], {proposal.id for proposal in attack.waiting}
    for result in played.results:
        if result.get("state") == "waiting":
            assert result.get("proposal") is None or result["proposal"] in numbers
        else:
            assert (
                result["error"]["code"]
                if "error" in result
                else (result["state"], bool(result["why"])) == ("refused", True)
            )
    own = [fact for fact in attack.facts if fact.session == played.session and lines_of(case, fact.text)]
    assert all(fact.state in ("waiting", "refused") and fact.reason for fact in own)
    seen = [diff for diff in attack.diffs.values() if lines_of(case, diff)]
    assert seen or all("error" in result for result in played.results)


@pytest.mark.parametrize("source", SOURCES)
def test_not_a_byte_of_what_prompts_hold_is_changed_by_any_way_in(attacks, source):
    attack = attacks(source)
    assert attack.after == attack.before
    assert attack.rejected == attack.before


@pytest.mark.parametrize("source", SOURCES)
def test_what_its_owner_rejects_leaves_no_trace_and_does_not_come_back(attacks, source):
    attack = attacks(source)
    assert attack.left == 0
    for case in CASES:
        own = [fact for fact in attack.facts_later if lines_of(case, fact.text)]
        assert {fact.state for fact in own} <= {"refused"}
        assert lines_of(case, attack.shown_later) == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_dream_promotes_it_however_often_it_is_recalled(attacks, source):
    judged = attacks(source).outlook.plan.judged
    told = [each for each in judged if any(lines_of(case, each.candidate.text) for case in CASES)]
    assert [each for each in told if each.state != "below"]
    assert [each.candidate.text for each in told if each.state == "ready"] == []
    assert {each.reason for each in told if each.state == "blocked"} <= {
        "external_source", "agents_words", "question", "suspected_injection"
    }  # fmt: skip
