"""How long something took: by the clock, without what it waited for a processor, since other programs have those."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HANG_SECONDS = 1.0
"""From which on something that should be done at once hangs."""

_TASKS = Path("/proc/self/task")


def waited(task: str) -> float:
    """Return the seconds that a process or thread below `/proc` has waited for a processor so far, if Linux tells."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{task}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def queued() -> float:
    """Return the seconds that the threads of this process have waited for a processor so far.

    Of all of them: who asks a server in the same process waits while that one waits. Of a thread that has ended
    nothing is known any more, so that what it waited counts as taken.
    """
    return sum(waited(f"self/task/{each.name}") for each in _TASKS.iterdir())


def own_seconds(began: float, waited: float) -> float:
    """Return the seconds since a moment of the monotonic clock at which so many had been waited for a processor.

    Whatever else is waited for counts: a pipe, a lock, an answer, a disk.
    """
    return time.monotonic() - began - max(0.0, queued() - waited)


def stopwatch() -> Callable[[], float]:
    """Begin to measure, and return what tells the seconds since then."""
    began, waited = time.monotonic(), queued()
    return lambda: own_seconds(began, waited)


class Hung(BaseException):
    """It waits for something that never comes; no `except` on the way stops this."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise `Hung` in what is done, when so many seconds have passed; in the first thread of a process only."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def _give_up(*_: object) -> None:
    raise Hung
