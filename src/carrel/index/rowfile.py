"""The file that holds vectors: mapped by any number of readers, changed by one writer at a time.

Nothing that a reader may be looking at is ever changed: records are only added, and a file with many dead
ones, or a torn end, is replaced by a new one. A reader sees both by the file's inode and size.
"""

import errno
import mmap
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.errors import Unavailable
from carrel.files.disk import Disk, LockTimeout, typed_failures
from carrel.files.durable import TO_READ, write_all
from carrel.index.rows import (
    HEADER_SIZE,
    VERSION,
    Header,
    Records,
    count_whole,
    fold_ids,
    format_header,
    parse_header,
    record_type,
)
from carrel.records.database import NewerFormat, find_link

LOCK_SECONDS = 10.0
_PAUSE = 0.005

_DEAD_AT_LEAST = 1_024
_DEAD_SHARE = 4
"""A file is replaced when so many of its records are dead, and more than one for each so many alive."""

_AT_ONCE = 4_096

Stamp = tuple[int, int, int]
"""By what a change is seen: inode, size, time of the last write."""


class VectorsUnavailable(Unavailable):
    """The file of vectors cannot be used."""

    code = "vectors_unavailable"

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(
            f"The vectors in {name} cannot be used: {problem}.",
            hint="Check that it is a file that may be read; deleting it is safe, it is made again.",
        )


class View(Struct, frozen=True, kw_only=True):
    """The file as it was at one moment; `ids` has the id of each record, -1 where it is dead.

    `is_whole` says whether records may be added: the file is there, of this embedder, and has no torn end.
    """

    stamp: Stamp = (0, 0, 0)
    dimensions: int = 0
    records: Records = np.empty(0, record_type(1))
    ids: NDArray[np.int64] = np.empty(0, np.int64)
    live: int = 0
    is_whole: bool = False
    is_damaged: bool = False

    @property
    def inode(self) -> int:
        """Which file it is; no other one has this number while this one is mapped."""
        return self.stamp[0]


