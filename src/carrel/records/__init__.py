"""The small truths beside the files: what was sent, what is frozen, what was found out."""

from collections.abc import Mapping
from typing import Any, Protocol

Payload = Mapping[str, Any]


class Records(Protocol):
    """What Carrel must remember and prose cannot hold; every acknowledged write is durable."""

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

    def close(self) -> None:
        """Release the resource."""
        ...
