"""Moving a workspace: from a directory into a database, out of it, or between two of either kind.

What it was stays as it is; the new one is a copy whose every byte and row was compared. A move that is broken
off goes on where it stopped when it is asked for again.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar

from msgspec import Struct, json

from carrel.belongings import LIMIT, claim, entries, finish, namespaces_of, prefix_of, renamed, within
from carrel.errors import Conflict, Refused, UsageError
from carrel.files import Content, Entry, FileStore, Stamp, show
from carrel.findings import Finding
from carrel.home import Home
from carrel.making import approve, is_harmless, make_home
from carrel.markdown.frontmatter import update
from carrel.opening import Opened, find_home, open_workspace
from carrel.records.moving import TABLES, Row, Rows, digest

_STAMPS = 500

_Item = TypeVar("_Item", str, Entry)

Progress = Callable[[int, int], None]
"""Is told how much of how much is done."""


class MovedOntoItself(UsageError):
    """A workspace cannot be moved to where it is."""

    code = "moved_onto_itself"

    def __init__(self, location: str) -> None:
        super().__init__(f"{location} is where the workspace is.", hint="Name another place.")


class SourceChanged(Conflict):
    """The workspace was written to while it was moved."""

    code = "source_changed"

    def __init__(self, location: str, what: str) -> None:
        super().__init__(
            f"{show(what)} of {location} was changed while it was moved.",
            hint="Stop what works on it, then move it again: what has come already stays.",
        )


class MoveUntrusted(Refused):
    """Nobody has read the settings that would count at the new place."""

    code = "move_untrusted"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"{location} has settings that need trust.", hint=f"Read them, then: carrel trust {location}"
        )


class Moved(Struct, frozen=True, kw_only=True):
    """What a move brought over, or would: all files and rows, and how many of them came only now."""

    source: str
    target: str
    files: int
    size: int
    written: int
    rows: Mapping[str, int]
    dry_run: bool = False
    findings: tuple[Finding, ...] = ()


def move(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    environ: Mapping[str, str],
    progress: Progress | None = None,
    dry_run: bool = False,
) -> Moved:
    """Copy all of a workspace to another place, and compare; a dry run only tells what there is."""
    opened = open_workspace(source, environ=environ)
    if not is_harmless(opened):
        raise MoveUntrusted(opened.home.location)
    if dry_run:
        return _looked(opened, os.fspath(target))
    make_home(target, environ)
    moved = _Move(opened, find_home(target, environ).owned(known=True), progress).run()
    approve(target, environ=environ)
    return moved


class _Move:
    """One move; what it has done so far is what stands at the new place."""

    def __init__(self, opened: Opened, target: Home, progress: Progress | None) -> None:
        self._opened = opened
        self._source = opened.home
        self._target = target
        self._progress = progress
        self._done = self._total = self._written = 0
        self._folders = ["", *self._source.inner()]
        self._findings: list[Finding] = []

    def run(self) -> Moved:
        source, target = self._source, self._target
        if source.location == target.location:
            raise MovedOntoItself(source.location)
        claim(target, json.encode({"version": 1, "source": source.location}))
        found = list(entries(source.files, self._findings))
        self._total = 2 * len(found) + len(self._folders) * len(TABLES)
        digests = self._copy(found)
        self._copy_trash()
        paths = self._copy_namespaces()
        rows = self._copy_records(paths)
        self._compare(digests)
        finish(target)
        return Moved(
            source=source.location,
            target=target.location,
            files=len(found),
            size=sum(entry.size for entry in found),
            written=self._written,
            rows=rows,
            findings=tuple(self._findings),
        )

    def _copy(self, every: Sequence[Entry]) -> dict[str, tuple[str, Stamp | None]]:
        """Copy all files, remove what is no longer there, and return each file's digest and stamp."""
        store, known = self._target.files, {entry.path for entry in entries(self._target.files, [])}
        found: dict[str, tuple[str, Stamp | None]] = {}
        for page in _pages(every):
            stamps = self._source.files.stamps([entry.path for entry in page])
            for entry, stamp in zip(page, stamps, strict=True):
                content = self._read(entry.path)
                self._put(store, entry.path, content.data, is_known=entry.path in known)
                found[entry.path] = content.digest, stamp
                self._step()
        for path in sorted(known - found.keys()):  # of an earlier attempt, and removed since
            if (gone := store.read(path, limit=LIMIT)) is not None:
                store.remove(path, expect=gone.digest)
        return found

    def _compare(self, digests: Mapping[str, tuple[str, Stamp | None]]) -> None:
        """Make sure that what came is what is here, and that nobody wrote here meanwhile."""
        for page in _pages(sorted(digests)):
            for path, stamp in zip(page, self._source.files.stamps(page), strict=True):
                came = self._target.files.read(path, limit=LIMIT)
                if came is None or came.digest != digests[path][0] or stamp != digests[path][1]:
                    raise SourceChanged(self._source.location, path)
                self._step()

    def _copy_trash(self) -> None:
        trash = self._source.find_trash()
        found = list(entries(trash, [])) if trash is not None else []
        if trash is None or not found:
            return
        store = self._target.trash().store
        for entry in found:
            if (content := trash.read(entry.path, limit=LIMIT)) is not None:
                self._put(store, entry.path, content.data, is_known=True)

    def _copy_namespaces(self) -> dict[str, str]:
        """Copy what the agents learnt, and return where each is: a namespace is called by its workspace."""
        source = self._source.find_namespaces()
        if source is None:
            return {}
        found = list(self._namespaces(source))
        store = self._target.open_namespaces() if found else source
        for old, new, whose in found:
            content = source.read(old, limit=LIMIT)
            if content is None:
                continue
            if not whose:
                self._share(store, old, content.data)
            else:
                text = update(content.data.decode("utf-8", "surrogateescape"), {"workspace": whose})
                self._put(store, new, text.encode("utf-8", "surrogateescape"), is_known=True)
        return {old: new for old, new, _ in found}

    def _namespaces(self, store: FileStore) -> Iterator[tuple[str, str, str]]:
        """Yield the namespaces of all who are at home here, what they are called there, and by whose name."""
        names = [entry.path for entry in store.list() if entry.kind == "file"]
        agents = self._opened.config.settings.agents
        for folder, name in namespaces_of(self._source, self._folders, agents, names):
            if folder is None:
                yield name, name, ""
                continue
            here, there = within(self._source, folder).location, within(self._target, folder).location
            yield name, prefix_of(there) + name.removeprefix(prefix_of(here)), there

    def _share(self, store: FileStore, path: str, data: bytes) -> None:
        """Copy what belongs to a profile; one that others have there already stays theirs."""
        found = store.read(path, limit=LIMIT)
        if found is None:
            store.write(path, data, expect=None)
        elif found.data != data:
            message = f"The namespace {show(path)} is another one at the new place, and stays as it is there."
            self._findings.append(Finding(code="namespace_differs", path=path, message=message))

    def _copy_records(self, paths: Mapping[str, str]) -> dict[str, int]:
        """Copy all records, of those in folders too, and return how many rows each table has."""
        counts = dict.fromkeys(TABLES, 0)
        for folder in self._folders:
            home = within(self._source, folder)
            if not home.has_records():
                self._step(len(TABLES))
                continue
            here, there = home.rows(), within(self._target, folder).rows()
            try:
                for table in TABLES:
                    counts[table] += self._copy_table(here, there, table, paths)
                    self._step()
            finally:
                here.close()
                there.close()
        return counts

    def _copy_table(self, here: Rows, there: Rows, table: str, paths: Mapping[str, str]) -> int:
        def rows() -> Iterator[Row]:
            return (renamed(row, table, paths) for row in here.read(table))

        wanted = digest(rows())
        if digest(there.read(table)) != wanted:
            there.replace(table, rows())
            self._written += wanted[0]
            if digest(there.read(table)) != wanted:
                raise SourceChanged(self._source.location, f"the table {table}")
        return wanted[0]

    def _put(self, store: FileStore, path: str, data: bytes, *, is_known: bool) -> None:
        """Write a file unless it is there; what is there from an earlier attempt is replaced."""
        found = store.read(path, limit=LIMIT) if is_known else None
        if found is None or found.digest != sha256(data).hexdigest():
            store.write(path, data, expect=found.digest if found else None)
            self._written += 1

    def _read(self, path: str) -> Content:
        content = self._source.files.read(path, limit=LIMIT)
        if content is None:
            raise SourceChanged(self._source.location, path)
        return content

    def _step(self, count: int = 1) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


def _looked(opened: Opened, target: str) -> Moved:
    """Return what there is to be moved; nothing is made anywhere."""
    source, findings = opened.home, list[Finding]()
    found, counts = list(entries(source.files, findings)), dict.fromkeys(TABLES, 0)
    for home in [within(source, folder) for folder in ("", *source.inner())]:
        if home.has_records():
            rows = home.rows()
            for table in TABLES:
                counts[table] += sum(1 for _ in rows.read(table))
            rows.close()
    return Moved(
        source=source.location,
        target=target,
        files=len(found),
        size=sum(entry.size for entry in found),
        written=0,
        rows=counts,
        dry_run=True,
        findings=tuple(findings),
    )


def _pages(items: Sequence[_Item]) -> Iterable[Sequence[_Item]]:
    return (items[start : start + _STAMPS] for start in range(0, len(items), _STAMPS))
