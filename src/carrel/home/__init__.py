"""Where one workspace lives: the Home port, over a directory or over a database.

A home has the files, and what Carrel keeps beside them: records, index, trash, what is derived, and the
namespaces of its owner. Who has a home need not know which kind it is.
"""

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from carrel.clock import Clock
from carrel.config import Approvals
from carrel.files import FileStore
from carrel.records import Records
from carrel.tokens import Tokenizer
from carrel.workspace.counts import TokenCounts

if TYPE_CHECKING:  # a report has no use for them
    from carrel.index import Index
    from carrel.index.embed import Embedder, EmbedderChoice
    from carrel.postgres.bell import Bell
    from carrel.postgres.leases import Leases
    from carrel.records.moving import Rows
    from carrel.runtime.delegation import Seat
    from carrel.runtime.edit import Trash
    from carrel.sessions.offsets import Offsets

__all__ = ["Home"]


class Home(Protocol):
    """The parts of one workspace, each opened by whoever asks for it, who closes it again."""

    @property
    def location(self) -> str:
        """What it is called for good: its directory, or its address."""
        ...

    @property
    def root(self) -> Path | None:
        """Its directory, where it has one."""
        ...

    @property
    def files(self) -> FileStore:
        """What people and agents write."""
        ...

    @property
    def clock(self) -> Clock:
        """What tells the time to all who work in it."""
        ...

    @property
    def approvals(self) -> Approvals:
        """Where it stands whether its own settings count."""
        ...

    def owned(self, *, known: bool) -> "Home":
        """Return the same home, as its owner knows it or not: of one that is not, nothing is left inside."""
        ...

    def moved_to(self, folder: str) -> "Home":
        """Return the home that an agent has for itself, as its settings name it."""
        ...

    def seated(self, seat: "Seat") -> "Home":
        """Return the home of a delegate that works apart from all others."""
        ...

    def has_records(self) -> bool:
        """Tell whether anything was recorded; looking makes nothing."""
        ...

    def records(self) -> Records:
        """Open the small truths beside the files."""
        ...

    def rows(self) -> "Rows":
        """Open the same as rows, to be moved."""
        ...

    def inner(self) -> list[str]:
        """Return the folders of those who have records of their own inside it, sorted."""
        ...

    def counts(self, tokenizer: Tokenizer) -> TokenCounts:
        """Open the token counts of one model."""
        ...

    def offsets(self) -> "Offsets":
        """Open what is known of the logs of sessions."""
        ...

    def derived(self) -> FileStore:
        """Return where what is derived from sessions is kept if the layout has no place for it."""
        ...

    def trash(self) -> "Trash":
        """Return where removed files are kept, made where it is missing."""
        ...

    def find_trash(self) -> FileStore | None:
        """Return what was removed, none where nothing was yet."""
        ...

    def find_namespaces(self) -> FileStore | None:
        """Return the store of namespaces, none before the first is written."""
        ...

    def open_namespaces(self) -> FileStore:
        """Return the store of namespaces to write to, made where it is missing."""
        ...

    def leases(self) -> "Leases | None":
        """Return what says which of many servers does a thing, none where no other can be one."""
        ...

    def bell(self) -> "Bell | None":
        """Return what other servers hear, none where no other can be one."""
        ...

    def foreseeing(self, *work: Hashable) -> AbstractContextManager[None]:
        """Do work of this kind with as few questions as may be, where each is a way to go."""
        ...

    def index(self, embedder: "Embedder | None") -> "Index":
        """Open the index."""
        ...

    def embedder(self, choice: "EmbedderChoice", environ: Mapping[str, str]) -> "Embedder | None":
        """Open what makes vectors, over what was made before; none where none is wanted."""
        ...

    def indexed(self) -> list[str]:
        """Return what is kept of an index and of vectors, by name."""
        ...

    def set_aside(self) -> list[str]:
        """Return what was damaged and stands aside since, of all that is derived: by where it is."""
        ...

    def sweep_files(self) -> None:
        """Remove now what killed writers left of a file anywhere; else the next one there does."""
        ...

    def drop_index(self) -> None:
        """Remove that: it is made again when needed. Whoever has it open lets go of it first."""
        ...
