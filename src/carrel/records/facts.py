"""What was learnt: each fact with its evidence, where it was written, and how far each session was read.

The Markdown is what people read and edit; here is what prose cannot hold. A fact is planned before it is
written, so that a kill between any two steps neither loses nor repeats it.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from hashlib import sha256
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import NotFound

Layer = Literal["project", "experience"]

Trust = Literal["owner", "agent", "system", "tool", "external"]
"""Where a fact came from, the most trusted first; of several sources the least trusted counts."""

FactState = Literal["planned", "written", "waiting", "superseded", "refused", "undone", "forgotten"]
"""planned: to be written; waiting: a proposal; refused, undone, forgotten: in no file because of us."""

Store = Literal["workspace", "namespaces"]
"""Which files a path is of: the workspace's own, or the namespaces in the user's data directory."""


_BURIED = "sha256:"


def buried(key: str) -> str:
    """Return a key from which nobody can read what a fact said; of one that is such a key, itself.

    It is what remains of a fact that was purged, so that nobody brings it back.
    """
    if is_buried(key):
        return key
    return _BURIED + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def is_buried(key: str) -> bool:
    """Tell whether a key is what remains of another."""
    return key.startswith(_BURIED) and len(key) == len(_BURIED) + 64


class Fact(Struct, frozen=True, kw_only=True):
    """One remembered statement.

    `line` is what was written of it, word for word, and finds it again in its file. `key` is equal for texts
    that say the same in the same words. `superseded_by` is the id of the fact that took its place.
    """

    id: str
    agent: str
    layer: Layer
    kind: str
    text: str
    key: str
    at: datetime
    session: str = ""
    evidence: tuple[str, ...] = ()
    trust: Trust = "owner"
    subject: str = ""
    valid_from: str = ""
    valid_until: str = ""
    state: FactState = "planned"
    reason: str = ""
    store: Store = "workspace"
    path: str = ""
    section: str = ""
    line: str = ""
    superseded_by: str = ""
    replaces: str = ""
    seen: int = 1
    pinned: bool = False
    change: int = 0


class UnknownFact(NotFound):
    """No fact has this id."""

    code = "unknown_fact"

    def __init__(self, fact: str) -> None:
        super().__init__(f"There is no fact {fact[:80]!r}.", hint="carrel memory facts lists them.")


class Facts(Protocol):
    """The facts of every agent; each verb is whole or nothing, and joins the transaction it is called in."""

    def add(self, facts: Iterable[Fact]) -> int:
        """Keep those whose id is new, and return how many: a retry adds nothing."""
        ...

    def get(self, fact: str) -> Fact:
        """Return the fact with this id, else UnknownFact."""
        ...

    def update(self, fact: Fact) -> None:
        """Keep a fact as it is now, in place of the one with its id, else UnknownFact.

        Read it in the same transaction: what another wrote since it was read would be lost.
        """
        ...

    def find(
        self,
        *,
        agent: str | None = None,
        states: Collection[FactState] = (),
        key: str | None = None,
        subject: str | None = None,
        session: str | None = None,
        store: Store | None = None,
        path: str | None = None,
        line: str | None = None,
        change: int | None = None,
        limit: int = 100,
        after: str = "",
    ) -> list[Fact]:
        """Return the facts that are all this, in the order they were added, beginning after one of them.

        No states means any. A key finds what is left of facts that had it and were purged, too. To begin
        after one that nobody knows is UnknownFact.
        """
        ...

    def counts(self, agent: str | None = None) -> dict[FactState, int]:
        """Return how many facts are in each state."""
        ...

    def cursor(self, agent: str, session: str) -> int:
        """Return up to which entry of a session facts were taken; 0 before the first."""
        ...

    def advance(self, agent: str, session: str, *, expect: int, to: int) -> bool:
        """Move the cursor if it still stands where it was seen; tell whether it did."""
        ...
