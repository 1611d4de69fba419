"""History summarised by a model: which one, what it may cost, and what happens where it is of no use."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.stubs import openai
from tests.stubs.openai import OpenAIStub
from tests.unit.runtime.house import NOW, House, codes, hold, prompt, says

from carrel.app import Workspace
from carrel.records.usage import Spent
from carrel.runtime.loop import Ended, Event, Shortening
from carrel.runtime.model import Reply, Spend
from carrel.testing import ScriptedModel

WINDOW = 4_000
SETTINGS = """layout: carrel
model:
  context_window: {window}
{more}agents:
  - id: kate
    systemPromptTemplate: You are Kate.
    allowedTools: [read_file]
"""
STORY = "The harbour is calm and the boats are many. " * 10
GOOD = "## Requests\n- Asked about boat 0 to boat 39 in the harbour\n\n## Facts\n- The harbour is calm, the boats are many"
FULL = 30
"""Turns that fill the window to 87 percent, tools included; a few more and not all of them fit."""


@pytest.fixture
def house(tmp_path: Path) -> House:
    return furnished(House(tmp_path / "house", tmp_path / "home"))


def furnished(house: House, more: str = "") -> House:
    return house.put({"carrel.yaml": SETTINGS.format(window=WINDOW, more=more)}).trust()


def talk(workspace: Workspace, turns: int, *, scope: str = "main", begin: int = 0) -> None:
    for number in range(begin, begin + turns):
        said: list[dict[str, Any]] = [
            {"role": "user", "content": f"Tell me about boat {number}."},
            {"role": "assistant", "content": STORY},
        ]
        workspace.record("s1", said, scope=scope)


def ask(
    house: House, model: Any, turns: int = FULL, *, scope: str = "main", said_in: str = ""
) -> list[Event]:
    """Hold a turn in a session that is full."""
    with house.open() as workspace:
        talk(workspace, turns, scope=said_in or scope)
        return hold(workspace, model, "And now?", scope=scope)


def compactions(house: House) -> list[dict[str, Any]]:
    return [line for line in house.log() if line["type"] == "compaction"]


def spend(house: House, cost: float, session: str = "s9") -> None:
    spent = Spent(
        agent="kate", session=session, model="gpt-5", at=NOW, input=1, cached=0, output=1, cost=cost
    )
    with house.open() as workspace:
        workspace.records.usage.add(spent, turn="t1")


def shortened(events: Sequence[Event]) -> bool:
    return any(isinstance(event, Shortening) for event in events)


def test_the_model_that_answers_summarises_where_no_other_is_set(house):
    model = ScriptedModel((Reply(text=GOOD),), says("Yes."), name="gpt-5")
    events = ask(house, model)
    assert shortened(events)
    assert "history_compacted" in codes(events)
    (line,) = compactions(house)
    assert line["method"] == "gpt-5"
    assert line["summary"].startswith("## Requests")
    assert len(model.requests) == 2
    assert "Asked about boat 0 to boat 39" in prompt(model, 1)
    assert "And now?" in prompt(model, 1)
    assert isinstance(events[-1], Ended)
    assert events[-1].reply.text == "Yes."


@pytest.mark.parametrize("turns", [FULL, 33, 36, 45])
def test_it_is_asked_however_far_history_is_beyond_the_window(house, turns):
    """A few large messages lead from a window that is half full to one that is far too full."""
    model = ScriptedModel((Reply(text=GOOD),), says("Yes."), name="gpt-5")
    events = ask(house, model, turns)
    assert shortened(events)
    assert [line["method"] for line in compactions(house)] == ["gpt-5"]


def test_a_session_that_is_not_full_is_not_summarised(house):
    model = ScriptedModel(says("Yes."), name="gpt-5")
    events = ask(house, model, 10)
    assert not shortened(events)
    assert len(model.requests) == 1


def test_the_background_model_summarises_where_one_is_set(tmp_path):
    told = openai.usage(900, 60)
    with OpenAIStub(openai.text(GOOD, told=told)) as cheap:
        more = f"  background: openai:gpt-5-nano\n  base_url: {cheap.url}\n"
        house = furnished(House(tmp_path / "house", tmp_path / "home"), more)
        model = ScriptedModel(says("Yes."), name="gpt-5")
        events = ask(house, model)
    assert [body["model"] for body in cheap.bodies] == ["gpt-5-nano"]
    assert len(model.requests) == 1
    assert compactions(house)[0]["method"] == "openai:gpt-5-nano"
    assert "history_compacted" in codes(events)
    with house.open() as workspace:
        spent = workspace.records.usage.last("kate", "s1", purpose="background")
    assert spent is not None
    assert (spent.model, spent.input, spent.output, spent.purpose) == (
        "openai:gpt-5-nano",
        900,
        60,
        "background",
    )
    assert spent.cost == pytest.approx((900 * 0.05 + 60 * 0.4) / 1_000_000)


def test_what_a_summary_costs_is_background_work_and_not_the_turns(house):
    summary = Reply(text=GOOD, spend=Spend(input=3_000, output=50))
    answer = Reply(text="Yes.", spend=Spend(input=1_200, output=5))
    events = ask(house, ScriptedModel((summary,), (answer,), name="gpt-5"))
    assert isinstance(events[-1], Ended)
    assert events[-1].spend == Spend(input=1_200, output=5)
    with house.open() as workspace:
        usage = workspace.records.usage
        background, turn = usage.total(purpose="background"), usage.total(purpose="turn")
        assert usage.last("kate", "s1", purpose="turn").input == 1_200
    assert (background.input, background.output) == (3_000, 50)
    assert turn.input == 1_200


def test_a_summary_that_was_of_no_use_is_paid_for_all_the_same(house):
    useless = Reply(text="No.", spend=Spend(input=3_000, output=2))
    events = ask(house, ScriptedModel((useless,), says("Yes."), name="gpt-5"))
    assert "summary_fallback" in codes(events)
    assert [line["method"] for line in compactions(house)] == ["offline"]
    with house.open() as workspace:
        assert workspace.records.usage.total(purpose="background").input == 3_000


@pytest.mark.parametrize("cap", ["per_day", "per_session"])
def test_at_80_percent_of_a_cap_rules_take_over_and_it_is_said(tmp_path, cap):
    house = House(tmp_path / "house", tmp_path / "home")
    house.put({"carrel.yaml": SETTINGS.format(window=WINDOW, more="") + f"spending:\n  {cap}: 1.0\n"}).trust()
    spend(house, 0.8, session="s1")
    model = ScriptedModel(says("Yes."), name="gpt-5")
    events = ask(house, model)
    assert len(model.requests) == 1
    assert "background_stopped" in codes(events)
    assert [line["method"] for line in compactions(house)] == ["offline"]
    assert "boat 29." in prompt(model, 0)


def test_below_that_the_model_is_asked(tmp_path):
    house = House(tmp_path / "house", tmp_path / "home")
    house.put(
        {"carrel.yaml": SETTINGS.format(window=WINDOW, more="") + "spending:\n  per_day: 1.0\n"}
    ).trust()
    spend(house, 0.79)
    ask(house, ScriptedModel((Reply(text=GOOD),), says("Yes."), name="gpt-5"))
    assert [line["method"] for line in compactions(house)] == ["gpt-5"]


@pytest.mark.parametrize(
    "answer",
    [
        (RuntimeError("down"),),
        (Reply(text=""),),
        (Reply(text="Ok."),),
        ("Half a summ", RuntimeError("gone")),
        (Reply(text=STORY * 200),),
    ],
    ids=["down", "empty", "too short", "broken off", "too long"],
)
def test_a_model_that_fails_to_summarise_leaves_it_to_rules_and_the_turn_goes_on(house, answer):
    model = ScriptedModel(answer, says("Yes."), name="gpt-5")
    events = ask(house, model)
    assert "summary_fallback" in codes(events)
    assert isinstance(events[-1], Ended)
    assert events[-1].reply.text == "Yes."
    (line,) = compactions(house)
    assert line["method"] == "offline"
    assert "boat" in line["summary"]


def test_a_callback_that_fails_keeps_the_model_from_being_asked(house):
    def fail(_: object) -> None:
        raise OSError("The disk is full.")

    model = ScriptedModel(says("Yes."), name="gpt-5")
    with house.open() as workspace:
        talk(workspace, FULL)
        workspace.callbacks.on("before_compaction", fail)
        events = hold(workspace, model, "And now?")
    assert "compaction_failed" in codes(events)
    assert compactions(house) == []
    assert len(model.requests) == 1
    assert "boat 0." in prompt(model, 0)


def test_who_heard_only_a_part_has_no_summary_made_of_the_whole(house):
    model = ScriptedModel(says("Yes."), name="gpt-5")
    with house.open() as workspace:
        talk(workspace, 1)
        talk(workspace, FULL, scope="shared", begin=1)
        hold(workspace, model, "And now?", scope="shared")
    assert len(model.requests) == 1
    assert "boat 0." not in prompt(model, 0)
    assert compactions(house) == []


def test_strangers_have_summarised_what_is_all_theirs(house):
    model = ScriptedModel((Reply(text=GOOD),), says("Yes."), name="gpt-5")
    ask(house, model, scope="shared")
    (line,) = compactions(house)
    assert (line["method"], line["scope"]) == ("gpt-5", "shared")


def test_the_offline_model_needs_no_second_call(house):
    events = ask(house, None)
    assert not shortened(events)
    assert [line["method"] for line in compactions(house)] == ["offline"]
