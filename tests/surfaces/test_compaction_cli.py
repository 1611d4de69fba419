"""`carrel sessions compact | forecast`: what people and programs see, and what is left behind."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from carrel.app import Workspace

STORY = "The harbour is calm and the boats are many. " * 150


@pytest.fixture
def say(cli, sample) -> Callable[..., Any]:
    """Return what runs a verb of `carrel sessions` in the workspace."""
    return lambda *words: cli("-C", sample, "sessions", *words)


@pytest.fixture
def talk(say, sample) -> Callable[..., None]:
    """Return what records turns of a session, each of about 1,300 tokens."""

    def spoken(session: str, turns: int, start: int = 0) -> None:
        with Workspace.open(sample) as workspace:
            for number in range(start, start + turns):
                asked = {"role": "user", "content": f"We decided to paint boat B-{number} blue."}
                workspace.record(session, [asked, {"role": "assistant", "content": STORY}])

    return spoken


def log_of(desk, session: str) -> list[dict[str, Any]]:
    text = (desk / f"agents/kate/sessions/{session}.log.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_session_is_compacted_and_its_log_keeps_every_word(say, talk, sample) -> None:
    talk("s1", 8)
    before = log_of(sample, "s1")
    done = say("compact", "s1")
    assert (done.code, done.err) == (0, b"")
    assert "12 messages are a summary from now on" in done.text
    assert "The log keeps them all." in done.text
    after = log_of(sample, "s1")
    assert after[: len(before)] == before
    assert [line["type"] for line in after[len(before) :]] == ["compaction"]
    assert after[-1]["through"] == 12
    assert "B-0" in after[-1]["summary"]
    window = (sample / "agents/kate/sessions/s1.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in window] == ["session", "compaction", *["entry"] * 4]


def test_a_dry_run_says_what_would_be_done_and_leaves_no_trace(say, talk, sample) -> None:
    talk("s1", 8)
    say("forecast", "s1")
    before = sample.snapshot()
    done = say("compact", "s1", "--dry-run")
    told = say("compact", "s1", "--dry-run", "--json").document
    assert "12 messages would be a summary" in done.text
    assert "B-5" in done.text
    assert sample.snapshot() == before
    real = say("compact", "s1", "--json").document
    assert told == real | {"dry_run": True}
    assert set(real) == {
        "schema_version", "session", "dry_run", "entries", "through", "tokens_before", "tokens_after",
        "summary", "method", "findings",
    }  # fmt: skip
    assert (real["dry_run"], real["method"], real["entries"]) == (False, "offline", 12)


def test_the_next_call_has_the_summary_and_a_second_compaction_still_knows_the_first(
    say, talk, cli, sample
) -> None:
    talk("s1", 8)
    used = [cli("-C", sample, "context", "report", "--session", "s1", "--json").document["tokens"]["used"]]
    say("compact", "s1")
    used.append(
        cli("-C", sample, "context", "report", "--session", "s1", "--json").document["tokens"]["used"]
    )
    assert used[1] < used[0] / 2
    talk("s1", 8, start=8)
    assert say("compact", "s1").code == 0
    shown = cli("-C", sample, "context", "show", "--session", "s1").text
    for number in range(16):
        assert f"paint boat B-{number} blue" in shown
    assert shown.count("Summary of the conversation so far:") == 1


def test_a_forecast_tells_percent_and_turns_and_compacting_moves_it_away(say, talk, sample) -> None:
    sample.put({"carrel.yaml": "layout: carrel\nagents: [{id: kate}]\nmodel: {context_window: 20000}\n"})
    talk("s1", 8)
    told = say("forecast", "s1", "--json").document
    assert set(told) == {
        "schema_version",
        "session",
        "percent",
        "tokens",
        "turns_to_flush",
        "turns_to_compact",
    }
    assert 40 < told["percent"] < 70
    assert 0 < told["turns_to_flush"] < told["turns_to_compact"] < 10
    text = say("forecast", "s1").text
    assert f"{told['percent']:g} % used: " in text
    assert f"saved at 70 %: in {told['turns_to_flush']} turn" in text
    assert f"compacted at 85 %: in {told['turns_to_compact']} turn" in text
    say("compact", "s1")
    later = say("forecast", "s1", "--json").document
    assert later["percent"] < told["percent"]
    assert later["turns_to_flush"] > told["turns_to_flush"]


def test_what_is_due_is_due_now(say, talk, sample) -> None:
    sample.put({"carrel.yaml": "layout: carrel\nagents: [{id: kate}]\nmodel: {context_window: 9000}\n"})
    talk("s1", 7)
    told = say("forecast", "s1", "--json").document
    assert (told["turns_to_flush"], told["turns_to_compact"]) == (0, 0)
    assert "compacted at 85 %: now" in say("forecast", "s1").text


@pytest.mark.parametrize("verb", ["compact", "forecast"])
def test_a_session_that_is_not_there_or_not_yours_is_refused(say, talk, cli, sample, verb) -> None:
    talk("s1", 2)
    before = log_of(sample, "s1")
    assert say(verb, "nobody", "--json").error["code"] == "unknown_session"
    assert say(verb, "../s1", "--json").error["code"] == "bad_id"
    hidden = cli("-C", sample, "--scope", "shared", "sessions", verb, "s1", "--json")
    assert (hidden.code, hidden.error["code"]) == (6, "hidden_by_scope")
    assert log_of(sample, "s1") == before


def test_a_session_too_short_to_compact_says_so(say, talk, sample) -> None:
    talk("s1", 1)
    for words in (("compact", "s1"), ("compact", "s1", "--dry-run")):
        done = say(*words, "--json")
        assert (done.code, done.error["code"]) == (3, "nothing_to_compact")
