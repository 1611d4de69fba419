"""One turn: what is recorded and when, whatever the model, the tools and the user do meanwhile."""

import asyncio
import threading
from contextlib import aclosing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json
from tests.unit.runtime.scripted import (
    Interruption,
    PlainDesk,
    SkippingLoop,
    asks,
    assert_valid,
    call,
    interrupted,
    play,
    skip,
)

from carrel.errors import CarrelError, NotFound, Unavailable
from carrel.runtime.loop import CallEnded, CallStarted, Ended, Limits, Piece, Prepared, run_turn
from carrel.runtime.loop.calls import NO_MORE
from carrel.runtime.loop.hearing import ModelFailed, ModelIncomplete, ModelTimeout
from carrel.runtime.model import Reply, Spend
from carrel.sessions.message import Message, ToolCall
from carrel.testing import SILENCE, ScriptedModel


def said(events):
    return "".join(event.text for event in events if isinstance(event, Piece))


def codes(ended):
    return [finding.code for finding in ended.findings]


def error_in(text):
    return json.decode(text)["error"]


def echo(text="echo"):
    return text


# The order of things


def test_a_turn_without_tools_records_the_question_before_the_model_is_asked():
    desk = PlainDesk()
    seen = []
    model = ScriptedModel([lambda: seen.append(list(desk.log)), "Hel", "lo.", Reply(text="Hello.")])
    events = play(model, desk)
    assert seen == [[Message("user", "Hi.")]]
    assert [type(event) for event in events] == [Prepared, Piece, Piece, Ended]
    assert said(events) == "Hello."
    assert desk.log == [Message("user", "Hi."), Message("assistant", "Hello.")]
    assert desk.steps == ["record user", "prepare", "record assistant"]
    assert (events[-1].finish, events[-1].rounds, events[-1].findings) == ("stop", 0, ())


def test_pieces_are_passed_on_while_the_model_still_speaks():
    desk = PlainDesk()
    model = ScriptedModel(["one ", "two", SILENCE])

    async def first_two():
        async with aclosing(run_turn(desk, model, Message("user", "Hi."))) as events:
            found = []
            async for event in events:
                found.append(event)
                if len(found) == 3:
                    return found
        return []

    assert said(asyncio.run(first_two())) == "one two"


def test_a_tool_runs_between_two_rounds_and_each_step_is_recorded_when_it_arrives():
    desk = PlainDesk({"echo": echo})
    asked = asks(call("echo", "c1", text="A"), call("echo", "c2", text="B"), text="Let me look.")
    model = ScriptedModel(["Let me look.", asked], ["Done.", Reply(text="Done.")])
    events = play(model, desk)
    assert [type(e) for e in events[2:6]] == [CallStarted, CallEnded, CallStarted, CallEnded]
    assert events[3] == CallEnded(call("echo", "c1", text="A"), "A", failed=False)
    assert desk.steps == [
        "record user",
        "prepare",
        "record assistant",
        "call echo",
        "record tool",
        "call echo",
        "record tool",
        "fit",
        "record assistant",
    ]
    assert desk.log[2:4] == [
        Message("tool", "A", name="echo", tool_call_id="c1"),
        Message("tool", "B", name="echo", tool_call_id="c2"),
    ]
    assert events[-1].rounds == 1
    assert_valid(desk.log)


def test_every_round_sends_the_same_context_and_then_what_the_turn_added():
    desk = PlainDesk({"echo": echo})
    model = ScriptedModel([asks(call("echo"))], [Reply(text="Done.")])
    events = play(model, desk)
    first, second = (request.messages for request in model.requests)
    assert first == events[0].assembly.messages
    assert second == (*first, *desk.log[1:3])
    assert desk.steps.count("prepare") == 1
    assert [request.tools for request in model.requests] == [desk.tools, desk.tools]


def test_what_each_reply_cost_is_recorded_with_it_and_summed_for_the_turn():
    desk = PlainDesk({"echo": echo})
    one, two = Spend(input=10, cached=4, output=2), Spend(input=20, output=3)
    model = ScriptedModel([asks(call("echo"), spend=one)], [Reply(text="Done.", spend=two)])
    ended = play(model, desk)[-1]
    assert ended.spend == Spend(input=30, cached=4, output=5)
    assert [(w.spend, w.finish) for w in desk.written] == [
        (None, "stop"),
        (one, "tools"),
        (None, "stop"),
        (two, "stop"),
    ]


