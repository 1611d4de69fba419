"""Changes in one open directory that are whole, locked and durable: the protocol of promise 1.

A file is replaced by temp file, write, fsync, rename, fsync of the directory; lines are added by one
write, then fdatasync. The lock is the kernel's, on the directory itself: it leaves no trace and cannot
outlive its holder.
"""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress

from msgspec import Struct

from carrel.files import Stale, Unreadable
from carrel.files.disk import Disk, LockTimeout, ReadOnly
from carrel.files.paths import TEMPORARY

TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""How a file is opened: a pipe or device that took its place neither blocks nor takes the terminal."""

CHUNK = 1 << 20
HASH_LIMIT = 1 << 30
"""A file larger than this is not hashed to see whether it changed: it was not read here either."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02


class Directory(Struct, frozen=True):
    """An open directory in which one operation changes one file; `path` is what its errors name."""

    disk: Disk
    fd: int
    path: str
    is_root: bool = False

    @contextmanager
    def locked(self, seconds: float) -> Generator[None]:
        """Keep every other writer out of this directory, waiting for it at most `seconds`."""
        self.lock(seconds)
        try:
            yield
        finally:
            self.disk.unlock(self.fd)

    def lock(self, seconds: float) -> None:
        """Take the lock, which the caller gives back, waiting for it at most `seconds`."""
        deadline = 0.0
        pause = _FIRST_PAUSE
        while not self.disk.lock(self.fd):
            deadline = deadline or time.monotonic() + seconds
            if time.monotonic() >= deadline:
                raise LockTimeout(self.path, seconds)
            self.disk.pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def look(self, name: str) -> os.stat_result | None:
        """Return what is under a name now, refusing all but a file that may be changed."""
        try:
            found = os.lstat(name, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        refuse_special(self.path, found)
        if not found.st_mode & 0o222:
            # A rename would go through; a file that its owner made read-only is respected anyway.
            raise ReadOnly(self.path, detail="the file is marked read-only")
        return found

    def digest(self, name: str) -> str | None:
        """Return the digest of a file's bytes, None when it is absent."""
        sha = hashlib.sha256()
        try:
            for chunk in self._chunks(name):
                sha.update(chunk)
        except FileNotFoundError:
            return None
        return sha.hexdigest()

    def content(self, name: str) -> bytes:
        """Return a file's bytes."""
        return b"".join(self._chunks(name))

    def names(self) -> tuple[list[str], list[str]]:
        """Return the names in the directory, and apart from them those of files being written."""
        own, temporary = list[str](), list[str]()
        with os.scandir(self.fd) as items:
            for item in items:
                (temporary if item.name.startswith(TEMPORARY) else own).append(item.name)
        return own, temporary

    def make(self, name: str) -> None:
        """Make a directory that survives a power cut; another process may have been quicker."""
        with suppress(FileExistsError):
            self.disk.mkdir(name, directory=self.fd)
        self.disk.fsync(self.fd)

    def sync_above(self) -> None:
        """Make this directory's own name durable, except the root's, which is not ours."""
        if self.is_root:
            return
        fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.fd)
        try:
            self.disk.fsync(fd)
        finally:
            os.close(fd)

    @contextmanager
    def temporary(self, data: bytes, *, like: os.stat_result | None) -> Generator[str]:
        """Hold a durable copy of `data` under a hidden name, for `settle` to put in place."""
        mode = 0o666 if like is None else stat.S_IMODE(like.st_mode) & 0o777
        name, fd = self._made(mode)
        while not self._is_ours(name, fd):
            os.close(fd)
            name, fd = self._made(mode)
        try:
            if like is not None:
                self.disk.resemble(fd, like)
            write_all(self.disk, fd, data)
            self.disk.fsync(fd)
            yield name
        except BaseException:
            with suppress(OSError):
                self.disk.unlink(name, directory=self.fd)
            raise
        finally:
            os.close(fd)

    def settle(self, temporary: str, name: str) -> None:
        """Give the copy its name: from here on everybody sees the new content, also after a power cut."""
        self.disk.rename(temporary, name, directory=self.fd)
        self.disk.fsync(self.fd)

    def replace(self, temporary: str, name: str, expect: str | None) -> None:
        """Settle the copy in the place of what has this digest; Stale where it was something else after all.

        Editors take no lock: what one of them saved after everybody had looked has its name back then.
        """
        self.disk.swap(temporary, name, directory=self.fd)
        try:
            is_replaced = self._refuse_other(temporary, expect)
        except BaseException:
            self._give_back(temporary, name)
            raise
        if is_replaced:
            try:
                self.disk.unlink(temporary, directory=self.fd)
            except OSError:  # the new text has its name: if the old one stays, a later sweep removes it
                self.sweep((temporary,))
        self.disk.fsync(self.fd)

    def unlink(self, name: str) -> None:
        """Take a name away for good."""
        self.disk.unlink(name, directory=self.fd)
        self.disk.fsync(self.fd)

    def extend(self, fd: int, size: int, data: bytes) -> int:
        """Add `data` to an open file in one write, after a newline where its last line lacks one."""
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data
        try:
            _write_once(self.disk, fd, data)
            self.disk.fdatasync(fd)
        except BaseException:
            # Not acknowledged, so it must not be there: a repeated call would add it twice.
            with suppress(OSError):
                self.disk.truncate(fd, size)
            raise
        return size + len(data)

    def sweep(self, temporary: Iterable[str]) -> None:
        """Remove the temporary files whose writer is dead: the lock on them is free."""
        for name in temporary:
            with suppress(OSError):
                self._remove_if_abandoned(name)

    def _give_back(self, temporary: str, name: str) -> None:
        """Exchange the names once more; where that fails, what somebody saved gets a name of its own."""
        try:
            self.disk.swap(temporary, name, directory=self.fd)
        except OSError:
            with suppress(OSError):
                self.disk.rename(temporary, f"{name}.saved-{os.urandom(4).hex()}", directory=self.fd)
            raise

    def _refuse_other(self, name: str, expect: str | None) -> bool:
        """Tell whether something has this name, and raise Stale where it is not what was expected."""
        found = self.digest(name)
        if found not in (None, expect):
            raise Stale(self.path, expected=expect, found=found)
        return found is not None

    def _made(self, mode: int) -> tuple[str, int]:
        name = TEMPORARY + os.urandom(8).hex()
        return name, self.disk.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, directory=self.fd)

    def _is_ours(self, name: str, fd: int) -> bool:
        """Lock a temporary file, which tells it from one that a killed writer left behind.

        False when somebody who sweeps was quicker, and took it for such a one.
        """
        try:
            return self.disk.lock(fd) and os.fstat(fd).st_nlink > 0
        except BaseException:
            os.close(fd)
            with suppress(OSError):
                self.disk.unlink(name, directory=self.fd)
            raise

    def _chunks(self, name: str) -> Generator[bytes]:
        fd = os.open(name, TO_READ, dir_fd=self.fd)
        try:
            found = os.fstat(fd)
            refuse_special(self.path, found)
            if found.st_size > HASH_LIMIT:
                raise Unreadable(self.path, "too_large")
            while chunk := os.read(fd, CHUNK):
                yield chunk
        finally:
            os.close(fd)

    def _remove_if_abandoned(self, name: str) -> None:
        fd = os.open(name, TO_READ, dir_fd=self.fd)
        try:
            if self.disk.lock(fd):
                self.disk.unlink(name, directory=self.fd)
        finally:
            os.close(fd)


def refuse_special(path: str, found: os.stat_result) -> None:
    """Raise unless this is a regular file: the others block, or have no bytes of their own."""
    if stat.S_ISDIR(found.st_mode):
        raise Unreadable(path, "directory")
    if stat.S_ISLNK(found.st_mode):
        raise Unreadable(path, "io_error", detail="it was replaced by a link just now")
    if not stat.S_ISREG(found.st_mode):
        raise Unreadable(path, "special_file")


def write_all(disk: Disk, fd: int, data: bytes) -> None:
    """Write everything, however often the system takes only a part or is interrupted."""
    rest = memoryview(data)
    while rest:
        with suppress(InterruptedError):
            written = disk.write(fd, rest)
            if written == 0:
                raise OSError(errno.EIO, "the system took no bytes")
            rest = rest[written:]


def _write_once(disk: Disk, fd: int, data: bytes) -> None:
    """Write in one call, so that no reader and no other writer ever meets half a line."""
    while True:
        with suppress(InterruptedError):
            if disk.write(fd, data) < len(data):
                raise OSError(errno.ENOSPC, "only a part was written")
            return
