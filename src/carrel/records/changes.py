"""What memory changed in files: enough of each change to show it, take it back, and finish it after a kill.

A change is begun before its file is written and settled after. It keeps the bytes that differ and not the
file, so that an append to a large notebook costs its own size.
"""

from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import NotFound
from carrel.files import READ_LIMIT
from carrel.records.facts import Store

ChangeState = Literal["begun", "done", "undone"]

PURGED = "purged"
"""The commit of a change that was purged before it was in one."""

SPLICE_BYTES = READ_LIMIT
"""What either side of a splice may have: a whole file, as far as one is read at all."""

PAGE_BYTES = 4 * SPLICE_BYTES
"""With how much in its splices a page ends early; the last of them may go beyond it."""


class Splice(Struct, frozen=True):
    """The bytes of one file that changed: from `start` on, `old` became `new`; the rest is the same.

    `line` is the number of the line there, from 1; 0 where nobody counted.
    """

    start: int
    old: bytes
    new: bytes
    line: int = 0

    @property
    def is_purged(self) -> bool:
        """Whether its bytes were forgotten for good."""
        return self.start < 0


class Change(Struct, frozen=True, kw_only=True):
    """One change of one file; a digest of none means that there was no file.

    `actor` is who did it (`owner`, an agent's id, `extraction`…), `action` what (`append`, `supersede`,
    `undo`…), `reason` why, in words for people. `undoes` is the change that this one took back.
    """

    id: int = 0
    at: datetime
    actor: str
    action: str
    store: Store = "workspace"
    path: str
    before: str | None
    after: str | None
    splice: Splice
    agent: str = ""
    session: str = ""
    reason: str = ""
    state: ChangeState = "begun"
    undoes: int = 0
    commit: str = ""


class UnknownChange(NotFound):
    """No change has this number."""

    code = "unknown_change"

    def __init__(self, number: int) -> None:
        super().__init__(f"There is no change {number}.", hint="carrel memory history lists them.")


class Changes(Protocol):
    """The changes of a workspace's memory, in the order they were begun; none is ever removed.

    What one did may be purged: then it still says who did something when, and can no longer be taken back.
    """

    def begin(self, change: Change) -> Change:
        """Keep what is about to be written, and return it with its number."""
        ...

    def settle(self, number: int, state: ChangeState | None) -> None:
        """Say what became of a change, else UnknownChange.

        None: nothing was written, and it is as if it had not begun. One that was settled before stays.
        """
        ...

    def keep_commit(self, number: int, commit: str) -> None:
        """Say which commit holds a change, else UnknownChange."""
        ...

    def purge(self, number: int) -> None:
        """Forget the bytes of a change for good, else UnknownChange; it counts as committed."""
        ...

    def get(self, number: int) -> Change:
        """Return a change, else UnknownChange."""
        ...

    def list(
        self,
        *,
        store: Store | None = None,
        path: str | None = None,
        state: ChangeState | None = None,
        committed: bool | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Change]:
        """Return changes that are all this, the newest first; large ones make a page shorter than its limit.

        So only an empty page is the last; the next one is `before` the last change of this.
        """
        ...
