"""Sections: the named texts that compete for room in the prompt."""

from typing import Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from carrel.workspace.layout import Keep

JOINT = "\n\n"
"""What parts the texts of members."""

State = Literal["included", "truncated", "excluded", "hidden", "missing", "unreadable", "blocked"]


class Section(Struct, frozen=True, kw_only=True):
    """A text with its name, its wrapping, and its claim to room.

    `text` is escaped already and is what limits apply to; `open`, `close` and `after` stand around it and do
    not count. A section that is not in the running keeps its row, with a state and a reason.
    """

    name: str
    kind: str
    part: int = 0
    text: str = ""
    after: str = ""
    open: str = ""
    close: str = ""
    keep: Keep = "head"
    pinned: bool = False
    counted: bool = True
    unlimited: bool = False
    rest: bool = False
    share: int = 0
    size: int = 0
    limit: int | None = None
    raw_tokens: int = 0
    state: State = "included"
    reason: str = ""
    private: bool = False
    identity: str = ""
    stable: bool = True
    members: tuple["Section", ...] = ()
    """Sections that compete as one; `text` is theirs, joined by JOINT."""
    span: tuple[int, int] | None = None
    """Which characters of the text a cut left."""

    @property
    def kept(self) -> bool:
        """Whether the model will read it."""
        return self.state in ("included", "truncated")

    def out(self, state: State, reason: str) -> Self:
        """Return this section as one that the model will not read."""
        return replace(self, state=state, reason=reason, text="", size=0)
