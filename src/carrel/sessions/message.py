"""A message as a model receives it: the neutral form that every provider's format is made from."""

from typing import Any, Literal, cast

from msgspec import Struct

from carrel import plainjson

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call that a model asked for; `arguments` is as the model wrote it, sense or not."""

    id: str
    name: str
    arguments: dict[str, Any] | str = {}

    def to_json(self) -> dict[str, Any]:
        """Return `{"id", "name", "arguments"}`."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}

    def parsed(self) -> dict[str, Any] | None:
        """Return the arguments as an object, none where the model wrote something else."""
        if not isinstance(self.arguments, str):
            return self.arguments
        try:
            value = plainjson.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class Message(Struct, frozen=True):
    """A role and its text; several texts are the parts of one message, the later ones not recorded.

    A reply may hold calls of tools; a tool's result names the call that it answers.
    """

    role: Role
    content: str | tuple[str, ...]
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return `{"role", "content"}` and what else it has, several parts as a list of texts."""
        content: Any = self.content
        if not isinstance(content, str):
            content = [{"type": "text", "text": part} for part in content]
        more: dict[str, Any] = {
            "name": self.name,
            "tool_calls": [call.to_json() for call in self.tool_calls],
            "tool_call_id": self.tool_call_id,
        }
        return {"role": self.role, "content": content} | {key: value for key, value in more.items() if value}

    def to_text(self) -> str:
        """Return the text alone."""
        return self.content if isinstance(self.content, str) else "\n".join(self.content)
