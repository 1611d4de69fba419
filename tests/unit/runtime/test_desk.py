"""A turn at its desk: later rounds fit too, a refusal leads to one shorter call, and reports of use are believed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime.house import KATES, House, codes, hold, prompt, says, spoken
from tests.unit.runtime.scripted import asks, assert_valid, call

from carrel.app import Workspace
from carrel.context.calls import to_plain
from carrel.runtime.loop import Ended, Event, Prepared
from carrel.runtime.model import ContextTooLong, Reply, Request, Spend
from carrel.runtime.room import OverWindow, room_in
from carrel.sessions.message import Message
from carrel.testing import ScriptedModel

WINDOW = 4_000
STORY = "The harbour is calm and the boats are many. " * 10


def settings(window: int | None = WINDOW, tools: str = "read_file") -> str:
    model = "" if window is None else f"model:\n  context_window: {window}\n"
    return (
        f"layout: carrel\n{model}agents:\n  - id: kate\n    systemPromptTemplate: You are Kate.\n"
        f"    allowedTools: [{tools}]\n"
    )


@pytest.fixture
def house(tmp_path: Path) -> House:
    files = {f"pages/{n}.txt": f"PAGE{n} " + STORY * 6 for n in range(8)}
    return House(tmp_path / "house", tmp_path / "home").put({"carrel.yaml": settings(), **files}).trust()


def talk(workspace: Workspace, turns: int, scope: str = "main") -> None:
    """Record turns of about 105 tokens each."""
    for number in range(turns):
        said: list[dict[str, Any]] = [
            {"role": "user", "content": f"Tell me about boat {number}."},
            {"role": "assistant", "content": STORY},
        ]
        workspace.record("s1", said, scope=scope)


def size_of(workspace: Workspace, request: Request) -> int:
    """What a request has, tools left out, as Carrel counts it."""
    return sum(workspace.counts.count(to_plain(message)) for message in request.messages)


def log_of(house: House) -> bytes:
    return (house.root / f"{KATES}/s1.log.jsonl").read_bytes()


def reads(number: int) -> Reply:
    return asks(call("read_file", f"c{number}", path=f"pages/{number}.txt"))


def results(request: Request) -> list[str]:
    return [message.to_text() for message in request.messages if message.role == "tool"]


# ----------------------------------------------------------------------------------------------------------- later rounds


def test_every_round_of_a_turn_fits_its_window(house):
    model = ScriptedModel(*[(reads(number),) for number in range(8)], says("Done."))
    with house.open() as workspace:
        talk(workspace, 20)
        events = hold(workspace, model, "Read them all.")
        sizes = [size_of(workspace, request) for request in model.requests]
    assert len(sizes) == 9
    assert max(sizes) <= room_in(WINDOW)
    assert sum(sizes[1:]) > 0
    for request in model.requests:
        assert_valid(request.messages)
        assert request.messages[0] == model.requests[0].messages[0]
    assert isinstance(events[-1], Ended)
    assert events[-1].finish == "stop"


def test_a_turns_own_results_are_clipped_oldest_first(house):
    model = ScriptedModel(*[(reads(number),) for number in range(8)], says("Done."))
    with house.open() as workspace:
        hold(workspace, model, "Read them all.")
    last = results(model.requests[-1])
    clipped = ["characters, clipped]" in text for text in last]
    assert clipped[0]
    assert not clipped[-1]
    assert clipped == sorted(clipped, reverse=True)
    assert all(f"PAGE{number} " in text for number, text in enumerate(last))
    # The log has every word.
    assert all(
        len(message.to_text()) > len(STORY) * 6 for message in spoken(house.log()) if message.role == "tool"
    )


def test_older_turns_are_not_sent_before_a_turns_own_results_are_clipped(house):
    model = ScriptedModel(*[(reads(number),) for number in range(3)], says("Done."))
    with house.open() as workspace:
        talk(workspace, 20)
        hold(workspace, model, "Read three.")
    assert "boat 0." in prompt(model, 0)
    assert "boat 0." not in prompt(model, -1)
    assert not any("characters, clipped]" in text for text in results(model.requests[-1]))


def test_what_later_rounds_leave_out_is_offered_before(house):
    model = ScriptedModel(*[(reads(number),) for number in range(3)], says("Done."))
    saved: list[str] = []
    with house.open() as workspace:
        talk(workspace, 20)
        workspace.callbacks.on(
            "before_compaction", lambda event: saved.extend(m.to_text() for m in event.messages)
        )
        hold(workspace, model, "Read three.")
    gone = [f"Tell me about boat {n}." for n in range(20) if f"boat {n}." not in prompt(model, -1)]
    assert gone
    assert set(gone) <= set(saved)


def test_a_turn_whose_own_results_cannot_fit_ends_with_a_typed_error_and_a_whole_log(house):
    question = "Look. " + STORY * 34  # nearly all of the room
    model = ScriptedModel(*[(reads(number),) for number in range(8)], says("Done."))
    with house.open() as workspace, pytest.raises(OverWindow) as caught:
        hold(workspace, model, question)
    assert caught.value.code == "message_over_window"
    log = spoken(house.log())
    assert_valid(log)
    assert log[0].content == question
    assert len([message for message in log if message.role == "tool"]) == len(model.requests)
    with house.open() as workspace:
        assert isinstance(hold(workspace, ScriptedModel(says("Yes.")), "Are you there?")[-1], Ended)


# --------------------------------------------------------------------------------------------------------------- refusals

TOO_LONG = (ContextTooLong("scripted"),)


def test_a_refused_call_is_made_once_more_and_shorter(house):
    model = ScriptedModel(TOO_LONG, says("Yes."))
    with house.open() as workspace:
        talk(workspace, 25)
        events = hold(workspace, model, "And now?")
        first, second = (size_of(workspace, request) for request in model.requests)
    assert second <= first * 2 // 3
    assert "And now?" in prompt(model, 1)
    assert "window_smaller" in codes(events)
    assert events[-1].reply.text == "Yes."


def test_a_call_that_is_refused_twice_is_an_error_and_history_is_intact(house):
    model = ScriptedModel(TOO_LONG, TOO_LONG, says("Never."))
    with house.open() as workspace:
        talk(workspace, 25)
        before = log_of(house)
        with pytest.raises(ContextTooLong):
            hold(workspace, model, "And now?")
    assert len(model.requests) == 2
    assert log_of(house).startswith(before)
    roles = [message.role for message in spoken(house.log())]
    assert roles == [*["user", "assistant"] * 25, "user"]
    with house.open() as workspace:
        assert isinstance(hold(workspace, ScriptedModel(says("Yes.")), "Are you there?")[-1], Ended)


def test_a_later_round_that_is_refused_is_made_shorter_too(house):
    model = ScriptedModel((reads(0),), (reads(1),), TOO_LONG, says("Done."))
    with house.open() as workspace:
        talk(workspace, 10)
        events = hold(workspace, model, "Read two.")
        sizes = [size_of(workspace, request) for request in model.requests]
    assert sizes[3] <= sizes[2] * 2 // 3
    assert_valid(model.requests[3].messages)
    assert "Read two." in prompt(model, 3)
    assert "window_smaller" in codes(events)


def test_a_refusal_in_one_round_and_another_later_is_an_error(house):
    model = ScriptedModel(TOO_LONG, (reads(0),), TOO_LONG, says("Never."))
    with house.open() as workspace:
        talk(workspace, 25)
        with pytest.raises(ContextTooLong):
            hold(workspace, model, "Read it.")
    assert len(model.requests) == 3
    assert_valid(spoken(house.log()))


def test_after_a_refusal_later_rounds_of_the_turn_stay_as_short(house):
    model = ScriptedModel(TOO_LONG, (reads(0),), (reads(1),), says("Done."))
    with house.open() as workspace:
        talk(workspace, 25)
        hold(workspace, model, "Read two.")
        sizes = [size_of(workspace, request) for request in model.requests]
    assert max(sizes[1:]) <= sizes[0] * 2 // 3


# ------------------------------------------------------------------------------------------------------- reports of usage


def reporting(workspace: Workspace, told: Callable[[int], int], name: str = "scripted") -> ScriptedModel:
    """A model that reports use as a function of what we count."""

    def answer() -> Reply:
        tokens = told(size_of(workspace, model.requests[-1]))
        return Reply(text=STORY, spend=Spend(input=tokens, output=100))

    model = ScriptedModel((answer,), name=name)
    return model


def first_shortened(house: House, told: Callable[[int], int], turns: int = 40) -> int:
    """How many turns were held when history was compacted for the first time."""
    with house.open() as workspace:
        model = reporting(workspace, told)
        for number in range(turns):
            hold(workspace, model, f"Tell me about boat {number}.")
            if any(line["type"] == "compaction" for line in house.log()):
                return number
    raise AssertionError("it was never compacted")


def test_a_provider_that_counts_more_than_we_do_has_history_compacted_earlier(tmp_path):
    files = {"carrel.yaml": settings(tools="list_skills")}
    houses = [House(tmp_path / f"house{n}", tmp_path / "home").put(files).trust() for n in range(3)]
    exact = first_shortened(houses[0], lambda counted: counted)
    more = first_shortened(houses[1], lambda counted: counted * 12 // 10)
    half = first_shortened(houses[2], lambda counted: counted * 15 // 10)
    assert half < more < exact
    # It is full when the provider says so: a fifth more tokens, a sixth fewer turns.
    assert abs(more - exact * 10 // 12) <= 2


@pytest.mark.parametrize("lie", [10**9, 1])
def test_a_report_that_cannot_be_true_is_named_and_changes_nothing(house, lie):
    with house.open() as workspace:
        talk(workspace, 15)
        model = reporting(workspace, lambda _: lie)
        hold(workspace, model, "One.")
        events = hold(workspace, model, "Two.")
    assert "usage_doubtful" in codes(events)
    assert not any(line["type"] == "compaction" for line in house.log())
    assert "boat 0." in prompt(model, -1)


@pytest.mark.parametrize("told", [WINDOW + 1, 3 * WINDOW, 5 * WINDOW])
def test_a_report_of_more_than_the_window_takes_is_named_and_does_not_end_the_session(house, told):
    """The provider has answered that call, so it cannot have been longer than the window."""
    with house.open() as workspace:
        talk(workspace, 15)
        model = reporting(workspace, lambda _: told)
        hold(workspace, model, "One.")
        events = hold(workspace, model, "Two.")
    assert "usage_doubtful" in codes(events)
    assert "boat 0." in prompt(model, -1)
    assert not any(line["type"] == "compaction" for line in house.log())


def test_a_report_that_takes_all_of_the_window_does_not_refuse_the_next_message(house):
    """What a provider says is a reason to send less, and none to send nothing."""
    house.put({"AGENTS.md": STORY * 11})
    with house.open() as workspace:
        model = reporting(workspace, lambda _: WINDOW - 10)
        for number in range(3):
            assert isinstance(hold(workspace, model, STORY * (number + 1))[-1], Ended)


def test_another_models_report_is_not_taken_for_this_ones(house):
    with house.open() as workspace:
        talk(workspace, 15)
        hold(workspace, reporting(workspace, lambda counted: counted + 2_500, name="first"), "One.")
        model = reporting(workspace, lambda counted: counted, name="second")
        hold(workspace, model, "Two.")
    assert "boat 0." in prompt(model, -1)
    assert not any(line["type"] == "compaction" for line in house.log())


def test_the_account_says_what_was_counted_and_what_was_reported(house):
    with house.open() as workspace:
        model = reporting(workspace, lambda counted: counted + 77)
        hold(workspace, model, "One.")
        spent = workspace.records.usage.last("kate", "s1", purpose="turn")
    assert spent is not None
    assert spent.counted == spent.input - 77


# ------------------------------------------------------------------------------------------------------------- tools' room


def test_the_tools_count_before_a_provider_has_said_so(tmp_path):
    """Before the first report, what the tools take is counted by ourselves."""

    def held(name: str, tools: str) -> int:
        house = House(tmp_path / name, tmp_path / "home").put({"carrel.yaml": settings(tools=tools)}).trust()
        model = ScriptedModel(says("Yes."))
        with house.open() as workspace:
            talk(workspace, 30, "shared")
            workspace.record("s1", [{"role": "user", "content": "Owner."}])  # so that nobody may compact it
            hold(workspace, model, "And now?", scope="shared")
            return size_of(workspace, model.requests[0])

    assert held("many", "'*'") < held("few", "read_file")


def prepared(events: list[Event]) -> Prepared:
    return next(event for event in events if isinstance(event, Prepared))


def test_an_assumed_window_refuses_no_message(tmp_path):
    house = House(tmp_path / "house", tmp_path / "home").put({"carrel.yaml": settings(None)}).trust()
    model = ScriptedModel(says("Yes."))
    events = house.say(model, "Look. " + STORY * 1_400)
    assert isinstance(events[-1], Ended)
    assert [message.role for message in prepared(events).assembly.messages][-1] == "user"
    assert Message("user", "Look. " + STORY * 1_400).to_text() in prompt(model, 0)


def test_a_page_of_a_file_is_no_larger_than_a_quarter_of_the_room(house):
    house.put({"long.txt": STORY * 200})
    model = ScriptedModel((asks(call("read_file", "c1", path="long.txt")),), says("Done."))
    with house.open() as workspace:
        talk(workspace, 10)
        hold(workspace, model, "Read it.")
        (page,) = results(model.requests[-1])
        assert workspace.counts.count(page) <= room_in(WINDOW) // 2
    assert "boat 0." in prompt(model, -1)
    assert '"more":' in page


def test_what_later_rounds_leave_out_is_said(house):
    model = ScriptedModel(*[(reads(number),) for number in range(3)], says("Done."))
    with house.open() as workspace:
        talk(workspace, 20)
        assert "history_dropped" in codes(hold(workspace, model, "Read three."))


def test_a_call_that_cannot_be_made_shorter_is_not_sent_again(house):
    model = ScriptedModel(TOO_LONG, says("Never."))
    with house.open() as workspace, pytest.raises(ContextTooLong):
        hold(workspace, model, "Are you there?")
    assert len(model.requests) == 1
