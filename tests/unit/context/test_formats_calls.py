"""Calls of tools and their results in each provider's request."""

import json
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from carrel.context.assemble import Assembly
from carrel.context.calls import arguments_object, arguments_text, to_plain, tool_name
from carrel.context.formats import Body, to_anthropic, to_openai, to_responses
from carrel.context.report import Report, Row, Tokens, describe_prefix
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import INTERRUPTED

MARK = {"cache_control": {"type": "ephemeral"}}


def call(own: str = "c1", name: str = "read_file", arguments: dict | str | None = None) -> ToolCall:
    return ToolCall(id=own, name=name, arguments={"path": "a.md"} if arguments is None else arguments)


def asks(*calls: ToolCall, text: str = "") -> Message:
    return Message("assistant", text, tool_calls=calls)


def result(own: str = "c1", text: str | tuple[str, ...] = "Ana moved.") -> Message:
    return Message("tool", text, name="read_file", tool_call_id=own)


def made_of(*history: Message, new: Sequence[str] = ()) -> Assembly:
    """An assembly of a history and perhaps a new message, whose parts have a row each."""
    kinds = ["history"] * len(history) + ["query"] * len(new)
    rows = tuple(
        Row(
            name=f"{kind} {number}", kind=kind, raw_tokens=1, tokens=1, size=1, limit=None, state="included",
            reason=None, stable=kind == "history", sha256="0" * 64,
        )
        for number, kind in enumerate(kinds)
    )  # fmt: skip
    report = Report(
        layout="carrel", agent="kate", session="s1", scope="main", model="gpt-5", unit="tokens",
        tokens=Tokens(window=1, used=1, exact=True), prefix=describe_prefix(rows), sections=rows,
        hidden=0, recall=(), warnings=(),
    )  # fmt: skip
    messages = (*history, Message("user", tuple(new))) if new else history
    return Assembly(messages=messages, report=report, frozen={})


TALK = (
    Message("user", "Where is Ana?"),
    asks(call("c1"), call("c2", arguments='{"path": "b.md"}'), text="I look."),
    result("c1"),
    result("c2", ("Two", "parts")),
    Message("user", "And?"),
)


def blocks_of(body: Body) -> list[Body]:
    return [block for turn in body["messages"] for block in turn["content"]]


def marked(body: Body) -> list[str]:
    """What the blocks with a place for the cache are, and their ids or texts."""
    return [
        f"{block['type']} {block.get('tool_use_id') or block.get('id') or block.get('text')}"
        for block in blocks_of(body)
        if "cache_control" in block
    ]


# -------------------------------------------------------------------------------------------------- as a person reads it


def test_calls_and_results_for_openais_chat():
    assert to_openai(made_of(*TALK))["messages"] == [
        {"role": "user", "content": "Where is Ana?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path":"a.md"}'},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path": "b.md"}'},
                },
            ],
        },
        {"role": "tool", "content": "Ana moved.", "tool_call_id": "c1"},
        {
            "role": "tool",
            "content": [{"type": "text", "text": "Two"}, {"type": "text", "text": "parts"}],
            "tool_call_id": "c2",
        },
        {"role": "user", "content": "And?"},
    ]


def test_calls_and_results_for_openais_responses():
    assert to_responses(made_of(*TALK))["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "Where is Ana?"}]},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path":"a.md"}'},
        {"type": "function_call", "call_id": "c2", "name": "read_file", "arguments": '{"path": "b.md"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "Ana moved."},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "Two"}, {"type": "input_text", "text": "parts"}],
        },
        {"role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ]


def test_calls_and_results_for_anthropic():
    assert to_anthropic(made_of(*TALK))["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Where is Ana?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.md"}},
                {"type": "tool_use", "id": "c2", "name": "read_file", "input": {"path": "b.md"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "Ana moved."}],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": "Two"}, {"type": "text", "text": "parts"}],
                },
                {"type": "text", "text": "And?"} | MARK,
            ],
        },
    ]


