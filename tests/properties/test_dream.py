"""Dreaming, whatever is recalled: scores are scores, order means nothing, and nothing is promoted twice."""

import random
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.memory.night import DAY, JOURNAL, NOW, Killed, Night, at, recalls

from carrel.errors import CarrelError
from carrel.memory.dream.candidates import Candidate, Recalled, Said, candidates
from carrel.memory.dream.dreamer import STEPS
from carrel.memory.dream.score import Signals, score_of, signs_of
from carrel.memory.dream.statements import statements
from carrel.memory.dream.writing import bullet_of, with_promotions
from carrel.records.dreams import Dream, Promotion
from carrel.records.recalls import RecallEvent
from carrel.records.sqlite import SqliteRecords
from carrel.settings import DreamingSettings
from carrel.settings.remembering import DreamWeights

QUICK = settings(max_examples=50, deadline=None)
numbers = st.integers(-10, 10**9)
floats = st.floats()
weight = st.floats(0, 1e6)
all_signals = st.builds(
    Signals, hits=numbers, queries=numbers, days=numbers, relevance=floats, age=floats | st.floats(0, 4000)
)
all_weights = (
    st.tuples(weight, weight, weight, weight, weight)
    .filter(any)
    .map(
        lambda given: DreamWeights(
            **dict(
                zip(("frequency", "relevance", "recency", "diversity", "consolidation"), given, strict=True)
            )
        )
    )
)
texts = st.text(st.characters(codec="utf-8") | st.sampled_from("-*#`~>|_ \n\r\t\ufeff\u202e"), max_size=60)


@given(all_signals, all_weights, st.integers(1, 10**6))
def test_every_score_is_from_0_to_1(signals, weights, half_life):
    signs = signs_of(signals, half_life)
    assert all(0 <= getattr(signs, name) <= 1 for name in signs.__struct_fields__)
    assert 0 <= score_of(signs, weights) <= 1


@given(all_signals, all_weights, st.integers(0, 1000), st.sampled_from(["hits", "queries", "days"]))
def test_more_recalls_queries_and_days_never_count_less(signals, weights, more, name):
    better = replace(signals, **{name: getattr(signals, name) + more})
    assert score_of(signs_of(better, 90), weights) >= score_of(signs_of(signals, 90), weights)


@given(all_signals, all_weights, st.floats(0, 1), st.floats(0, 4000))
def test_better_answers_and_later_recalls_never_count_less(signals, weights, more, later):
    own = replace(signals, relevance=0.5, age=later)
    best = replace(own, relevance=0.5 + more / 2, age=0.0)
    assert score_of(signs_of(best, 90), weights) >= score_of(signs_of(own, 90), weights)


events = st.lists(
    st.builds(
        RecallEvent,
        agent=st.just("kate"),
        session=st.just("s1"),
        at=st.datetimes(datetime(2026, 1, 1), datetime(2026, 5, 1), timezones=st.just(UTC)),  # noqa: DTZ001
        query=st.sampled_from(["a", "b", "c"]),
        path=st.sampled_from(["memory/2026-04-20.md", "memory/kate.md", "MEMORY.md", "p.log.jsonl"]),
        line=st.integers(1, 3),
        tier=st.sampled_from(["journal", "profile", "session", "document"]),
        rank=st.integers(1, 9),
        score=st.floats(),
        text=st.sampled_from(["- One.\n- Two!", "- two", "Three", "user: One.\nkate: Four.", "# x", "- ONE"]),
        who=st.just("tool"),
    ),
    max_size=25,
)


def spoken(path, first, count):
    said = ["One.", "Four.", "Three"]
    return [
        Said(text=said[n % 3], trust="owner", session="p", message_id=f"m{n}", line=n)
        for n in range(first, first + count)
    ]


def found(given_events) -> list[Candidate]:
    records = SqliteRecords()
    records.recalls.add(given_events)
    rows = records.recalls.remembered("kate", tiers=("journal", "profile", "session"), until=NOW)
    records.close()
    recalled = Recalled(texts=rows, messages=spoken, home="", target="MEMORY.md")
    return candidates(recalled, DreamingSettings(), now=NOW, zone=UTC)


@QUICK
@given(events, st.randoms(use_true_random=False))
def test_the_order_of_recalls_changes_nothing(given_events, chance):
    shuffled = chance.sample(given_events, len(given_events))
    assert found(shuffled) == found(given_events)