def test_callbacks_are_told_after_the_message_is_safe_and_after_the_reply_is():
    desk = PlainDesk()
    told = []
    desk.callbacks.on("before_turn", lambda event: told.append((event, len(desk.log), list(desk.steps))))
    desk.callbacks.on("after_turn", lambda event: told.append((event, len(desk.log), None)))
    play(ScriptedModel([Reply(text="Hello.")]), desk)
    (before, recorded, steps), (after, recorded_then, _) = told
    assert (before.agent, before.session, before.message) == ("kate", "s1", Message("user", "Hi."))
    assert (recorded, steps) == (1, ["record user"])
    assert (after.reply.text, after.finish, recorded_then) == ("Hello.", "stop", 2)


def test_a_callback_that_fails_is_reported_and_stops_nothing():
    desk = PlainDesk()

    def spill(event):
        raise ValueError(event.message.to_text())

    desk.callbacks.on("before_turn", spill)
    desk.callbacks.on("after_turn", spill)
    ended = play(ScriptedModel([Reply(text="Hello.")]), desk, "a secret thing")[-1]
    assert codes(ended) == ["callback_failed", "callback_failed"]
    assert all("spill" in f.message and "secret" not in f.message for f in ended.findings)
    assert ended.reply.text == "Hello."


# Tools that fail, and calls that make no sense


def test_a_tool_that_fails_gives_a_result_that_the_model_can_read():
    def missing():
        raise NotFound("There is no such note.", hint="List them first.")

    def broken():
        raise KeyError("a secret thing")

    def leaves():
        raise StopIteration

    def exits():
        raise SystemExit(3)

    desk = PlainDesk({"missing": missing, "broken": broken, "leaves": leaves, "exits": exits})
    names = tuple(desk.functions)
    model = ScriptedModel([asks(*(call(name, name) for name in names))], [Reply(text="Sorry.")])
    events = play(model, desk)
    results = {m.name: error_in(m.to_text()) for m in desk.log if m.role == "tool"}
    assert results["missing"] == {
        "code": "not_found",
        "message": "There is no such note.",
        "hint": "List them first.",
    }
    assert {results[name]["code"] for name in names[1:]} == {"tool_failed"}
    assert "secret" not in results["broken"]["message"]
    assert all(event.failed for event in events if isinstance(event, CallEnded))
    assert codes(events[-1]) == ["tool_failed"] * 3
    assert_valid(desk.log)


def test_a_tool_that_returns_no_text_is_a_tool_that_failed():
    desk = PlainDesk({"odd": lambda: None})
    play(ScriptedModel([asks(call("odd"))], [Reply(text="Sorry.")]), desk)
    assert error_in(desk.log[2].to_text())["code"] == "tool_failed"


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        (call("nothing_of_the_kind"), "unknown_tool"),
        (ToolCall(id="c", name="", arguments={}), "unknown_tool"),
        (ToolCall(id="c", name="x\ud800\n" * 10_000, arguments={}), "unknown_tool"),
        (ToolCall(id="c", name="echo", arguments="{text: A}"), "usage"),
        (ToolCall(id="c", name="echo", arguments="[1]"), "usage"),
        (ToolCall(id="c", name="echo", arguments='{"a":' * 100_000), "usage tool_failed"),
        (call("echo", "c", wrong=1), "tool_failed"),
    ],
    ids=["unknown", "no name", "hostile name", "no JSON", "no object", "deep", "wrong names"],
)
def test_a_call_that_makes_no_sense_is_answered(asked, codes):
    desk = PlainDesk({"echo": echo})
    events = play(ScriptedModel([asks(asked)], [Reply(text="Sorry.")]), desk)
    result = desk.log[2].to_text()
    assert error_in(result)["code"] in codes.split()
    assert len(result) < 500
    assert events[-1].reply.text == "Sorry."
    assert desk.log[1].tool_calls == (asked,)
    assert_valid(desk.log)


def test_an_unknown_tool_is_answered_with_the_names_of_those_there_are():
    desk = PlainDesk({"echo": echo, "add": echo})
    play(ScriptedModel([asks(call("eco"))], [Reply(text="Sorry.")]), desk)
    assert error_in(desk.log[2].to_text())["hint"] == "The tools are: add, echo."


