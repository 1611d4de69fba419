"""The ends of files that were added to just now, kept open so that the next line costs little but its sync.

A walk from the root, with every link looked at, costs a third of a durable write. Here it is made once: as
long as a path leads to the same directory, and that has the same file under the same name, it need not be
made again. Whatever else is found there sends the caller back to the walk.
"""

import os
import stat
from collections import OrderedDict
from threading import Lock

from msgspec.structs import replace

from carrel.files import Stale
from carrel.files.durable import Directory, refuse_special
from carrel.files.resolve import DIRECTORY

_MOST = 4
_WRITABLE = 0o222


class Tail:
    """One file that is open for adding, and the directory that it was found in."""

    def __init__(self, place: str, directory: Directory, name: str) -> None:
        self._name = name
        self._folder = place.rpartition("/")[0]
        # Opened anew: a copy would share the lock that the caller holds on this directory.
        self._fds: list[int] = [os.open(".", DIRECTORY, dir_fd=directory.fd)]
        self._directory = replace(directory, fd=self._fds[0])
        try:
            self._fds.append(directory.disk.open(name, os.O_RDWR | os.O_APPEND, 0, directory=directory.fd))
            found = os.fstat(self._fds[1])
            refuse_special(directory.path, found)
        except BaseException:
            self._close()  # at once: a traceback keeps this object for as long as somebody keeps that
            raise
        self._file = (found.st_dev, found.st_ino)
        above = os.fstat(directory.fd)
        self._above = (above.st_dev, above.st_ino)
        # A lock is shared by all who share an open file, so that it would not keep a forked child out.
        self._owner = os.getpid()

    def add(self, path: str, data: bytes, at: int | None, seconds: float) -> int | None:
        """Add lines and return the size, None when something else is found where this file was."""
        if not self._is_reached():
            return None
        directory = self._directory
        directory.lock(seconds)
        try:
            found = self._found()
            if found is None:
                return None
            if at is not None and at != found.st_size:
                raise Stale(path, expected=str(at), found=str(found.st_size))
            return directory.extend(self._fds[1], found.st_size, data)
        finally:
            directory.disk.unlock(directory.fd)

    def add_locked(self, size: int, data: bytes) -> int:
        """Add lines to a file of this size, whose directory the caller has locked."""
        return self._directory.extend(self._fds[1], size, data)

    def _is_reached(self) -> bool:
        try:
            above = os.stat(self._folder)  # noqa: PTH116 - a Path costs more than the call
        except (OSError, ValueError):
            return False
        return self._owner == os.getpid() and (above.st_dev, above.st_ino) == self._above

    def _found(self) -> os.stat_result | None:
        """Return what has the name now, if it is this file and may be added to."""
        try:
            found = os.lstat(self._name, dir_fd=self._fds[0])
        except FileNotFoundError:
            return None
        is_same = (found.st_dev, found.st_ino) == self._file and stat.S_ISREG(found.st_mode)
        return found if is_same and found.st_nlink == 1 and found.st_mode & _WRITABLE else None

    def _close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def __del__(self) -> None:
        if "_fds" in self.__dict__:
            self._close()


class Tails:
    """A few tails, each taken by one thread at a time: two would share its lock, which keeps neither out."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._free: OrderedDict[str, Tail] = OrderedDict()

    def take(self, place: str) -> Tail | None:
        """Return the tail of a file if there is one; whoever takes it gives it back if it served."""
        with self._lock:
            return self._free.pop(place, None)

    def give(self, place: str, tail: Tail) -> None:
        """Keep a tail for the next time, and let go of the oldest when there are many."""
        with self._lock:
            self._free[place] = tail
            if len(self._free) > _MOST:
                self._free.popitem(last=False)
