"""The one way from a path to a file: a walk from the root that never follows a link blindly.

No link is followed but by this code, which resolves it inside the root. So a name that is swapped for a
link at any moment leads to an error or to another file inside, never out.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Self

from msgspec import Struct

from carrel.errors import NotFound, UsageError
from carrel.files import Stamp, Unreadable, show

MAX_HOPS = 8
DETOURS = 1024
"""How many steps links may add to a walk: a hostile tree of them costs milliseconds, not minutes."""

DEEP = 16
"""With more names than this the last directory is asked for at once: the way there is long."""

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ABSENT = frozenset({errno.ENOENT, errno.ENAMETOOLONG})

Link = tuple[int, int]
"""(inode, ctime_ns) of a link on the way: re-pointing it changes these."""


class RootMissing(NotFound):
    """The directory that a store was opened on does not exist (any more)."""

    code = "root_missing"

    def __init__(self, root: str) -> None:
        super().__init__(f"There is no directory {show(root)}.", hint="Make it with: carrel init DIR")
        self.root = root


class RootNotDirectory(UsageError):
    """The root is a file, or something else that holds no files."""

    code = "root_not_directory"

    def __init__(self, root: str) -> None:
        super().__init__(f"{show(root)} is not a directory.", hint="Name the directory of the workspace.")
        self.root = root


class Place(Struct, frozen=True):
    """Where a path leads: an open directory, a name in it, and what was found under that name.

    `name` is "" when the directory itself is meant. Where something is missing, `name` is the first
    missing one, `beyond` are those after it, and `found` is None.
    """

    directory: int
    within: tuple[str, ...]
    name: str
    found: os.stat_result | None
    beyond: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def target(self) -> str:
        """The canonical path, after all links."""
        return "/".join((*self.within, self.name, *self.beyond)) if self.name else "/".join(self.within)


class Steps(Struct):
    """A budget of steps that several walks may share."""

    left: int = DETOURS

    def take(self, path: str, count: int = 1) -> None:
        """Count some steps, or end a walk that links make endless."""
        if self.left < count:
            raise Unreadable(path, "link_loop")
        self.left -= count


class Root(Struct, frozen=True):
    """A root that is open for one operation, and the absolute paths (in names) a link may call it by."""

    fd: int
    spellings: tuple[tuple[str, ...], ...]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        release(self.fd)


def release(fd: int) -> None:
    """Close what was only looked at: nothing depends on what the system says to that."""
    with suppress(OSError):
        os.close(fd)


def open_root(path: str, spellings: tuple[tuple[str, ...], ...]) -> Root:
    """Open the root; it may itself be reached by a link, since its owner chose it."""
    try:
        return Root(os.open(path, DIRECTORY & ~os.O_NOFOLLOW), spellings)
    except FileNotFoundError as error:
        raise RootMissing(path) from error
    except NotADirectoryError as error:
        raise RootNotDirectory(path) from error
    except PermissionError as error:
        raise Unreadable(path, "permission") from error
    except OSError as error:
        raise Unreadable(path, "io_error", detail=error.strerror or "") from error


@contextmanager
def resolved(
    root: Root, names: Sequence[str], *, follow_last: bool = True, steps: Steps | None = None
) -> Generator[Place]:
    """Walk from the root along `names`; what the place holds open is closed at the end."""
    walk = _Walk(root, names, steps or Steps(len(names) + DETOURS))
    try:
        yield walk.run(follow_last=follow_last)
    finally:
        walk.close()


def combined(found: os.stat_result, links: Sequence[Link] = ()) -> Stamp:
    """Return the stamp of a file; links on the way are mixed in, so that re-pointing one shows."""
    which = found.st_ino
    if links:
        mark = hashlib.sha256(repr((which, *links)).encode()).digest()
        which = int.from_bytes(mark[:8])
    return (which, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class _Walk:
    """One walk: where it stands (`fd`, `within`: real directories only) and what is still ahead."""

    def __init__(self, root: Root, names: Sequence[str], steps: Steps) -> None:
        self.root = root
        self.path = "/".join(names)
        self.steps = steps
        self.fd = root.fd
        self.within: list[str] = []
        self.ahead = list(reversed(names))
        self.links: list[Link] = []

    def run(self, *, follow_last: bool) -> Place:
        while self.ahead:
            self.descend()
            self.steps.take(self.path)
            name = self.ahead.pop()
            if name == "..":
                self.step_up()
            elif (found := self.look(name)) is None:
                return self.place(name, None)
            elif stat.S_ISLNK(found.st_mode) and (follow_last or self.ahead):
                self.turn(name, found)
            elif not self.ahead:
                return self.place(name, found)
            elif not stat.S_ISDIR(found.st_mode):
                raise Unreadable(self.path, "not_directory")
            else:
                self.ahead.append(name)  # it became a directory just now: once more
        return self.place("", os.fstat(self.fd))

    def descend(self) -> None:
        """Step down through real directories as far as they go, but not into the last name."""
        ahead = self.ahead
        if len(ahead) > DEEP and ".." not in ahead:
            self.reach_down()
        while len(ahead) > 1 and ahead[-1] != "..":
            try:
                fd = os.open(ahead[-1], DIRECTORY, dir_fd=self.fd)
            except OSError as error:
                if error.errno in _ABSENT or error.errno in (errno.ENOTDIR, errno.ELOOP):
                    return
                raise
            self.close()
            self.fd = fd
            self.steps.take(self.path)
            self.within.append(ahead.pop())

    def reach_down(self) -> None:
        """Step down through all of them at once, where each is a real directory; else stay here."""
        try:
            from carrel.files.deep import reach  # noqa: PLC0415 - few trees are as deep
        except ImportError:  # a Python that was built without ctypes
            return
        names = self.ahead[:0:-1]
        if (fd := reach(self.fd, names, DIRECTORY)) is not None:
            self.close()
            self.fd = fd
            self.steps.take(self.path, len(names))
            self.within += names
            del self.ahead[1:]

    def place(self, name: str, found: os.stat_result | None) -> Place:
        return Place(self.fd, tuple(self.within), name, found, tuple(reversed(self.ahead)), tuple(self.links))

    def look(self, name: str) -> os.stat_result | None:
        try:
            return os.lstat(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise

    def step_up(self) -> None:
        """Go to the parent by walking there again: the kernel's ".." may have moved out of the root."""
        if not self.within:
            raise Unreadable(self.path, "link_outside")
        self.restart(self.within[:-1])

    def turn(self, name: str, found: os.stat_result) -> None:
        """Follow a link: its target goes in front of what is still ahead."""
        self.links.append((found.st_ino, found.st_ctime_ns))
        if len(self.links) > MAX_HOPS:
            raise Unreadable(self.path, "link_loop")
        try:
            target = os.readlink(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise
            self.ahead.append(name)  # no longer a link: look again
            return
        steps = [step for step in target.split("/") if step not in ("", ".")]
        if target.startswith("/"):
            steps = self.from_root(steps)
            self.restart([])
        self.ahead.extend(reversed(steps))

    def from_root(self, steps: list[str]) -> list[str]:
        for spelling in self.root.spellings:
            if tuple(steps[: len(spelling)]) == spelling:
                return steps[len(spelling) :]
        raise Unreadable(self.path, "link_outside")

    def restart(self, names: list[str]) -> None:
        self.ahead.extend(reversed(names))
        self.within.clear()
        self.close()

    def close(self) -> None:
        if self.fd != self.root.fd:
            os.close(self.fd)
            self.fd = self.root.fd
