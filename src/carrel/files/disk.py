"""The system calls that change a disk, as an object that tests can make fail, and how failures read.

Everything above calls these and nothing else to mutate, so that "the 7th call fails" and "the power
goes now" can be tried for every one of them.
"""

import ctypes
import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from carrel.errors import CarrelError, Unavailable
from carrel.files import show

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_OTHERWISE = frozenset(
    {errno.ENOENT, errno.EEXIST, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM, errno.EACCES}
)
"""What Linux says where another way is to be tried: names are not as this one needs them, or unknown."""

_WHERE_FREE, _EXCHANGE = 1, 2


class DiskFull(Unavailable):
    """There is no room."""

    code = "disk_full"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"No space left on the disk to write {show(path)}.",
            hint="Free some space (or raise the quota) and try again.",
        )
        self.path = path


class ReadOnly(Unavailable):
    """The disk, the directory or the file does not accept changes."""

    code = "read_only"

    def __init__(self, path: str, *, detail: str = "") -> None:
        super().__init__(
            f"Not allowed to write {show(path)}{f' ({detail})' if detail else ''}.",
            hint="Check its permissions, its owner, and whether the disk is mounted read-only.",
        )
        self.path = path


class DiskFailed(Unavailable):
    """The system refused or broke off a change; nothing was acknowledged."""

    code = "disk_failed"

    def __init__(self, path: str, *, detail: str, exhausted: bool = False) -> None:
        hint = "Read the file again before repeating the change; if this persists, check the disk."
        if exhausted:
            hint = (
                "The process ran out of a system resource: close some files, or raise the limit (ulimit -n)."
            )
        super().__init__(f"Could not write {show(path)}: {detail}.", hint=hint)
        self.path = path


class LockTimeout(Unavailable):
    """Somebody else holds the lock for longer than this call may wait."""

    code = "lock_timeout"

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(
            f"Another process has been writing next to {show(path)} for more than {seconds:g} s.",
            hint="Try again; if it persists, look for a stopped process that holds the directory open.",
        )
        self.path = path
        self.seconds = seconds


@contextmanager
def typed_failures(path: str) -> Generator[None]:
    """Turn what the system says while `path` is changed into an error a person can act on."""
    try:
        yield
    except OSError as error:
        raise _typed(path, error) from error


def _typed(path: str, error: OSError) -> CarrelError:
    if error.errno in _FULL:
        return DiskFull(path)
    if error.errno in _FORBIDDEN:
        return ReadOnly(path, detail=os.strerror(error.errno))
    # OSError without a number comes from our own code, and then the text is all there is.
    detail = os.strerror(error.errno) if error.errno else str(error)
    return DiskFailed(path, detail=detail, exhausted=error.errno in _EXHAUSTED)


class Disk:
    """The real disk; names are relative to an open directory, so that no path is ever walked twice."""

    def open(self, name: str, flags: int, mode: int, *, directory: int) -> int:
        """Open for writing; `flags` decide whether the file is made."""
        return os.open(name, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, mode, dir_fd=directory)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write some or all of `data` and say how much."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """Return when the file, or the directory's entries, would survive a power cut."""
        if sys.platform == "darwin":
            # There fsync only reaches the drive's own cache, which a power cut empties.
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        """Return when the bytes and the size would survive a power cut."""
        if sys.platform == "darwin":
            self.fsync(fd)
        else:
            os.fdatasync(fd)

    def rename(self, old: str, new: str, *, directory: int) -> None:
        """Give `old` the name `new`, replacing what had it, in one step."""
        os.rename(old, new, src_dir_fd=directory, dst_dir_fd=directory)

    def swap(self, old: str, new: str, *, directory: int) -> None:
        """Give `old` the name `new`, and what had it the name `old`; where the system cannot, that is gone.

        So it can be looked at once more, and be given its name back.
        """
        sys.audit("os.rename", old, new, directory, directory)
        if not any(_renamed(old, new, directory, how) for how in (_EXCHANGE, _WHERE_FREE, _EXCHANGE)):
            self.rename(old, new, directory=directory)

    def link(self, old: str, new: str, *, directory: int, into: int) -> None:
        """Give a file of one directory a second name, in the same or another one; one that is free."""
        os.link(old, new, src_dir_fd=directory, dst_dir_fd=into, follow_symlinks=False)

    def unlink(self, name: str, *, directory: int) -> None:
        """Take a name away."""
        os.unlink(name, dir_fd=directory)

    def mkdir(self, name: str, *, directory: int) -> None:
        """Make a directory."""
        os.mkdir(name, dir_fd=directory)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(fd, size)

    def resemble(self, fd: int, like: os.stat_result) -> None:
        """Give a new file the permissions of the one it replaces, and its owner where that is allowed."""
        made = os.fstat(fd)
        if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
            # Only the superuser can; a file of one's own is the second best.
            with suppress(PermissionError):
                os.fchown(fd, like.st_uid, like.st_gid)
        os.fchmod(fd, stat.S_IMODE(like.st_mode) & 0o777)

    def lock(self, fd: int) -> bool:
        """Take the kernel's lock on an open file or directory if it is free; it dies with the process."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, fd: int) -> None:
        """Give the lock back, also where a forked child still holds a copy of `fd`."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    def pause(self, seconds: float) -> None:
        """Wait before the lock is tried again."""
        time.sleep(seconds)


def _renamed(old: str, new: str, directory: int, how: int) -> bool:
    """Rename as Linux can and Python cannot ask for; tell whether it came to that."""
    if (rename := _renameat2()) is None:
        return False
    error = rename(directory, os.fsencode(old), os.fsencode(new), how)
    if error and error not in _OTHERWISE:
        raise OSError(error, os.strerror(error), old, None, new)
    return not error


@cache
def _renameat2() -> Callable[[int, bytes, bytes, int], int] | None:
    """Return what renames within a directory and tells the number of the error, where the system has it."""
    system: Any = ctypes.CDLL(None, use_errno=True)
    if not hasattr(system, "renameat2"):
        return None

    def rename(directory: int, old: bytes, new: bytes, how: int) -> int:
        return ctypes.get_errno() if system.renameat2(directory, old, directory, new, how) else 0

    return rename