def test_a_reply_that_only_calls_has_no_text():
    talk = made_of(asks(call()), result())
    assert to_openai(talk)["messages"][0]["content"] is None
    assert [item["type"] for item in to_responses(talk)["input"]] == ["function_call", "function_call_output"]
    assert [block["type"] for block in to_anthropic(talk)["messages"][1]["content"]] == ["tool_use"]


def test_a_result_without_text_is_still_a_result():
    talk = made_of(asks(call()), result(text=""))
    assert to_openai(talk)["messages"][1]["content"] == ""
    assert to_responses(talk)["input"][1]["output"] == ""
    assert to_anthropic(talk)["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1"} | MARK
    ]


def test_a_history_nobody_has_settled_is_settled_in_the_body():
    talk = made_of(Message("user", "Go."), asks(call("c1"), call("c2")), Message("user", "?"), result("c2"))
    assert [(m["role"], m["content"]) for m in to_openai(talk)["messages"]] == [
        ("user", "Go."),
        ("assistant", None),
        ("tool", INTERRUPTED),
        ("tool", "Ana moved."),
        ("user", "?"),
    ]


# ------------------------------------------------------------------------------------------------------ ids and names


@pytest.mark.parametrize("own", ["a.b", "", "c" * 41, "fc_1|call_2", "é", "\ud800", "a b\n"])
def test_an_id_that_is_refused_is_made_another_on_both_sides(own):
    talk = made_of(asks(call(own)), result(own))
    chat = to_openai(talk)["messages"]
    items = to_responses(talk)["input"]
    blocks = blocks_of(to_anthropic(talk))[1:]
    sent = {
        chat[0]["tool_calls"][0]["id"],
        chat[1]["tool_call_id"],
        items[0]["call_id"],
        items[1]["call_id"],
        blocks[0]["id"],
        blocks[1]["tool_use_id"],
    }
    assert len(sent) == 1
    assert own not in sent
    assert len(sent.pop()) <= 40


def test_ids_that_would_become_the_same_stay_apart():
    owns = ["a.b", "a_b", "a:b", "x" * 50, "x" * 51]
    sent = to_openai(made_of(asks(*map(call, owns))))["messages"]
    assert len({m["tool_call_id"] for m in sent[1:]}) == len(owns)
    assert sent[2]["tool_call_id"] == "a_b"


def test_a_name_that_is_accepted_stays_and_any_other_is_always_the_same():
    assert tool_name("read_file-2") == "read_file-2"
    assert tool_name("n" * 64) == "n" * 64
    assert tool_name("mcp.read") == tool_name("mcp.read") != tool_name("mcp:read")
    assert len(tool_name("n" * 65)) == 64
    assert tool_name("")
    sent = to_openai(made_of(asks(call(name="mcp.read"))))["messages"][0]["tool_calls"][0]
    assert sent["function"]["name"] == tool_name("mcp.read")


# -------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ({}, {}),
        ("", {}),
        ('{"a":\n 1}', {"a": 1}),
        ("not JSON", {"arguments": "not JSON"}),
        ("[1]", {"arguments": "[1]"}),
        ('{"a": 1e999}', {"arguments": '{"a": 1e999}'}),
        ('{"a": "\ud800"}', {"a": "?"}),
        ({"a": "\ud800", "é": "\x00"}, {"a": "?", "é": "\x00"}),
        ({"a": float("nan")}, {"a": None}),
        ({"a": float("nan"), "b": "\ud800"}, {"arguments": '{"a":NaN,"b":"?"}'}),
        ({"a": 10**30}, {"a": 10**30}),
        ({"a": 10**5000}, {"arguments": "(These arguments cannot be written as JSON.)"}),
        ({"a": {1, 2}}, {"a": [1, 2]}),
        ({"a": object}, {"a": "<class 'object'>"}),
    ],
)
def test_arguments_are_an_object_whatever_the_model_wrote(arguments, expected):
    assert arguments_object(call(arguments=arguments)) == expected
    assert json.loads(arguments_text(call(arguments=arguments))) == expected


