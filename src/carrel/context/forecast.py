"""How full a window is, and how many turns are left until history is saved and compacted."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from carrel.context.calls import to_plain
from carrel.sessions.message import Message
from carrel.sessions.window import whole_turns

FLUSH_PERCENT, COMPACT_PERCENT = 70, 85
_RECENT_TURNS = 8
_RECENT_MESSAGES = 128


class Forecast(Struct, frozen=True, kw_only=True):
    """How full the window is, and after how many turns history is saved and compacted; none if unknown."""

    turns_to_flush: int | None
    turns_to_compact: int | None
    percent: float
    tokens: int
    """What the call takes, tools and what the provider counts differently included."""


def turn_sizes(messages: Sequence[Message], count: Callable[[str], int]) -> list[int]:
    """Return the tokens of the last few turns, oldest first: what a forecast goes by."""
    messages = messages[-_RECENT_MESSAGES:]
    turns = whole_turns(messages)[-_RECENT_TURNS:]
    return [sum(count(to_plain(message)) for message in messages[turn]) for turn in turns]


def forecast(used: int, window: int, growth: Sequence[int]) -> Forecast:
    """Say how full a window is, and in how many turns like the last few history is saved and compacted."""
    recent = sorted(growth[-_RECENT_TURNS:])
    middle = len(recent) // 2
    pace = max(1, (recent[middle] + recent[~middle]) // 2) if recent else None

    def turns_to(percent: int) -> int | None:
        left = window * percent - used * 100
        if left <= 0:
            return 0
        return None if pace is None else -(-left // (pace * 100))

    return Forecast(
        turns_to_flush=turns_to(FLUSH_PERCENT),
        turns_to_compact=turns_to(COMPACT_PERCENT),
        percent=round(used * 100 / max(1, window), 1),
        tokens=used,
    )
