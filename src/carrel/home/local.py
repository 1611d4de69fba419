"""A workspace in a directory: inside it, in a folder of Carrel's own, is all that is not its files."""

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from carrel.config import Approvals, UserDirectories, local_approvals
from carrel.files import FileStore, Unreadable, directories
from carrel.files.local import LocalFiles
from carrel.files.paths import is_own
from carrel.files.resolve import RootMissing
from carrel.home.beside import RECORDS_FILE, STATE_FOLDER, Beside

if TYPE_CHECKING:  # a report has no use for it
    from carrel.runtime.delegation import Seat

__all__ = ["STATE_FOLDER", "LocalHome", "absolute", "open_files", "open_home"]


class LocalHome(Beside, frozen=True, kw_only=True):
    """A directory, and where its cache and state are kept.

    In a workspace that its owner knows they live inside it, and `inside` is its directory; elsewhere reading
    leaves no trace in it.
    """

    root: Path
    files: FileStore
    called: Path
    """The directory as the user wrote it; in a dry run, `root` is a copy of it."""

    @property
    def location(self) -> str:
        """The directory, its links as the user wrote them."""
        return str(self.called)

    @property
    def approvals(self) -> Approvals:
        """The user's own list."""
        return local_approvals(self.called, self.directories)

    def owned(self, *, known: bool) -> "LocalHome":
        """Return the same home with its cache and state inside, where its owner knows it."""
        if not known:
            return self
        own = self.root / STATE_FOLDER
        return replace(self, cache=own / "cache", state=own / "state", inside=self.root)

    def moved_to(self, folder: str) -> "LocalHome":
        """Return the directory that an agent has for itself, as its settings name it."""
        return self._at(absolute(self.called / folder))

    def seated(self, seat: "Seat") -> "LocalHome":
        """Return the directory of a delegate that works apart, made where it may be."""
        from carrel.runtime.delegation import root_of  # noqa: PLC0415 - few agents have others work for them

        return self._at(self.called / root_of(self.root, seat).relative_to(self.root))

    def _has_records(self, folder: str) -> bool:
        path = self.root / folder / STATE_FOLDER / "state" / RECORDS_FILE
        return os.path.isfile(path)  # noqa: PTH113 - pathlib raises where a path is longer than can be asked for

    def _at(self, root: Path) -> "LocalHome":
        return open_home(root, self.directories).owned(known=self.inside is not None)

    def inner(self) -> list[str]:
        """Return the folders below that have a file of records; no link is followed."""
        below = (folder for folder in directories(LocalFiles(self.root), skip=is_own) if folder)
        return sorted(folder for folder in below if self._has_records(folder))

    def sweep_files(self) -> None:
        """Remove what killed writers left among the files, and beside them."""
        LocalFiles(self.root).sweep()
        super().sweep_files()


def open_home(root: Path, directories: UserDirectories) -> LocalHome:
    """Return the home of a directory that nobody knows yet: what is kept of it is kept elsewhere."""
    key = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    place = _staged(root, directories.stage) if directories.stage else root
    return LocalHome(
        root=place,
        called=root,
        files=open_files(place),
        directories=directories,
        cache=directories.cache / key,
        state=directories.data / "workspaces" / key,
    )


def _staged(root: Path, stage: Path) -> Path:
    from carrel.home.stage import staged  # noqa: PLC0415 - for dry runs only

    return staged(root, stage)


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return a path from the root of the file system, its links as the user wrote them."""
    try:
        return Path(os.path.abspath(path))  # noqa: PTH100 - pathlib has no way to take `..` away and no more
    except FileNotFoundError:
        raise RootMissing(os.fspath(path)) from None


def open_files(root: Path) -> LocalFiles:
    """Return the files below a directory."""
    try:
        return LocalFiles(root)
    except RuntimeError:  # pathlib's word for links that lead round in a circle
        raise Unreadable(str(root), "link_loop") from None
    except ValueError:  # a character that no path can have
        raise RootMissing(str(root)) from None
