"""Whole turns over real HTTP: a workspace, a provider's model, its tools, and what is recorded of it all."""

import asyncio

import pytest
from tests.stubs import anthropic, openai
from tests.stubs.anthropic import AnthropicStub
from tests.stubs.asking import Hourglass, model_at
from tests.stubs.openai import OpenAIStub
from tests.stubs.scripted import DISCONNECT, HANG, PATIENCE, Gate

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.runtime.loop import CallEnded, Ended, Piece
from carrel.runtime.model import Spend
from carrel.runtime.providers import open_model

BOTH = pytest.mark.parametrize(
    ("kind", "provider"),
    [(OpenAIStub, openai), (AnthropicStub, anthropic)],
    ids=["openai", "anthropic"],
)


@pytest.fixture
def workspace(sample):
    with Workspace.open(sample, environ={"CARREL_HOME": str(sample.path.parent / "home")}) as opened:
        yield opened


def turn(workspace, model, message="What is in api.md?"):
    """Hold a turn and return its events, or those before its error, and the error."""
    events, errors = [], []

    async def run():
        try:
            async for event in workspace.turn("s1", message, model=model):
                events.append(event)  # noqa: PERF401 - what came before an error counts too
        except CarrelError as error:
            errors.append(error)

    asyncio.run(run())
    return events, errors[0] if errors else None


def recorded(workspace):
    return [(placed.entry.role, placed.entry.to_text()) for placed in workspace.sessions.entries("s1")]


def texts(events):
    return "".join(event.text for event in events if isinstance(event, Piece))


@BOTH
def test_a_turn_with_a_tool_is_held_over_the_wire(workspace, kind, provider):
    asked = provider.calls(("read_file", {"path": "knowledge/api.md"}), said=["Let me look."])
    with kind(asked, provider.text("It says: ", "one door.")) as stub:
        events, error = turn(workspace, model_at(stub))
    assert error is None
    assert texts(events) == "Let me look.It says: one door."
    results = [event for event in events if isinstance(event, CallEnded)]
    assert [(result.call.name, result.failed) for result in results] == [("read_file", False)]
    assert "one door" in results[0].result
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.finish, ended.rounds, ended.reply.text) == ("stop", 1, "It says: one door.")
    assert "one door" in str(stub.bodies[1]["messages"][-1])
    assert [role for role, _ in recorded(workspace)] == ["user", "assistant", "tool", "assistant"]


@BOTH
def test_what_every_round_cost_is_added_up(workspace, kind, provider):
    if provider is openai:
        first = openai.calls(("list_files", {}), told=openai.usage(100, 5, 80))
        last = openai.text("Two files.", told=openai.usage(150, 7, 120))
    else:
        first = anthropic.calls(("list_files", {}), told=anthropic.usage(20, cached=80))
        last = anthropic.text("Two files.", told=anthropic.usage(30, cached=120), written=7)
    with kind(first, last) as stub:
        events, _ = turn(workspace, model_at(stub))
    assert events[-1].spend == Spend(input=250, cached=200, output=12)


@BOTH
def test_arguments_that_make_no_sense_are_told_to_the_model(workspace, kind, provider):
    with kind(provider.calls(("read_file", '{"path": ')), provider.text("Sorry.")) as stub:
        events, error = turn(workspace, model_at(stub))
    assert error is None
    assert events[-1].reply.text == "Sorry."
    assert "bad_arguments" in str(stub.bodies[1]["messages"][-1])


@BOTH
def test_the_next_turn_sends_what_was_said_before(workspace, kind, provider):
    with kind(provider.text("Hello Luis.")) as stub:
        model = model_at(stub)
        turn(workspace, model, "My name is Luis.")
        turn(workspace, model, "What is my name?")
    roles = [message["role"] for message in stub.bodies[1]["messages"] if message["role"] != "system"]
    assert roles == ["user", "assistant", "user"]
    assert "My name is Luis." in str(stub.bodies[1]["messages"])
    assert "Hello Luis." in str(stub.bodies[1]["messages"])


@BOTH
def test_what_had_arrived_before_a_disconnect_is_recorded(workspace, kind, provider):
    with kind(provider.text("Half an ", "answer", DISCONNECT)) as stub:
        events, error = turn(workspace, model_at(stub))
    assert error.code == "reply_broken_off"
    assert texts(events) == "Half an answer"
    assert recorded(workspace) == [("user", "What is in api.md?"), ("assistant", "Half an answer")]


@BOTH
@pytest.mark.parametrize("trouble", ["limited", "BROKEN", "TOO_LONG", "UNAUTHORIZED"])
def test_a_failure_leaves_the_history_intact_and_the_next_turn_works(workspace, kind, provider, trouble):
    answer = getattr(provider, trouble)
    glass = Hourglass()
    with kind(answer() if callable(answer) else answer) as stub:
        model = model_at(stub, glass=glass)
        _, error = turn(workspace, model)
        assert error.code in ("rate_limited", "provider_down", "context_too_long", "key_refused")
        assert recorded(workspace) == [("user", "What is in api.md?")]
        stub.then(provider.text("Here again."))
        events, error = turn(workspace, model, "And now?")
    assert error is None
    assert events[-1].reply.text == "Here again."
    assert sum(glass.waits) <= 60


@BOTH
def test_an_empty_answer_is_reported(workspace, kind, provider):
    with kind(provider.text()) as stub:
        events, error = turn(workspace, model_at(stub))
    assert error is None
    assert [finding.code for finding in events[-1].findings] == ["empty_reply"]


@BOTH
def test_a_cancelled_turn_hangs_up_and_keeps_what_had_arrived(workspace, kind, provider):
    gate = Gate()

    async def run(model, stub):
        async def hold():
            async for event in workspace.turn("s1", "Tell me.", model=model):
                if isinstance(event, Piece):
                    heard.set()

        heard = asyncio.Event()
        task = asyncio.create_task(hold())
        await asyncio.wait_for(heard.wait(), PATIENCE)
        task.cancel()
        await asyncio.wait({task})
        gate.open()
        return await asyncio.to_thread(stub.asked[0].gone.wait, PATIENCE)

    with kind(provider.text("Once upon ", gate, HANG)) as stub:
        assert asyncio.run(run(model_at(stub), stub))
    assert recorded(workspace) == [("user", "Tell me."), ("assistant", "Once upon ")]


def test_a_missing_key_is_told_before_anything_is_recorded(workspace):
    with pytest.raises(CarrelError) as raised:
        turn(workspace, open_model("openai:gpt-4o", environ={}))
    assert raised.value.code == "key_missing"
    assert not workspace.sessions.exists("s1")


def test_the_last_round_may_call_no_tools_and_is_accepted_all_the_same(workspace):
    with AnthropicStub(anthropic.calls(("list_files", {}))) as stub:
        events, error = turn(workspace, model_at(stub))
    assert error is None
    assert events[-1].finish == "tool_rounds"
    assert stub.bodies[-1]["tool_choice"] == {"type": "none"}
    # What stands before the conversation is the same in the last round: a provider keeps it.
    assert stub.bodies[-1]["tools"] == stub.bodies[0]["tools"]
    assert "list_files" in [tool["name"] for tool in stub.bodies[-1]["tools"]]
    assert ["tool_choice" in body for body in stub.bodies] == [False] * 8 + [True]
