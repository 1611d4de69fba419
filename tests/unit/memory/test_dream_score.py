"""How much a memory matters, held to the figures that were worked out by hand, and when dreaming is due."""

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from carrel.memory.dream.gates import gates_of, in_words
from carrel.memory.dream.schedule import due_at
from carrel.memory.dream.score import Signals, score_of, signs_of
from carrel.settings import DreamingSettings, Settings
from carrel.settings.about import BadSetting
from carrel.settings.parse import build, parse_text
from carrel.settings.remembering import DreamWeights

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def signals(hits=3, queries=2, days=1, relevance=0.2, age=0.0):
    return Signals(hits=hits, queries=queries, days=days, relevance=relevance, age=age)


def score(own, weights=None, half_life=90):
    return score_of(signs_of(own, half_life), weights or DreamWeights())


@pytest.mark.parametrize(
    ("own", "worth"),
    [
        (signals(3, 3, 1, 1.0), 0.731),
        (signals(), 0.461),
        (signals(age=90), 0.386),
        (signals(age=180), 0.348),
        (signals(100, 100, 100, 1.0), 0.94),
        (signals(0, 0, 0, 0.0, 1e9), 0.0),
    ],
)
def test_the_score_is_the_one_that_was_worked_out_by_hand(own, worth):
    assert round(score(own), 3) == worth


def test_six_recalls_and_five_days_are_enough():
    assert signs_of(signals(hits=6), 90).frequency == 1.0
    assert signs_of(signals(hits=5), 90).frequency < 1.0
    most = signs_of(signals(queries=5, days=5), 90)
    assert (most.diversity, most.consolidation) == (1.0, 1.0)
    assert signs_of(signals(queries=1, days=4), 90).diversity == 0.8
    assert signs_of(signals(queries=4, days=1), 90).diversity == 0.8


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_counts_nothing_and_spoils_nothing(odd):
    assert score(signals(relevance=odd)) == score(signals(relevance=0.0))
    assert score(signals(age=odd)) == score(signals(age=0.0))
    assert score(signals(age=-5.0)) == score(signals(age=0.0))
    assert score(signals(hits=-3, queries=-1, days=-1)) >= 0


def test_weights_that_add_up_to_more_than_one_are_scaled_down():
    heavy = DreamWeights(frequency=24, relevance=30, recency=15, diversity=15, consolidation=10)
    assert score(signals(6, 5, 5, 1.0), heavy) == pytest.approx(1.0)
    assert score(signals(), heavy) == pytest.approx(score(signals()) / 0.94)


def test_each_gate_tells_its_value_and_its_threshold():
    own = signals(2, 2, 1)
    gates = gates_of(own, 0.3456, DreamingSettings())
    assert [(gate.name, gate.value, gate.least, gate.is_open) for gate in gates] == [
        ("recalls", 2, 3, False),
        ("queries", 2, 2, True),
        ("days", 1, 2, False),
        ("score", 0.3456, 0.35, False),
    ]
    assert [in_words(gate) for gate in gates] == [
        "recalls 2 of 3",
        "queries 2 of 2",
        "days 1 of 2",
        "score 0.35 of 0.35",
    ]


# Settings


def settings_of(text):
    return build(parse_text(text, layout=None, source="carrel.yaml")).dreaming


def test_every_gate_and_weight_can_be_set():
    own = settings_of(
        "dreaming:\n  enabled: false\n  schedule: every 12h\n  minRecalls: 5\n  min_score: 0.5\n  most: 3\n"
        "  weights: {frequency: 1, relevance: 0}\n"
    )
    assert (own.enabled, own.schedule, own.min_recalls, own.min_score, own.most) == (
        False, "every 12h", 5, 0.5, 3,
    )  # fmt: skip
    assert (own.weights.frequency, own.weights.relevance, own.weights.recency) == (1.0, 0.0, 0.15)
    assert Settings().dreaming == DreamingSettings()


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("weights: {frequency: .nan}", "dreaming.weights.frequency"),
        ("weights: {relevance: .inf}", "dreaming.weights.relevance"),
        ("weights: {recency: -0.1}", "dreaming.weights.recency"),
        ("weights: {diversity: many}", "dreaming.weights.diversity"),
        (
            "weights: {frequency: 0, relevance: 0, recency: 0, diversity: 0, consolidation: 0}",
            "dreaming.weights",
        ),
        ("min_score: 1.5", "dreaming.min_score"),
        ("min_score: .nan", "dreaming.min_score"),
        ("min_days: 0", "dreaming.min_days"),
        ("most: 0", "dreaming.most"),
        ("half_life_days: 0", "dreaming.half_life_days"),
        ("schedule: sometimes", "dreaming.schedule"),
        ("schedule: daily 25:00", "dreaming.schedule"),
        ("schedule: every 0h", "dreaming.schedule"),
        ("schedule: every 5m", "dreaming.schedule"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_its_name(given, key):
    with pytest.raises(BadSetting) as refusal:
        settings_of(f"dreaming:\n  {given}\n")
    assert refusal.value.key == key


# Schedule


@pytest.mark.parametrize(
    ("schedule", "last", "due"),
    [
        (None, None, None),
        (None, NOW - DAY, None),
        ("every 12h", None, NOW),
        ("every 12h", NOW - HOUR, NOW + 11 * HOUR),
        ("every 2d", NOW - 3 * DAY, NOW - DAY),
        ("every 12h", NOW + DAY, NOW),
        ("daily 03:00", None, NOW),
        ("daily 03:00", NOW, NOW + 15 * HOUR),
        ("daily 03:00", NOW - 10 * HOUR, NOW - 9 * HOUR),
        ("daily 12:00", NOW, NOW + DAY),
        ("daily 03:00", NOW - 5 * DAY, NOW - 4 * DAY - 9 * HOUR),
        ("daily 03:00", NOW + DAY, NOW),
    ],
)
def test_a_run_is_due_when_its_time_has_come(schedule, last, due):
    assert due_at(schedule, last, NOW, UTC) == due


def test_an_hour_of_the_day_is_of_the_workspaces_time_zone():
    bogota = ZoneInfo("America/Bogota")
    assert due_at("daily 03:00", NOW, NOW, bogota) == datetime(2026, 4, 25, 8, tzinfo=UTC)
    madrid = ZoneInfo("Europe/Madrid")
    before = datetime(2026, 3, 28, 12, tzinfo=UTC)  # the clocks go forward in the night
    assert due_at("daily 03:30", before, before, madrid) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
