"""A store in one SQLite file: `acme://studio` is studio.db in the folder that ACME_FOLDER names."""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock

from carrel.errors import UsageError
from carrel.files import READ_LIMIT, Content, Entry, FileStore, Part, Stale, Stamp, Unreadable
from carrel.files.paths import PATH_BYTES, BadPath, new_name, parts, valid_id

SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    change INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL UNIQUE, data BLOB NOT NULL, modified INTEGER NOT NULL
)
"""


class SqliteFiles:
    """Files as rows; a directory is there while a file is below it, and no number of a change comes twice."""

    def __init__(self, path: Path) -> None:
        self._lock = RLock()
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._db.execute(SCHEMA)

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent."""
        with self._locked():
            path = self._place(path)
            row = self._row(path)
        if row is None:
            return None
        if len(row[1]) > limit:
            raise Unreadable(path, "too_large", detail=f"{len(row[1])} bytes, the limit is {limit}")
        return Content(data=row[1], digest=sha256(row[1]).hexdigest(), target=path, identity=path, links=1)

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        with self._locked():
            path = self._place(path)
            row = self._row(path)
        if row is None:
            return None
        _, data, modified = row
        return Part(
            data=data[start : start + size],
            size=len(data),
            modified_ns=modified,
            target=path,
            identity=path,
            links=1,
        )

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory, None where there is neither."""
        with self._locked():
            return [self._stamp("/".join(parts(path)) if path else "") for path in paths]

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name."""
        with self._locked():
            under = "/".join(parts(under)) if under else ""
            self._refuse_files(under, under)
            prefix = f"{under}/" if under else ""
            return [self._entry(prefix + name) for name in self._names(under)]

    def target(self, path: str) -> str:
        """Return where a file would be written: there are no links."""
        return "/".join(parts(path))

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        with self._locked():
            path = self._place(path)
            self._check(path, expect)
            self._keep(path, data)
        return sha256(data).hexdigest()

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, of a file with `at` bytes where that is given."""
        with self._locked():
            path = self._place(path)
            row = self._row(path)
            old = row[1] if row else b""
            if at is not None and at != len(old):
                raise Stale(path, expected=str(at), found=str(len(old)))
            whole = old + (b"\n" if old and not old.endswith(b"\n") else b"") + data
            self._keep(path, whole)
        return len(whole)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        with self._locked():
            path = self._place(path)
            self._check(path, expect)
            self._db.execute("DELETE FROM files WHERE path = ?", (_key(path),))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold off all others, in this process and outside; what fails leaves nothing behind."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _row(self, path: str) -> tuple[int, bytes, int] | None:
        asked = "SELECT change, data, modified FROM files WHERE path = ?"
        return self._db.execute(asked, (_key(path),)).fetchone()

    def _names(self, under: str) -> Sequence[str]:
        """Return the names in a directory, sorted."""
        prefix = _key(f"{under}/" if under else "")
        found = self._db.execute("SELECT path FROM files WHERE substr(path, 1, ?) = ?", (len(prefix), prefix))
        return sorted({_path(path[len(prefix) :]).partition("/")[0] for (path,) in found})

    def _place(self, path: str) -> str:
        """Return the one spelling of a path that is, or may become, a file."""
        path = "/".join(parts(path))
        self._refuse_files(path, path.rpartition("/")[0])
        if self._row(path) is None and self._names(path):
            raise Unreadable(path, "directory")
        return path

    def _refuse_files(self, path: str, folder: str) -> None:
        while folder:
            if self._row(folder) is not None:
                raise Unreadable(path, "not_directory")
            folder = folder.rpartition("/")[0]

    def _check(self, path: str, expect: str | None) -> None:
        row = self._row(path)
        found = sha256(row[1]).hexdigest() if row else None
        if found != expect:
            raise Stale(path, expected=expect, found=found)

    def _keep(self, path: str, data: bytes) -> None:
        if self._row(path) is None:
            self._refuse_new(path)
        kept = (_key(path), bytes(data), time.time_ns())
        self._db.execute("REPLACE INTO files (path, data, modified) VALUES (?, ?, ?)", kept)

    def _refuse_new(self, path: str) -> None:
        """Hold new names to the rules that every store has for them."""
        if len(_key(path)) > PATH_BYTES:
            raise BadPath(path, f"is longer than {PATH_BYTES} bytes")
        above = ""
        for name in path.split("/"):
            here = f"{above}/{name}" if above else name
            if not self._names(here):
                new_name(path, name, beside=self._names(above))
            above = here

    def _stamp(self, path: str) -> Stamp | None:
        if path and (row := self._row(path)) is not None:
            return (row[0], len(row[1]), row[2], row[0])
        names = self._names(path)
        if path and not names:
            return None
        mark = sha256(_key("/".join(names))).digest()
        return (0, len(names), int.from_bytes(mark[:7]), 0)

    def _entry(self, path: str) -> Entry:
        stamp = self._stamp(path)
        assert stamp is not None
        row = self._row(path)
        return Entry(
            path=path,
            kind="file" if row else "directory",
            size=len(row[1]) if row else 0,
            modified_ns=row[2] if row else 0,
            target=path,
            identity=path,
            links=1,
            stamp=stamp,
        )


def _key(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _path(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def open_store(address: str, environ: Mapping[str, str]) -> FileStore:
    """Return the store of an address; what is wrong with that is told as Carrel tells it."""
    folder = environ.get("ACME_FOLDER")
    if not folder:
        raise UsageError("ACME_FOLDER is not set.", hint="Set it to the folder of your stores.")
    return SqliteFiles(Path(folder) / f"{valid_id(address.partition('://')[2])}.db")
