"""A workspace as it was at one moment, copied while others write to it.

All files are read; then, while the records stand still, it is looked whether any of them changed. What did is
read again, until nothing has: at the moment when the records stood still all files were as they were copied.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from time import time_ns
from typing import IO, Literal

from msgspec import Struct

from carrel.backing.experience import neutral_namespaces
from carrel.belongings import LIMIT, entries, renamed, within
from carrel.bundle.checking import CHUNK, checked
from carrel.bundle.lines import to_line
from carrel.bundle.manifest import Held, Item, LeftOut, Manifest, Part, Table
from carrel.bundle.names import Entries
from carrel.bundle.reading import Progress
from carrel.files import Entry, FileStore, Stamp, is_settled, show
from carrel.files.paths import fold
from carrel.findings import Finding
from carrel.home import Home
from carrel.opening import Opened
from carrel.records.moving import TABLES, Row, Rows

_ROUNDS = 10
_SHOWN = 5


class Choice(Struct, frozen=True, kw_only=True):
    """What of a workspace is copied, and for whom; of all but the files others than the owner see nothing."""

    scope: Literal["main", "shared"] = "main"
    hides: Callable[[Entry], bool] = lambda _: False
    leaves_out: Callable[[str], str] = lambda _: ""
    """Says why a file is left out, "" where it is not."""
    written: Callable[[str, bytes], bytes] = lambda _, data: data
    """Returns a file as it may be given away."""


class Copy(Struct, frozen=True, kw_only=True):
    """A copy in a file of its own, which can be written as a bundle; `findings` say what it lacks."""

    manifest: Manifest
    spool: IO[bytes]
    places: dict[str, int]
    findings: tuple[Finding, ...]

    def chunks(self, item: Item) -> Iterator[bytes]:
        """Yield the bytes of an item."""
        return checked(self._bytes(item), item)

    def _bytes(self, item: Item) -> Iterator[bytes]:
        start, left = self.places[item.entry], item.size
        while left > 0:
            self.spool.seek(start)
            chunk = self.spool.read(min(CHUNK, left))
            if not chunk:
                return
            yield chunk
            start, left = start + len(chunk), left - len(chunk)


class _Seen(Struct, frozen=True):
    """A file as it was read: how its store told it apart then, and where its copy is."""

    digest: str
    stamp: Stamp
    is_settled: bool
    copied: "_Copied"


class _Copied(Struct, frozen=True):
    start: int
    size: int
    sha256: str


class _Shelf(Struct, frozen=True):
    """A store that is copied: which of its files, under which name, and with which bytes."""

    part: Part
    store: FileStore
    named: Callable[[str], str]
    written: Callable[[str, bytes], bytes]


def gather(
    opened: Opened, spool: IO[bytes], *, choice: Choice | None = None, progress: Progress | None = None
) -> Copy:
    """Copy a workspace as it is at one moment of this call."""
    return _Gathering(opened, spool, choice or Choice(), progress).run()


class _Gathering:
    """One copy in the making."""

    def __init__(self, opened: Opened, spool: IO[bytes], choice: Choice, progress: Progress | None) -> None:
        self._opened = opened
        self._home = opened.home
        self._spool = spool
        self._choice = choice
        self._progress = progress
        self._seen: dict[tuple[Part, str], _Seen] = {}
        self._left_out: dict[str, str] = {}
        self._hidden = 0
        self._findings: list[Finding] = []
        self._namespaces: dict[str, str] = {}
        self._folders: list[str] = []

    def run(self) -> Copy:
        self._look()
        for _ in range(_ROUNDS):
            with self._standing() as records:
                changed = self._look()
                if not changed:
                    return self._finished(records)
        with self._standing() as records:
            if changed := self._look():
                self._findings.append(_restless(changed))
            return self._finished(records)

    def _look(self) -> list[str]:
        """Read what is new or changed since it was looked last, and return the paths of these."""
        self._hidden, self._left_out, self._findings = 0, {}, []
        found = [(shelf, entry) for shelf in self._shelves() for entry in self._chosen(shelf)]
        present = {(shelf.part, entry.path) for shelf, entry in found}
        changed = [key[1] for key in self._seen if key not in present]
        self._seen = {key: seen for key, seen in self._seen.items() if key in present}
        now = time_ns()
        for done, (shelf, entry) in enumerate(found, 1):
            if self._read(shelf, entry, now):
                changed.append(entry.path)
            if self._progress is not None:
                self._progress(done, len(found) + 1)
        return changed

    def _shelves(self) -> Iterator[_Shelf]:
        """Yield the stores; the folders and namespaces may be others than they were."""
        home, choice = self._home, self._choice
        yield _Shelf("files", home.files, str, choice.written)
        if choice.scope == "shared":
            self._folders = [""]
            return
        self._folders = ["", *(each for each in home.inner() if within(home, each).has_records())]
        if (trash := home.find_trash()) is not None:
            yield _Shelf("trash", trash, str, lambda _, data: data)
        if (store := home.find_namespaces()) is not None:
            named, neutral = neutral_namespaces(self._opened, self._folders, store)
            self._namespaces = named
            yield _Shelf("namespaces", store, lambda path: named.get(path, ""), neutral)

    def _chosen(self, shelf: _Shelf) -> Iterator[Entry]:
        for entry in entries(shelf.store, self._findings):
            if shelf.part == "files" and self._choice.hides(entry):
                self._hidden += 1
            elif shelf.part == "files" and (why := self._choice.leaves_out(entry.path)):
                self._left_out[entry.path] = why
            elif shelf.named(entry.path):
                yield entry

    def _read(self, shelf: _Shelf, entry: Entry, now: int) -> bool:
        """Read a file unless it is known to be the same; tell whether it is another than before."""
        key = shelf.part, entry.path
        seen = self._seen.get(key)
        if seen is not None and seen.is_settled and seen.stamp == entry.stamp:
            return False
        content = shelf.store.read(entry.path, limit=LIMIT)
        if content is None:  # it went away just now
            self._seen.pop(key, None)
            return True
        same = seen.copied if seen is not None and seen.digest == content.digest else None
        copied = same or self._keep([shelf.written(entry.path, content.data)])
        self._seen[key] = _Seen(content.digest, entry.stamp, is_settled(entry.stamp, now), copied)
        return same is None

    def _keep(self, pieces: Sequence[bytes] | Iterator[bytes]) -> _Copied:
        start, size, sha = self._spool.seek(0, 2), 0, sha256()
        for piece in pieces:
            self._spool.write(piece)
            sha.update(piece)
            size += len(piece)
        return _Copied(start, size, sha.hexdigest())

    @contextmanager
    def _standing(self) -> Generator[list[tuple[str, Rows]]]:
        """Hold the records of all homes still, for us alone: who writes does not wait."""
        homes = [] if self._choice.scope == "shared" else [(f, within(self._home, f)) for f in self._folders]
        with ExitStack() as stack:
            opened: list[tuple[str, Rows]] = []
            for folder, home in homes:
                if home.has_records():
                    rows = home.rows()
                    stack.callback(rows.close)
                    stack.enter_context(rows.snapshot())
                    opened.append((folder, rows))
            yield opened

    def _finished(self, records: Sequence[tuple[str, Rows]]) -> Copy:
        places: dict[str, int] = {}
        files = tuple(self._files(places))
        tables = tuple(self._tables(records, places))
        if self._progress is not None:
            self._progress(len(files) + 1, len(files) + 1)
        left = tuple(LeftOut(path=path, reason=why) for path, why in sorted(self._left_out.items()))
        manifest = Manifest(
            layout=self._opened.config.settings.layout or "",
            scope=self._choice.scope,
            hidden=self._hidden,
            folders=tuple(self._folders),
            left_out=left,
            files=files,
            tables=tables,
        )
        findings = (*self._findings, *_history(self._home))
        return Copy(manifest=manifest, spool=self._spool, places=places, findings=findings)

    def _files(self, places: dict[str, int]) -> Iterator[Held]:
        names = Entries()
        for part, path in sorted(self._seen):
            copied = self._seen[part, path].copied
            own = self._namespaces[path] if part == "namespaces" else path
            entry = names.name(part, own)
            places[entry] = copied.start
            yield Held(part=part, path=own, size=copied.size, sha256=copied.sha256, entry=entry)

    def _tables(self, records: Sequence[tuple[str, Rows]], places: dict[str, int]) -> Iterator[Table]:
        for folder, rows in records:
            number = self._folders.index(folder)
            for table in TABLES:
                count = _Count()
                copied = self._keep(to_line(self._given(row, table)) for row in count.over(rows.read(table)))
                if count.value:
                    entry = f"records{f'-{number}' if number else ''}/{table}.jsonl"
                    places[entry] = copied.start
                    yield Table(
                        folder=folder,
                        table=table,
                        rows=count.value,
                        size=copied.size,
                        sha256=copied.sha256,
                        entry=entry,
                    )

    def _given(self, row: Row, table: str) -> Row:
        """Return a row as it goes out: what a key is known by stays here."""
        row = renamed(row, table, self._namespaces)
        return row | {"digest": ""} if table == "keys" else row


class _Count:
    """Counts what goes by."""

    def __init__(self) -> None:
        self.value = 0

    def over(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            self.value += 1
            yield row


def _restless(changed: Sequence[str]) -> Finding:
    some = ", ".join(show(path) for path in sorted(changed)[:_SHOWN])
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return Finding(
        code="copied_while_written",
        message=f"Files were written all the time: each is whole, but not of one moment: {some}{more}.",
        hint="Stop what works on the workspace, then copy it again.",
    )


def _history(home: Home) -> Iterator[Finding]:
    if any(fold(entry.path) == ".git" for entry in home.files.list()):
        message = "The history in .git is not in it; the files are."
        yield Finding(code="history_not_kept", path=".git", message=message, hint="Push it, or git bundle.")
