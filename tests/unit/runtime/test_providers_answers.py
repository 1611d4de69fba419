"""Answers over the wire: pieces as they come, calls put together from their parts, what it cost, and being stopped."""

import asyncio
import gc

import pytest
from tests.stubs import anthropic, openai
from tests.stubs.anthropic import AnthropicStub
from tests.stubs.asking import HELLO, Heard, ask, ask_all, hear, model_at, take
from tests.stubs.openai import OpenAIStub
from tests.stubs.scripted import DISCONNECT, HANG, PATIENCE, Answer, Gate, event, streamed

from carrel.runtime.model import Reply, Request, Spend, ToolSpec
from carrel.runtime.providers import Retries, http, open_model, reading
from carrel.sessions.message import Message, ToolCall

BOTH = pytest.mark.parametrize(
    ("kind", "provider"),
    [(OpenAIStub, openai), (AnthropicStub, anthropic)],
    ids=["openai", "anthropic"],
)


def heard_from(kind, answer, **more):
    with kind(answer) as stub:
        return ask(model_at(stub, **more))


@BOTH
def test_pieces_come_first_and_the_whole_last(kind, provider):
    heard = heard_from(kind, provider.text("Hel", "lo ", "🐙"))
    assert heard.pieces == ["Hel", "lo ", "🐙"]
    assert heard.reply.text == "Hello 🐙"
    assert heard.reply.finish == "stop"


@BOTH
def test_a_piece_is_passed_on_before_the_next_is_sent(kind, provider):
    first, second = Gate(), Gate()

    async def run(model):
        stream = model.stream(HELLO)
        heard = []
        for gate in (first, second):
            while True:
                item = await anext(stream)
                if item:
                    break
            heard.append(item)
            gate.open()
        return heard + [item async for item in stream if item]

    with kind(provider.text("one ", first, "two ", second, "three")) as stub:
        *pieces, reply = asyncio.run(run(model_at(stub)))
    assert pieces == ["one ", "two ", "three"]
    assert reply.text == "one two three"


@BOTH
def test_calls_are_put_together_from_their_parts(kind, provider):
    written = '{"path": "knowledge/é.md",  "lines": null}'
    heard = heard_from(
        kind, provider.calls(("files_read", written), ("files_list", {}), said=["Let me ", "look."])
    )
    assert heard.pieces == ["Let me ", "look."]
    assert [call.name for call in heard.reply.tool_calls] == ["files_read", "files_list"]
    assert heard.reply.tool_calls[0].arguments == written
    assert len({call.id for call in heard.reply.tool_calls}) == 2
    assert heard.reply.finish == "tools"


@BOTH
@pytest.mark.parametrize("written", ['{"path": ', "no json at all", "[1, 2]", ""])
def test_arguments_that_make_no_sense_are_kept_as_they_were_written(kind, provider, written):
    heard = heard_from(kind, provider.calls(("files_read", written)))
    assert heard.reply.tool_calls[0].arguments in (written, {})
    assert heard.reply.tool_calls[0].name == "files_read"


@BOTH
def test_an_empty_answer_is_an_empty_reply(kind, provider):
    heard = heard_from(kind, provider.text())
    assert heard.error is None
    assert heard.reply.text == ""
    assert heard.reply.tool_calls == ()


@pytest.mark.parametrize(
    ("kind", "answer", "finish"),
    [
        (OpenAIStub, openai.text("a", finish="length"), "length"),
        (OpenAIStub, openai.text("a", finish="content_filter"), "error"),
        (OpenAIStub, openai.text("a", finish="tool_calls"), "tools"),
        (OpenAIStub, openai.text("a", finish="a word of their own"), "stop"),
        (OpenAIStub, openai.text("a", finish=None, told=openai.usage()), "stop"),
        (AnthropicStub, anthropic.text("a", finish="max_tokens"), "length"),
        (AnthropicStub, anthropic.text("a", finish="model_context_window_exceeded"), "length"),
        (AnthropicStub, anthropic.text("a", finish="refusal"), "error"),
        (AnthropicStub, anthropic.text("a", finish="stop_sequence"), "stop"),
        (AnthropicStub, anthropic.text("a", finish="a word of their own"), "stop"),
    ],
)
def test_why_an_answer_ended_is_told(kind, answer, finish):
    assert heard_from(kind, answer).reply == Reply(
        text="a", finish=finish, spend=heard_from(kind, answer).reply.spend
    )


def test_calls_are_to_be_run_even_where_a_server_says_that_it_just_stopped():
    answer = openai.calls(("files_list", {}))
    steps = [step.replace(b'"tool_calls"}', b'"stop"}') for step in answer.steps]
    assert heard_from(OpenAIStub, streamed(*steps)).reply.finish == "tools"


