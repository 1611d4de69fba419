"""A FileStore on one local directory."""

import errno
import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISLNK

from carrel.errors import CarrelError, Refused
from carrel.files import READ_LIMIT, Content, Entry, Part, Stale, Stamp, Unreadable, directories, show
from carrel.files.disk import Disk, typed_failures
from carrel.files.durable import CHUNK, TO_READ, Directory, refuse_special
from carrel.files.listing import entries, stamps
from carrel.files.paths import TEMPORARY, is_own, new_name, parts, refuse_long
from carrel.files.resolve import DIRECTORY, Place, Root, combined, open_root, resolved
from carrel.files.tail import Tail, Tails

_ATTEMPTS = 3


class LinkOutside(Refused):
    """A change would go through a link to a file outside the root."""

    code = "link_outside"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{show(path)} is a link that leads outside the workspace; it is not written through.",
            hint="Replace the link with a copy of the file, or change the file where it is.",
        )
        self.path = path


class LinkReserved(Refused):
    """A change would go through a link into a folder that Carrel or git keeps for itself."""

    code = "link_reserved"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{show(path)} is a link into a folder of git or Carrel; it is not written through.",
            hint="Replace the link with a file.",
        )
        self.path = path


class LocalFiles:
    """The files below one directory; between two operations only the ends of a few logs stay open."""

    def __init__(self, root: str | Path, *, disk: Disk | None = None, lock_seconds: float = 5.0) -> None:
        given = Path(root).absolute()
        self.root = given.resolve()
        self._spellings = tuple({given.parts[1:], self.root.parts[1:]})
        self._disk = disk or Disk()
        self._lock_seconds = lock_seconds
        self._swept: set[tuple[int, int]] = set()
        self._tails = Tails()
        with self._opened():
            pass  # a wrong root shows at once

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent; never more than `limit` bytes, never a file outside.

        A file that changes meanwhile is read again; one that will not rest is given as it was read.
        """
        names = parts(path)
        content = None
        for _ in range(_ATTEMPTS):
            with _reading(path), self._resolved(names) as place:
                if place.found is None:
                    return None
                refuse_special(path, place.found)
                content, is_whole = _read_at(path, place, limit)
            if is_whole:
                return content
        if content is None:
            raise Unreadable(path, "io_error", detail="it was replaced again and again")
        return content

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent; never of a file outside."""
        names = parts(path)
        for _ in range(_ATTEMPTS):
            with _reading(path), self._resolved(names) as place:
                if place.found is None:
                    return None
                refuse_special(path, place.found)
                if (part := _part_at(path, place, start, size)) is not None:
                    return part
        raise Unreadable(path, "io_error", detail="it was replaced again and again")

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory, None where there is neither; "" is the root."""
        with self._opened() as root:
            return stamps(root, paths)

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name in code point order, none when it is absent."""
        names = parts(under) if under else []
        with _reading(under), self._opened() as root, resolved(root, names) as place:
            if place.found is None:
                return []
            if not S_ISDIR(place.found.st_mode):
                raise Unreadable(under, "not_directory")
            return entries(root, "/".join(names), place)

    def target(self, path: str) -> str:
        """Return where a file would be written, after all links; one that leads outside is an error."""
        with _reading(path), self._resolved(parts(path)) as place:
            return place.target

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest.

        The comparison before the lock only saves work. The one under it decides among those who take it; the
        last one, of what was replaced, among all others.
        """
        with self._changing(path, expect=expect) as (directory, name):
            found = directory.look(name)
            _compare(directory, name, expect)
            with directory.temporary(data, like=found) as temporary, directory.locked(self._lock_seconds):
                self._tidy(directory, name, is_new=directory.look(name) is None, own=temporary)
                _compare(directory, name, expect)
                directory.replace(temporary, name, expect)
        return hashlib.sha256(data).hexdigest()

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, after completing a last line that lacks its newline; return the size.

        A file that was added to just now is still open, and is used if the path still leads to it.
        """
        place = self._place_of(parts(path))
        if (tail := self._tails.take(place)) is not None:
            try:
                size = tail.add(path, data, at, self._lock_seconds)
            except OSError:
                with _changes(path):
                    raise
            if size is not None:
                self._tails.give(place, tail)
                return size
        with self._changing(path) as (directory, name), directory.locked(self._lock_seconds):
            found = directory.look(name)
            size = found.st_size if found else 0
            if at is not None and at != size:
                raise Stale(path, expected=str(at), found=str(size))
            self._tidy(directory, name, is_new=found is None)
            if found is not None and found.st_nlink == 1:
                tail = Tail(place, directory, name)
                size = tail.add_locked(size, data)
                self._tails.give(place, tail)
                return size
            # A new file appears with its first line in it. One with a second name, perhaps outside
            # the root, is copied first, so that the other name keeps its content.
            old = directory.content(name) if found else b""
            if old and not old.endswith(b"\n"):
                old += b"\n"
            with directory.temporary(old + data, like=found) as temporary:
                directory.settle(temporary, name)
            return len(old) + len(data)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`; a link is removed, what it leads to stays."""
        names = parts(path)
        with _changes(path), self._resolved(names, follow_last=False) as place:
            directory = Directory(self._disk, place.directory, path)
            with directory.locked(self._lock_seconds):
                if place.found is not None and not S_ISLNK(place.found.st_mode):
                    directory.look(place.name)
                with self._resolved(names) as end:
                    found = end.found and Directory(self._disk, end.directory, path).digest(end.name or ".")
                if found is None or found != expect:
                    raise Stale(path, expected=expect, found=found)
                directory.unlink(place.name)

    def sweep(self) -> None:
        """Remove what killed writers left, everywhere at once; a write does that in its own directory.

        Where that fails the others are swept all the same: the first error is told at the end.
        """
        failed = list[CarrelError]()
        for folder in directories(self, skip=is_own):
            try:
                self._sweep(folder)
            except CarrelError as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def _sweep(self, folder: str) -> None:
        names = [*(parts(folder) if folder else ()), TEMPORARY]
        with _changes(folder), self._resolved(names, follow_last=False) as place:
            directory = Directory(self._disk, place.directory, folder)
            if directory.names()[1]:
                with directory.locked(self._lock_seconds):
                    directory.sweep(directory.names()[1])

    def _opened(self) -> Root:
        return open_root(str(self.root), self._spellings)

    def _place_of(self, names: Sequence[str]) -> str:
        """Return the absolute path that these names spell; its links are not looked at."""
        return "/".join((str(self.root), *names))

    @contextmanager
    def _resolved(self, names: Sequence[str], *, follow_last: bool = True) -> Generator[Place]:
        with self._opened() as root, resolved(root, names, follow_last=follow_last) as place:
            yield place

    @contextmanager
    def _changing(self, path: str, *, expect: str | None = None) -> Generator[tuple[Directory, str]]:
        """Open the directory that holds, or is to hold, what `path` leads to; make it where missing."""
        with _changes(path), self._resolved(parts(path)) as place:
            if is_own(place.target) and not is_own(path):
                raise LinkReserved(path)
            if place.found is not None:
                refuse_special(path, place.found)
            elif expect is not None:
                raise Stale(path, expected=expect, found=None)
            else:
                _refuse_new(path, place)
            with self._parent(path, place) as (fd, name):
                yield Directory(self._disk, fd, path, is_root="/" not in place.target), name

    @contextmanager
    def _parent(self, path: str, place: Place) -> Generator[tuple[int, str]]:
        """Make the directories that are missing, each durable before the next, and open the last."""
        *missing, name = (place.name, *place.beyond)
        fd = os.dup(place.directory)
        try:
            for step in missing:
                above = Directory(self._disk, fd, path)
                with above.locked(self._lock_seconds):
                    new_name(path, step, beside=above.names()[0])
                    above.make(step)
                below = os.open(step, DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd, name
        finally:
            os.close(fd)

    def _tidy(self, directory: Directory, name: str, *, is_new: bool, own: str = "") -> None:
        """Under the lock: refuse a new name that has a twin, and remove what killed writers left."""
        found = os.fstat(directory.fd)
        key = (found.st_dev, found.st_ino)
        if not is_new and key in self._swept:
            return
        neighbours, temporary = directory.names()
        if is_new:
            new_name(directory.path, name, beside=neighbours)
        if is_new and not neighbours:
            # Whoever made this directory may have died before its own name was durable.
            directory.sync_above()
        directory.sweep(other for other in temporary if other != own)
        self._swept.add(key)


@contextmanager
def _reading(path: str) -> Generator[None]:
    """Turn what the system says while `path` is read into Unreadable."""
    try:
        yield
    except PermissionError as error:
        raise Unreadable(path, "permission") from error
    except OSError as error:
        raise Unreadable(path, "io_error", detail=error.strerror or str(error)) from error


@contextmanager
def _changes(path: str) -> Generator[None]:
    """Turn what the system says while `path` is changed into typed errors."""
    try:
        with typed_failures(path):
            yield
    except Unreadable as error:
        if error.reason == "link_outside":
            raise LinkOutside(path) from error
        raise


def _read_at(path: str, place: Place, limit: int) -> tuple[Content | None, bool]:
    """Return what is at the place, and whether it rested while it was read."""
    fd = _open_at(path, place)
    if fd is None:
        return None, False
    try:
        before = os.fstat(fd)
        refuse_special(path, before)
        data = _bounded(path, fd, before.st_size, limit)
        is_whole = combined(os.fstat(fd)) == combined(before) and len(data) == before.st_size
    finally:
        os.close(fd)
    content = Content(
        data=data,
        digest=hashlib.sha256(data).hexdigest(),
        target=place.target,
        identity=f"{before.st_dev}:{before.st_ino}",
        links=before.st_nlink,
    )
    return content, is_whole


def _part_at(path: str, place: Place, start: int, size: int) -> Part | None:
    """Return some bytes of what is at the place, None where that went away just now."""
    fd = _open_at(path, place)
    if fd is None:
        return None
    try:
        found = os.fstat(fd)
        refuse_special(path, found)
        wanted = min(size, found.st_size - start)
        data = os.pread(fd, wanted, start) if wanted > 0 else b""
    finally:
        os.close(fd)
    return Part(
        data=data,
        size=found.st_size,
        modified_ns=found.st_mtime_ns,
        target=place.target,
        identity=f"{found.st_dev}:{found.st_ino}",
        links=found.st_nlink,
    )


def _open_at(path: str, place: Place) -> int | None:
    try:
        return os.open(place.name, TO_READ, dir_fd=place.directory)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return None  # removed, or swapped for a link, since the walk
        if error.errno == errno.ENXIO:
            raise Unreadable(path, "special_file") from error
        raise


def _bounded(path: str, fd: int, size: int, limit: int) -> bytes:
    """Return the bytes to the end of the file, and never take more than one beyond the limit."""
    chunks = list[bytes]()
    taken = 0
    while size <= limit and taken <= limit:
        chunk = os.read(fd, min(CHUNK, limit + 1 - taken))
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        taken += len(chunk)
    raise Unreadable(path, "too_large", detail=f"more than {limit} bytes")


def _compare(directory: Directory, name: str, expect: str | None) -> None:
    found = directory.digest(name)
    if found != expect:
        raise Stale(directory.path, expected=expect, found=found)


def _refuse_new(path: str, place: Place) -> None:
    """Hold the names that would be made, and only those, to the rules for new ones."""
    refuse_long(path, place.target)
    for name in (place.name, *place.beyond):
        new_name(path, name)
