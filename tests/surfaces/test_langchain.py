"""LangChain's own agents over a workspace: the real packages, with a model that says what a script tells it."""

import asyncio
import json
import socket
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from carrel import Workspace
from carrel.adapters.langchain import CarrelMiddleware
from carrel.adapters.langchain.middleware import NoThread
from carrel.workspace.scope import UnknownScope

ANA = "Who is it that uses a Samsung?"


class Scripted(BaseChatModel):
    """A model that gives one answer after the other, raises what is an error, and keeps what it was asked."""

    answers: list[Any]
    asked: list[Any] = Field(default_factory=list)
    told_of: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **_):
        self.told_of[:] = tools
        return self

    def _next(self, messages):
        self.asked.append(messages)
        said = self.answers.pop(0)
        if isinstance(said, BaseException):
            raise said
        return AIMessage(said) if isinstance(said, str) else said

    def _generate(self, messages, *_, **__):
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages, *_, **__):
        said = self._next(messages)
        if said.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_calls=said.tool_calls))
            return
        for word in said.content.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(f"{word} "))


@pytest.fixture
def workspace(cli, sample):
    with Workspace.open(sample.path) as opened:
        yield opened


def calls(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


def agent_of(workspace, *answers, scope="main", **options):
    model = Scripted(answers=list(answers))
    middleware = [*options.pop("before", ()), CarrelMiddleware(workspace, scope=scope)]
    return create_agent(model, middleware=middleware, **options), model


def thread(name):
    return {"configurable": {"thread_id": name}}


def ask(agent, text, session="s1"):
    return agent.invoke({"messages": [HumanMessage(text)]}, thread(session))


def log(workspace, session="s1"):
    entries = [each.entry for each in workspace.sessions.entries(session)]
    return [(entry.role, entry.to_text()) for entry in entries]


def test_the_model_reads_the_workspace_behind_the_applications_own_words(workspace):
    agent, model = agent_of(workspace, "Hello.", system_prompt="Answer in English.")
    answer = ask(agent, "Hi there")
    system, question = model.asked[0]
    assert system.content.startswith("Answer in English.\n\n")
    assert 'path="SOUL.md"' in system.content
    assert "Ana uses a Samsung." in system.content
    assert question.content[0] == {"type": "text", "text": "Hi there"}
    assert "2026-04-24" in question.content[1]["text"]
    assert [each.content for each in answer["messages"]] == ["Hi there", "Hello."]


def test_a_fact_told_in_one_session_is_recalled_in_the_next(workspace):
    agent, model = agent_of(workspace, "Noted.", "On 17 August.")
    ask(agent, "My zeppelin licence expires on 17 August.", "s1")
    ask(agent, "When does the zeppelin licence expire?", "s2")
    assert "expires on 17 August" in model.asked[1][-1].content[1]["text"]
    assert log(workspace, "s2") == [
        ("user", "When does the zeppelin licence expire?"),
        ("assistant", "On 17 August."),
    ]


def test_a_private_fact_is_not_recalled_in_shared_scope(workspace):
    mine, _ = agent_of(workspace, "Noted.")
    ask(mine, "My zeppelin licence expires on 17 August.", "s1")
    agent, model = agent_of(
        workspace, "I do not know.", calls("memory_search", query="Samsung"), "No.", scope="shared"
    )
    ask(agent, "When does the zeppelin licence expire? And who uses a Samsung?", "s2")
    ask(agent, ANA, "s3")
    told = json.dumps([[each.model_dump() for each in messages] for messages in model.asked], default=str)
    assert "17 August" not in told
    assert "Ana uses" not in told
    assert "Kind, and exact." in told


def test_scope_is_shared_unless_the_application_says_otherwise(workspace):
    model = Scripted(answers=["I do not know."])
    ask(create_agent(model, middleware=[CarrelMiddleware(workspace)]), ANA)
    assert "Ana uses" not in str(model.asked)
    with pytest.raises(UnknownScope):
        CarrelMiddleware(workspace, scope="everybody")


def test_instructions_are_the_same_bytes_in_every_call_of_a_session(workspace, sample):
    agent, model = agent_of(workspace, calls("who_am_i"), "One.", "Two.", checkpointer=InMemorySaver())
    ask(agent, "First?")
    sample.put({"MEMORY.md": "## People\n\n- Ana uses a Pixel now.\n"})
    ask(agent, "Second?")
    systems = [messages[0].content for messages in model.asked]
    assert len(systems) == 3
    assert len(set(systems)) == 1
    assert model.asked[0][1].content == model.asked[1][1].content


def test_a_tool_of_the_workspace_is_called_and_all_of_it_is_recorded(workspace):
    agent, model = agent_of(workspace, calls("memory_search", query="Samsung phone"), "Ana does.")
    answer = ask(agent, "Who has which phone?")
    assert "Ana uses a Samsung." in answer["messages"][2].content
    assert {"memory_search", "memory_write", "who_am_i"} <= {each.name for each in model.told_of}
    assert [role for role, _ in log(workspace)] == ["user", "assistant", "tool", "assistant"]
    asked, result = [each.entry for each in workspace.sessions.entries("s1")][1:3]
    assert asked.tool_calls[0].arguments == {"query": "Samsung phone"}
    assert (result.name, result.tool_call_id) == ("memory_search", asked.tool_calls[0].id)


def test_a_model_that_calls_a_tool_wrongly_is_told_so_and_may_go_on(workspace):
    agent, _ = agent_of(
        workspace, calls("memory_search", quarry="x"), calls("read_file", path="../../etc"), "Sorry."
    )
    answer = ask(agent, "Go on.")
    assert "query" in answer["messages"][2].content
    assert "upwards" in answer["messages"][4].content
    assert log(workspace)[-1] == ("assistant", "Sorry.")


def test_what_the_model_writes_into_every_prompt_waits_for_the_owner(workspace, sample):
    fact = "Ana prefers to be called Anita."
    agent, _ = agent_of(workspace, calls("memory_write", text=fact, section="People"), "Done.")
    ask(agent, "A web page says that Ana prefers to be called Anita.")
    assert fact not in (sample / "MEMORY.md").read_text()


def test_a_thread_that_langchain_keeps_is_read_as_it_keeps_it(workspace):
    agent, model = agent_of(workspace, "One.", "Two.", checkpointer=InMemorySaver())
    ask(agent, "First?")
    ask(agent, "Second?")
    assert [each.text for each in model.asked[1][1:3]] == ["First?", "One."]
    assert len(model.asked[1]) == 4
    assert [text for _, text in log(workspace)] == ["First?", "One.", "Second?", "Two."]


def test_a_thread_that_nobody_keeps_goes_on_from_the_sessions_own_history(workspace):
    agent, model = agent_of(workspace, calls("who_am_i"), "One.", calls("who_am_i"), "Two.")
    ask(agent, "First?")
    ask(agent, "Second?")
    kinds = [each.type for each in model.asked[2][1:]]
    assert kinds == ["human", "ai", "tool", "ai", "human"]
    assert [each.type for each in model.asked[3][1:]] == [*kinds, "ai", "tool"]
    assert model.asked[2][1].content == "First?"
    assert model.asked[2][2].tool_calls[0]["name"] == "who_am_i"
    assert [text for _, text in log(workspace)].count("First?") == 1


def test_instructions_among_the_messages_are_no_history(workspace):
    agent, model = agent_of(workspace, "One.", "Two.")
    for question in ("First?", "Second?"):
        agent.invoke({"messages": [SystemMessage("Be kind."), HumanMessage(question)]}, thread("s1"))
    assert [each.text for each in model.asked[1][1:4]] == ["Be kind.", "First?", "One."]
    assert [text for _, text in log(workspace)] == ["First?", "One.", "Second?", "Two."]


def test_a_history_that_the_application_brings_is_not_recorded_again(workspace):
    agent, _ = agent_of(workspace, "One.", "Two.")
    ask(agent, "First?")
    told = [{"role": "user", "content": "First?"}, {"role": "assistant", "content": "One."}]
    agent.invoke({"messages": [*told, {"role": "user", "content": "Second?"}]}, thread("s1"))
    assert [text for _, text in log(workspace)] == ["First?", "One.", "Second?", "Two."]


def test_a_model_that_fails_leaves_the_question_recorded_and_a_retry_doubles_nothing(workspace):
    agent, _ = agent_of(workspace, RuntimeError("down"), RuntimeError("down"), "At last.")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="down"):
            ask(agent, "Are you there?")
        assert log(workspace) == [("user", "Are you there?")]
    ask(agent, "Are you there?")
    assert log(workspace) == [("user", "Are you there?"), ("assistant", "At last.")]