def test_a_refusal_is_what_was_said():
    heard = heard_from(OpenAIStub, openai.refusal("I cannot help with that."))
    assert heard.text == heard.reply.text == "I cannot help with that."
    assert heard.reply.finish == "error"


def test_several_texts_of_one_answer_are_one():
    steps = [
        anthropic.start(anthropic.usage()),
        *(anthropic.open_text(0), anthropic.piece("One.", 0), anthropic.shut(0)),
        *(anthropic.open_text(1), anthropic.piece(" Two.", 1), anthropic.shut(1)),
        *anthropic.end(),
    ]
    assert heard_from(AnthropicStub, streamed(*steps)).reply.text == "One. Two."


THOUGHTS = {
    "openai": (
        OpenAIStub,
        streamed(
            openai.chunk({"reasoning_content": "hm"}),
            openai.chunk({"reasoning_content": "hmm"}),
            openai.chunk({"content": "Yes."}),
            openai.chunk({}, "stop"),
            openai.DONE,
        ),
    ),
    "anthropic": (
        AnthropicStub,
        streamed(
            anthropic.start(anthropic.usage()),
            anthropic.named(
                "content_block_start",
                index=0,
                content_block={"type": "thinking", "thinking": "", "signature": ""},
            ),
            *(
                anthropic.named(
                    "content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"}
                )
                for _ in range(2)
            ),
            anthropic.shut(0),
            anthropic.open_text(1),
            anthropic.piece("Yes.", 1),
            anthropic.shut(1),
            *anthropic.end(),
        ),
    ),
}


@pytest.mark.parametrize("name", THOUGHTS)
def test_thoughts_are_not_said_but_show_that_the_model_is_at_it(name):
    kind, answer = THOUGHTS[name]

    async def run(model):
        return [item async for item in model.stream(HELLO)]

    with kind(answer) as stub:
        *pieces, reply = asyncio.run(run(model_at(stub)))
    assert reply.text == "Yes."
    assert pieces.index("") < pieces.index("Yes.")  # whoever waits sees that it goes on


# ------------------------------------------------------------------------------------------------------ usage


@pytest.mark.parametrize(
    ("kind", "answer", "spend"),
    [
        (OpenAIStub, openai.text("a", told=openai.usage(12, 5)), Spend(input=12, output=5)),
        (OpenAIStub, openai.text("a", told=openai.usage(12, 5, 8)), Spend(input=12, cached=8, output=5)),
        (AnthropicStub, anthropic.text("a", told=anthropic.usage(12), written=5), Spend(input=12, output=5)),
        (
            AnthropicStub,
            anthropic.text("a", told=anthropic.usage(12, cached=100, stored=30), written=5),
            Spend(input=142, cached=100, output=5),
        ),
    ],
)
def test_what_is_read_includes_what_was_cached(kind, answer, spend):
    assert heard_from(kind, answer).reply.spend == spend


LIES = ["many", "12", -3, 10**30, 1.5, float("nan"), True, None, [], {}]


@BOTH
@pytest.mark.parametrize("lie", LIES, ids=str)
def test_what_is_no_count_was_not_told(kind, provider, lie):
    told = [provider.usage(lie), [lie], lie, {"prompt_tokens": lie, "input_tokens": {"a": lie}}]
    for usage in told:
        heard = heard_from(kind, provider.text("a", told=usage if usage is not None else {}))
        assert heard.error is None
        assert heard.reply == Reply(text="a", spend=None)


@BOTH
def test_an_answer_that_tells_no_cost_has_none(kind, provider):
    if provider is openai:
        answer = openai.text("a")
    else:
        begin = (anthropic.start(None), anthropic.open_text(), anthropic.piece("a"), anthropic.shut())
        answer = streamed(*begin, *anthropic.end(written=None))
    assert heard_from(kind, answer).reply == Reply(text="a", spend=None)


def test_more_can_not_be_cached_than_was_read():
    heard = heard_from(OpenAIStub, openai.text("a", told=openai.usage(5, 1, 99)))
    assert heard.reply.spend == Spend(input=5, cached=5, output=1)


def test_a_server_that_tells_the_cost_so_far_with_every_piece_is_not_added_up():
    steps = [
        openai.chunk({"content": "a"}, told=openai.usage(12, 1, 4)),
        openai.chunk({"content": "b"}, told=openai.usage(12, 2, 4)),
        openai.chunk({}, "stop", told=openai.usage(12, 3, 4)),
        openai.chunk(told=openai.usage(12, 3, 4)),
        openai.DONE,
    ]
    assert heard_from(OpenAIStub, streamed(*steps)).reply.spend == Spend(input=12, cached=4, output=3)


