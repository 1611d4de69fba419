"""The only reader of the time of day; everything above receives a Clock."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


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


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still: for tests, replays and `CARREL_NOW`."""

    moment: datetime

    def now(self) -> datetime:
        """Return always the same moment."""
        return self.moment.astimezone(UTC)
