"""`carrel chat` with the model of the settings: whose word counts, and what is shown of a turn's cost and window."""

import io
import json
import sys

import pytest
from tests.stubs import openai
from tests.stubs.clerk import Clerk, is_summary
from tests.stubs.openai import OpenAIStub

QUESTION = "Which phone does Ana use?"
AGENT = (
    "layout: carrel\nagents:\n  - id: kate\n    displayName: Kate\n    systemPromptTemplate: You are Kate.\n"
)
CONTEXT = {"window", "used", "cached", "recalled", "percent", "turns_to_flush", "turns_to_compact"}


@pytest.fixture
def chat(cli, monkeypatch, sample):
    """Holds a conversation through a pipe in this process; returns what came of it."""

    def run(*said, words=(), as_json=True):
        text = "".join(f"{line}\n" for line in said).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return cli("-C", sample, "chat", "--session", "s1", *words, *(["--json"] if as_json else []))

    return run


@pytest.fixture
def stub():
    with OpenAIStub(openai.text("A Samsung.", told=openai.usage(1_500, 20, 1_000))) as running:
        yield running


@pytest.fixture
def settle(cli, sample):
    """Writes the workspace's settings, and has its owner trust them unless told not to."""

    def write(stub, *, trusted=True, more="", **model):
        own = {"name": "openai:gpt-4o", "base_url": stub.url, **model}
        lines = "".join(f"  {key}: {value}\n" for key, value in own.items())
        sample.put({"carrel.yaml": f"{AGENT}model:\n{lines}{more}"})
        if trusted:
            assert cli("trust", sample).code == 0

    return write


def events(outcome):
    assert (outcome.code, outcome.err) == (0, b"")
    return [json.loads(line) for line in outcome.text.splitlines()]


def ended(outcome):
    return [event for event in events(outcome) if event["event"] == "ended"]


# Whose word counts


def test_a_trusted_workspace_is_answered_by_the_model_of_its_settings(chat, settle, stub):
    settle(stub, name="openai:x")
    opened, *_, last = events(chat(QUESTION))
    assert (opened["model"], last["text"]) == ("openai:x", "A Samsung.")
    assert [body["model"] for body in stub.bodies] == ["x"]


def test_a_workspace_that_nobody_trusts_calls_nobody_and_says_so(chat, settle, stub):
    settle(stub, trusted=False)
    opened, *_, last = events(chat(QUESTION))
    assert opened["model"] == "offline"
    assert "Ana uses a Samsung." in last["text"]
    assert "untrusted_setting" in [finding["code"] for finding in last["findings"]]
    assert stub.asked == []


def test_a_person_is_told_that_a_setting_is_ignored(chat, settle, stub):
    settle(stub, trusted=False)
    told = chat(QUESTION, as_json=False).warnings
    assert "model offline" in told
    assert "[untrusted_setting]" in told
    assert "carrel trust" in told


def test_trust_ends_when_somebody_changes_the_server(chat, settle, stub):
    settle(stub)
    assert ended(chat(QUESTION))[-1]["text"] == "A Samsung."
    with OpenAIStub(openai.text("Mine now.")) as another:
        settle(another, trusted=False)
        assert ended(chat(QUESTION))[-1]["text"] != "Mine now."
        assert another.asked == []


def test_a_server_of_an_untrusted_workspace_is_not_called_for_a_model_that_a_person_names(
    chat, cli, settle, stub
):
    settle(stub, trusted=False)
    cli.set(OPENAI_API_KEY=None)
    refused = chat(QUESTION, words=("--model", "openai:gpt-4o"))
    assert (refused.code, refused.error["code"]) == (2, "key_missing")
    assert stub.asked == []


def test_a_model_that_is_named_takes_the_place_of_the_one_in_the_settings(chat, settle, stub):
    settle(stub)
    assert events(chat(QUESTION, words=("--model", "openai:other")))[0]["model"] == "openai:other"
    assert events(chat(QUESTION, words=("--model", "offline")))[0]["model"] == "offline"
    assert [body["model"] for body in stub.bodies] == ["other"]


