"""What a call cost, where that is known."""

import pytest

from carrel.runtime.model import Spend
from carrel.runtime.prices import cost_of, price_of


def test_what_came_from_the_cache_costs_less_than_what_was_read_anew():
    spend = Spend(input=1_000_000, cached=900_000, output=100_000)
    assert cost_of("claude-sonnet-4-5", spend) == pytest.approx(0.1 * 3 + 0.9 * 0.3 + 0.1 * 15)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("openai:gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-chat-latest", "gpt-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("anthropic:claude-sonnet-4-5-20250929", "claude-sonnet-4"),
        ("vertex:claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("google/Gemini-2.5-Flash-preview-05-20", "gemini-2.5-flash"),
        ("openrouter:openai/gpt-4o:free", "gpt-4o"),
    ],
)
def test_a_provider_before_and_a_date_behind_do_not_change_the_price(name, same):
    assert price_of(name) is not None
    assert price_of(name) == price_of(same)


@pytest.mark.parametrize(
    ("longer", "shorter"),
    [("gpt-5-mini", "gpt-5"), ("gpt-4o", "gpt-4"), ("claude-opus-4-5", "claude-opus-4")],
)
def test_the_longest_name_that_is_known_gives_the_price(longer, shorter):
    assert price_of(longer) != price_of(shorter)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ":",
        "my-model",
        "gpt-5.99",
        "gpt-4o-audio-preview",
        "o3-deep-research",
        "gpt-50",
        "x" * 10_000,
        "\ud800",
    ],
)
def test_an_unknown_model_has_no_price_rather_than_a_wrong_one(name):
    assert cost_of(name, Spend(input=1_000, output=1_000)) is None


def test_a_model_on_a_server_of_ones_own_has_not_its_makers_price():
    assert price_of("deepseek-chat") is not None
    assert price_of("ollama/deepseek-chat") is None


def test_the_offline_model_costs_nothing():
    assert cost_of("offline", Spend(input=1_000, output=1_000)) == 0.0


def test_figures_that_cannot_be_are_not_paid_out():
    assert cost_of("gpt-5", Spend(input=-5, cached=99, output=-5)) == 0.0
