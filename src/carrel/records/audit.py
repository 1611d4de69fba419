"""Who did what, when: the trail that is only ever added to."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from carrel.records.content import Payload


class Event(Struct, frozen=True, kw_only=True):
    """One thing that somebody did; a later one has a greater `id`, whatever the clock said."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    session: str
    detail: Payload


class Audit(Protocol):
    """The trail; nothing in it is changed or removed."""

    def note(
        self,
        *,
        at: datetime,
        actor: str,
        action: str,
        target: str = "",
        session: str = "",
        detail: Payload | None = None,
    ) -> Event:
        """Add an event and return it with its number."""
        ...

    def events(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        action: str | None = None,
        target: str | None = None,
        limit: int = 100,
    ) -> list[Event]:
        """Return a page of events, newest first.

        `before` the number of an event, the page that is next older; `after` it alone, the next newer one.
        """
        ...
