"""Points at which a process can be killed, by name: before and after each change of a file or of the records.

They are all verbs of the disk's seam and of the records' port that change something. One that is added there is a
point from then on, and where nobody comes to it the row says so.
"""

import errno
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from carrel.files import folders, history, local
from carrel.files.disk import Disk
from carrel.index import vectors
from carrel.index.embedded import parts
from carrel.records import Records
from carrel.records.sqlite import SqliteRecords
from carrel.testing import FaultyDisk

_HARMLESS = ("unlock", "pause", "swap")
"""Verbs of the disk that change nothing on it; and a swap, which is burnt as the rename that it is."""

_READING = frozenset(
    [
        "all",
        "check",
        "close",
        "count",
        "counts",
        "cursor",
        "events",
        "find",
        "frozen",
        "get",
        "holding",
        "jobs",
        "kept",
        "last",
        "last_assembly",
        "layout",
        "list",
        "promoted",
        "remembered",
        "since",
        "total",
        "turns",
    ]
)
"""Verbs of the records that change nothing; every other is a point."""

_WITH_DISKS = (local, history, folders, parts, vectors)


def _public(of: type) -> Iterator[str]:
    yield from (name for name, verb in vars(of).items() if not name.startswith("_") and callable(verb))


def _records() -> Iterator[tuple[str, type]]:
    """Yield the records and each of their parts, by name, with the class that is used here."""
    records = SqliteRecords()
    yield "records", SqliteRecords
    for name, verb in vars(Records).items():
        if isinstance(verb, property):
            yield name, type(getattr(records, name))
    records.close()


_CALLS = (*(name for name in _public(Disk) if name not in _HARMLESS), "fsync directory")
_VERBS = tuple((part, of, verb) for part, of in _records() for verb in _public(of) if verb not in _READING)
_TRUNCATE = "truncate"
POINTS = tuple(
    f"{moment} {point}"
    for point in (*_CALLS, *(f"{part}.{verb}" for part, _, verb in _VERBS))
    for moment in ("before", "after")
)


class Fuse:
    """Kills the process the Nth time that it comes to a point.

    A file is cut short only after a sync that failed: for that point the Nth sync of a line fails.
    """

    def __init__(self, point: str, times: int = 1) -> None:
        self._point, self._left = point, times
        self._fails = times if point.endswith(_TRUNCATE) else 0
        if self._fails:
            self._left = 1

    def burn(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def fail(self) -> None:
        """Fail a sync of a line if it is its turn."""
        self._fails -= 1
        if self._fails == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def lay(self) -> None:
        """Let all stores and records of this process burn it."""
        disk = _FusedDisk(self)
        for module in _WITH_DISKS:
            module.Disk = lambda: disk  # pyright: ignore[reportAttributeAccessIssue]
        for part, of, verb in _VERBS:
            fused = self._held if verb == "transaction" else self._fused
            setattr(of, verb, fused(f"{part}.{verb}", getattr(of, verb)))

    def _fused(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            self.burn(f"before {name}")
            outcome = verb(*given, **more)
            self.burn(f"after {name}")
            return outcome

        return call

    def _held(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        """Return a transaction whose points are before and after its end, where all of it is kept at once."""

        @contextmanager
        def hold(*given: Any) -> Generator[None]:
            with verb(*given):
                yield
                self.burn(f"before {name}")
            self.burn(f"after {name}")

        return hold


class Scout(Fuse):
    """Burns nothing, and writes down each time that a point is come to."""

    def __init__(self, notes: Path) -> None:
        super().__init__("")
        self._notes = notes

    def burn(self, point: str) -> None:
        with self._notes.open("a") as file:
            file.write(f"{point}\n")


def seen_by(notes: Path) -> Counter[str]:
    """Return how often somebody came to points, and to those that they would have come to on a disk that fails."""
    seen = Counter(notes.read_text().splitlines() if notes.exists() else ())
    for moment in ("before", "after"):
        seen[f"{moment} {_TRUNCATE}"] = seen["before fdatasync"]
    return +seen


class _FusedDisk(FaultyDisk):
    """A disk each of whose calls has a point before it and one after it."""

    def __init__(self, fuse: Fuse) -> None:
        super().__init__()
        self._fuse = fuse

    def fdatasync(self, fd: int) -> None:
        self._fuse.fail()
        super().fdatasync(fd)

    def _kill(self, moment: str, name: str) -> None:
        self._fuse.burn(f"{moment} {name}")