class RowFile:
    """The file of one embedder; one of another embedder is as good as none, and stays until the first write.

    `inside` is a directory that others may have filled: no link below it is followed to the file.
    """

    def __init__(self, path: Path, *, embedder: str, inside: Path | None, disk: Disk) -> None:
        self.was_damaged = False
        self._path = path
        self._embedder = embedder
        self._inside = inside
        self._disk = disk
        self._view = View()

    def view(self) -> View:
        """Return the file as it is now; it costs a stat where nobody has written."""
        view = self._view  # another thread may put its own there at any time
        try:
            found = os.lstat(self._path)
            if view.stamp != _stamp(found):
                view = self._opened(view)
                self.was_damaged |= view.is_damaged
        except (FileNotFoundError, NotADirectoryError):
            view = View()
        except (OSError, ValueError) as error:  # a file that shrinks while it is mapped is a ValueError
            problem = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            raise VectorsUnavailable(self._path.name, problem) from error
        self._view = view
        return view

    @contextmanager
    def writing(self) -> Generator[View]:
        """Keep every other writer away, and yield the file as the last one left it."""
        with typed_failures(self._path.name):
            self._refuse_links()
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._folder() as folder:
                name = f"{self._path.name}.lock"
                fd = self._disk.open(name, os.O_RDWR | os.O_CREAT, 0o600, directory=folder)
                try:
                    self._lock(fd)
                    yield self.view()
                finally:
                    self._disk.unlock(fd)  # closing it is not enough where a forked child has a copy
                    os.close(fd)

    def add(self, view: View, records: Records) -> None:
        """Add records while `writing`, or make a new file of all that is alive where that is due."""
        ids = fold_ids(view.ids, records["id"])
        alive = ids >= 0
        live = int(np.count_nonzero(alive))
        dead = len(ids) - live
        is_fit = view.is_whole and view.records.dtype == records.dtype
        if is_fit and (dead < _DEAD_AT_LEAST or dead * _DEAD_SHARE < live):
            self._append(records)
        else:
            self._replace(view, np.flatnonzero(alive[: len(view.ids)]), records[alive[len(view.ids) :]])

    def close(self) -> None:
        """Let go of the file."""
        self._view = View()

    def _opened(self, before: View) -> View:
        self._refuse_links()
        fd = os.open(self._path, TO_READ)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            header = parse_header(os.pread(fd, HEADER_SIZE, 0))
            if header is not None and header.version > VERSION:
                raise NewerFormat(self._path, header.version)
            if header is None or header.embedder != self._embedder:
                return View(stamp=_stamp(found), is_damaged=header is None)
            return _read(_map(fd, found.st_size, header.dimensions), found, before)
        finally:
            os.close(fd)

    def _append(self, records: Records) -> None:
        """Add records at the end; a failure in the middle leaves a torn end, which is nothing to a reader.

        It is not cut off: somebody may have mapped what was whole of it.
        """
        with self._folder() as folder:
            flags = os.O_WRONLY | os.O_APPEND
            fd = self._disk.open(self._path.name, flags, 0o600, directory=folder)
            try:
                write_all(self._disk, fd, records.tobytes())
                self._disk.fdatasync(fd)
            finally:
                os.close(fd)

    def _replace(self, view: View, alive: NDArray[np.intp], records: Records) -> None:
        """Put a new file in the place of the old one, in one step; a damaged one is set aside."""
        name, new = self._path.name, f"{self._path.name}.new"
        header = Header(dimensions=records["vector"].shape[1], embedder=self._embedder)
        with self._folder() as folder:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            fd = self._disk.open(new, flags, 0o600, directory=folder)
            try:
                write_all(self._disk, fd, format_header(header))
                for start in range(0, len(alive), _AT_ONCE):
                    write_all(self._disk, fd, view.records[alive[start : start + _AT_ONCE]].tobytes())
                write_all(self._disk, fd, records.tobytes())
                self._disk.fsync(fd)
            finally:
                os.close(fd)
            if view.is_damaged:
                self._disk.rename(name, f"{name}.damaged", directory=folder)
            self._disk.rename(new, name, directory=folder)
            self._disk.fsync(folder)

    @contextmanager
    def _folder(self) -> Generator[int]:
        fd = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)

    def _refuse_links(self) -> None:
        if self._inside is not None and (odd := find_link(self._inside, self._path)):
            raise OSError(errno.ELOOP, f"{odd} is a link, or no regular file")

    def _lock(self, fd: int) -> None:
        until = time.monotonic() + LOCK_SECONDS
        while not self._disk.lock(fd):
            if time.monotonic() >= until:
                raise LockTimeout(self._path.name, LOCK_SECONDS)
            self._disk.pause(_PAUSE)


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(records: Records, found: os.stat_result, before: View) -> View:
    """Return a view of mapped records; those that were looked at before need no second look."""
    is_grown = before.inode == found.st_ino and len(before.records) <= len(records)
    known = len(before.records) if is_grown else 0
    more = count_whole(records[known:])
    if more is None:
        return View(stamp=_stamp(found), is_damaged=True)
    records = records[: known + more]
    ids = fold_ids(before.ids[:known], records["id"][known:])
    return View(
        stamp=_stamp(found),
        dimensions=records["vector"].shape[1],
        records=records,
        ids=ids,
        live=int(np.count_nonzero(ids >= 0)),
        is_whole=HEADER_SIZE + records.nbytes == found.st_size,
    )


def _map(fd: int, size: int, dimensions: int) -> Records:
    """Map the records that a file has room for; its pages are shared by all who search it."""
    kind = record_type(dimensions)
    count = (size - HEADER_SIZE) // kind.itemsize
    if count <= 0:
        return np.empty(0, kind)
    data = mmap.mmap(fd, HEADER_SIZE + count * kind.itemsize, access=mmap.ACCESS_READ)
    return np.frombuffer(data, kind, count, HEADER_SIZE)