def test_a_run_that_is_taken_up_again_after_a_failure_doubles_nothing(workspace):
    answers = calls("who_am_i"), RuntimeError("down"), "At last."
    agent, _ = agent_of(workspace, *answers, checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="down"):
        ask(agent, "Are you there?")
    assert [role for role, _ in log(workspace)] == ["user", "assistant", "tool"]
    agent.invoke(None, thread("s1"))
    assert [role for role, _ in log(workspace)] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("is_outside", [True, False])
def test_langchains_own_retries_double_nothing(workspace, is_outside):
    retries = ModelRetryMiddleware(max_retries=2, initial_delay=0, backoff_factor=0, jitter=False)
    model = Scripted(answers=[RuntimeError("down"), RuntimeError("down"), "At last."])
    own = CarrelMiddleware(workspace, scope="main")
    agent = create_agent(model, middleware=[retries, own] if is_outside else [own, retries])
    ask(agent, "Are you there?")
    assert log(workspace) == [("user", "Are you there?"), ("assistant", "At last.")]


def test_a_question_is_recorded_even_if_others_end_the_run_before_a_model_hears_it(workspace):
    agent, model = agent_of(workspace, before=[ModelCallLimitMiddleware(run_limit=0, exit_behavior="end")])
    ask(agent, "Are you there?")
    assert model.asked == []
    assert log(workspace) == [("user", "Are you there?")]


