"""Any order of what is learnt, changed and proposed, beside a model of it that is nothing but dicts."""

from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any, get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from carrel.postgres import Postgres
from carrel.records import Records
from carrel.records.changes import Change, ChangeState, Splice, UnknownChange
from carrel.records.facts import Fact, FactState, Store, UnknownFact
from carrel.records.postgres import PostgresRecords
from carrel.records.proposals import AlreadyDecided, Proposal, ProposalState, UnknownProposal, Verdict
from carrel.records.sqlite import SqliteRecords

NOW = datetime(2026, 4, 24, tzinfo=UTC)
NAMES = st.sampled_from(["a", "b", "A", "\udcff", ""])
NUMBERS = st.integers(-1, 6)
STATES = st.sampled_from(get_args(FactState))
STORES = st.sampled_from(get_args(Store))
FACTS = st.builds(
    Fact,
    id=st.sampled_from(["1", "2", "3", "\udcff", "5"]),
    agent=NAMES,
    layer=st.just("project"),
    kind=NAMES,
    text=st.text(max_size=5),
    key=NAMES,
    at=st.datetimes(timezones=st.just(UTC)),
    session=NAMES,
    evidence=st.lists(NAMES, max_size=3).map(tuple),
    subject=NAMES,
    state=STATES,
    store=STORES,
    path=NAMES,
    line=NAMES,
    seen=st.integers(0, 3),
    pinned=st.booleans(),
    change=NUMBERS,
)
SPLICES = st.builds(
    Splice, st.integers(0, 9), st.binary(max_size=20), st.binary(max_size=9).map(lambda side: side * 100)
)
CHANGES = st.builds(
    Change,
    at=st.just(NOW),
    actor=NAMES,
    action=NAMES,
    store=STORES,
    path=NAMES,
    before=st.none() | NAMES,
    after=st.none() | NAMES,
    splice=SPLICES,
    undoes=NUMBERS,
)
PROPOSALS = st.builds(
    Proposal,
    key=NAMES,
    at=st.just(NOW),
    agent=NAMES,
    actor=NAMES,
    action=st.just("append"),
    why=NAMES,
    reason=NAMES,
    path=NAMES,
    new=st.text(max_size=5),
    facts=st.lists(NAMES, max_size=2).map(tuple),
)


def some(values: Any) -> Any:
    return st.none() | values


class FactMachine(RuleBasedStateMachine):
    """`expected` holds the facts by id in the order they came, `cursors` where each session stands."""

    def __init__(self, records: Records | None = None) -> None:
        super().__init__()
        self.records = records or SqliteRecords()
        self.expected: dict[str, Fact] = {}
        self.cursors: dict[tuple[str, str], int] = {}

    def teardown(self) -> None:
        self.records.close()

    @rule(facts=st.lists(FACTS, max_size=3))
    def add(self, facts: list[Fact]) -> None:
        before = len(self.expected)
        for fact in facts:
            self.expected.setdefault(fact.id, fact)
        assert self.records.facts.add(facts) == len(self.expected) - before

    @rule(fact=FACTS)
    def update(self, fact: Fact) -> None:
        if fact.id in self.expected:
            self.records.facts.update(fact)
            self.expected[fact.id] = fact
        else:
            with pytest.raises(UnknownFact):
                self.records.facts.update(fact)

    @rule(agent=NAMES, session=NAMES, expect=NUMBERS, to=NUMBERS)
    def advance(self, agent: str, session: str, expect: int, to: int) -> None:
        stands = self.cursors.get((agent, session), 0) == expect
        assert self.records.facts.advance(agent, session, expect=expect, to=to) is stands
        if stands:
            self.cursors[agent, session] = to

    @rule(facts=st.lists(FACTS, max_size=3), agent=NAMES, session=NAMES, to=NUMBERS)
    def fail(self, facts: list[Fact], agent: str, session: str, to: int) -> None:
        """What a transaction that fails did is as if it had not been."""
        with suppress(KeyError), self.records.transaction():
            self.records.facts.add(facts)
            self.records.facts.advance(agent, session, expect=0, to=to)
            raise KeyError

    @rule(
        wanted=st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(("agent", "key", "subject", "session", "path", "line"), NAMES)
            | {"store": STORES, "change": NUMBERS},
        ),
        states=st.sets(STATES, max_size=3),
        limit=st.integers(-1, 4),
        after=NUMBERS,
    )
    def find(self, wanted: dict[str, Any], states: set[Any], limit: int, after: int) -> None:
        order = list(self.expected.values())
        first = order[after].id if 0 <= after < len(order) and order[after].id else ""
        expected = [
            fact
            for fact in order[after + 1 if first else 0 :]
            if (not states or fact.state in states)
            and all(getattr(fact, name) == value for name, value in wanted.items())
        ]
        found = self.records.facts.find(**wanted, states=states, limit=limit, after=first)
        assert found == expected[: max(limit, 0)]

    @invariant()
    def all_is_as_expected(self) -> None:
        assert self.records.facts.find() == list(self.expected.values())
        assert all(self.records.facts.get(name) == fact for name, fact in self.expected.items())
        states = [fact.state for fact in self.expected.values()]
        assert self.records.facts.counts() == {state: states.count(state) for state in get_args(FactState)}
        assert all(self.records.facts.cursor(*whose) == entry for whose, entry in self.cursors.items())


