"""When to try again: how often, how long to wait before it, and how a provider says so."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC

from msgspec import Struct

from carrel.clock import Clock, SystemClock

DAY = 86_400.0
"""The longest wait that is believed."""


class Retries(Struct, frozen=True, kw_only=True):
    """How often a request is sent at most, and within how many seconds the last time; waits double."""

    attempts: int = 4
    seconds: float = 60.0
    first: float = 0.5
    longest: float = 20.0


class Timing(Struct, frozen=True, kw_only=True):
    """How time passes; tests let it pass at once."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    elapsed: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    clock: Clock = SystemClock()


class Trial:
    """The attempts at one request; owns the count of them."""

    def __init__(self, retries: Retries, timing: Timing) -> None:
        self.attempts = 1
        self._retries = retries
        self._timing = timing
        self._began = timing.elapsed()

    def next_wait(self, after: float | None) -> float | None:
        """Return how long to wait before trying again, none where that would be too often or too late.

        A provider that asks for more patience than there is left is not bothered before its time.
        """
        plan = self._retries
        if self.attempts >= plan.attempts:
            return None
        chance = self._timing.chance()
        if after is None:
            wait = min(plan.longest, plan.first * 2.0 ** min(self.attempts - 1, 32)) * (0.5 + chance / 2)
        else:
            wait = after + plan.first * chance
        if self._timing.elapsed() - self._began + wait > plan.seconds:
            return None
        self.attempts += 1
        return wait


def asked_wait(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Return the seconds that a provider asks to wait, by the headers of its answer (names in lower case)."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    told = headers.get("retry-after", "")
    seconds = _number(told)
    return _bounded(seconds) if seconds is not None else _until(told, clock)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number else None  # noqa: PLR0124 - what is not equal to itself is no number


def _until(text: str, clock: Clock) -> float | None:
    """Return how long it is until a date as HTTP writes it."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - hardly any provider sends one

    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return _bounded((date - clock.now()).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), DAY)