def test_a_summary_that_langchain_makes_is_nobodys_word(workspace):
    shorter = SummarizationMiddleware(
        Scripted(answers=["They spoke about tea."] * 9), trigger=("messages", 3), keep=("messages", 1)
    )
    agent, model = agent_of(
        workspace, "One.", "Two.", "Three.", before=[shorter], checkpointer=InMemorySaver()
    )
    for question in ("First?", "Second?", "Third?"):
        ask(agent, question)
    assert "They spoke about tea." in model.asked[-1][1].text
    assert [text for _, text in log(workspace)] == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]


def test_what_is_streamed_is_the_same_and_is_recorded_whole(workspace):
    agent, _ = agent_of(workspace, calls("who_am_i"), "I am Kate, an octopus.")
    heard = [
        piece.content
        for piece, about in agent.stream(
            {"messages": [HumanMessage("Who are you?")]}, thread("s1"), stream_mode="messages"
        )
        if about["langgraph_node"] == "model" and piece.content
    ]
    assert len(heard) > 3
    assert "".join(heard).strip() == "I am Kate, an octopus."
    assert log(workspace)[-1] == ("assistant", "I am Kate, an octopus. ")


def test_agents_of_several_threads_work_side_by_side(workspace):
    agent, _ = agent_of(workspace, *(["Noted."] * 8))
    asked = [{"messages": [HumanMessage(f"I live in house number {n}.")]} for n in range(8)]
    agent.batch(asked, [thread(f"s{n}") for n in range(8)])
    for number in range(8):
        assert [text for _, text in log(workspace, f"s{number}")] == [
            f"I live in house number {number}.",
            "Noted.",
        ]


def test_agents_of_a_loop_work_side_by_side(workspace):
    async def all_of_them():
        agent, _ = agent_of(workspace, *(["Noted."] * 8))
        asked = [
            agent.ainvoke({"messages": [HumanMessage(f"I live in house number {n}.")]}, thread(f"s{n}"))
            for n in range(8)
        ]
        await asyncio.gather(*asked)
        agent, _ = agent_of(workspace, calls("memory_search", query="house number 5"), "In number 5.")
        pieces = [
            piece async for piece in agent.astream({"messages": [HumanMessage("Which house?")]}, thread("s9"))
        ]
        return next(piece["tools"]["messages"][0].content for piece in pieces if "tools" in piece)

    found = asyncio.run(all_of_them())
    assert "house number 5" in found
    for number in range(8):
        assert log(workspace, f"s{number}") == [
            ("user", f"I live in house number {number}."),
            ("assistant", "Noted."),
        ]


def test_an_asynchronous_model_that_fails_leaves_the_question_recorded(workspace):
    agent, _ = agent_of(workspace, RuntimeError("down"))
    with pytest.raises(RuntimeError, match="down"):
        asyncio.run(agent.ainvoke({"messages": [HumanMessage("Are you there?")]}, thread("s1")))
    assert log(workspace) == [("user", "Are you there?")]


def test_a_message_of_several_parts_is_recorded_with_them_and_recalls_by_its_text(workspace):
    agent, model = agent_of(workspace, "A cat.")
    image = {"type": "image_url", "image_url": {"url": "https://example.invalid/cat.png"}}
    question = HumanMessage([{"type": "text", "text": ANA}, image])
    agent.invoke({"messages": [question]}, thread("s1"))
    assert model.asked[0][-1].content[:2] == question.content
    assert len(model.asked[0][-1].content) == 3
    assert ANA in log(workspace)[0][1]


def test_instructions_in_parts_stay_in_parts(workspace):
    mark = {"type": "text", "text": "Answer in English.", "cache_control": {"type": "ephemeral"}}
    agent, model = agent_of(workspace, "Yes.", system_prompt=SystemMessage([mark]))
    ask(agent, "Is that so?")
    assert model.asked[0][0].content[0] == mark
    assert "Kind, and exact." in model.asked[0][0].content[1]["text"]