def test_arguments_as_a_string_of_json_reach_the_tool_as_an_object_and_the_log_as_written():
    desk = PlainDesk({"echo": echo})
    asked = ToolCall(id="c", name="echo", arguments='{"text": "A"}')
    play(ScriptedModel([asks(asked)], [Reply(text="Done.")]), desk)
    assert desk.log[1].tool_calls[0].arguments == '{"text": "A"}'
    assert desk.log[2].to_text() == "A"


def test_empty_and_repeated_ids_are_replaced_by_free_ones():
    old = Message("assistant", "", tool_calls=(call("echo", "call_1"),))
    desk = PlainDesk({"echo": echo}, history=[old, Message("tool", "A", tool_call_id="call_1")])
    asked = asks(
        call("echo", "a"),
        call("echo", "a"),
        call("echo", " "),
        call("echo", "call_1"),
        call("echo", "x" * 999),
    )
    ended = play(ScriptedModel([asked], [Reply(text="Done.")]), desk)[-1]
    assert [c.id for c in desk.log[1].tool_calls] == ["a", "call_2", "call_3", "call_4", "call_5"]
    assert set(codes(ended)) == {"bad_tool_call"}
    assert_valid(desk.log)


def test_a_model_that_uses_the_same_id_in_every_round_gets_each_call_answered():
    desk = PlainDesk({"echo": echo})
    model = ScriptedModel([asks(call("echo", "c"))], [asks(call("echo", "c"))], [Reply(text="Done.")])
    play(model, desk)
    assert [m.tool_call_id for m in desk.log if m.role == "tool"] == ["c", "call_1"]
    assert_valid(desk.log)


def test_calls_beyond_the_limit_are_left_out_and_the_model_is_told():
    desk = PlainDesk({"echo": echo})
    many = asks(*(call("echo", f"c{n}") for n in range(40)))
    ended = play(ScriptedModel([many], [Reply(text="Done.")]), desk)[-1]
    results = [m for m in desk.log if m.role == "tool"]
    assert len(results) == len(desk.log[1].tool_calls) == 32
    assert results[-1].to_text() == "echo\n\n[8 more calls were left out: a reply may have 32.]"
    assert results[-2].to_text() == "echo"
    assert "bad_tool_call" in codes(ended)


def test_a_long_result_is_cut_and_says_how_much_is_missing():
    desk = PlainDesk({"echo": echo})
    long = asks(call("echo", text="x" * 1_000))
    play(ScriptedModel([long], [Reply(text="Done.")]), desk, limits=Limits(result=200))
    result = desk.log[2].to_text()
    kept = result.index("\n")
    assert len(result) <= 200
    assert f"{1_000 - kept:,} of 1,000 characters were left out" in result
    assert result[:kept] == "x" * kept


# Models that never stop calling tools


def test_the_last_round_is_announced_and_the_call_after_it_offers_no_tools():
    desk = PlainDesk({"echo": echo})
    scripts = [[asks(call("echo", f"c{n}"), call("echo", f"d{n}"))] for n in range(2)]
    events = play(ScriptedModel(*scripts, [Reply(text="Enough.")]), desk, limits=Limits(rounds=2))
    results = [m.to_text() for m in desk.log if m.role == "tool"]
    assert results == ["echo", "echo", "echo", f"echo\n\n{NO_MORE}"]
    assert events[-1].finish == "stop"
    assert events[-1].rounds == 2


def test_a_model_that_calls_tools_for_ever_ends_the_turn_visibly():
    desk = PlainDesk({"echo": echo})
    model = ScriptedModel([asks(call("echo", "c"))])
    events = play(model, desk)
    assert (events[-1].finish, events[-1].rounds) == ("tool_rounds", 8)
    assert len(model.requests) == 9
    assert [request.may_call for request in model.requests] == [True] * 8 + [False]
    # A provider keeps what it made of the tools, as long as they stay the same.
    assert all(request.tools == desk.tools for request in model.requests)
    assert desk.written[-1].finish == "tool_rounds"
    assert error_in(desk.log[-1].to_text())["code"] == "not_run"
    assert desk.steps.count("call echo") == 8
    assert_valid(desk.log)


def test_without_rounds_no_tool_may_be_called_or_is_run():
    desk = PlainDesk({"echo": echo})
    model = ScriptedModel([asks(call("echo"))])
    events = play(model, desk, limits=Limits(rounds=0))
    assert (events[-1].finish, model.requests[0].may_call) == ("tool_rounds", False)
    assert "call echo" not in desk.steps
    assert_valid(desk.log)


