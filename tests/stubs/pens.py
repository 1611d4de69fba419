"""A pen as a workspace has one, over a directory; and a fuse that kills a process at any step of a change."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pygit2

from carrel.clock import Clock
from carrel.files.disk import Disk
from carrel.files.history import GitHistory
from carrel.files.local import LocalFiles
from carrel.memory.ignored import git_ignores
from carrel.memory.pen import Author, Pen
from carrel.records.changes import Change, Changes
from carrel.records.sqlite import SqliteRecords
from carrel.testing import FixedClock

OWNER = Author(actor="owner", action="append")
NOTEBOOK = "memory/main.md"
NOW = FixedClock(datetime(2026, 4, 24, 12, tzinfo=UTC))


class Desk:
    """A directory with memory in it, its records beside it, and the pen that writes it."""

    def __init__(
        self,
        root: Path,
        *,
        git: bool = False,
        disk: Disk | None = None,
        fuse: "Fuse | None" = None,
        clock: Clock = NOW,
        **identity: str,
    ) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.records = SqliteRecords(root.with_name(f"{root.name}.records"))
        disk = disk or QuickDisk()
        self.files = LocalFiles(root, disk=disk)
        self.history = (
            GitHistory(root, disk=disk, is_ignored=git_ignores(self.files), **identity) if git else None
        )
        self.changes: Changes = Fused(self.records.changes, fuse) if fuse else self.records.changes
        self.written: list[tuple[str, str]] = []
        self.pen = Pen(
            stores={"workspace": self.files, "namespaces": self.files},
            changes=lambda: self.changes,
            clock=clock,
            history=lambda: self.history,
            written=lambda store, path: self.written.append((store, path)),
        )

    def add(self, line: str, path: str = NOTEBOOK, author: Author = OWNER) -> Change | None:
        """Add a line to the end of a file, once."""
        return self.pen.edit("workspace", path, lambda text: with_line(text, line), author)

    def read(self, path: str = NOTEBOOK) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.exists() else None

    def write(self, data: bytes | str, path: str = NOTEBOOK) -> None:
        """Write a file the way its owner's editor does."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)

    def states(self) -> list[str]:
        """The states of all changes, oldest first."""
        return [change.state for change in reversed(self.changes.list())]

    def repository(self) -> pygit2.Repository:
        return pygit2.Repository(str(self.root))

    def commits(self) -> list[pygit2.Commit]:
        """All commits of the branch, oldest first."""
        repository = self.repository()
        if repository.head_is_unborn:
            return []
        return list(repository.walk(repository.head.target, pygit2.enums.SortMode.TOPOLOGICAL))[::-1]

    def committed(self, path: str = NOTEBOOK) -> list[bytes | None]:
        """The file in each commit."""
        return [content(commit, path) for commit in self.commits()]


def content(commit: pygit2.Commit, path: str = NOTEBOOK) -> bytes | None:
    try:
        found: Any = commit.tree[path]
    except KeyError:
        return None
    return found.data


def with_line(text: str | None, line: str) -> str:
    lines = (text or "").splitlines()
    return text if text and line in lines else f"{text or ''}{line}\n"


class Fuse:
    """Counts steps, and kills the process at one of them: the Nth, or the first of a name."""

    def __init__(self, *, at: int = 0, name: str = "") -> None:
        self.steps: list[str] = []
        self._at = at
        self._name = name

    def burn(self, name: str) -> None:
        self.steps.append(name)
        if len(self.steps) == self._at or name == self._name:
            os.kill(os.getpid(), signal.SIGKILL)


class QuickDisk(Disk):
    """A disk whose power never fails."""

    def fsync(self, fd: int) -> None:
        pass

    def fdatasync(self, fd: int) -> None:
        pass


class FusedDisk(QuickDisk):
    """A disk whose every change is a step."""

    def __init__(self, fuse: Fuse) -> None:
        self._fuse = fuse

    def open(self, name: str, flags: int, mode: int, *, directory: int) -> int:
        self._fuse.burn(f"open {name}")
        return super().open(name, flags, mode, directory=directory)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._fuse.burn("write")
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self._fuse.burn("fsync")
        super().fsync(fd)

    def rename(self, old: str, new: str, *, directory: int) -> None:
        self._fuse.burn(f"before rename to {new}")
        super().rename(old, new, directory=directory)
        self._fuse.burn(f"after rename to {new}")

    def swap(self, old: str, new: str, *, directory: int) -> None:
        self._fuse.burn(f"before rename to {new}")
        super().swap(old, new, directory=directory)
        self._fuse.burn(f"after rename to {new}")

    def link(self, old: str, new: str, *, directory: int, into: int) -> None:
        self._fuse.burn(f"before link to {new}")
        super().link(old, new, directory=directory, into=into)
        self._fuse.burn(f"after link to {new}")

    def unlink(self, name: str, *, directory: int) -> None:
        self._fuse.burn(f"unlink {name}")
        super().unlink(name, directory=directory)

    def mkdir(self, name: str, *, directory: int) -> None:
        self._fuse.burn(f"mkdir {name}")
        super().mkdir(name, directory=directory)


class Fused:
    """Changes, whose every verb that writes is two steps: before it, and after it."""

    def __init__(self, changes: Changes, fuse: Fuse) -> None:
        self._changes = changes
        self._fuse = fuse

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._changes, verb)
        if verb not in ("begin", "settle", "keep_commit"):
            return method

        def call(*given: Any) -> Any:
            self._fuse.burn(f"before {verb}")
            outcome = method(*given)
            self._fuse.burn(f"after {verb}")
            return outcome

        return call