def test_arguments_that_are_an_object_keep_every_letter():
    assert arguments_text(call(arguments='{"b" : 1,\n "a":2.50}')) == '{"b" : 1,\n "a":2.50}'


@pytest.mark.parametrize("depth", [65, 900, 100_000])
def test_arguments_that_are_nested_too_deep_are_sent_as_text(depth):
    text = '{"a":' * depth + "1" + "}" * depth
    assert arguments_object(call(arguments=text)) == {"arguments": text}


def test_many_arguments_side_by_side_are_not_deep():
    wide = {str(n): [n] for n in range(200)}
    assert arguments_object(call(arguments=wide)) == wide


def test_arguments_without_an_end_are_told_of():
    endless: dict[str, object] = {}
    endless["self"] = endless
    assert arguments_object(call(arguments=endless)) == {
        "arguments": "(These arguments cannot be written as JSON.)"
    }


def test_a_body_shares_nothing_with_the_history():
    given = {"path": ["a.md"]}
    body = to_anthropic(made_of(asks(call(arguments=given))))
    body["messages"][1]["content"][0]["input"]["path"].append("b.md")
    assert given == {"path": ["a.md"]}


# ------------------------------------------------------------------------------------------------------- the cache


def test_a_history_that_ends_with_a_result_is_cached_up_to_it():
    assert marked(to_anthropic(made_of(*TALK[:4], new=["And?", "<session>"]))) == ["tool_result c2"]


def test_a_place_for_the_cache_stands_on_a_result_and_not_within_it():
    last = blocks_of(to_anthropic(made_of(*TALK[:4])))[-1]
    assert last["cache_control"] == MARK["cache_control"]
    assert not any("cache_control" in inner for inner in last["content"])


def test_the_rounds_of_a_turn_are_cached_up_to_their_end_and_the_new_message_is_not_marked():
    first = made_of(*TALK[:4], Message("assistant", "In Lima."), new=["And?", "<recall>", "<session>"])
    rounds = [(asks(call("d1")), result("d1")), (asks(call("d2")), result("d2", ("more", "still more")))]
    second = replace(first, messages=(*first.messages, *rounds[0]))
    third = replace(first, messages=(*second.messages, *rounds[1]))
    assert marked(to_anthropic(first)) == ["text In Lima."]
    assert marked(to_anthropic(second)) == ["text In Lima.", "tool_result d1"]
    assert marked(to_anthropic(third)) == ["text In Lima.", "tool_result d2"]
    bare = [
        [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks_of(body)]
        for body in map(to_anthropic, (first, second, third))
    ]
    assert bare[1][: len(bare[0])] == bare[0]
    assert bare[2][: len(bare[1])] == bare[1]


def test_a_result_that_comes_after_the_new_message_is_not_cached():
    recorded = made_of(Message("user", "Hi."), asks(call()), new=["And?", "<session>"])
    late = replace(recorded, messages=(*recorded.messages, result("c1", "found now")))
    assert marked(to_anthropic(late))[0] == "tool_use c1"
    assert not any("found now" in mark for mark in marked(to_anthropic(late)))


# ----------------------------------------------------------------------------------------------------- plain text


def test_a_call_is_one_line_of_plain_text():
    message = asks(
        call("c\n1", "read\tfile", '{"a":\n1}'), call("c2", arguments="what?"), text="I look.\nYes."
    )
    assert to_plain(message) == (
        'I look.\nYes.\n[call c 1] read file {"a": 1}\n[call c2] read_file {"arguments":"what?"}'
    )


def test_an_assembly_as_text_shows_calls_and_results():
    text = made_of(Message("user", "Where?"), asks(call()), result(), Message("assistant", "Lima.")).to_text()
    assert text == (
        "=== USER ===\nWhere?\n\n"
        '=== ASSISTANT ===\n[call c1] read_file {"path":"a.md"}\n\n'
        "=== TOOL ===\nAna moved.\n\n"
        "=== ASSISTANT ===\nLima.\n"
    )
