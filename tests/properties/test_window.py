"""Whatever was recorded: a settled history keeps the providers' rules, and settling it again changes nothing.

The checks are written from what the providers publish and answer, not from our code.
"""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise, takewhile
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from carrel.context.assemble import Assembly
from carrel.context.formats import to_anthropic, to_openai, to_responses
from carrel.context.report import Report, Row, Tokens, describe_prefix
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import INTERRUPTED, settle, whole_turns

QUICK = settings(max_examples=150, deadline=None)
ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# -------------------------------------------------------------------------------------------------- any history at all

weird = st.text(st.characters(codec=None), max_size=6)
texts = st.sampled_from(["", " ", "yes", "\ud800", "\x00"]) | weird
ids = st.sampled_from(["a", "b", "a-2", "a.b", "a_b", "", "call", "x" * 70, "a-2-2", "é"]) | weird
values = st.recursive(
    texts | st.floats() | st.booleans() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(texts, values, max_size=2) | st.sampled_from(
    ["", "{}", ' {"a":\n1}', "[]", "null", "{", '{"a":1e400}', '{"a":"\\ud800"}', '{"a":' * 5000, "\ufeff{}"]
)
calls = st.builds(
    ToolCall, id=ids, name=st.sampled_from(["read_file", "", "mcp.x", "n" * 99]) | weird, arguments=arguments
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "system"]),
    texts | st.lists(texts, max_size=2).map(tuple),
    name=st.sampled_from(["", "read_file"]),
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tool_call_id=ids,
)
histories = st.lists(messages, max_size=12)

# The second is what the first would be called where it is not accepted.
TWINS = [
    Message(
        "assistant",
        "",
        tool_calls=tuple(
            ToolCall(id=own, name="f") for own in ("a.b", "a_b-" + sha256(b"a.b").hexdigest()[:8])
        ),
    )
]


def assembly(history: Sequence[Message]) -> Assembly:
    """An assembly of a history alone, as it was recorded."""
    rows = tuple(
        Row(
            name=f"history {number}", kind="history", raw_tokens=1, tokens=1, size=1, limit=None,
            state="included", reason=None, stable=True, sha256="0" * 64,
        )
        for number, _ in enumerate(history, 1)
    )  # fmt: skip
    report = Report(
        layout="carrel", agent="kate", session="s1", scope="main", model="gpt-5", unit="tokens",
        tokens=Tokens(window=1, used=1, exact=True), prefix=describe_prefix(rows), sections=rows,
        hidden=0, recall=(), warnings=(),
    )  # fmt: skip
    return Assembly(messages=tuple(history), report=report, frozen={})


# ----------------------------------------------------------------------------------------------- the providers' rules


def check_settled(history: Sequence[Message]) -> None:
    """The rules that all share: each call has its own id and one result, behind it and in order."""
    seen: set[str] = set()
    due: list[str] = []
    for message in history:
        if message.role == "tool":
            assert due, "a result without a call"
            assert message.tool_call_id == due.pop(0)
            assert not message.tool_calls
            continue
        assert due == [], "a call without its result"
        assert not message.tool_call_id
        assert message.role == "assistant" or not message.tool_calls
        own = [call.id for call in message.tool_calls]
        assert len(own) <= 128
        assert len(set(own) | seen) == len(own) + len(seen)
        assert all(own)
        assert message.role != "assistant" or own or any(message.content)
        seen |= set(own)
        due = own
    assert due == []


def check_call(own: str, name: str, arguments: str, seen: set[str]) -> None:
    assert ID.fullmatch(own)
    assert own not in seen
    seen.add(own)
    assert NAME.fullmatch(name)
    assert isinstance(json.loads(arguments), dict)


def check_chat(body: dict[str, Any]) -> None:
    """Chat: `tool` messages answer all calls of the assistant's message before them, and nothing else."""
    seen: set[str] = set()
    due: set[str] = set()
    for message in body["messages"]:
        content = message["content"]
        assert content is not None or message["tool_calls"]
        assert content != []
        if message["role"] == "tool":
            due.remove(message["tool_call_id"])
            continue
        assert not due
        assert "tool_call_id" not in message
        if "tool_calls" in message:
            assert message["role"] == "assistant"
            assert 1 <= len(message["tool_calls"]) <= 128
            for call in message["tool_calls"]:
                assert call["type"] == "function"
                check_call(call["id"], call["function"]["name"], call["function"]["arguments"], seen)
                due.add(call["id"])
    assert not due


def check_responses(body: dict[str, Any]) -> None:
    """Responses: every call has one output behind it, every output a call before it."""
    seen: set[str] = set()
    due: set[str] = set()
    for item in body["input"]:
        if item.get("type") == "function_call":
            check_call(item["call_id"], item["name"], item["arguments"], seen)
            due.add(item["call_id"])
        elif item.get("type") == "function_call_output":
            due.remove(item["call_id"])
            assert item["output"] != []
        else:
            assert item["role"] in ("user", "assistant", "system")
            assert item["content"] != []
            assert not due
    assert not due