@QUICK
@given(events)
def test_what_is_counted_is_what_was_recalled(given_events):
    for each in found(given_events):
        signals = each.signals
        assert 1 <= signals.queries <= signals.hits <= 2 * len(given_events)
        assert 1 <= signals.days <= signals.hits
        assert 0 <= signals.relevance <= 1
        assert signals.age >= 0
        assert all(source.path != "MEMORY.md" for source in each.sources)
        assert all(source.tier != "document" for source in each.sources)


@QUICK
@given(events, events)
def test_more_recalls_take_no_hits_away(given_events, more):
    before = {each.key: each.signals for each in found(given_events)}
    after = {each.key: each.signals for each in found(given_events + more)}
    for key, signals in before.items():
        assert after[key].hits >= signals.hits
        assert after[key].queries >= signals.queries
        assert after[key].days >= signals.days


@given(texts)
def test_a_statement_is_one_line_and_states_itself(text):
    for statement in statements(text):
        assert len(statement.text.splitlines()) == 1
        assert statement.text.strip()
        if not statement.is_dreamt:
            assert [each.text for each in statements(f"- {statement.text}")] in (
                [statement.text],
                [],  # what begins with what strikes it out
            )


@given(st.none() | texts, st.lists(texts, max_size=3))
def test_a_promotion_keeps_every_byte_and_is_written_once(text, promoted):
    said = dict.fromkeys(each.text for one in promoted for each in statements(f"- {one}"))
    promotions = tuple(Promotion(key=each, text=each, score=0.5, hits=3, days=2) for each in said)
    dream = Dream(
        id=1, agent="kate", at=NOW, path="M", diary="D", heading="Dreamed now", promotions=promotions
    )
    once = with_promotions(text, dream)
    if once is not None:
        assert once.startswith(text or "")
        assert with_promotions(once, dream) is None
        added = once[len(text or "") :].replace("\r\n", "\n").strip("\n").split("\n")
        assert added[0] == "## Dreamed now"
        assert set(added[2:]) <= {bullet_of(each) for each in promotions}


POINTS = [f"{when}:{step}" for step in STEPS for when in ("before", "after")]
acts = st.lists(
    st.one_of(
        st.tuples(st.just("recall"), st.integers(0, 4)),
        st.tuples(st.just("run"), st.sampled_from(["", *POINTS])),
        st.tuples(st.just("revert"), st.sampled_from(["", *POINTS])),
        st.tuples(st.just("delete"), st.integers(0, 4)),
        st.tuples(st.just("write"), st.integers(0, 99)),
    ),
    min_size=3,
    max_size=14,
)
FACTS = [f"Fact number {number} is true." for number in range(5)]


def act(night: Night, kind: str, what, when: datetime) -> None:
    memory = night.read() or ""
    if kind == "recall":
        with night.open(at=when) as workspace:
            workspace.records.recalls.add(recalls(f"- {FACTS[what]}", JOURNAL, since=when))
    elif kind == "delete":
        night.put({"MEMORY.md": "".join(x for x in memory.splitlines(keepends=True) if FACTS[what] not in x)})
    elif kind == "write":
        night.put({"MEMORY.md": f"- The owner's note {what}.\n{memory}"})
    else:
        try:
            (night.dream if kind == "run" else night.revert)(at=when, step=at(what))
        except (Killed, CarrelError):
            return


def consistent(night: Night) -> None:
    """Each fact stands at most once, and the records tell of no more than one promotion of it."""
    held = Counter(fact for fact in FACTS for line in (night.read() or "").splitlines() if fact in line)
    assert all(count == 1 for count in held.values()), held
    with night.open() as workspace:
        dreams = workspace.records.dreams.list()
    open_now = Counter(
        each.text for dream in dreams for each in dream.promotions if each.state in ("planned", "promoted")
    )
    assert all(count == 1 for count in open_now.values()), open_now


@settings(max_examples=30, deadline=None)
@given(acts, st.integers(0, 2**32))
def test_no_interleaving_of_runs_reverts_and_kills_repeats_a_promotion(given_acts, seed):
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        night = Night(Path(folder) / "desk", Path(folder) / "home")
        night.put({JOURNAL: "".join(f"- {fact}\n" for fact in FACTS)})
        when = NOW
        for kind, what in given_acts:
            when += chance.choice([timedelta(minutes=1), DAY, 5 * DAY])
            act(night, kind, what, when)
            consistent(night)
        night.dream(at=when + DAY)
        consistent(night)
        with night.open() as workspace:
            dreams = workspace.records.dreams.list()
        assert {dream.state for dream in dreams} <= {"done", "reverted"}
        diary = [line for line in (night.read("DREAMS.md") or "").splitlines() if ", run " in line]
        assert len(diary) == len(set(diary)) == sum(dream.state == "done" for dream in dreams)
