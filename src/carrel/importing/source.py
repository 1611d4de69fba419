"""What is imported from: a directory, one file of it, or a bundle, read and never written."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from carrel.errors import CarrelError, NotFound, UsageError
from carrel.files import Entry as FileEntry
from carrel.files import FileStore, show, walk
from carrel.files.local import LocalFiles
from carrel.files.paths import is_own
from carrel.home.local import absolute

if TYPE_CHECKING:
    from carrel.bundle import Bundle, Held

MOST_FILES = 250_000
"""Files of one source; whoever has more brings them in by folders."""

Ignored = Callable[[str], bool]
"""Tells whether a path is not looked at."""

FILE_LIMIT = 64 * 1024 * 1024
"""Bytes of one file that is brought in."""


class NoSource(NotFound):
    """There is nothing at the place to import from."""

    code = "no_source"

    def __init__(self, path: str, problem: str = "there is nothing") -> None:
        super().__init__(
            f"Cannot import from {show(path)}: {problem}.", hint="Name a directory, or a file that is one."
        )


class SourceTooLarge(UsageError):
    """A source has more files than one import takes; nothing was changed."""

    code = "source_too_large"

    def __init__(self) -> None:
        super().__init__(
            f"There are more than {MOST_FILES:,} files to import.", hint="Import its folders one by one."
        )


class Item(Struct, frozen=True, kw_only=True):
    """One file of a source; `problem` says why it cannot be had."""

    path: str
    size: int = 0
    modified_ns: int = 0
    problem: str = ""


class Source(Protocol):
    """The files of one source."""

    @property
    def location(self) -> str:
        """What it is called: its directory, or its file."""
        ...

    def items(self, under: str = "", *, but: Ignored | None = None) -> Iterator[Item]:
        """Yield all files below a folder, and what stands there in the place of files, but for some paths."""
        ...

    def has(self, path: str) -> bool:
        """Tell whether there is such a file, or such a folder."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, none where there is none; one that cannot be read is a CarrelError."""
        ...


class Folder:
    """A directory, or some files of one; links that lead out of it are not followed."""

    def __init__(self, root: Path, only: Sequence[str] = (), *, without: Path | None = None) -> None:
        self.location = str(root)
        self.files: FileStore = LocalFiles(root)
        self._only = tuple(only)
        self._without = without

    def items(self, under: str = "", *, but: Ignored | None = None) -> Iterator[Item]:
        """Yield all files below a folder, but for those of Carrel, of git and of the target itself."""
        for number, entry in enumerate(self._entries(under, but)):
            if number >= MOST_FILES:
                raise SourceTooLarge
            yield Item(
                path=entry.path,
                size=entry.size,
                modified_ns=entry.modified_ns,
                problem="" if entry.kind == "file" else _PROBLEMS[entry.kind],
            )

    def has(self, path: str) -> bool:
        """Tell whether there is such a file, or such a folder, among those that are meant."""
        return (not self._only or path in self._only) and self.files.stamps([path]) != [None]

    def _entries(self, under: str, but: Ignored | None) -> Iterator[FileEntry]:
        if self._only:
            return (entry for entry in self.files.list() if entry.path in self._only)
        root, inner = Path(self.location).resolve(), self._without.resolve() if self._without else None

        def skip(entry: FileEntry) -> bool:
            is_out = is_own(entry.path) or (inner is not None and root / entry.path == inner)
            return is_out or (but is not None and but(entry.path))

        return walk(self.files, under, skip=skip)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, none where there is none."""
        content = self.files.read(path, limit=FILE_LIMIT)
        return content.data if content else None


class Packed:
    """The files of a workspace in a bundle."""

    def __init__(self, location: str, bundle: "Bundle") -> None:
        self.location = location
        self._bundle = bundle
        files: Iterable[Held] = bundle.manifest.files
        self._held = {held.path: held for held in files if held.part == "files"}

    def refuse_damaged(self) -> None:
        """Read all of it once: of one that is damaged, nothing is brought in."""
        for held in self._held.values():
            for _ in self._bundle.chunks(held):
                pass

    def items(self, under: str = "", *, but: Ignored | None = None) -> Iterator[Item]:
        """Yield all files below a folder."""
        for path, held in sorted(self._held.items()):
            if (not under or path.startswith(f"{under}/")) and not (but and but(path)):
                yield Item(path=path, size=held.size)

    def has(self, path: str) -> bool:
        """Tell whether there is such a file, or such a folder."""
        return path in self._held or next(self.items(path), None) is not None

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, none where there is none."""
        from carrel.bundle import read  # noqa: PLC0415 - few imports are of exports

        held = self._held.get(path)
        return read(self._bundle, held) if held else None


def place_of(named: str | os.PathLike[str]) -> Path:
    """Return where a source is; who names a link to a file elsewhere means that file."""
    if not os.fspath(named):  # which would be the current directory
        raise NoSource("''", "that is no name")
    place = absolute(named)
    with suppress(OSError, RuntimeError):  # a link that leads nowhere is what it is
        if place.is_symlink() and place.is_file():
            meant = place.resolve()
            return place if meant.is_relative_to(place.parent.resolve()) else meant
    return place


def open_folder(path: str | os.PathLike[str], *, without: Path | None = None) -> Folder:
    """Return a directory as a source, or the directory of a file with nothing but that file in it."""
    place = absolute(path)
    try:
        if place.is_dir():
            return Folder(place, without=without)
        if place.is_file():
            return Folder(place.parent, (place.name,))
    except CarrelError as error:
        raise NoSource(str(place), error.message.rstrip(".")) from error
    except OSError as error:
        raise NoSource(str(place), error.strerror or str(error)) from error
    raise NoSource(
        str(place), "it is no file and no directory" if os.path.lexists(place) else "nothing is there"
    )


def text_of(source: Source, path: str) -> str | None:
    """Return the text of a file; none where there is none, or no text."""
    with suppress(CarrelError, UnicodeDecodeError):
        data = source.read(path)
        return None if data is None else data.decode("utf-8-sig")
    return None


_PROBLEMS = {
    "directory": "it is a folder that cannot be read",
    "link": "it is a link that leads outside, or nowhere",
    "special": "it is a pipe, socket or device",
}