@pytest.mark.parametrize("finish", ["error", "cancelled"])
def test_the_calls_of_a_reply_that_broke_off_are_not_run(finish):
    desk = PlainDesk({"echo": echo})
    ended = play(ScriptedModel([Reply(text="I w", tool_calls=(call("echo"),), finish=finish)]), desk)[-1]
    assert ended.finish == desk.written[-1].finish == finish
    assert "call echo" not in desk.steps
    assert_valid(desk.log)


# Models that break the rules


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (["Hel", ValueError("a secret thing")], ModelFailed),
        (["Hel", TimeoutError()], ModelFailed),
        (["Hel"], ModelIncomplete),
        (["Hel", 42], ModelIncomplete),
        (["Hel", None, b"lo"], ModelIncomplete),
    ],
    ids=["raises", "its own timeout", "no reply", "a number", "bytes"],
)
def test_what_had_arrived_from_a_model_that_fails_is_recorded(script, error):
    desk, heard = PlainDesk(), []
    model = ScriptedModel(script)
    with pytest.raises(error) as caught:
        play(model, desk, heard=heard)
    assert "secret" not in caught.value.message
    assert caught.value.hint
    assert desk.written[-1].messages == (Message("assistant", "Hel"),)
    assert desk.written[-1].finish == "error"
    assert said(heard) == "Hel"
    assert model.closed == 1


def test_a_model_that_sends_nothing_at_all_leaves_only_the_question():
    desk = PlainDesk()
    with pytest.raises(ModelIncomplete):
        play(ScriptedModel([]), desk)
    assert desk.log == [Message("user", "Hi.")]


def test_the_error_of_a_model_is_the_cause_and_a_typed_one_is_passed_on():
    cause = OSError("no route")
    with pytest.raises(ModelFailed) as caught:
        play(ScriptedModel([cause]), PlainDesk())
    assert caught.value.__cause__ is cause
    assert isinstance(caught.value, Unavailable)
    typed = NotFound("There is no such model.", hint="Name another.")
    with pytest.raises(NotFound) as passed:
        play(ScriptedModel([typed]), PlainDesk())
    assert passed.value is typed


def test_a_model_that_cannot_even_be_asked_has_failed():
    class Broken:
        name = "broken"

        def stream(self, request):
            del request
            raise RuntimeError

    with pytest.raises(ModelFailed, match="broken failed with RuntimeError"):
        play(Broken(), PlainDesk())


def test_an_answer_of_nothing_is_recorded_and_reported():
    desk = PlainDesk()
    ended = play(ScriptedModel([Reply(text="")]), desk)[-1]
    assert codes(ended) == ["empty_reply"]
    assert desk.log[-1] == Message("assistant", "")


def test_a_model_that_does_not_stream_is_heard_in_one_piece():
    events = play(ScriptedModel([Reply(text="Hello.")]), PlainDesk())
    assert said(events) == "Hello."
    assert events[-1].findings == ()


def test_the_end_of_a_reply_that_did_not_come_in_pieces_is_passed_on():
    desk = PlainDesk()
    events = play(ScriptedModel(["Hel", "", Reply(text="Hello.")]), desk)
    assert said(events) == desk.log[-1].to_text() == "Hello."


def test_where_pieces_and_reply_differ_what_was_shown_is_recorded():
    desk = PlainDesk()
    events = play(ScriptedModel(["Hello.", Reply(text="Good evening.")]), desk)
    assert said(events) == desk.log[-1].to_text() == events[-1].reply.text == "Hello."
    assert codes(events[-1]) == ["reply_differs"]


def test_what_comes_after_the_reply_is_not_read_and_the_model_is_let_go():
    model = ScriptedModel(["Hello.", Reply(text="Hello."), "More.", Reply(text="More.")])
    desk, closed = PlainDesk(), []
    desk.callbacks.on("after_turn", lambda _: closed.append(model.closed))
    assert said(play(model, desk)) == "Hello."
    assert closed == [1]


