"""A workspace out of a bundle: into a new directory, all of it or nothing, or into any empty home."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage

from msgspec import Struct, json

from carrel.backing.experience import of_workspace, own_name
from carrel.backing.tree import put, refuse_taken, unseen
from carrel.belongings import LIMIT, claim, entries, finish, renamed, within
from carrel.bundle import Bundle, BundleDamaged, Held, Manifest, Table, read, rows
from carrel.bundle.errors import BundleTooLarge, UnsafeBundle
from carrel.bundle.manifest import encode
from carrel.bundle.reading import Progress, open_bundle, put_rows
from carrel.config import local_approvals, user_directories
from carrel.config.trust import distrust, look_up
from carrel.files import FileStore, show
from carrel.findings import Finding
from carrel.home import Home
from carrel.home.local import absolute, open_home
from carrel.records.moving import Row


class Restored(Struct, frozen=True, kw_only=True):
    """What came out of a bundle, or would; where it is now, it waits for its owner's trust."""

    source: str
    target: str
    files: int
    size: int
    rows: Mapping[str, int]
    dry_run: bool = False
    findings: tuple[Finding, ...] = ()


def restore(
    file: str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    environ: Mapping[str, str],
    progress: Progress | None = None,
    dry_run: bool = False,
) -> Restored:
    """Make a directory that is the workspace of a bundle; it is there as a whole or not at all.

    Nobody trusts it, even where one at this place was trusted: what is in a file may be anybody's.
    """
    target = absolute(into)
    with closing(open_bundle(file)) as bundle:
        refuse_taken(target)
        _refuse_large(bundle.manifest, target)
        if dry_run:
            return _told(bundle, os.fspath(file), str(target), dry_run=True)
        directories = user_directories(environ)
        approvals = local_approvals(target, directories)
        with unseen(target) as beside:
            home = open_home(beside, directories).owned(known=True)
            filling = _Filling(bundle, home, lambda folder: str(absolute(target / folder)), progress)
            filling.run(lambda held: put(beside, held.path, bundle.chunks(held)))
            if look_up(approvals, {})[1]:
                distrust(approvals)
        return _told(bundle, os.fspath(file), str(target), filling.findings)


def fill(bundle: Bundle, target: Home, *, progress: Progress | None = None) -> Restored:
    """Bring a bundle into an empty home of any kind; one that was broken off goes on."""
    manifest = bundle.manifest
    source = f"bundle:{sha256(encode(manifest)).hexdigest()}"
    claim(target, json.encode({"version": 1, "source": source}))
    filling = _Filling(bundle, target, lambda folder: within(target, folder).location, progress)
    filling.run(lambda held: _write(target.files, held.path, read(bundle, held)))
    finish(target)
    return _told(bundle, source, target.location, filling.findings)


class _Filling:
    """One bundle on its way into a home; `located` says where a folder of it will be found."""

    def __init__(
        self, bundle: Bundle, home: Home, located: Callable[[str], str], progress: Progress | None
    ) -> None:
        self._bundle = bundle
        self._manifest = bundle.manifest
        self._home = home
        self._located = located
        self._progress = progress
        self._done = 0
        self.findings: list[Finding] = []

    def run(self, write: Callable[[Held], None]) -> None:
        """Write all files as the caller does, then what belongs to them."""
        held = self._manifest.files
        for each in held:
            if each.part == "files":
                write(each)
                self._step()
        self._compare()
        trashed = [each for each in held if each.part == "trash"]
        if trashed:
            store = self._home.trash().store
            for each in trashed:
                _write(store, each.path, read(self._bundle, each))
                self._step()
        names = self._namespaces()
        for folder in self._manifest.folders:
            self._put_records(folder, names)

    def _compare(self) -> None:
        """Make sure that each file has a place of its own: some systems take two names for one."""
        wanted = {held.path for held in self._manifest.files if held.part == "files"}
        found = {entry.path for entry in entries(self._home.files, [])}
        if missing := next(iter(sorted(wanted - found)), None):
            raise UnsafeBundle(missing, "is, to this system, the same name as another one")

    def _namespaces(self) -> dict[str, str]:
        """Bring what the agents learnt, and return what each is called here; nobody else's is touched."""
        names: dict[str, str] = {}
        for held in (each for each in self._manifest.files if each.part == "namespaces"):
            own = own_name(held.path, self._manifest.folders, self._located)
            if own is None:
                self.findings += [] if self._is_known(held) else [_not_brought(held.path)]
            else:
                names[held.path], location = own
                self._learn(names[held.path], of_workspace(read(self._bundle, held), location))
            self._step()
        return names

    def _is_known(self, held: Held) -> bool:
        """Tell whether the very same namespace is here already."""
        store = self._home.find_namespaces()
        found = store.read(held.path, limit=LIMIT) if store else None
        return found is not None and found.digest == held.sha256

    def _learn(self, path: str, data: bytes) -> None:
        store = self._home.open_namespaces()
        found = store.read(path, limit=LIMIT)
        if found is None:
            store.write(path, data, expect=None)
        elif found.data != data:
            message = f"The namespace {show(path)} is another one at this place, and stays as it is."
            self.findings.append(Finding(code="namespace_differs", path=path, message=message))

    def _put_records(self, folder: str, names: Mapping[str, str]) -> None:
        tables = [table for table in self._manifest.tables if table.folder == folder]
        if not tables:
            return
        with closing(within(self._home, folder).rows()) as there:
            for table in tables:
                put_rows(there, table, lambda table=table: self._rows(table, names))
                self._step()

    def _rows(self, table: Table, names: Mapping[str, str]) -> Iterator[Row]:
        """Yield the rows as they are kept here: no key that came in a file opens anything."""
        count = 0
        for row in rows(self._bundle, table):
            count += 1
            own = renamed(row, table.table, names)
            yield own | {"digest": ""} if table.table == "keys" else own
        if count != table.rows:
            raise BundleDamaged(table.entry, f"has {count:,} rows, not {table.rows:,}")

    def _step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, len(self._manifest.items))


def _write(store: FileStore, path: str, data: bytes) -> None:
    """Write a file unless it is there; what is there from an earlier attempt is replaced."""
    found = store.read(path, limit=LIMIT)
    if found is None or found.data != data:
        store.write(path, data, expect=found.digest if found else None)


def _told(
    bundle: Bundle,
    source: str,
    target: str,
    findings: list[Finding] | None = None,
    *,
    dry_run: bool = False,
) -> Restored:
    manifest = bundle.manifest
    files = [held for held in manifest.files if held.part == "files"]
    return Restored(
        source=source,
        target=target,
        files=len(files),
        size=sum(held.size for held in files),
        rows=manifest.count_rows(),
        dry_run=dry_run,
        findings=tuple(findings or ()),
    )


def _refuse_large(manifest: Manifest, target: Path) -> None:
    """Refuse what the disk has no room for, before anything is unpacked."""
    near = target
    while not near.exists() and near != near.parent:
        near = near.parent
    free = disk_usage(near).free
    if manifest.size > free:
        raise BundleTooLarge(manifest.size, free, f"the room that is left at {near}")


def _not_brought(name: str) -> Finding:
    return Finding(
        code="namespace_not_restored",
        path=name,
        message=f"The namespace {show(name)} is not restored: agents of other workspaces would read it.",
        hint="It is in the file. If it is your own, unpack it to where `carrel namespaces list` finds it.",
    )