def check_anthropic(body: dict[str, Any]) -> None:
    """Anthropic: turns alternate; the results of all calls begin the turn that follows, and stand nowhere else."""
    turns = body["messages"]
    assert [turn["role"] for turn in turns] == [("user", "assistant")[n % 2] for n in range(len(turns))]
    seen: set[str] = set()
    due: list[str] = []
    for turn in turns:
        blocks = turn["content"]
        assert blocks
        results = list(takewhile(lambda block: block["type"] == "tool_result", blocks))
        assert sorted(block["tool_use_id"] for block in results) == sorted(due)
        rest = blocks[len(results) :]
        assert all(block["type"] in ("text", "tool_use") for block in rest)
        shown = [inner for block in results for inner in block.get("content", ())]
        assert all(block["text"].strip() for block in (*rest, *shown) if block["type"] == "text")
        due = [block["id"] for block in rest if block["type"] == "tool_use"]
        assert turn["role"] == "assistant" or not due
        for block in rest:
            if block["type"] == "tool_use":
                check_call(block["id"], block["name"], json.dumps(block["input"], allow_nan=False), seen)
    assert due == []
    assert all("cache_control" not in b for t in turns for r in t["content"] for b in r.get("content", ()))


# --------------------------------------------------------------------------------------------------------- properties


@QUICK
@given(histories)
def test_any_history_settles_to_one_that_keeps_the_rules(history):
    check_settled(settle(history).messages)


@QUICK
@given(histories)
@example([Message("assistant", "", tool_calls=tuple(ToolCall(id="a", name="f") for _ in range(300)))])
@example(TWINS)
def test_any_history_makes_bodies_that_providers_accept(history):
    made = assembly(history)
    for convert, check in (
        (to_openai, check_chat),
        (to_responses, check_responses),
        (to_anthropic, check_anthropic),
    ):
        body = convert(made)
        check(body)
        assert json.loads(json.dumps(body, ensure_ascii=False, allow_nan=False).encode()) == body


@QUICK
@given(histories)
def test_settling_again_changes_nothing(history):
    once = settle(history)
    again = settle(once.messages)
    assert again.messages == once.messages
    assert again.notes == ()


@QUICK
@given(histories)
def test_a_settled_history_makes_the_same_bodies_as_the_recorded_one(history):
    made, calm = assembly(history), assembly(settle(history).messages)
    for convert in (to_openai, to_responses, to_anthropic):
        assert convert(made) == convert(calm)


@QUICK
@given(histories)
def test_nothing_disappears_without_a_note(history):
    done = settle(history)
    notes = [note.code for note in done.notes]
    sent = [message.to_text() for message in done.messages]
    gone = [m for m in history if not any(m.to_text() in text for text in sent)]
    assert len(gone) <= notes.count("repeated") + notes.count("empty")
    asked = [(c.name, c.arguments) for m in history if m.role == "assistant" for c in m.tool_calls]
    assert repr([(c.name, c.arguments) for m in done.messages for c in m.tool_calls]) == repr(asked)
    stands_in = sum(message.content == INTERRUPTED for message in done.messages)
    assert stands_in == notes.count("missing")
    if not notes:
        assert sorted(map(repr, done.messages)) == sorted(map(repr, history))


@QUICK
@given(histories, st.lists(messages.filter(lambda message: message.role != "tool"), max_size=4))
def test_what_is_no_result_changes_nothing_before_it(history, more):
    before = settle(history).messages
    after = settle([*history, *more]).messages
    assert repr(after[: len(before)]) == repr(before)


@QUICK
@given(histories)
def test_a_late_result_changes_nothing_before_its_call(history):
    for shorter, longer in pairwise([settle(history[:n]).messages for n in range(len(history) + 1)]):
        same = len(
            list(takewhile(lambda pair: repr(pair[0]) == repr(pair[1]), zip(shorter, longer, strict=False)))
        )
        assert same == len(shorter) or shorter[same].content == INTERRUPTED


@QUICK
@given(histories)
def test_the_bodies_of_one_turn_begin_those_of_the_next(history):
    calm = settle(history).messages
    more = (
        *calm,
        Message("user", "Go on."),
        Message("assistant", "", tool_calls=(ToolCall(id="a", name="f"),)),
    )
    first, second = to_openai(assembly(calm))["messages"], to_openai(assembly(more))["messages"]
    assert second[: len(first)] == first
    first, second = to_responses(assembly(calm))["input"], to_responses(assembly(more))["input"]
    assert second[: len(first)] == first


@QUICK
@given(histories)
def test_turns_are_the_whole_history_and_part_no_call_from_its_result(history):
    turns = whole_turns(history)
    assert [n for turn in turns for n in range(turn.start, turn.stop)] == list(range(len(history)))
    assert all(history[turn][0].role == "user" for turn in turns[1:])
    missing = [note.code for note in settle(history).notes].count("missing")
    for turn in turns:
        parts = settle(history[: turn.stop]), settle(history[turn.stop :])
        assert sum(note.code == "missing" for part in parts for note in part.notes) == missing


@QUICK
@given(histories)
def test_any_cut_between_the_turns_of_a_settled_history_leaves_it_settled(history):
    calm = list(settle(history).messages)
    for turn in whole_turns(calm):
        assert settle(calm[turn]).notes == ()
