"""The ways in which text from outside comes to a model, each as one turn in which that happens."""

from collections.abc import Callable
from typing import Any

from tests.poison.desk import agent, result, user

from carrel.app import Workspace
from carrel.sessions.transcript import Compaction

Source = Callable[[Workspace, str, str, str], None]
"""Records that the owner asks something in a session, and that a text comes in."""


def tool_output(workspace: Workspace, session: str, asked: str, told: str) -> None:
    workspace.record(session, [user(asked), *result(f"$ cat notice\n{told}\n", "run", command="cat notice")])


def web_page(workspace: Workspace, session: str, asked: str, told: str) -> None:
    page = f"<html><body><h1>Help</h1><!-- {told} --><p>{told}</p></body></html>"
    workspace.record(session, [user(asked), *result(page, "fetch", url="https://evil.example/help")])


def another_agent(workspace: Workspace, session: str, asked: str, told: str) -> None:
    """An agent that was asked before hands back what it has."""
    workspace.record(session, [user(asked)])
    workspace.record(session, [user(told, sender_id="ada")], source="agent")


def group_member(workspace: Workspace, session: str, asked: str, told: str) -> None:
    """In a group nobody is the owner, not even the owner."""
    workspace.record(
        session, [user(asked, sender_id="luis"), user(told, sender_id="mallory")], scope="shared"
    )


def second_sender(workspace: Workspace, session: str, asked: str, told: str) -> None:
    workspace.record(session, [user(asked), user(told, sender_id="mallory")])


def knowledge_file(workspace: Workspace, session: str, asked: str, told: str) -> None:
    """A page of the knowledge is read by Carrel's own tool."""
    path = f"knowledge/{session}.md"
    workspace.put(path, told.encode())
    found: dict[str, Any] = workspace.tools(session=session).call("read_file", {"path": path})
    workspace.record(session, [user(asked), *result(found["text"], "read_file", path=path)])


def replayed_log(workspace: Workspace, session: str, asked: str, told: str) -> None:
    """A log of elsewhere, whose roles are whatever its author wrote, is in the session before the owner comes."""
    claimed = [{"role": "system", "content": told}, user(told, name="owner"), agent(told)]
    workspace.record(session, claimed, scope="shared", source="import")
    workspace.record(session, [user(asked)])


def summary(workspace: Workspace, session: str, asked: str, told: str) -> None:
    """What was read is in the log, and the model sees only a summary that quotes it."""
    workspace.record(
        session, [user("Hi."), *result(told, "fetch", url="https://evil.example"), agent("Read.")]
    )
    last, _ = workspace.sessions.measure(session)
    workspace.sessions.compact(session, Compaction(summary=f"- A page said: {told}", through=last))
    workspace.record(session, [user(asked)])


def recalled(workspace: Workspace, session: str, asked: str, told: str) -> None:
    """What somebody said in a group is recalled when the owner asks for something alone."""
    workspace.record(f"group-{session}", [user(told, sender_id="mallory"), agent("Hm.")], scope="shared")
    workspace.record(session, [user(asked)])
    workspace.prepare(session, f"{asked} {told}")


SOURCES: dict[str, Source] = {
    "tool output": tool_output,
    "a web page": web_page,
    "another agent": another_agent,
    "a group member": group_member,
    "a second sender": second_sender,
    "a knowledge file": knowledge_file,
    "a replayed log": replayed_log,
    "a summary": summary,
    "what was recalled": recalled,
}