def test_a_run_without_a_thread_says_what_is_missing(workspace):
    agent, model = agent_of(workspace, "Never.")
    with pytest.raises(NoThread, match="thread"):
        agent.invoke({"messages": [HumanMessage("Hi")]})
    assert model.asked == []


@pytest.mark.parametrize("name", ["user/1", "..", "a b", "ü", "x" * 500, "", 7])
def test_any_thread_is_a_session_of_its_own(workspace, name):
    agent, _ = agent_of(workspace, "One.", "Two.")
    agent.invoke({"messages": [HumanMessage("First?")]}, thread(name))
    agent.invoke({"messages": [HumanMessage("Second?")]}, thread("another"))
    rows, total = workspace.sessions.rows(limit=9)
    assert total == 2
    assert {row.entries for row in rows} == {2}


def test_nothing_is_sent_anywhere(workspace, monkeypatch):
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def refuse(*where: object) -> None:
        raise AssertionError(f"a connection to {where}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    agent, _ = agent_of(workspace, calls("memory_search", query="Samsung"), "Ana does.")
    assert ask(agent, ANA)["messages"][-1].content == "Ana does."


def test_what_each_call_took_is_in_the_account_of_its_session(workspace):
    said = AIMessage(
        "Done.",
        usage_metadata={
            "input_tokens": 1_000,
            "output_tokens": 20,
            "total_tokens": 1_020,
            "input_token_details": {"cache_read": 800},
        },
        response_metadata={"model_name": "gpt-5"},
    )
    agent, _ = agent_of(workspace, calls("list_files"), said)
    ask(agent, "Which files are there?")
    (turn,) = workspace.records.usage.turns(workspace.agent.id, "s1", limit=9)
    assert (turn.input, turn.cached, turn.output, turn.model) == (1_000, 800, 20, "gpt-5")


def test_an_answer_in_a_form_of_the_applications_ends_its_turn(workspace):
    class Weather(BaseModel):
        degrees: int

    agent, _ = agent_of(
        workspace,
        calls("Weather", degrees=7),
        calls("Weather", degrees=7),
        response_format=ToolStrategy(Weather),
    )
    for _ in range(2):  # asked again it is another question, since the first one was answered
        assert ask(agent, "How cold is it?")["structured_response"] == Weather(degrees=7)
    every = log(workspace)
    assert [role for role, _ in every] == ["user", "assistant", "tool", "assistant"] * 2
    assert every[3] == ("assistant", '{"degrees":7}')


def test_a_tool_whose_result_is_the_answer_ends_its_turn(workspace):
    @tool(return_direct=True)
    def clock() -> str:
        """Tell the time."""
        return "It is noon."

    agent, _ = agent_of(workspace, calls("clock"), calls("clock"), tools=[clock])
    for _ in range(2):
        ask(agent, "What time is it?")
    assert [role for role, _ in log(workspace)] == ["user", "assistant", "tool", "assistant"] * 2
    assert log(workspace)[-1] == ("assistant", "It is noon.")


def test_an_image_that_is_sent_again_after_a_failure_is_the_same_message(workspace):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    content = [{"type": "text", "text": "What is this?"}, image]
    agent, _ = agent_of(workspace, RuntimeError("down"), "A cat.")
    with pytest.raises(RuntimeError):
        ask(agent, content)
    ask(agent, content)
    assert [role for role, _ in log(workspace)] == ["user", "assistant"]


PNG = "iVBORw0KGgo="


@pytest.mark.parametrize(
    "picture",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "image", "base64": PNG, "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
    ],
)
def test_pictures_of_users_tools_and_models_stand_beside_the_log(workspace, sample, picture):
    @tool
    def look() -> list:
        """Look."""
        return [{"type": "text", "text": "seen"}, picture]

    answer = AIMessage([{"type": "text", "text": "Here."}, picture])
    agent, model = agent_of(workspace, calls("look"), answer, tools=[look])
    ask(agent, [{"type": "text", "text": "Draw this."}, picture])
    assert PNG in str(model.asked[0][-1].content[1])
    (kept,) = sample.path.glob("agents/*/sessions/s1.files/*.png")
    texts = [text for role, text in log(workspace) if text]
    assert len(texts) == 3
    assert all(kept.name in text for text in texts)
    assert all(PNG not in path.read_text() for path in sample.path.glob("agents/*/sessions/*.jsonl"))


def test_a_picture_that_is_none_ends_no_run(workspace):
    @tool
    def look() -> list:
        """Look."""
        return [{"type": "text", "text": "seen"}, {"type": "image", "base64": "!", "mime_type": "image/png"}]

    agent, _ = agent_of(workspace, calls("look"), "Nothing.", tools=[look])
    ask(agent, "Look.")
    assert log(workspace)[2:] == [("tool", "seen"), ("assistant", "Nothing.")]
