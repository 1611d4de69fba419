"""A store seen at one moment: its names and stamps are asked for once, by whoever looks at all of them."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, runtime_checkable

from carrel.files import READ_LIMIT, Content, Entry, FileStore, Part, Stamp


@runtime_checkable
class Treed(Protocol):
    """A store that tells all its names at once, for which every question is a way to go."""

    def tree(self) -> Sequence[Entry]:
        """Return the entries of all directories."""
        ...


def glimpse(store: FileStore) -> FileStore:
    """Return a store for one piece of work; one that is near at hand is asked each time."""
    return _Glimpse(store, store) if isinstance(store, Treed) else store


class _Glimpse:
    """What is read and written is the store's own; names and stamps are as when they were first asked for."""

    def __init__(self, store: FileStore, treed: Treed) -> None:
        self._store = store
        self._treed = treed

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in sorted(self._treed.tree(), key=lambda entry: entry.path)}

    @cached_property
    def _folders(self) -> dict[str, list[Entry]]:
        folders: defaultdict[str, list[Entry]] = defaultdict(list)
        for path, entry in self._entries.items():
            folders[path.rpartition("/")[0]].append(entry)
        return folders

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent."""
        return self._store.read(path, limit=limit)

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        return self._store.part(path, start, size)

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory; the root and odd spellings are the store's to tell."""
        if not all(map(_is_plain, paths)):
            return self._store.stamps(paths)
        return [entry.stamp if (entry := self._entries.get(path)) else None for path in paths]

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name; of what is none the store tells what it is."""
        if under and not (_is_plain(under) and self._is_folder(under)):
            return self._store.list(under)
        return [*self._folders.get(under, ())]

    def _is_folder(self, path: str) -> bool:
        """Tell whether a path is a directory, or may become one: no file stands there or above it."""
        names = path.split("/")
        above = (self._entries.get("/".join(names[:end])) for end in range(1, len(names) + 1))
        return all(entry is None or entry.kind == "directory" for entry in above)

    def target(self, path: str) -> str:
        """Return where a file would be written."""
        return self._store.target(path)

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        return self._store.write(path, data, expect=expect)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end."""
        return self._store.append(path, data, at=at)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        self._store.remove(path, expect=expect)


def _is_plain(path: str) -> bool:
    return not any(name in ("", ".", "..") for name in path.split("/"))
