"""Anthropic's memory tool over a workspace, for the tool runner of their SDK.

    with Workspace.open("my-agent") as workspace:
        memory = CarrelMemoryTool(workspace, session="s1", scope="main")
        runner = client.beta.messages.tool_runner(tools=[memory], model=..., messages=..., max_tokens=1024)

The agent's settings name the tool: `allowed_tools: ["*", memory]`.
"""

from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from carrel.app import Workspace
from carrel.errors import CarrelError, UsageError
from carrel.tools.memory_tool import NAME
from carrel.workspace.scope import Scope


class NoMemoryTool(UsageError):
    """The agent has no memory tool before this listener."""

    code = "no_memory_tool"

    def __init__(self, agent: str, scope: str) -> None:
        hint = (
            f'Name it in the settings of {agent}: allowed_tools: ["*", {NAME}].'
            if scope == Scope.MAIN
            else 'Memory is the owner\'s: give scope="main" where only they listen.'
        )
        super().__init__(f"{agent} has no memory tool in {scope} scope.", hint=hint)


class CarrelMemoryTool(BetaAbstractMemoryTool):
    """The six commands on a workspace's memory; it owns nothing, and the workspace must stay open.

    What the model has read before is not known here: what every prompt holds waits for the owner.
    """

    def __init__(
        self, workspace: Workspace, *, session: str | None = None, scope: str = Scope.SHARED
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._tools = workspace.conversations.tools(session, scope, unseen=True)
        if NAME not in self._tools:
            raise NoMemoryTool(workspace.agent.id, scope)

    def view(self, command: Any) -> str:
        """Show a folder or a file."""
        return self._run(command)

    def create(self, command: Any) -> str:
        """Make a new file."""
        return self._run(command)

    def str_replace(self, command: Any) -> str:
        """Put a text in the place of another."""
        return self._run(command)

    def insert(self, command: Any) -> str:
        """Put a text behind a line."""
        return self._run(command)

    def delete(self, command: Any) -> str:
        """Remove a file or folder."""
        return self._run(command)

    def rename(self, command: Any) -> str:
        """Give a file or folder another path."""
        return self._run(command)

    def _run(self, command: Any) -> str:
        self._workspace.refuse_closed()  # no matter of the model's, which would only try again
        try:
            return self._tools.call(NAME, command.to_dict(exclude_none=True))
        except CarrelError as error:
            raise ToolError(error.message) from error
