"""Disks that fail, or know what a power cut would leave."""

import errno
import os
import signal
import stat
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from carrel.files.disk import Disk


class FaultyDisk(Disk):
    """A disk whose Nth change fails, is cut short, or finds the process killed.

    `calls` names what was asked for, in order; `fired` says whether the fault came. With `short`, a
    write takes half of its bytes instead of failing. `kill_at` is "before:CALL" or "after:CALL".
    """

    def __init__(
        self, *, fail_at: int = 0, error: int = errno.EIO, short: bool = False, kill_at: str = ""
    ) -> None:
        self.calls: list[str] = []
        self.fired = False
        self._fail_at = fail_at
        self._error = error
        self._short = short
        self._kill_at = kill_at

    def open(self, name: str, flags: int, mode: int, *, directory: int) -> int:
        """Open, unless it is this call's turn to fail."""
        with self._call("open"):
            return super().open(name, flags, mode, directory=directory)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write all, half or nothing."""
        if self._short and len(self.calls) + 1 == self._fail_at:
            self.calls.append("write")
            self.fired = True
            return super().write(fd, data[: max(1, len(data) // 2)])
        with self._call("write"):
            return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        """Sync, unless it is this call's turn to fail."""
        with self._call("fsync directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "fsync"):
            super().fsync(fd)

    def fdatasync(self, fd: int) -> None:
        """Sync the bytes, unless it is this call's turn to fail."""
        with self._call("fdatasync"):
            super().fdatasync(fd)

    def rename(self, old: str, new: str, *, directory: int) -> None:
        """Rename, unless it is this call's turn to fail."""
        with self._call("rename"):
            super().rename(old, new, directory=directory)

    def swap(self, old: str, new: str, *, directory: int) -> None:
        """Rename so that what had the name has the other one, unless it is this call's turn to fail."""
        with self._call("rename"):
            super().swap(old, new, directory=directory)

    def link(self, old: str, new: str, *, directory: int, into: int) -> None:
        """Link, unless it is this call's turn to fail."""
        with self._call("link"):
            super().link(old, new, directory=directory, into=into)

    def unlink(self, name: str, *, directory: int) -> None:
        """Unlink, unless it is this call's turn to fail."""
        with self._call("unlink"):
            super().unlink(name, directory=directory)

    def mkdir(self, name: str, *, directory: int) -> None:
        """Make a directory, unless it is this call's turn to fail."""
        with self._call("mkdir"):
            super().mkdir(name, directory=directory)

    def truncate(self, fd: int, size: int) -> None:
        """Truncate, unless it is this call's turn to fail."""
        with self._call("truncate"):
            super().truncate(fd, size)

    def resemble(self, fd: int, like: os.stat_result) -> None:
        """Copy the permissions, unless it is this call's turn to fail."""
        with self._call("resemble"):
            super().resemble(fd, like)

    def lock(self, fd: int) -> bool:
        """Lock, unless it is this call's turn to fail."""
        with self._call("lock"):
            return super().lock(fd)

    @contextmanager
    def _call(self, name: str) -> Generator[None]:
        self.calls.append(name)
        self._kill("before", name)
        if len(self.calls) == self._fail_at and not self._short:
            self.fired = True
            raise OSError(self._error, os.strerror(self._error))
        yield
        self._kill("after", name)

    def _kill(self, moment: str, name: str) -> None:
        if self._kill_at == f"{moment}:{name}":
            os.kill(os.getpid(), signal.SIGKILL)


class VolatileDisk(Disk):
    """A disk that knows what a power cut would leave of one directory tree.

    The strictest reading of the rules: a file's bytes survive as they were at its last fsync (none at
    all before the first), a directory's entries as they were at its own last fsync. Made files are told
    apart by a serial number, since the system gives a freed inode to the next file.
    """

    def __init__(self, root: Path) -> None:
        self._next = count()
        self._serials: dict[tuple[int, int], int] = {}
        self._bytes: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._root = self._remember(root)

    def open(self, name: str, flags: int, mode: int, *, directory: int) -> int:
        """Open, readable too, so that fsync can see the bytes."""
        fd = super().open(name, flags & ~os.O_ACCMODE | os.O_RDWR, mode, directory=directory)
        if flags & os.O_CREAT:
            self._made(os.fstat(fd))
        return fd

    def mkdir(self, name: str, *, directory: int) -> None:
        """Make a directory of which nothing is durable yet."""
        super().mkdir(name, directory=directory)
        self._names[self._made(os.lstat(name, dir_fd=directory))] = {}

    def fsync(self, fd: int) -> None:
        """Remember what is there now as durable; the real disk need not be bothered."""
        found = os.fstat(fd)
        serial = self._serial(found)
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(fd) as items:
                self._names[serial] = {
                    item.name: self._serial(item.stat(follow_symlinks=False)) for item in items
                }
        else:
            self._bytes[serial] = os.pread(fd, found.st_size, 0)

    def fdatasync(self, fd: int) -> None:
        """Remember the bytes as durable."""
        self.fsync(fd)

    def power_cut(self, into: Path) -> None:
        """Write what would be found after the power came back to the new directory `into`."""
        pending = [(self._root, into)]
        while pending:
            serial, path = pending.pop()
            if serial in self._names:
                path.mkdir()
                pending += [(child, path / name) for name, child in self._names[serial].items()]
            else:
                path.write_bytes(self._bytes.get(serial, b""))

    def _remember(self, path: Path) -> int:
        """Take what exists already as durable."""
        serial = self._made(path.lstat())
        if path.is_dir():
            self._names[serial] = {child.name: self._remember(child) for child in path.iterdir()}
        else:
            self._bytes[serial] = path.read_bytes()
        return serial

    def _made(self, found: os.stat_result) -> int:
        self._serials[found.st_dev, found.st_ino] = serial = next(self._next)
        return serial

    def _serial(self, found: os.stat_result) -> int:
        serial = self._serials.get((found.st_dev, found.st_ino))
        return self._made(found) if serial is None else serial
