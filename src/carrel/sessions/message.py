"""A message as a model receives it: the neutral form that every provider's format is made from."""

from typing import Any, Literal

from msgspec import Struct

Role = Literal["system", "user", "assistant", "tool"]


class Message(Struct, frozen=True):
    """A role and its text; several texts are the parts of one message, the later ones not recorded."""

    role: Role
    content: str | tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return `{"role", "content"}`, with content as a list of text parts where there are several."""
        if isinstance(self.content, str):
            return {"role": self.role, "content": self.content}
        return {"role": self.role, "content": [{"type": "text", "text": part} for part in self.content]}

    def to_text(self) -> str:
        """Return the text alone."""
        return self.content if isinstance(self.content, str) else "\n".join(self.content)
