"""The inputs of an assembly: with the files, all that may change a byte of it."""

from datetime import date, datetime, timedelta

from msgspec import Struct

from carrel.context.render import one_line
from carrel.findings import Finding
from carrel.sessions.message import Message
from carrel.workspace.scope import Scope

# Not from the locale: the same inputs give the same bytes on any machine.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Recalled(Struct, frozen=True, kw_only=True):
    """One hit that recall offers to the prompt."""

    path: str
    line: int
    text: str
    date: str | None = None
    tier: str = "document"
    score: float = 0.0


class Inputs(Struct, frozen=True, kw_only=True):
    """One call: who listens, when, and about what; `now` is in the workspace's time zone."""

    scope: Scope
    now: datetime
    time_zone: str
    session: str | None = None
    query: str | None = None
    model: str | None = None
    """Who will answer, where that is not the model of the settings; it changes the window and no byte."""
    window: int | None = None
    """What fits a call, where somebody asks how it would be in another window than the model's."""
    recall: tuple[Recalled, ...] = ()
    left_out: tuple[Recalled, ...] = ()
    """What was found too and is not sent: there is no room for it, or it says the same."""
    noticed: tuple[Finding, ...] = ()
    """What was noticed when all this was gathered."""
    history: tuple[Message, ...] = ()
    summarised: int = 0
    """How many messages at the beginning of history are a summary of what went before."""
    beside: int = 0
    """Tokens of the call that no section has: tools, and what the provider counts differently."""

    @property
    def today(self) -> date:
        """The day in the workspace's time zone."""
        return self.now.date()

    def facts(self) -> dict[str, str]:
        """Return what a layout's own lines may say of the call."""
        return {
            "date": self.today.isoformat(),
            "weekday": _WEEKDAYS[self.today.weekday()],
            "time_zone": self.time_zone,
            "session": one_line(self.session or ""),
        }

    def last_days(self, count: int) -> list[date]:
        """Return today and the days before it, newest first."""
        return [self.today - timedelta(days=n) for n in range(count)]
