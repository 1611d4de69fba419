"""What forgetting came to: what went from where, and where copies remain."""

from typing import Literal

from msgspec import Struct

from carrel.findings import Finding
from carrel.records.facts import Fact, Store

CopyKind = Literal[
    "session",
    "history",
    "tombstone",
    "proposal",
    "dream",
    "job",
    "records",
    "index",
    "trash",
    "damaged",
    "plan",
    "file",
    "git",
    "attachment",
    "export",
]
"""Where copies are; every kind is told with how to be rid of it."""


class Removed(Struct, frozen=True, kw_only=True):
    """A line that is no longer in a file of memory."""

    store: Store = "workspace"
    path: str
    line: int
    text: str


class Copy(Struct, frozen=True, kw_only=True):
    """A place that holds what was forgotten, or held it: how much of it, and how to be rid of it."""

    kind: CopyKind
    place: str
    count: int = 1
    how: str = ""


class Forgotten(Struct, frozen=True, kw_only=True):
    """What was forgotten; of a dry run, what would be. `proposals`, `recalls` and `calls` are counts."""

    facts: tuple[Fact, ...] = ()
    removed: tuple[Removed, ...] = ()
    proposals: int = 0
    recalls: int = 0
    calls: int = 0
    purged: tuple[Copy, ...] = ()
    remaining: tuple[Copy, ...] = ()
    dry_run: bool = False
    finished: int = 0
    """Forgettings that a kill had left, and that were finished first."""
    findings: tuple[Finding, ...] = ()
