"""Anthropic's memory tool over a workspace, run by their own tool runner against a stub of their server."""

import anthropic
import pytest
from tests.stubs.anthropic import MODEL, AnthropicStub
from tests.stubs.scripted import document

from carrel import Workspace
from carrel.adapters.anthropic import CarrelMemoryTool, NoMemoryTool
from carrel.mcp.offered import call, offered
from carrel.mcp.seat import Seat
from carrel.workspace.scope import Scope

NAMED = "agents:\n  - id: kate\n    allowed_tools: ['*', memory]\n"
TEA = {"command": "create", "path": "/memories/tea.md", "file_text": "Luis drinks green tea.\n"}


@pytest.fixture
def workspace(cli, sample):
    sample.put({"carrel.yaml": NAMED})
    with Workspace.open(sample.path) as opened:
        yield opened


def message(*content, stop="end_turn"):
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": list(content)}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return document({**body, "stop_reason": stop, "stop_sequence": None, "usage": usage})


def used(number, given):
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": given}


def run(workspace, session, *commands):
    """What the model is told after each command, and what it says in the end."""
    script = [message(used(n, each), stop="tool_use") for n, each in enumerate(commands)]
    with (
        anthropic.DefaultHttpxClient(trust_env=False) as http,
        AnthropicStub(*script, message({"type": "text", "text": "Done."})) as server,
    ):
        client = anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0, http_client=http)
        memory = CarrelMemoryTool(workspace, session=session, scope="main")
        said = client.beta.messages.tool_runner(
            model=MODEL, max_tokens=99, messages=[{"role": "user", "content": "Tea?"}], tools=[memory]
        ).until_done()
        heard = [each["content"] for body in server.bodies for each in body["messages"]]
    parts = {part["tool_use_id"]: part for content in heard for part in content if isinstance(part, dict)}
    return [(part.get("is_error", False), part["content"]) for part in parts.values()], said.content[0].text


def test_what_is_told_in_one_session_is_there_in_the_next(workspace):
    results, said = run(workspace, "s1", {"command": "view", "path": "/memories"}, TEA)
    assert "/memories/MEMORY.md" in results[0][1]
    assert results[1] == (False, "File created successfully at: /memories/tea.md")
    assert said == "Done."
    results, _ = run(workspace, "s2", {"command": "view", "path": "/memories/tea.md"}, TEA)
    assert "Luis drinks green tea." in results[0][1]
    assert results[1][0] is True
    assert "File /memories/tea.md already exists" in str(results[1][1])


def test_a_change_can_be_listed_and_undone(workspace):
    run(workspace, "s1", TEA)
    assert [(change.path, change.session) for change in workspace.memory.history()] == [
        ("memory/tea.md", "s1")
    ]
    workspace.memory.undo()
    assert workspace.read("memory/tea.md") is None


def test_what_every_prompt_holds_waits_for_the_owner(workspace):
    wanted = {
        "command": "insert",
        "path": "/memories/MEMORY.md",
        "insert_line": 0,
        "insert_text": "- Pay Bo.",
    }
    results, _ = run(workspace, "s1", wanted)
    assert "waits for the owner" in results[0][1]
    assert "Bo" not in workspace.read_memory()
    assert len(workspace.memory.review.waiting()) == 1


def test_a_private_fact_is_nobody_elses(workspace, sample):
    with pytest.raises(NoMemoryTool, match="shared"):
        CarrelMemoryTool(workspace, session="s1")
    assert "memory" not in workspace.tools(scope="shared")


def test_the_tool_is_there_where_the_settings_name_it(workspace, sample):
    assert "memory" in workspace.tools()
    assert "memory_write" in workspace.tools()
    sample.put({"carrel.yaml": "agents: [{id: kate}]\n"})
    with Workspace.open(sample.path) as opened:
        assert "memory" not in opened.tools()
        with pytest.raises(NoMemoryTool) as caught:
            CarrelMemoryTool(opened, scope="main")
        assert "allowed_tools" in caught.value.hint


def test_clients_of_mcp_are_offered_it_where_the_settings_name_it(workspace, sample):
    seat = Seat(workspace=workspace, scope=Scope.MAIN, may_write=True)
    assert call(seat, "memory", TEA | {"session": "s1"}) == {
        "text": "File created successfully at: /memories/tea.md"
    }
    assert list(offered(seat)) == sorted(offered(seat))
    assert "memory" not in offered(Seat(workspace=workspace, scope=Scope.SHARED, may_write=True))
    assert "memory" not in offered(Seat(workspace=workspace, scope=Scope.MAIN))
