"""A turn of a LangChain agent, bare and with a workspace, for bench/adapters.py."""

from collections.abc import Callable

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel

from carrel import Workspace
from carrel.adapters.langchain import CarrelMiddleware

TURNS = 10  # of a session


class Silent(FakeListChatModel):
    """A model that answers at once, and takes tools without calling one."""

    def bind_tools(self, *_, **__):
        return self


def turns(workspace: Workspace) -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Two functions that hold the turn of a number: without Carrel, and with it."""

    def holding(middleware):
        agent = create_agent(Silent(responses=["Noted."]), middleware=middleware)

        def hold(number: int) -> None:
            thread = {"configurable": {"thread_id": f"langchain-{number // TURNS}"}}
            asked = f"What does page {number} say about class definitions, names and arguments?"
            agent.invoke({"messages": [{"role": "user", "content": asked}]}, thread)

        return hold

    return holding([]), holding([CarrelMiddleware(workspace, scope="main")])
