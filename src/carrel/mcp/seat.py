"""Where a client sits: which workspace it is shown, as whose ears, and whether it may change anything.

The application seats a client. No argument of a tool changes its seat.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from msgspec import Struct, field

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.sessions.places import behind, valid_session
from carrel.workspace.scope import Scope

DOOR = "mcp"
"""The door of whoever speaks over standard input and output."""

_DOOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class Seat(Struct, frozen=True, kw_only=True):
    """One client before one workspace.

    `door` is by whose leave it is here, such as the id of a key: before others than the owner, sessions
    belong to the door that they were recorded through, and no other door's can be named.
    """

    workspace: Workspace
    scope: Scope = Scope.SHARED
    may_write: bool = False
    door: str = DOOR
    guard: AbstractContextManager[Any] = field(default_factory=nullcontext)
    """Held while the workspace is worked on."""
    noted: Callable[["Deed"], None] | None = None
    """Told of every change; without it the workspace's audit is."""

    def __post_init__(self) -> None:
        if not _DOOR.fullmatch(self.door):
            raise ValueError(f"a door is a short word without dots: {self.door!r}")

    def session(self, name: str) -> str:
        """Return the session that a client means."""
        return valid_session(name) if self.scope is Scope.MAIN else behind(self.door, name)

    def note(self, deed: "Deed") -> None:
        """Write down a change, after it was made."""
        if self.noted is not None:
            self.noted(deed)
            return
        workspace = self.workspace
        with suppress(CarrelError):  # it is done, and what it did to memory has a history of its own
            workspace.records.audit.note(
                at=workspace.config.clock.now(),
                actor=self.door,
                action=deed.action,
                target=deed.target,
                session=deed.session,
                detail=deed.detail,
            )


class Deed(Struct, frozen=True, kw_only=True):
    """One change that a client asked for and that was made, or waits."""

    action: str
    target: str = ""
    session: str = ""
    detail: dict[str, Any] = {}


Seated = Callable[[Any], Seat]
"""Returns the seat of a request: the transport's own, none over standard input and output."""
