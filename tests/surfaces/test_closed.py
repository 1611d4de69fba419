"""A workspace that was closed: each of its verbs says so, and so does whatever still works with it."""

import asyncio
import inspect

import pytest
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand as ViewCommand
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from carrel import Workspace
from carrel.adapters.anthropic import CarrelMemoryTool
from carrel.adapters.langchain import CarrelMiddleware, CarrelStore
from carrel.adapters.openai_agents import CarrelSession
from carrel.adapters.pydantic_ai import CarrelCapability
from carrel.shelf import WorkspaceClosed

GIVEN = {
    "session": "s1",
    "messages": [{"role": "user", "content": "Tea?"}],
    "message": "Tea?",
    "query": "tea",
    "path": "SOUL.md",
    "source": "SOUL.md",
    "target": "other.md",
    "text": "Tea.\n",
    "data": b"Tea.\n",
    "expect": None,
    "scope": "main",
    "budget": None,
    "skills": None,
    "subagents": None,
}
ELSEWHERE = {"open", "init", "restore", "trust", "close", "refuse_closed", "called_model"}
"""Those that make or find a workspace, and what the settings alone answer."""

VERBS = sorted(
    name
    for name, value in inspect.getmembers(Workspace, inspect.isfunction)
    if not name.startswith("_") and name not in ELSEWHERE
)


@pytest.fixture
def workspace(cli, sample):
    sample.put({"carrel.yaml": 'layout: carrel\nagents:\n  - id: kate\n    allowed_tools: ["*", memory]\n'})
    with Workspace.open(sample.path) as opened:
        yield opened


def asked(workspace, verb):
    """What a verb answers, with everything given that it cannot do without."""
    ask = getattr(workspace, verb)
    parameters = inspect.signature(ask).parameters.values()
    answer = ask(**{each.name: GIVEN[each.name] for each in parameters if each.default is each.empty})
    return asyncio.run(answer) if inspect.iscoroutine(answer) else answer


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_a_closed_workspace_says_that_it_is_closed(workspace, verb):
    workspace.prepare("s1", "Tea?")
    workspace.close()
    workspace.close()
    with pytest.raises(WorkspaceClosed) as caught:
        asked(workspace, verb)
    assert caught.value.code == "workspace_closed"
    assert str(workspace.location) in caught.value.message
    assert "Open it again" in caught.value.hint


@pytest.mark.parametrize(
    "part",
    [
        lambda each: each.memory.facts(),
        lambda each: each.dreaming.status(),
        lambda each: each.forgetting.finish(),
        lambda each: each.sessions.rows(),
        lambda each: each.searching.status(),
        lambda each: each.files.read("SOUL.md"),
    ],
    ids=["memory", "dreaming", "forgetting", "sessions", "searching", "files"],
)
def test_so_does_every_part_of_it(workspace, part):
    workspace.close()
    with pytest.raises(WorkspaceClosed):
        part(workspace)


def test_tools_that_were_taken_before_say_so(workspace):
    tools = workspace.tools(session="s1").allowed(["read_*"])
    assert "path" in tools.call("read_file", {"path": "SOUL.md"})
    workspace.close()
    with pytest.raises(WorkspaceClosed):
        tools.call("read_file", {"path": "SOUL.md"})


def with_pydantic(workspace):
    agent = Agent(TestModel(call_tools=[]), capabilities=[CarrelCapability(workspace, session="s1")])
    return lambda: asyncio.run(agent.run("Tea?"))


def with_openai(workspace):
    session = CarrelSession(workspace, "s1")
    return lambda: asyncio.run(session.add_items([{"role": "user", "content": "Tea?"}]))


def with_openai_reading(workspace):
    session = CarrelSession(workspace, "s1")
    return lambda: asyncio.run(session.get_items())


def with_langchain(workspace):
    model = FakeListChatModel(responses=["Green."])
    agent = create_agent(model, middleware=[CarrelMiddleware(workspace)], tools=[])
    thread = {"configurable": {"thread_id": "s1"}}
    return lambda: agent.invoke({"messages": [HumanMessage("Tea?")]}, thread)


def with_store(workspace):
    store = CarrelStore(workspace, scope="main")
    return lambda: store.put(("tea",), "luis", {"text": "Green."})


def with_store_reading(workspace):
    store = CarrelStore(workspace, scope="main")
    return lambda: store.get(("tea",), "luis")


def with_anthropic(workspace):
    memory = CarrelMemoryTool(workspace, session="s1", scope="main")
    return lambda: memory.view(ViewCommand(command="view", path="/memories"))


@pytest.mark.parametrize(
    "join",
    [
        with_pydantic,
        with_openai,
        with_openai_reading,
        with_langchain,
        with_store,
        with_store_reading,
        with_anthropic,
    ],
)
def test_an_adapter_over_a_closed_workspace_says_so_and_writes_nothing(workspace, sample, join):
    run = join(workspace)
    workspace.close()
    before = {path: path.read_bytes() for path in sample.path.rglob("*") if path.is_file()}
    with pytest.raises(WorkspaceClosed):
        run()
    assert {path: path.read_bytes() for path in sample.path.rglob("*") if path.is_file()} == before
