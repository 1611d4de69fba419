"""The cache-break detector: silence while the cache holds, and a name when it does not."""

from datetime import UTC, datetime, timedelta

import pytest

from carrel.context.compare import remember
from carrel.context.report import Change, Prefix, Row
from carrel.records.usage import Spent
from carrel.runtime.cachewatch import stood, time_to_live, watch

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
SAME = Prefix(sha256="0" * 64, tokens=9_000)


def spent(cached, *, minutes=0, model="anthropic:claude-sonnet-4-5", purpose="turn"):
    return Spent(
        agent="kate",
        session="s1",
        model=model,
        at=NOW + timedelta(minutes=minutes),
        input=10_000,
        cached=cached,
        output=100,
        purpose=purpose,
    )


def changed(section, cause):
    return Prefix(sha256="1" * 64, tokens=9_000, changed_by=Change(section=section, cause=cause))


def row(name, tokens, *, stable=True):
    return Row(
        name=name, kind="document", raw_tokens=tokens, tokens=tokens, size=tokens, limit=None,
        state="included", reason=None, stable=stable, sha256="a" * 64,
    )  # fmt: skip


def test_the_first_call_of_a_session_says_nothing():
    assert watch(None, spent(0), SAME) is None


def test_a_provider_that_never_counts_cached_tokens_says_nothing():
    assert watch(spent(0), spent(0, minutes=99), changed("SOUL.md", "changed"), stood=9_000) is None


@pytest.mark.parametrize("cached", [4_500, 9_000, 9_900])
def test_while_at_least_half_is_cached_nothing_is_said(cached):
    assert watch(spent(9_000), spent(cached, minutes=99), changed("AGENTS.md", "changed")) is None


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("changed", "SOUL.md changed"),
        ("added", "SOUL.md was added"),
        ("removed", "SOUL.md was removed"),
        ("moved", "SOUL.md moved"),
        ("scope", "from SOUL.md on"),
    ],
)
def test_a_broken_prefix_names_the_section_and_what_became_of_it(cause, words):
    found = watch(spent(9_000), spent(0, minutes=1), changed("SOUL.md", cause))
    assert found is not None
    assert found.code == "cache_broken"
    assert words in found.message
    assert "0 tokens came from the cache, where 9,000 did before" in found.message
    assert "time to live" not in found.message


def test_a_prefix_that_broke_after_the_cache_lapsed_says_both():
    found = watch(spent(9_000), spent(0, minutes=6), changed("SOUL.md", "changed"))
    assert found is not None
    assert found.code == "cache_broken"
    assert "time to live had passed as well" in found.message


def test_an_unchanged_prefix_after_a_long_silence_has_lapsed():
    found = watch(spent(9_000), spent(0, minutes=42), SAME)
    assert found is not None
    assert found.code == "cache_lapsed"
    assert "42 minutes ago" in found.message
    assert "about 5" in found.message


def test_an_unchanged_prefix_soon_after_is_the_providers_doing():
    found = watch(spent(9_000), spent(4_499, minutes=1), SAME)
    assert found is not None
    assert found.code == "cache_missed"


def test_a_further_round_of_a_turn_is_held_to_the_round_before_it():
    assert watch(spent(9_000), spent(9_500), None) is None
    found = watch(spent(9_000), spent(0), None)
    assert found is not None
    assert found.code == "cache_missed"


def test_what_a_turns_rounds_had_cached_is_not_promised_to_the_next_turn():
    rounds = spent(9_900)
    assert watch(rounds, spent(2_000, minutes=1), SAME, stood=2_100) is None
    found = watch(rounds, spent(1_000, minutes=1), SAME, stood=2_100)
    assert found is not None
    assert "2,100" in found.message


def test_another_model_and_background_work_have_caches_of_their_own():
    assert watch(spent(9_000, model="gpt-5"), spent(0), SAME) is None
    assert watch(spent(9_000, purpose="background"), spent(0), SAME) is None


def test_a_clock_that_was_set_back_is_no_lapse():
    found = watch(spent(9_000), spent(0, minutes=-600), SAME)
    assert found is not None
    assert found.code == "cache_missed"


def test_a_name_that_could_forge_a_line_is_shown_safely():
    found = watch(spent(9_000), spent(0), changed("a\nb\x1b[2J.md", "added"))
    assert found is not None
    assert found.message.isprintable()


def test_the_last_calls_prefix_ends_where_it_was_not_stable():
    rows = [row("SOUL.md", 700), row("AGENTS.md", 300), row("recall", 50, stable=False), row("late", 900)]
    assert stood(remember(rows, "main")) == 1_000
    assert stood(None) is None


@pytest.mark.parametrize(
    ("model", "minutes"),
    [
        ("anthropic:claude-opus-4-5", 5),
        ("openai:gpt-5", 10),
        ("o3", 10),
        ("azure:gpt-4o", 10),
        ("openai:my-own-tune", 10),
        ("ollama/gpt-oss:20b", 5),
        ("something", 5),
        ("", 5),
    ],
)
def test_each_provider_keeps_things_for_its_own_time(model, minutes):
    assert time_to_live(model) == timedelta(minutes=minutes)
