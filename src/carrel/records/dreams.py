"""What was dreamt: each run with what it promotes, planned before a file is touched.

So a kill between any two steps neither loses nor repeats a promotion.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import Conflict, NotFound
from carrel.records.facts import Trust

DreamState = Literal["planned", "done", "reverting", "reverted"]
PromotionState = Literal["planned", "promoted", "dropped", "reverted"]
"""dropped: planned, and not to be written any more when its turn came."""


class Promotion(Struct, frozen=True, kw_only=True):
    """One memory that a run promotes, with what it was promoted for and where it came from.

    `key` is equal for texts that say the same in the same words; none is promoted twice. `source` is the file
    or the log in which it was recalled, `session` and `evidence` are who said it where, as far as is known.
    """

    key: str
    text: str
    score: float
    hits: int
    days: int
    trust: Trust = "owner"
    kind: str = "note"
    subject: str = ""
    session: str = ""
    evidence: tuple[str, ...] = ()
    source: str = ""
    state: PromotionState = "planned"


class Dream(Struct, frozen=True, kw_only=True):
    """One run; of one that promoted nothing, `reason` says why.

    `heading` is what its promotions stand below in the file at `path`, which `existed` before or did not, and
    `diary` the file that tells of it. `mark` is the last change before it, `changes` are its own. `problem`
    says what is in its way, `ended` when it was taken back.
    """

    id: int = 0
    agent: str
    at: datetime
    path: str
    diary: str
    heading: str
    counts: Mapping[str, int] = {}
    reason: str = ""
    promotions: tuple[Promotion, ...] = ()
    existed: bool = False
    mark: int = 0
    changes: tuple[int, ...] = ()
    problem: str = ""
    state: DreamState = "planned"
    ended: datetime | None = None


class UnknownDream(NotFound):
    """No run has this number."""

    code = "unknown_dream"

    def __init__(self, number: int) -> None:
        super().__init__(f"There is no dream {number}.", hint="carrel dream status names the last one.")


class DreamOvertaken(Conflict):
    """Somebody else dreamt, or took a dream back, while this one was thought of; nothing was written."""

    code = "dream_overtaken"

    def __init__(self) -> None:
        super().__init__("Somebody else dreamt at the same time.", hint="Run it again if you still want to.")


class Dreams(Protocol):
    """The runs of every agent; each verb is whole or nothing, and joins the transaction it is called in."""

    def plan(self, dream: Dream, *, after: int) -> Dream:
        """Keep what is about to be written, and return it with its number.

        DreamOvertaken where the agent's last run is not `after` (0: there is none), or another promotes the
        same.
        """
        ...

    def get(self, number: int) -> Dream:
        """Return a run, else UnknownDream."""
        ...

    def update(self, dream: Dream) -> None:
        """Keep a run as it is now, and the states of its promotions, else UnknownDream."""
        ...

    def list(
        self,
        *,
        agent: str | None = None,
        states: Collection[DreamState] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> list[Dream]:
        """Return runs that are all this, the newest first; no states means any."""
        ...

    def promoted(self, agent: str) -> dict[str, datetime | None]:
        """Return the keys of what was promoted, or is about to be; for what was taken back, since when."""
        ...

    def purge(self, keys: Collection[str]) -> int:
        """Forget the texts of promotions with these keys for good; return how many there were."""
        ...

    def counts(self, agent: str) -> dict[PromotionState, int]:
        """Return how many promotions are in each state."""
        ...