@pytest.mark.parametrize("lie", ["many", -3, None])
def test_responses_can_lie_about_its_cost_too(lie):
    told = {"input_tokens": lie, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}
    with OpenAIStub(openai.responded(said=["a"], told=told)) as stub:
        assert ask(model_at(stub, name="openai-responses:gpt-5")).reply == Reply(text="a", spend=None)


def test_responses_answers_like_the_others():
    told = {"input_tokens": 9, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}
    with OpenAIStub(openai.responded(("files_read", {"path": "x"}), said=["Let ", "me."], told=told)) as stub:
        heard = ask(model_at(stub, name="openai-responses:gpt-5"))
    assert heard.pieces == ["Let ", "me."]
    assert heard.reply.spend == Spend(input=9, cached=2, output=3)
    assert heard.reply.tool_calls == (ToolCall(id="call_1", name="files_read", arguments='{"path": "x"}'),)
    assert heard.reply.finish == "tools"


# ---------------------------------------------------------------------------------------------------- bounds


def test_an_answer_of_endless_parts_is_stopped():
    blocks = [anthropic.named("content_block_start", index=n, content_block={"type": "tool_use", "id": f"t{n}", "name": "x", "input": {}}) for n in range(2_000)]  # fmt: skip
    heard = heard_from(AnthropicStub, streamed(anthropic.start(anthropic.usage()), *blocks, *anthropic.end()))
    assert heard.code == "reply_garbled"


@BOTH
@pytest.mark.parametrize("endless", ["text", "calls"])
def test_an_answer_of_endless_length_is_stopped(kind, provider, endless, monkeypatch):
    monkeypatch.setattr(reading, "MOST_TEXT", 1_000)
    long = "x" * 400
    answer = provider.text(*[long] * 5) if endless == "text" else provider.calls(("a", long * 5))
    heard = heard_from(kind, answer)
    assert heard.code == "reply_garbled"
    assert len(heard.text) <= 1_000


def endless(*beginning):
    """Steps that go on for as long as somebody listens, without an end of a line."""
    yield from beginning
    while True:
        yield b"x" * 50_000


@BOTH
def test_a_line_without_an_end_is_not_kept_forever(kind, provider, monkeypatch):
    monkeypatch.setattr(http, "MOST_OF_AN_EVENT", 500_000)
    beginning = provider.text("one", "two").steps[: 2 if provider is openai else 4]
    heard = heard_from(kind, streamed()._replace(steps=endless(*beginning)))
    assert heard.code == "reply_garbled"
    assert heard.pieces == ["one"]


@BOTH
@pytest.mark.parametrize("behind", ["endless", "hanging", "broken", "garbage"])
def test_what_comes_behind_the_end_of_an_answer_does_not_harm_it(kind, provider, behind, monkeypatch):
    monkeypatch.setattr(http, "MOST_OF_AN_EVENT", 500_000)
    whole = provider.text("one", "two").steps
    more = {"hanging": HANG, "broken": DISCONNECT, "garbage": event("{", "content_block_delta")}
    steps = endless(*whole) if behind == "endless" else (*whole, more[behind])
    heard = heard_from(kind, streamed()._replace(steps=steps), silence=0.05)
    assert heard.text == "onetwo"
    assert heard.error is None
    assert heard.reply.text == "onetwo"


@BOTH
@pytest.mark.parametrize("status", [400, 500])
def test_an_error_without_an_end_is_not_read_forever(kind, provider, status):
    with kind(lambda _: Answer(endless(), status)) as stub:
        heard = ask(model_at(stub, retries=Retries(attempts=1)))
    assert heard.code == "reply_garbled"


def test_json_that_is_nested_without_an_end_is_garbage():
    heard = heard_from(OpenAIStub, openai.text("one", event("[" * 100_000)))
    assert heard.code == "reply_garbled"
    assert heard.pieces == ["one"]


def test_types_that_no_provider_sends_do_no_harm():
    call = {"index": 0, "id": 5, "function": {"name": 7, "arguments": {"path": "x"}}}
    heard = heard_from(
        OpenAIStub, streamed(openai.chunk({"tool_calls": [call]}), openai.chunk({}, "stop"), openai.DONE)
    )
    assert heard.reply.tool_calls == (ToolCall(id="5", name="7", arguments={"path": "x"}),)


# ------------------------------------------------------------------------------------- stopping, and connections


@BOTH
def test_whoever_leaves_in_the_middle_hangs_up(kind, provider):
    async def run(model, stub):
        stream = model.stream(HELLO)
        while not await anext(stream):
            pass
        await stream.aclose()
        return await asyncio.to_thread(stub.asked[0].gone.wait, PATIENCE)

    with kind(provider.text("one ", HANG)) as stub:
        assert asyncio.run(run(model_at(stub), stub))


