"""The only reader of the time of day; everything above receives a Clock."""

from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct


class Clock(Protocol):
    """Tells the time, in UTC."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the machine's time."""
        return datetime.now(UTC)


class FixedClock(Struct, frozen=True):
    """A clock that stands still: for tests, replays and `CARREL_NOW`."""

    moment: datetime

    def now(self) -> datetime:
        """Return always the same moment."""
        return self.moment.astimezone(UTC)