class ChangeMachine(RuleBasedStateMachine):
    """`expected` holds the changes by number; one that came to nothing is not in it."""

    def __init__(self, records: Records | None = None) -> None:
        super().__init__()
        self.records = records or SqliteRecords()
        self.expected: dict[int, Change] = {}
        self.last = 0

    def teardown(self) -> None:
        self.records.close()

    @rule(change=CHANGES)
    def begin(self, change: Change) -> None:
        begun = self.records.changes.begin(change)
        assert begun.id > self.last
        self.last = begun.id
        self.expected[begun.id] = replace(change, id=begun.id)
        assert begun == self.expected[begun.id]

    @rule(number=NUMBERS, state=some(st.sampled_from(get_args(ChangeState))))
    def settle(self, number: int, state: ChangeState | None) -> None:
        known = self.expected.get(number)
        if known is None and state is not None:
            with pytest.raises(UnknownChange):
                self.records.changes.settle(number, state)
            return
        self.records.changes.settle(number, state)
        if known and state:
            self.expected[number] = replace(known, state=state)
        elif known and known.state == "begun":
            del self.expected[number]

    @rule(number=NUMBERS, commit=NAMES)
    def keep_commit(self, number: int, commit: str) -> None:
        if number not in self.expected:
            with pytest.raises(UnknownChange):
                self.records.changes.keep_commit(number, commit)
            return
        self.records.changes.keep_commit(number, commit)
        self.expected[number] = replace(self.expected[number], commit=commit)

    @rule(
        wanted=st.fixed_dictionaries(
            {}, optional={"store": STORES, "path": NAMES, "state": st.sampled_from(get_args(ChangeState))}
        ),
        committed=some(st.booleans()),
        before=some(NUMBERS),
        limit=st.integers(-1, 4),
    )
    def list(self, wanted: dict[str, Any], committed: bool | None, before: int | None, limit: int) -> None:
        expected = [
            change
            for number, change in reversed(self.expected.items())
            if (committed is None or bool(change.commit) is committed)
            and (before is None or number < before)
            and all(getattr(change, name) == value for name, value in wanted.items())
        ]
        listed = self.records.changes.list(**wanted, committed=committed, before=before, limit=limit)
        assert listed == expected[: max(limit, 0)]

    @invariant()
    def all_is_as_expected(self) -> None:
        assert self.records.changes.list() == [*self.expected.values()][::-1]
        assert all(self.records.changes.get(number) == change for number, change in self.expected.items())


class ProposalMachine(RuleBasedStateMachine):
    """`expected` holds the proposals by key, as they are now."""

    def __init__(self, records: Records | None = None) -> None:
        super().__init__()
        self.records = records or SqliteRecords()
        self.expected: dict[str, Proposal] = {}

    def teardown(self) -> None:
        self.records.close()

    @rule(proposal=PROPOSALS)
    def add(self, proposal: Proposal) -> None:
        made = self.records.proposals.add(proposal)
        expected = self.expected.setdefault(proposal.key, replace(proposal, id=made.id))
        assert made == expected

    @rule(number=NUMBERS, verdict=st.sampled_from(get_args(Verdict)), by=NAMES, new=some(NAMES))
    def decide(self, number: int, verdict: Verdict, by: str, new: str | None) -> None:
        known = next((each for each in self.expected.values() if each.id == number), None)
        if known is None or known.state != "waiting":
            with pytest.raises(AlreadyDecided if known else UnknownProposal):
                self.records.proposals.decide(number, verdict, at=NOW, by=by, new=new)
            return
        now = replace(
            known, state=verdict, decided_at=NOW, decided_by=by, new=known.new if new is None else new
        )
        assert self.records.proposals.decide(number, verdict, at=NOW, by=by, new=new) == now
        self.expected[known.key] = now

    @rule(
        states=st.sets(st.sampled_from(get_args(ProposalState))),
        agent=some(NAMES),
        after=NUMBERS,
        limit=st.integers(-1, 4),
    )
    def list(self, states: set[Any], agent: str | None, after: int, limit: int) -> None:
        expected = [
            each
            for each in self.expected.values()
            if (not states or each.state in states) and agent in (None, each.agent) and each.id > after
        ]
        listed = self.records.proposals.list(states, agent=agent, after=after, limit=limit)
        assert listed == expected[: max(limit, 0)]

    @invariant()
    def all_is_as_expected(self) -> None:
        assert self.records.proposals.list(()) == [*self.expected.values()]
        assert all(self.records.proposals.get(each.id) == each for each in self.expected.values())
        states = [each.state for each in self.expected.values()]
        counted = self.records.proposals.counts()
        assert counted == {state: states.count(state) for state in get_args(ProposalState)}


TestFactsAgainstAModel = FactMachine.TestCase
TestChangesAgainstAModel = ChangeMachine.TestCase
TestProposalsAgainstAModel = ProposalMachine.TestCase
for machine in (FactMachine, ChangeMachine, ProposalMachine):
    machine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize("machine", [FactMachine, ChangeMachine, ProposalMachine])
def test_what_is_in_postgres_is_as_its_model(shared_postgres: Postgres, machine: Any) -> None:
    numbers = count()

    def made() -> RuleBasedStateMachine:
        name = f"{machine.__name__}-{next(numbers)}"
        return machine(PostgresRecords(shared_postgres.tenant(name), "desk"))

    run_state_machine_as_test(made, settings=settings(max_examples=12, stateful_step_count=25, deadline=None))
    assert next(numbers) > 1
