"""An agent of LangChain, and a graph of LangGraph, with a workspace: what they are told once they know later.

It runs offline, with a model that only repeats what it is reminded of. Put "openai:gpt-5" in its place.
"""
# ruff: noqa: INP001, T201

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from carrel import Workspace
from carrel.adapters.langchain import CarrelMiddleware, CarrelStore


class Repeating(SimpleChatModel):
    """Says what the workspace has put beside the last message."""

    @property
    def _llm_type(self) -> str:
        return "repeating"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Take tools, and never call one."""
        return self

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        hits = re.findall(r"<hit [^>]*>(.*?)</hit>", str(messages[-1].text))
        return f"I remember: {hits[0]}" if hits else "Noted."


class State(TypedDict):
    """What the nodes of the graph hand on."""

    question: str
    answer: str


def remember(state: State, runtime: Runtime) -> dict[str, Any]:  # noqa: ARG001 - a node is given both
    """Put an item, which is a page in memory/store from now on."""
    assert runtime.store is not None
    runtime.store.put(("users", "luis"), "bike", {"text": "The bicycle of Luis is green."})
    return {}


def look(state: State, runtime: Runtime) -> dict[str, Any]:
    """Find it again by what it means."""
    assert runtime.store is not None
    found = runtime.store.search(("users",), query=state["question"])
    return {"answer": found[0].value["text"] if found else "I do not know."}


def talk(workspace: Workspace) -> None:
    """Tell a fact in one session, and ask for it in another."""
    agent = create_agent(Repeating(), middleware=[CarrelMiddleware(workspace, scope="main")])
    for session, message in (
        ("monday", "The walrus sleeps in the boat house."),
        ("tuesday", "Where does the walrus sleep?"),
    ):
        thread: Any = {"configurable": {"thread_id": session}}
        said = agent.invoke({"messages": [{"role": "user", "content": message}]}, thread)
        print(f"{session}> {message}\n{said['messages'][-1].text}")


def run_graph(workspace: Workspace) -> None:
    """Let one node put an item, and another find it."""
    builder = StateGraph(State).add_node("remember", remember).add_node("look", look)
    builder.add_edge(START, "remember").add_edge("remember", "look")
    graph = builder.compile(store=CarrelStore(workspace, scope="main"))
    print(graph.invoke({"question": "Which colour is the bike?", "answer": ""})["answer"])


def main() -> None:
    """Run both on a workspace that is gone afterwards."""
    with TemporaryDirectory() as folder:
        Workspace.init(Path(folder) / "ada")
        with Workspace.open(Path(folder) / "ada") as workspace:
            talk(workspace)
            run_graph(workspace)


if __name__ == "__main__":
    main()
