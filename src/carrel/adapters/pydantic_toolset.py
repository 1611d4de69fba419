"""The tools of a workspace as Pydantic AI has them, described once for a run, not for each of its calls."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from carrel import plainjson
from carrel.adapters.joining import Joined
from carrel.tools.registry import ToolSpec

_ANYTHING = SchemaValidator(core_schema.any_schema())
"""The tools themselves say what is wrong with their arguments, in words for the model."""


class WorkspaceToolset(AbstractToolset[Any]):
    """The tools of one run, which are called in its session."""

    def __init__(self, joined: Joined, specs: Sequence[ToolSpec]) -> None:
        self._joined = joined
        self._specs = specs
        self._tools: dict[str, ToolsetTool[Any]] = {}

    @property
    def id(self) -> str | None:
        """None: it lives as long as its run."""
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools, the same at each step of the run."""
        self._tools = self._tools or {
            spec.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=spec.name, description=spec.description, parameters_json_schema=spec.parameters
                ),
                max_retries=ctx.max_retries,
                args_validator=_ANYTHING,
            )
            for spec in self._specs
        }
        return self._tools

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002 - theirs
        tool: ToolsetTool[Any],  # noqa: ARG002 - theirs
    ) -> str:
        """Call a tool beside the loop, and return what the model reads."""
        # A model may write any JSON.
        is_object = isinstance(tool_args, dict)  # pyright: ignore[reportUnnecessaryIsInstance]
        arguments = tool_args if is_object else plainjson.dumps(tool_args).decode()
        return await self._joined.apart(self._joined.call, name, arguments)