def test_a_model_that_does_not_let_go_of_an_answer_does_not_hold_up_the_turn():
    class Clinging:
        name = "clinging"

        def __init__(self):
            self.sent = ["Hello.", Reply(text="Hello.")]

        def stream(self, request):
            del request
            return self

        def __aiter__(self):
            return self

        async def __anext__(self):
            return self.sent.pop(0)

        async def aclose(self):
            skip(60)
            await asyncio.Event().wait()

    assert play(Clinging(), PlainDesk())[-1].reply.text == "Hello."


def test_an_endless_answer_is_cut_at_its_limit():
    def forever():
        while True:
            yield "word "

    desk = PlainDesk()

    class Endless:
        name = "endless"

        async def stream(self, request):
            del request
            for piece in forever():
                yield piece

    events = play(Endless(), desk, limits=Limits(reply=1_003))
    assert len(desk.log[-1].to_text()) == len(said(events)) == 1_003
    assert events[-1].finish == desk.written[-1].finish == "length"
    assert codes(events[-1]) == ["reply_cut"]


def test_a_reply_that_wants_tools_and_names_none_is_an_answer():
    assert play(ScriptedModel([Reply(text="Hello.", finish="tools")]), PlainDesk())[-1].finish == "stop"


def test_texts_that_are_no_unicode_go_through_unharmed():
    desk = PlainDesk({"echo": echo})
    odd = "a\x00b\ud800"
    events = play(ScriptedModel([odd, asks(call("echo", text=odd), text=odd)], [Reply(text="x")]), desk, odd)
    assert desk.log[0].to_text() == desk.log[1].to_text() == desk.log[2].to_text() == odd
    assert events[-1].finish == "stop"


# Time


def test_a_silent_model_is_given_up_and_what_had_arrived_is_kept():
    desk = PlainDesk()
    model = ScriptedModel(["Hel", "lo", lambda: skip(61), SILENCE])
    with pytest.raises(ModelTimeout, match="sent nothing for 60 seconds") as caught:
        play(model, desk, limits=Limits(patience=60))
    assert caught.value.code == "model_timeout"
    assert desk.written[-1].messages == (Message("assistant", "Hello"),)
    assert desk.written[-1].finish == "error"
    assert model.closed == 1


def test_a_model_that_speaks_now_and_then_is_not_silent():
    model = ScriptedModel(["Hel", lambda: skip(50), "lo", lambda: skip(50), Reply(text="Hello")])
    assert play(model, PlainDesk(), limits=Limits(patience=60))[-1].reply.text == "Hello"


def test_a_turn_that_takes_too_long_is_given_up_in_the_middle_of_a_tool():
    release, loops = threading.Event(), []

    def slow():
        loops[0].call_soon_threadsafe(skip, 601)
        return str(release.wait(10))

    desk = PlainDesk({"slow": slow, "echo": echo})
    model = ScriptedModel([asks(call("slow", "a"), call("echo", "b"))])

    async def run():
        loops.append(asyncio.get_running_loop())
        try:
            async for _ in run_turn(desk, model, Message("user", "Hi."), limits=Limits(timeout=600)):
                pass
        finally:
            release.set()

    with (
        asyncio.Runner(loop_factory=SkippingLoop) as runner,
        pytest.raises(ModelTimeout, match="longer than 600 seconds"),
    ):
        runner.run(run())
    assert [error_in(m.to_text())["code"] for m in desk.log if m.role == "tool"] == ["stopped", "stopped"]
    assert "ran out of time" in desk.log[-1].to_text()
    assert desk.written[-1].finish == "error"
    assert "call echo" not in desk.steps
    assert_valid(desk.log)


@pytest.mark.parametrize("piece", ["word ", ""], ids=["words", "nothing"])
def test_a_model_that_never_waits_cannot_outlast_the_turn(piece):
    class Chatter:
        name = "chatter"

        async def stream(self, request):
            del request
            while True:
                skip(10)
                yield piece

    desk = PlainDesk()
    with pytest.raises(ModelTimeout, match="longer than"):
        play(Chatter(), desk, limits=Limits(timeout=600))
    assert_valid(desk.log)


def test_time_that_is_up_while_nobody_reads_ends_the_turn_at_the_next_step():
    desk = PlainDesk({"echo": echo})
    model = ScriptedModel([asks(call("echo"))])

    async def run():
        async for event in run_turn(desk, model, Message("user", "Hi."), limits=Limits(timeout=600)):
            if isinstance(event, CallStarted):
                skip(601)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner, pytest.raises(ModelTimeout):
        runner.run(run())
    assert "call echo" not in desk.steps
    assert_valid(desk.log)


