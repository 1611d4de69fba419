"""What goes over the wire: the body that an assembly shows, the tools beside it, and the places for the cache."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.stubs import anthropic, openai
from tests.stubs.anthropic import AnthropicStub
from tests.stubs.asking import ask, model_at
from tests.stubs.openai import OpenAIStub

from carrel.app import Workspace
from carrel.runtime.model import Request, ToolSpec
from carrel.runtime.providers.bodies import body_of
from carrel.sessions.message import Message, ToolCall

SCHEMA = {
    "type": "object",
    "title": "Reading",
    "properties": {"path": {"type": "string", "title": "Path"}, "lines": {"type": ["integer", "null"]}},
    "required": ["path"],
    "additionalProperties": False,
}
READ = ToolSpec(name="files_read", description="Read a file.", parameters=SCHEMA)
LIST = ToolSpec(name="files_list", description="List files.", parameters={"type": "object", "properties": {}})
ROUNDS = (
    Message(
        "assistant",
        "Let me look.",
        tool_calls=(ToolCall(id="c1", name="files_read", arguments={"path": "é"}),),
    ),
    Message("tool", "All calls go through one door.", name="files_read", tool_call_id="c1"),
)
LAYOUTS = ("carrel", "astra", "nexo", "agentscope", "openclaw")


def assembled(desk, layout, *, rounds=()):
    """A real assembly with history, and the rounds of a turn behind it."""
    with Workspace.open(
        desk, layout=layout, environ={"CARREL_HOME": str(desk.path.parent / "home")}
    ) as workspace:
        workspace.record("s1", [Message("user", "My name is Luis."), Message("assistant", "Hello Luis.")])
        workspace.record("s1", [Message("user", "What do I know?")])
        assembly = workspace.prepare("s1", "What do I know?")
    return replace(assembly, messages=(*assembly.messages, *rounds))


def asked_for(assembly, tools=()):
    return Request(messages=assembly.messages, tools=tools, stable=assembly.stable)


def sent(stub, request, **more):
    """What the stub is sent, without what belongs to no prompt."""
    heard = ask(model_at(stub, **more), request)
    assert heard.error is None, heard.error
    return stub.bodies[-1]


@pytest.mark.parametrize("rounds", [(), ROUNDS], ids=["first", "after-a-round"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_openai_is_sent_what_the_assembly_shows(sample, layout, rounds):
    assembly = assembled(sample, layout, rounds=rounds)
    with OpenAIStub(openai.text("Hi.")) as stub:
        body = sent(stub, asked_for(assembly, (READ, LIST)))
    assert stub.asked[0].path == "/v1/chat/completions"
    assert body.pop("stream") is True
    assert body.pop("stream_options") == {"include_usage": True}
    tools = body.pop("tools")
    assert body == assembly.to_openai(model="gpt-4o-stub")
    assert tools == [{"type": "function", "function": tool.to_json()} for tool in (READ, LIST)]


@pytest.mark.parametrize("rounds", [(), ROUNDS], ids=["first", "after-a-round"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_anthropic_is_sent_what_the_assembly_shows(sample, layout, rounds):
    assembly = assembled(sample, layout, rounds=rounds)
    with AnthropicStub(anthropic.text("Hi.")) as stub:
        body = sent(stub, asked_for(assembly, (READ, LIST)))
    assert stub.asked[0].path == "/v1/messages"
    assert body.pop("stream") is True
    assert body.pop("max_tokens") > 1_000
    tools = body.pop("tools")
    assert body == assembly.to_anthropic(model="claude-stub")
    plain = [{key: value for key, value in tool.items() if key != "cache_control"} for tool in tools]
    assert plain == [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in (READ, LIST)
    ]


def test_responses_is_sent_what_the_assembly_shows_and_keeps_nothing(sample):
    assembly = assembled(sample, "carrel", rounds=ROUNDS)
    with OpenAIStub(openai.responded(said=["Hi."])) as stub:
        body = sent(stub, asked_for(assembly, (READ,)), name="openai-responses:gpt-5")
    assert stub.asked[0].path == "/v1/responses"
    assert body["store"] is False
    assert body["input"] == assembly.to_responses()["input"]
    assert body["tools"] == [{"type": "function", **READ.to_json(), "strict": False}]
    assert "instructions" not in body


@pytest.mark.parametrize(
    ("kind", "answer"), [(OpenAIStub, openai.text("Hi.")), (AnthropicStub, anthropic.text("Hi."))]
)
def test_what_is_the_same_in_two_requests_is_the_same_bytes(kind, answer, sample):
    first = assembled(sample, "carrel")
    second = replace(first, messages=(*first.messages, *ROUNDS))
    with kind(answer) as stub:
        bodies = [sent(stub, asked_for(one, (READ,))) for one in (first, second)]
    plain = [json.dumps(strip(body["messages"])) for body in bodies]
    assert plain[1].startswith(plain[0].removesuffix("]"))
    assert strip(bodies[0].get("system")) == strip(bodies[1].get("system"))


def strip(value):
    """A body without the places for the cache, which move on."""
    if isinstance(value, dict):
        return {key: strip(inner) for key, inner in value.items() if key != "cache_control"}
    return [strip(inner) for inner in value] if isinstance(value, list) else value


def blocks(body):
    return [
        *body.get("tools", []),
        *body.get("system", []),
        *(block for turn in body["messages"] for block in turn["content"]),
    ]


def cached(body):
    return [block for block in blocks(body) if "cache_control" in block]


def test_anthropic_may_cache_up_to_the_end_of_what_is_stable():
    messages = (
        Message("system", "Soul."),
        Message("system", "Memory."),
        Message("user", "Old."),
        Message("assistant", "Reply."),
        Message("user", ("New.", "Today.")),
    )
    body = body_of(Request(messages=messages, tools=(READ,), stable=4), "anthropic")
    assert [block.get("text", block.get("name")) for block in cached(body)] == [
        "files_read",
        "Soul.",
        "Memory.",
        "Reply.",
    ]


def test_without_room_for_another_place_the_tools_are_cached_with_what_follows_them():
    messages = (*(Message("system", f"Part {n}.") for n in range(5)), Message("user", "New."))
    body = body_of(Request(messages=messages, tools=(READ,), stable=5), "anthropic")
    assert len(cached(body)) == 4
    assert "cache_control" not in body["tools"][0]


def test_where_nothing_is_stable_only_tools_are_cached():
    body = body_of(Request(messages=(Message("user", "New."),), tools=(READ, LIST)), "anthropic")
    assert [block["name"] for block in cached(body)] == ["files_list"]


def test_tools_that_were_used_are_named_to_anthropic_even_where_none_may_be_called():
    messages = (Message("system", "Soul."), Message("user", "New."), *ROUNDS)
    with AnthropicStub(anthropic.text("Hi.")) as stub:
        body = sent(stub, Request(messages=messages, stable=1))
    assert [tool["name"] for tool in body["tools"]] == ["files_read"]
    assert body["tool_choice"] == {"type": "none"}


def test_where_no_tool_was_ever_used_none_is_named():
    body = body_of(Request(messages=(Message("user", "Hi."),)), "anthropic")
    assert set(body) == {"messages"}
    assert set(body_of(Request(messages=(Message("user", "Hi."),)), "openai")) == {"messages"}


def test_text_in_any_state_arrives_as_it_is():
    words = 'é 🐙 \x00 \u2028 <think> "quoted" \\ \n\r\n end'
    request = Request(messages=(Message("system", words), Message("user", (words, words))))
    with OpenAIStub(openai.text("Hi.")) as stub:
        body = sent(stub, request)
    assert body["messages"][0]["content"] == words
    assert [part["text"] for part in body["messages"][1]["content"]] == [words, words]


@pytest.mark.parametrize(
    ("kind", "answer"), [(OpenAIStub, openai.text("Hi.")), (AnthropicStub, anthropic.text("Hi."))]
)
def test_what_is_not_unicode_does_not_keep_a_request_from_being_sent(kind, answer):
    request = Request(messages=(Message("user", "half \ud83d of a pair"),))
    with kind(answer) as stub:
        body = sent(stub, request)
    assert "half ? of a pair" in json.dumps(body)


def test_a_history_that_was_interrupted_is_sent_as_one_that_is_whole():
    messages = (Message("user", "Go."), ROUNDS[0], Message("user", "And?"))
    with OpenAIStub(openai.text("Hi.")) as stub:
        body = sent(stub, Request(messages=messages))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "user"]


MARK = re.compile(r"#([0-9]+)#")


def said(number, kind, parts):
    """A message that can be found again in a body by its number."""
    texts = tuple(f"#{number}# part {part}" for part in range(parts))
    if kind == "calls":
        calls = [
            ToolCall(id=f"c{number}-{n}", name="files_read", arguments={"mark": f"#{number}#"})
            for n in range(parts)
        ]
        return Message("assistant", "", tool_calls=tuple(calls))
    if kind == "tool":
        return Message("tool", texts[0], name="files_read", tool_call_id=f"c{max(0, number - parts)}-0")
    return Message(kind, texts if kind == "user" else texts[0])


KINDS = st.sampled_from(["system", "user", "assistant", "calls", "tool"])
MESSAGES = st.lists(st.tuples(KINDS, st.integers(1, 3)), max_size=12).map(
    lambda drawn: tuple(said(number, *one) for number, one in enumerate(drawn))
)
TOOLS = st.sampled_from([(), (READ,), (READ, LIST)])


@given(messages=MESSAGES, stable=st.integers(0, 14), tools=TOOLS)
def test_whatever_is_stable_the_prompt_is_the_same_and_four_places_are_the_most(messages, stable, tools):
    body = body_of(Request(messages=messages, tools=tools, stable=stable), "anthropic")
    plain = body_of(Request(messages=messages, tools=tools), "anthropic")
    assert strip(body) == strip(plain)
    assert len(cached(body)) <= 4


@given(messages=MESSAGES, stable=st.integers(0, 14), tools=TOOLS)
def test_nothing_behind_what_is_stable_is_cached_but_the_end_of_a_round(messages, stable, tools):
    body = body_of(Request(messages=messages, tools=tools, stable=stable), "anthropic")
    for block in cached(body):
        mark = MARK.search(json.dumps(block))
        assert mark is None or int(mark[1]) < stable or block is blocks(body)[-1]


@given(messages=MESSAGES, stable=st.integers(0, 14))
def test_no_message_is_lost_on_its_way(messages, stable):
    for dialect in ("openai", "responses", "anthropic"):
        body = json.dumps(body_of(Request(messages=messages, stable=stable), dialect))
        kept = [message for message in messages if message.role != "tool"]
        assert all(MARK.search(str(message))[0] in body for message in kept)