@BOTH
@pytest.mark.parametrize("moment", ["before", "within"])
def test_a_cancelled_question_hangs_up(kind, provider, moment):
    gate = Gate()
    answer = streamed(gate, HANG) if moment == "before" else provider.text("one ", gate, HANG)

    async def run(model, stub):
        task = asyncio.create_task(hear(model))
        await asyncio.to_thread(gate.reached.wait, PATIENCE)
        gate.open()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        return await asyncio.to_thread(stub.asked[0].gone.wait, PATIENCE)

    with kind(answer) as stub:
        assert asyncio.run(run(model_at(stub), stub))


@BOTH
def test_one_model_answers_in_one_loop_after_another(kind, provider):
    with kind(provider.text("Hi.")) as stub:
        model = model_at(stub)
        assert [ask(model).text for _ in range(3)] == ["Hi."] * 3
    gc.collect()


@BOTH
def test_questions_at_the_same_time_do_not_get_in_each_others_way(kind, provider):
    def echo(asked):
        return provider.text(asked.body["messages"][-1]["content"][0]["text"], " indeed")

    async def run(model):
        requests = [Request(messages=(Message("user", (f"Number {n}.", "now")),)) for n in range(8)]
        return await asyncio.gather(*(hear(model, request) for request in requests))

    with kind(echo) as stub:
        answers = asyncio.run(run(model_at(stub)))
    assert [heard.text for heard in answers] == [f"Number {n}. indeed" for n in range(8)]


def test_rounds_of_a_conversation_use_one_connection():
    with OpenAIStub(openai.text("Hi.")) as stub:
        heard = ask_all(model_at(stub), [HELLO] * 4)
        assert [one.text for one in heard] == ["Hi."] * 4
        assert stub.connections == 1


def test_two_models_at_one_endpoint_share_its_connection():
    async def run(stub):
        return [await hear(model_at(stub)) for _ in range(3)]

    with OpenAIStub(openai.text("Hi.")) as stub:
        heard = asyncio.run(run(stub))
        assert [one.text for one in heard] == ["Hi."] * 3
        assert stub.connections == 1


# ------------------------------------------------------------------------------------------------ other providers


def test_a_provider_that_only_pydantic_ai_knows_is_asked_in_its_way(monkeypatch):
    tools = (
        ToolSpec(name="files_read", description="Read.", parameters={"type": "object", "properties": {}}),
    )
    messages = (
        Message("system", "Soul."),
        Message("system", "Memory."),
        Message("user", ("Go.", "Today.")),
        Message("assistant", "", tool_calls=(ToolCall(id="c1", name="files_read", arguments={"a": 1}),)),
        Message("tool", "Done.", name="files_read", tool_call_id="c1"),
        Message("system", "Be brief."),
        Message("assistant", "Well."),
        Message("user", "And?"),
    )
    with OpenAIStub(openai.calls(("files_read", {}), said=["Hm."], told=openai.usage(9, 3, 4))) as stub:
        monkeypatch.setenv("OLLAMA_BASE_URL", stub.url)
        heard = ask(open_model("ollama:qwen3:8b", environ={}), Request(messages=messages, tools=tools))
    body = stub.bodies[0]
    assert body["model"] == "qwen3:8b"
    assert [(m["role"], m["content"]) for m in body["messages"]] == [
        ("system", "Soul."),
        ("system", "Memory."),
        ("user", [{"type": "text", "text": "Go."}, {"type": "text", "text": "Today."}]),
        ("assistant", None),
        ("tool", "Done."),
        ("user", "Be brief."),
        ("assistant", "Well."),
        ("user", "And?"),
    ]
    assert body["tools"][0]["function"]["name"] == "files_read"
    assert heard.reply == Reply(
        text="Hm.",
        tool_calls=(ToolCall(id="call_1", name="files_read", arguments="{}"),),
        spend=Spend(input=9, cached=4, output=3),
        finish="tools",
    )


def test_a_provider_that_only_pydantic_ai_knows_fails_like_the_others(monkeypatch):
    with OpenAIStub(openai.TOO_LONG) as stub:
        monkeypatch.setenv("OLLAMA_BASE_URL", stub.url)
        assert ask(open_model("ollama:qwen3", environ={})).code == "context_too_long"


def test_what_is_heard_ends_with_one_reply():
    heard = Heard(pieces=[], reply=Reply(text=""))
    with pytest.raises(AssertionError):
        take(heard, "more")
    assert event({"a": 1}) == b'data: {"a": 1}\n\n'