def test_no_limit_means_no_limit():
    limits = Limits(timeout=None, patience=None)
    assert play(ScriptedModel([Reply(text="Hello.")]), PlainDesk(), limits=limits)[-1].finish == "stop"


# Cancellation


def test_ctrl_c_in_the_middle_of_an_answer_records_what_had_arrived():
    desk = PlainDesk()
    model = ScriptedModel(["one ", "two ", SILENCE])
    events = interrupted(model, desk, lambda event: event == Piece("two "))
    assert events[-1] == "cancelled"
    assert desk.written[-1].messages == (Message("assistant", "one two "),)
    assert desk.written[-1].finish == "cancelled"
    assert model.closed == 1


def test_ctrl_c_before_the_first_word_leaves_only_the_question():
    desk = PlainDesk()
    events = interrupted(ScriptedModel([SILENCE]), desk, lambda event: isinstance(event, Prepared))
    assert events[-1] == "cancelled"
    assert desk.log == [Message("user", "Hi.")]


STAGES = [
    ("record user", [("user", "stop")]),
    ("prepare", [("user", "stop")]),
    ("record assistant", [("user", "stop"), ("assistant", "tools"), ("tool", "cancelled")]),
    ("call slow", [("user", "stop"), ("assistant", "tools"), ("tool", "cancelled")]),
    ("record tool", [("user", "stop"), ("assistant", "tools"), ("tool", "stop"), ("tool", "cancelled")]),
]


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(("stage", "left"), STAGES, ids=[name for name, _ in STAGES])
def test_a_cancellation_at_any_stage_leaves_a_whole_record(stage, left, times):
    stop = Interruption(stage, times=times)
    desk = PlainDesk({"slow": echo, "echo": echo}, before=stop)
    model = ScriptedModel([asks(call("slow", "a"), call("echo", "b"), text="Wait.")], [Reply(text="Done.")])
    events = interrupted(model, desk, stop)
    assert (events[-1], stop.fired) == ("cancelled", True)
    assert [(w.messages[0].role, w.finish) for w in desk.written] == left
    assert_valid(desk.log)


def test_calls_that_a_cancellation_stopped_say_so():
    stop = Interruption("call slow")
    desk = PlainDesk({"slow": echo, "echo": echo}, before=stop)
    interrupted(ScriptedModel([asks(call("slow", "a"), call("echo", "b"))]), desk, stop)
    assert [error_in(m.to_text())["code"] for m in desk.log[2:]] == ["stopped", "stopped"]
    assert desk.written[-1].messages == tuple(desk.log[2:])


@pytest.mark.parametrize("moment", ["before_turn", "after_turn"])
def test_a_cancellation_during_a_callback_ends_the_turn_and_loses_nothing(moment):
    stop = Interruption("callback")
    desk = PlainDesk()
    desk.callbacks.on(moment, lambda _: stop("callback"))
    events = interrupted(ScriptedModel([Reply(text="Hello.")]), desk, stop)
    assert events[-1] == "cancelled"
    assert len(desk.log) == (1 if moment == "before_turn" else 2)


def test_closing_the_events_early_is_a_cancellation_that_is_over_when_it_returns():
    desk = PlainDesk({"echo": echo})
    model = ScriptedModel([asks(call("echo", "a"), call("echo", "b"), text="Wait.")])

    async def leave():
        events = run_turn(desk, model, Message("user", "Hi."))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, CallEnded):
                    break
        return list(desk.log)

    log = asyncio.run(leave())
    assert [m.role for m in log] == ["user", "assistant", "tool", "tool"]
    assert error_in(log[-1].to_text())["code"] == "stopped"
    assert_valid(log)


def test_events_that_nobody_closes_are_recorded_before_the_program_ends():
    desk = PlainDesk()

    async def leave():
        async for event in run_turn(desk, ScriptedModel(["one ", SILENCE]), Message("user", "Hi.")):
            if isinstance(event, Piece):
                return

    asyncio.run(leave())
    assert desk.written[-1].messages == (Message("assistant", "one "),)
    assert desk.written[-1].finish == "cancelled"


# A disk that fails


class FullDisk(Unavailable):
    code = "full_for_a_test"


def full_at(step, number=1):
    seen = []

    def before(name):
        seen.append(name)
        if name == step and seen.count(step) >= number:
            raise FullDisk("The disk is full.", hint="Make room.")

    return before


