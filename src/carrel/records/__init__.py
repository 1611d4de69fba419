"""The small truths beside the files: what was sent, what waits, what it cost, who did what."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from carrel.records.content import Payload

if TYPE_CHECKING:  # most commands look at the layout and at what is frozen, and need none of these
    from carrel.records.audit import Audit
    from carrel.records.changes import Changes
    from carrel.records.dreams import Dreams
    from carrel.records.facts import Facts
    from carrel.records.keys import Keys
    from carrel.records.proposals import Proposals
    from carrel.records.queue import Queue
    from carrel.records.recalls import Recalls
    from carrel.records.usage import Usage

__all__ = ["Payload", "Records"]


class Records(Protocol):
    """What Carrel must remember and prose cannot hold; every acknowledged write is durable."""

    @property
    def queue(self) -> "Queue":
        """What waits to be done."""
        ...

    @property
    def usage(self) -> "Usage":
        """What the models cost."""
        ...

    @property
    def audit(self) -> "Audit":
        """Who did what."""
        ...

    @property
    def recalls(self) -> "Recalls":
        """What was remembered when."""
        ...

    @property
    def facts(self) -> "Facts":
        """What was learnt."""
        ...

    @property
    def changes(self) -> "Changes":
        """What memory changed in files."""
        ...

    @property
    def proposals(self) -> "Proposals":
        """What waits for the owner's word."""
        ...

    @property
    def dreams(self) -> "Dreams":
        """What was promoted by recall."""
        ...

    @property
    def keys(self) -> "Keys":
        """Who may come in by HTTP."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Keep all that this thread writes inside to these records and their parts, or none of it.

        One inside another is a part of it: undone alone when it fails, kept with the whole. Others wait
        meanwhile, so nothing slow is done inside and nothing awaited.
        """
        ...

    def layout(self) -> str | None:
        """Return the layout this workspace was found to have."""
        ...

    def remember_layout(self, name: str) -> None:
        """Keep the layout, so that a new file does not turn the workspace into another kind."""
        ...

    def last_assembly(self, agent: str, session: str) -> Payload | None:
        """Return what the session's last `prepare` sent, section by section."""
        ...

    def frozen(self, agent: str, session: str, scope: str) -> Payload | None:
        """Return the parts that stay as they were when the session began."""
        ...

    def kept(self, agent: str, session: str, scope: str) -> tuple[Payload | None, Payload | None]:
        """Return both, the frozen parts and the last assembly, as they are at one moment."""
        ...

    def keep_assembly(
        self, agent: str, session: str, scope: str, *, assembly: Payload, frozen: Payload
    ) -> None:
        """Keep what a `prepare` sent and the parts it freezes: both or neither.

        The first to freeze a session in a scope wins, so that two processes send the same bytes from then on.
        """
        ...

    def thaw(self, agent: str, session: str) -> None:
        """End the freeze of a session: its next `prepare` reads the files again."""
        ...

    def forget(self, texts: Collection[str]) -> int:
        """End the freeze of sessions whose parts hold one of these texts, and forget such last calls.

        Return how many of both there were.
        """
        ...

    def check(self) -> None:
        """Look whether all of it can be read; damage that was not met yet is an error here."""
        ...

    def scrub(self) -> str:
        """Leave no byte on the disk of what was removed; return what is left to be done for it, if any."""
        ...

    def close(self) -> None:
        """Release the resource."""
        ...
