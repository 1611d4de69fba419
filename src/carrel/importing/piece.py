"""What a source holds, piece by piece, and what becomes of each: the values of an import."""

from typing import Literal

from msgspec import Struct

from carrel.findings import Finding
from carrel.workspace.layout import LAYOUTS

CLAUDE_CODE = "claude-code"
BASIC_MEMORY = "basic-memory"
OBSIDIAN = "obsidian"
EXPORT = "export"

KINDS = (*LAYOUTS, CLAUDE_CODE, BASIC_MEMORY, OBSIDIAN, EXPORT)
"""What can be imported: the six layouts, the memory of other programs, and what `carrel export` wrote."""

Role = Literal[
    "document", "notebook", "project", "journal", "memory", "knowledge", "skill", "subagent", "diary", "log",
    "attachment", "block", "fact", "talk", "other", "settings", "left",
]  # fmt: skip
"""What a piece is to an agent; each layout has a place for some of them.

A `block` is some text for a section of a file, a `talk` a session as another program wrote it, and what is
`left` stays where it is, for a reason that is told.
"""

Action = Literal["new", "same", "merge", "proposal", "beside", "skipped"]
"""new: it is written; same: it is there; merge: what was missing is added; proposal: it waits for its owner.

beside: the place is taken or there is none, so that it is kept in a folder of its own; skipped: it stays out.
"""


class Piece(Struct, frozen=True, kw_only=True):
    """One thing that a source holds: where it stands there, what it is, and its name as such.

    Its bytes are those at `source` unless it has its own. `private` was for the owner's eyes alone.
    """

    source: str
    role: Role
    name: str = ""
    agent: str = ""
    line: int = 0
    section: str = ""
    data: bytes | None = None
    modified_ns: int = 0
    private: bool = False
    reason: str = ""

    @property
    def origin(self) -> str:
        """Where it stands in its source, as people write it."""
        return f"{self.source}:{self.line}" if self.line else self.source


class Row(Struct, frozen=True, kw_only=True):
    """What becomes of one piece."""

    source: str
    target: str = ""
    action: Action
    reason: str = ""


class Imported(Struct, frozen=True, kw_only=True):
    """What an import did, or would do: a row for each piece, in the order of the source."""

    source: str
    kind: str
    target: str
    layout: str
    rows: tuple[Row, ...] = ()
    dry_run: bool = False
    in_place: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def counts(self) -> dict[Action, int]:
        """How many pieces met each end."""
        found: dict[Action, int] = {}
        for row in self.rows:
            found[row.action] = found.get(row.action, 0) + 1
        return found