def test_a_message_that_cannot_be_recorded_is_not_sent_to_the_model():
    desk = PlainDesk(before=full_at("record user"))
    model = ScriptedModel([Reply(text="Hello.")])
    with pytest.raises(FullDisk):
        play(model, desk)
    assert (model.requests, desk.log) == ([], [])


@pytest.mark.parametrize("step", ["record assistant", "record tool"])
def test_a_full_disk_is_raised_once_and_nothing_is_written_after_it(step):
    desk = PlainDesk({"echo": echo}, before=full_at(step))
    model = ScriptedModel(["Wait.", asks(call("echo"), text="Wait.")], [Reply(text="Done.")])
    with pytest.raises(FullDisk):
        play(model, desk)
    assert desk.steps.count(step) == 1
    assert model.closed == 1


def test_a_disk_that_fails_while_the_turn_stops_does_not_hide_why_it_stopped():
    desk = PlainDesk(before=full_at("record assistant"))
    with pytest.raises(ModelFailed) as caught:
        play(ScriptedModel(["Hel", OSError()]), desk)
    assert "could not be recorded: FullDisk" in caught.value.__notes__[0]
    cancelled = PlainDesk(before=full_at("record assistant"))
    events = interrupted(ScriptedModel(["Hel", SILENCE]), cancelled, lambda event: isinstance(event, Piece))
    assert events[-1] == "cancelled"


def test_a_context_that_cannot_be_assembled_is_the_callers_error_and_the_question_is_safe():
    def before(name):
        if name == "prepare":
            raise FullDisk("The disk is full.")

    desk = PlainDesk(before=before)
    with pytest.raises(FullDisk):
        play(ScriptedModel([Reply(text="Hello.")]), desk)
    assert desk.log == [Message("user", "Hi.")]


def test_an_error_that_would_pass_for_the_end_of_something_is_still_an_error():
    def before(name):
        if name == "prepare":
            raise StopIteration

    desk = PlainDesk(before=before)
    with pytest.raises(RuntimeError):
        play(ScriptedModel([Reply(text="Hello.")]), desk)
    assert desk.log == [Message("user", "Hi.")]


# Whatever happens

CALLS = st.builds(
    ToolCall,
    id=st.sampled_from(["", "a", "b", "call_1", "a" * 300]),
    name=st.sampled_from(["echo", "broken", "unknown", ""]),
    arguments=st.one_of(st.just({}), st.sampled_from(["{}", "{", "[]", "\ud800"])),
)
REPLIES = st.builds(
    Reply,
    text=st.sampled_from(["", "one two ", "three"]),
    tool_calls=st.lists(CALLS, max_size=5).map(tuple),
    finish=st.sampled_from(["stop", "tools", "length", "error", "cancelled"]),
)
STEPS = st.one_of(st.sampled_from(["one ", "two ", ""]), REPLIES, st.just(42), st.builds(OSError))


@settings(max_examples=150, deadline=None)
@given(
    scripts=st.lists(st.lists(STEPS, max_size=4), min_size=1, max_size=5),
    stop_after=st.one_of(st.none(), st.integers(0, 12)),
    close=st.booleans(),
    rounds=st.integers(0, 3),
)
def test_whatever_a_model_does_the_record_is_a_valid_conversation(scripts, stop_after, close, rounds):
    def broken():
        raise OSError

    desk = PlainDesk({"echo": echo, "broken": broken})
    heard = []

    async def run():
        task = asyncio.current_task()
        turn = run_turn(
            desk, ScriptedModel(*scripts), Message("user", "Hi."), limits=Limits(rounds=rounds, calls=3)
        )
        async with aclosing(turn):
            async for event in turn:
                heard.append(event)
                if len(heard) == stop_after:
                    if close:
                        return
                    task.cancel()

    try:
        asyncio.run(run())
    except (CarrelError, asyncio.CancelledError):
        ended = False
    else:
        ended = isinstance(heard[-1], Ended)
    assert_valid(desk.log)
    assert [m.role for m in desk.log].count("user") == 1
    shown = said(heard)
    assert "".join(m.to_text() for m in desk.log if m.role == "assistant") == shown
    if ended:
        assert heard[-1].finish == desk.written[-1].finish
        assert all(isinstance(event, Ended) is (event is heard[-1]) for event in heard)
