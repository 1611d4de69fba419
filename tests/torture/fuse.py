"""Points at which a process can be killed, by name: before and after each change of a file or of the records."""

import os
import signal
from collections.abc import Callable
from typing import Any

from carrel.files import folders, history, local
from carrel.records.sqlite.changes import SqliteChanges
from carrel.records.sqlite.facts import SqliteFacts
from carrel.records.sqlite.queue import SqliteQueue
from carrel.testing import FaultyDisk

_CALLS = (
    "open",
    "lock",
    "resemble",
    "write",
    "fsync",
    "rename",
    "fsync directory",
    "fdatasync",
    "mkdir",
    "unlink",
)
_VERBS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (SqliteChanges, ("begin", "settle")),
    (SqliteQueue, ("put", "take", "finish")),
    (SqliteFacts, ("add", "update", "advance")),
)
POINTS = tuple(
    f"{moment} {point}"
    for point in (*_CALLS, *(f"{of.__name__}.{verb}" for of, verbs in _VERBS for verb in verbs))
    for moment in ("before", "after")
)


class Fuse:
    """Kills the process the Nth time that it comes to a point."""

    def __init__(self, point: str, times: int) -> None:
        self._point, self._left = point, times

    def burn(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def lay(self) -> None:
        """Let all stores and records of this process burn it."""
        disk = _FusedDisk(self)
        for module in (local, history, folders):
            module.Disk = lambda: disk  # pyright: ignore[reportAttributeAccessIssue]
        for of, verbs in _VERBS:
            for verb in verbs:
                setattr(of, verb, self._fused(f"{of.__name__}.{verb}", getattr(of, verb)))

    def _fused(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            self.burn(f"before {name}")
            outcome = verb(*given, **more)
            self.burn(f"after {name}")
            return outcome

        return call


class _FusedDisk(FaultyDisk):
    """A disk each of whose calls has a point before it and one after it."""

    def __init__(self, fuse: Fuse) -> None:
        super().__init__()
        self._fuse = fuse

    def _kill(self, moment: str, name: str) -> None:
        self._fuse.burn(f"{moment} {name}")
