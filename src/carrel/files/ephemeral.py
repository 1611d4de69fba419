"""A FileStore in a dict: for tests, dry runs and composed views."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock

from msgspec import Struct

from carrel.files import READ_LIMIT, Content, Entry, Part, Stale, Stamp, Unreadable
from carrel.files.paths import new_name, parts, refuse_long


class _Kept(Struct, frozen=True):
    """One file's bytes and the number of the change that put them there."""

    data: bytes
    change: int

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def stamp(self) -> Stamp:
        return (self.change, len(self.data), self.change, self.change)


class EphemeralFiles:
    """Files that live as long as the object; a directory exists while a file is below it."""

    def __init__(self, files: Mapping[str, bytes | str] | None = None) -> None:
        self._lock = Lock()
        # What is there from the start may have any name, as on a disk; only new names have rules.
        self._files: dict[str, _Kept] = {
            "/".join(parts(path)): _Kept(data.encode() if isinstance(data, str) else data, change)
            for change, (path, data) in enumerate((files or {}).items(), 1)
        }
        self._changes = len(self._files)

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent."""
        path = self._place(path)
        kept = self._files.get(path)
        if kept is None:
            return None
        if len(kept.data) > limit:
            raise Unreadable(path, "too_large", detail=f"{len(kept.data)} bytes, the limit is {limit}")
        return Content(
            data=kept.data,
            digest=kept.digest,
            target=path,
            identity=path,
            links=1,
        )

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        path = self._place(path)
        kept = self._files.get(path)
        if kept is None:
            return None
        return Part(
            data=kept.data[start : start + size],
            size=len(kept.data),
            modified_ns=kept.change,
            target=path,
            identity=path,
            links=1,
        )

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory, None where there is neither."""
        return [self._stamp("/".join(parts(path)) if path else "") for path in paths]

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name."""
        under = "/".join(parts(under)) if under else ""
        if under in self._files:
            raise Unreadable(under, "not_directory")
        self._refuse_file_above(under)
        prefix = f"{under}/" if under else ""
        return [self._entry(prefix + name) for name in sorted(set(self._names(under)))]

    def target(self, path: str) -> str:
        """Return where a file would be written."""
        return "/".join(parts(path))

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        with self._lock:
            path = self._place(path)
            self._check(path, expect)
            return self._keep(path, data)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, of a file with `at` bytes where that is given."""
        with self._lock:
            path = self._place(path)
            kept = self._files.get(path)
            old = kept.data if kept else b""
            if at is not None and at != len(old):
                raise Stale(path, expected=str(at), found=str(len(old)))
            if old and not old.endswith(b"\n"):
                old += b"\n"
            self._keep(path, old + data)
            return len(old) + len(data)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        with self._lock:
            path = self._place(path)
            self._check(path, expect)
            self._changes += 1
            self._files = {other: kept for other, kept in self._files.items() if other != path}

    def _place(self, path: str) -> str:
        """Return the key of a path that is, or may become, a file."""
        key = "/".join(parts(path))
        self._refuse_file_above(key)
        if key not in self._files and self._is_directory(key):
            raise Unreadable(key, "directory")
        return key

    def _refuse_file_above(self, path: str) -> None:
        above = path.rpartition("/")[0]
        while above:
            if above in self._files:
                raise Unreadable(path, "not_directory")
            above = above.rpartition("/")[0]

    def _check(self, path: str, expect: str | None) -> None:
        kept = self._files.get(path)
        found = kept.digest if kept else None
        if found != expect:
            raise Stale(path, expected=expect, found=found)

    def _keep(self, path: str, data: bytes) -> str:
        if path not in self._files:
            self._refuse_new(path)
        self._changes += 1
        kept = _Kept(bytes(data), self._changes)
        self._files = {**self._files, path: kept}  # a new dict: readers may be walking the old one
        return kept.digest

    def _refuse_new(self, path: str) -> None:
        """Hold new names, and only new ones, to the rules that every store has for them."""
        refuse_long(path, path)
        above = ""
        for name in path.split("/"):
            here = f"{above}/{name}" if above else name
            if not self._is_directory(here):
                new_name(path, name, beside=self._names(above))
            above = here

    def _is_directory(self, path: str) -> bool:
        return path == "" or any(other.startswith(f"{path}/") for other in self._files)

    def _names(self, under: str) -> Iterator[str]:
        prefix = f"{under}/" if under else ""
        return (
            path.removeprefix(prefix).partition("/")[0] for path in self._files if path.startswith(prefix)
        )

    def _stamp(self, path: str) -> Stamp | None:
        if (kept := self._files.get(path)) is not None:
            return kept.stamp
        if not self._is_directory(path):
            return None
        names = sorted(set(self._names(path)))
        mark = hashlib.sha256("/".join(names).encode("utf-8", "surrogateescape")).digest()
        return (0, len(names), int.from_bytes(mark[:8]), 0)

    def _entry(self, path: str) -> Entry:
        kept = self._files.get(path)
        stamp = self._stamp(path)
        assert stamp is not None
        return Entry(
            path=path,
            kind="file" if kept else "directory",
            size=len(kept.data) if kept else 0,
            modified_ns=kept.change if kept else 0,
            target=path,
            identity=path,
            links=1,
            stamp=stamp,
        )