def test_the_model_of_an_agent_goes_before_that_of_all(chat, cli, sample, settle, stub):
    settle(stub)
    text = (sample / "carrel.yaml").read_text().replace("displayName: Kate", "model: openai:kates-own")
    sample.put({"carrel.yaml": text})
    assert cli("trust", sample).code == 0
    assert events(chat(QUESTION))[0]["model"] == "openai:kates-own"
    assert stub.bodies[0]["model"] == "kates-own"


# What is shown of it


def test_usage_and_cost_of_a_turn_are_told(chat, settle, stub):
    settle(stub)
    first, second = ended(chat(QUESTION, "And Luis?"))
    assert first["usage"] == second["usage"] == {"input": 1_500, "cached": 1_000, "output": 20}
    assert first["cost"] == pytest.approx((500 * 2.5 + 1_000 * 1.25 + 20 * 10) / 1_000_000)


def test_a_cost_that_nobody_knows_is_not_made_up(chat, settle, stub):
    settle(stub, name="openai:x")
    (told,) = ended(chat(QUESTION))
    assert (told["usage"]["input"], told["cost"]) == (1_500, None)


def test_a_turn_tells_how_full_the_window_is_and_how_many_are_left(chat, settle, stub):
    settle(stub, context_window=8_000)
    chat(QUESTION)
    (told,) = ended(chat("And Luis?"))
    context = told["context"]
    assert set(context) == CONTEXT
    assert context["window"] == 8_000
    assert context["percent"] >= round(context["used"] * 100 / 8_000, 1)
    assert 0 < context["turns_to_flush"] < context["turns_to_compact"]


def test_fewer_turns_are_left_after_each(chat, settle):
    clerk = Clerk(8_000, lambda _, told: openai.text("Noted.", told=told))
    with OpenAIStub(clerk) as stub:
        settle(stub, context_window=8_000)
        told = ended(chat(*["Tell me more about the harbour and its boats. " * 8] * 6))
    left = [event["context"]["turns_to_compact"] for event in told[1:]]
    assert left == sorted(left, reverse=True)
    assert left[-1] < left[0]
    full = [event["context"]["percent"] for event in told[1:]]
    assert full == sorted(set(full))


def test_a_person_reads_how_many_turns_are_left(chat, settle, stub):
    settle(stub, context_window=8_000)
    chat(QUESTION)
    line = chat("And Luis?", as_json=False).warnings.splitlines()[-1]
    assert "context " in line
    assert line.endswith(" turns until compaction")


def test_a_report_shows_what_is_left_of_the_window_too(chat, cli, sample, settle, stub):
    settle(stub, context_window=8_000)
    (told,) = ended(chat(QUESTION))
    report = cli("-C", sample, "context", "report", "--session", "s1", "--json").document
    assert report["forecast"]["turns_to_flush"] <= report["forecast"]["turns_to_compact"]
    assert report["tokens"]["window"] == told["context"]["window"]


def test_a_summary_that_is_waited_for_is_shown(chat, settle):
    clerk = Clerk(8_000, lambda _, told: openai.text("Noted.", told=told))
    with OpenAIStub(clerk) as stub:
        settle(stub, context_window=8_000)
        story = (
            "We decided to ship release {} on Friday. " + "The harbour is calm and the boats are many. " * 40
        )
        told = events(chat(*(story.format(number) for number in range(20))))
        bodies = stub.bodies
    kinds = [event["event"] for event in told]
    assert "shortening" in kinds
    assert {"event": "shortening"} in told
    assert kinds.count("shortening") == sum(map(is_summary, bodies))
    after = told[kinds.index("shortening") :]
    shortened = next(event for event in after if event["event"] == "ended")
    assert "history_compacted" in [finding["code"] for finding in shortened["findings"]]
    assert kinds.count("ended") == 20


def test_a_person_is_told_that_a_summary_is_waited_for(chat, settle):
    clerk = Clerk(8_000, lambda _, told: openai.text("Noted.", told=told))
    with OpenAIStub(clerk) as stub:
        settle(stub, context_window=8_000)
        story = (
            "We decided to ship release {} on Friday. " + "The harbour is calm and the boats are many. " * 40
        )
        outcome = chat(*(story.format(number) for number in range(20)), as_json=False)
    assert outcome.code == 0
    assert "summarising what was said before" in outcome.warnings
    assert "[history_compacted]" in outcome.warnings
