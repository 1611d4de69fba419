"""A folder of a repository, held open: what is in it is reached by no link, and replaced as git does it."""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from carrel.files.disk import Disk
from carrel.files.durable import CHUNK, TO_READ, Directory, write_all
from carrel.files.git import refused, waiting
from carrel.files.resolve import DIRECTORY

_ODD = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO})
_PAUSE_SECONDS = 0.02


class Folder(Struct, frozen=True):
    """An open folder; `path` is for what cannot use the open one, `name` for people.

    `patience` is how many seconds git's own locks are waited for.
    """

    disk: Disk
    fd: int
    path: Path
    name: str
    patience: float

    @contextmanager
    def inside(self, *names: str, make: bool = False) -> Generator["Folder"]:
        """Open a folder further in, making what is missing where that is wanted; a link is refused."""
        fd = os.dup(self.fd)
        try:
            for name in names:
                below = self._below(fd, name, make=make)
                os.close(fd)
                fd = below
            path, name = self.path.joinpath(*names), "/".join((self.name, *names))
            yield replace(self, fd=fd, path=path, name=name)
        finally:
            os.close(fd)

    def look(self, name: str) -> os.stat_result | None:
        """Return what has a name, itself and not what it may lead to; none where nothing has."""
        try:
            return os.lstat(name, dir_fd=self.fd)
        except FileNotFoundError:
            return None

    def read(self, name: str, limit: int = CHUNK) -> bytes | None:
        """Return a file, none when absent; what is no plain file, or too large, is refused."""
        try:
            fd = os.open(name, TO_READ, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in _ODD:
                raise refused(f"{self.name}/{name} is no plain file") from error
            raise
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise refused(f"{self.name}/{name} is no plain file")
            data = b""
            while chunk := os.read(fd, CHUNK):
                data += chunk
                if len(data) > limit:
                    raise refused(f"{self.name}/{name} has more than {limit:,} bytes")
        finally:
            os.close(fd)
        return data

    def draft(self, name: str, data: bytes) -> None:
        """Write a new file; what had its name may have another one, and stays as it is."""
        self.discard(name)
        fd = self.disk.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, directory=self.fd)
        try:
            write_all(self.disk, fd, data)
        finally:
            os.close(fd)

    def discard(self, name: str) -> None:
        """Take a name away, if anything has it."""
        with suppress(FileNotFoundError):
            self.disk.unlink(name, directory=self.fd)

    def publish(self, draft: str, into: "Folder", name: str, still: Callable[[], bool]) -> bool:
        """Put a draft in the place of a file, under git's lock, unless that is not `still` what it was.

        The lock is a second name of the draft: so one that a killed writer left is known for what it is.
        """
        lock = f"{name}.lock"
        self._sync(draft)
        self._take(draft, into, lock)
        try:
            if not still():
                into.discard(lock)
                return False
            self.disk.rename(lock, name, directory=into.fd)
        except BaseException:
            with suppress(OSError):
                into.discard(lock)
            raise
        self.disk.fsync(into.fd)
        self.discard(draft)
        return True

    def _sync(self, name: str) -> None:
        fd = os.open(name, TO_READ, dir_fd=self.fd)
        try:
            self.disk.fsync(fd)
        finally:
            os.close(fd)

    def _below(self, fd: int, name: str, *, make: bool) -> int:
        try:
            return os.open(name, DIRECTORY, dir_fd=fd)
        except FileNotFoundError:
            if not make:
                raise
            Directory(self.disk, fd, self.name).make(name)
            return os.open(name, DIRECTORY, dir_fd=fd)
        except OSError as error:
            if error.errno in _ODD:
                raise refused(f"{name} in {self.name} is a link, or no folder") from error
            raise

    def _take(self, draft: str, into: "Folder", lock: str) -> None:
        waited = 0.0
        while True:
            try:
                self.disk.link(draft, lock, directory=self.fd, into=into.fd)
            except FileExistsError as error:
                if waited >= self.patience:
                    hint = f"Where no git is running, remove {into.name}/{lock}."
                    raise waiting(f"git holds {into.name}/{lock}", hint) from error
            else:
                return
            self.disk.pause(_PAUSE_SECONDS)
            waited += _PAUSE_SECONDS
