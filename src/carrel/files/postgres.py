"""A FileStore in PostgreSQL: the files of one workspace of one tenant, as rows.

An append adds a row and touches nothing of what was there. Each change, with its check of what it
expects, is one call of a function in the database, so no lock is held while we are on the way.
"""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct

from carrel.files import READ_LIMIT, Content, Entry, Part, Stale, Stamp, Unreadable
from carrel.files.paths import BadPath, fold, new_name, parts
from carrel.postgres import Tenant

PATH_BYTES = 1024
"""What an index of the database surely holds; object stores and some systems have the same limit."""

_MOST = 2**31 - 1
_FRESH: Stamp = (0, 0, 0, 0)
"""The stamp of the root before the first file."""

_SEEN = "f.path, f.is_folder, f.size, f.mark, (extract(epoch FROM f.changed_at) * 1000000)::bigint * 1000"
_OURS = "f.tenant = %s AND f.workspace = %s"
_SEGMENTS = (
    "carrel.workspace_segments s WHERE s.tenant = f.tenant AND s.workspace = f.workspace AND s.file = f.id"
)

# ruff: disable[S608]  every text that these are made of is here
# OFFSET 0 has each path looked up by the key, whatever the database believes to know of the table.
_ASKED = f"""unnest(%s::text[]) AS asked (path), LATERAL (
    SELECT * FROM carrel.workspace_files f WHERE {_OURS} AND f.path = asked.path OFFSET 0) f"""
_STAMPS = f"SELECT {_SEEN} FROM {_ASKED}"
_LIST = f"""{_STAMPS} WHERE NOT f.is_folder
    UNION ALL SELECT {_SEEN} FROM carrel.workspace_files f WHERE {_OURS} AND f.folder = %s"""
_TREE = f"SELECT {_SEEN} FROM carrel.workspace_files f WHERE {_OURS} AND f.path <> ''"
_READ = f"""SELECT {_SEEN}, CASE WHEN f.path = %s AND f.size <= %s THEN
        f.content || coalesce((SELECT string_agg(s.data, '' ORDER BY s.start) FROM {_SEGMENTS}), '') END
    FROM {_ASKED}"""
_PART = f"""SELECT {_SEEN}, CASE WHEN f.path = %s THEN substring(f.content FROM %s::int FOR %s::int) END,
        t.start, t.data
    FROM {_ASKED} LEFT JOIN LATERAL (
        SELECT min(s.start) AS start, string_agg(s.data, '' ORDER BY s.start) AS data FROM {_SEGMENTS}
        AND f.path = %s AND s.start < %s AND s.start >= (
            SELECT coalesce(max(s.start), 0) FROM {_SEGMENTS} AND s.start <= %s)) t ON true"""
_BESIDE = f"""SELECT f.* FROM unnest(%s::text[], %s::text[]) AS asked (folder, folded), LATERAL (
        SELECT f.path, f.is_folder, CASE WHEN f.path = %s AND NOT f.is_folder THEN carrel.file_digest(f) END
        FROM carrel.workspace_files f
        WHERE {_OURS} AND f.folder = asked.folder AND f.folded = asked.folded OFFSET 0) f"""
# ruff: enable[S608]
_CREATE = "SELECT carrel.create_file(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_REPLACE = "SELECT carrel.replace_file(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_APPEND = "SELECT is_done, total FROM carrel.append_file(%s, %s, %s, %s, %s, %s, %s)"
_REMOVE = "SELECT carrel.remove_file(%s, %s, %s, %s, %s, %s)"


class About(Struct, frozen=True):
    """What a document says of itself, for whoever looks into the table; nothing here depends on it."""

    token_count: int | None = None
    priority: int | None = None
    tags: tuple[str, ...] | None = None

    @property
    def columns(self) -> list[object]:
        """The values as the database takes them."""
        return [self.token_count, self.priority, None if self.tags is None else [*self.tags]]


UNKNOWN = About()
Describe = Callable[[str, bytes], About]
"""Tells of a path and its content what stands beside them in the table."""


class _Seen(Struct, frozen=True):
    """What a row says of a file or a folder."""

    path: str
    is_folder: bool
    size: int
    mark: int
    changed_ns: int

    @property
    def stamp(self) -> Stamp:
        # The mark is another one after every change, so no clock has to tell when this one is settled.
        return (self.mark, self.size, self.changed_ns, 0)

    @property
    def entry(self) -> Entry:
        return Entry(
            path=self.path,
            kind="directory" if self.is_folder else "file",
            size=self.size,
            modified_ns=self.changed_ns,
            target=self.path,
            identity=self.path,
            links=1,
            stamp=self.stamp,
        )


class PostgresFiles:
    """The files of one workspace; a directory exists while a file is below it.

    Threads and processes may share a workspace. A change whose answer was lost is asked for again, and
    knows whether it was made already: by what is there now, an append by a token of its own.
    """

    def __init__(self, tenant: Tenant, workspace: str, *, describe: Describe = lambda _, __: UNKNOWN) -> None:
        self._tenant = tenant
        self._ours = (tenant.name, workspace)
        self._describe = describe

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent."""
        path, chain = _along(path)
        rows = self._rows(path, _READ, [path, min(limit, _MOST), chain, *self._ours])
        if (row := _file(path, rows)) is None:
            return None
        *seen, data = row
        if data is None:
            raise Unreadable(path, "too_large", detail=f"{_Seen(*seen).size} bytes, the limit is {limit}")
        return Content(
            data=data, digest=hashlib.sha256(data).hexdigest(), target=path, identity=path, links=1
        )

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        path, chain = _along(path)
        start, size = min(start, _MOST - 1), min(size, _MOST - 1)
        asked = [path, start + 1, size, chain, *self._ours, path, start + size, start]
        if (row := _file(path, self._rows(path, _PART, asked))) is None:
            return None
        *whole, head, first, tail = row
        if tail is not None:
            head += tail[max(0, start - first) : max(0, start + size - first)]
        seen = _Seen(*whole)
        return Part(
            data=head, size=seen.size, modified_ns=seen.changed_ns, target=path, identity=path, links=1
        )

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory, None where there is neither, in one round trip."""
        keys = ["/".join(parts(path)) if path else "" for path in paths]
        asked = sorted({key for key in keys if _is_text(key)})
        rows = self._tenant.rows(_STAMPS, [asked, *self._ours]) if asked else []
        found: dict[str, Stamp] = {"": _FRESH, **{row[0]: _Seen(*row).stamp for row in rows}}
        return [found.get(key) for key in keys]

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name."""
        under, chain = _along(under) if under else ("", [])
        rows = self._rows(under, _LIST, [chain, *self._ours, *self._ours, under])
        seen = [_Seen(*row) for row in rows]
        if any(row.path in chain for row in seen):
            raise Unreadable(under, "not_directory")
        return [row.entry for row in sorted(seen, key=lambda row: row.path)]

    def tree(self) -> Sequence[Entry]:
        """Return the entries of all directories, in one round trip."""
        return [_Seen(*row).entry for row in self._tenant.rows(_TREE, self._ours)]

    def target(self, path: str) -> str:
        """Return where a file would be written."""
        return "/".join(parts(path))

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        path, chain = _along(path)
        data = bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        about = self._describe(path, data)
        asked = [*self._ours, path, expect, data, digest, _is_open(data), _mark(), *about.columns]

        def work() -> str | None:
            if expect is None:
                return self._created(path, chain, data, about=about)
            return self._swapped(path, chain, _REPLACE, asked)

        self._surely(path, expect, digest, work)
        return digest

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, of a file with `at` bytes where that is given."""
        path, chain = _along(path)
        data = bytes(data)
        asked = [*self._ours, path, at, data, _is_open(data), token := _mark()]

        def work() -> int:
            while True:
                done, size = self._changed(_APPEND, asked) if _is_text(path) else (None, 0)
                if done:
                    return size
                if done is None:
                    self._refuse_unfit(path, chain)
                if done is False or at:
                    raise Stale(path, expected=str(at), found=str(size or 0))
                if self._created(path, chain, data, token=token) is None:
                    return len(data)

        return self._tenant.retried(work)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        path, chain = _along(path)
        asked = [*self._ours, path, ["", *chain[:-1]], expect, _mark()]
        self._surely(path, expect, None, lambda: self._swapped(path, chain, _REMOVE, asked))

    def _surely(
        self, path: str, expect: str | None, made: str | None, work: Callable[[], str | None]
    ) -> None:
        """Do a change that says what it found; one whose answer was lost finds what it made itself."""
        attempts = 0

        def attempt() -> None:
            nonlocal attempts
            attempts += 1
            found = work()
            if found != expect and not (attempts > 1 and found == made):
                raise Stale(path, expected=expect, found=found)

        self._tenant.retried(attempt)

    def _swapped(
        self, path: str, chain: Sequence[str], statement: str, asked: Sequence[object]
    ) -> str | None:
        """Change what is there if it is what is expected; return the digest of what was found."""
        (found,) = self._changed(statement, asked) if _is_text(path) else (None,)
        if found is None:
            self._refuse_unfit(path, chain)
        return found

    def _created(
        self,
        path: str,
        chain: Sequence[str],
        data: bytes,
        *,
        token: int | None = None,
        about: About = UNKNOWN,
    ) -> str | None:
        """Make a file where there is none; return the digest of what is there already.

        With a token the data is its first segment, so that the append that made it knows it again.
        """
        names = [fold(name) for name in path.split("/")]
        digest = hashlib.sha256(data).hexdigest()
        asked = [*self._ours, path, ["", *chain[:-1]], ["", *names], data, digest, _is_open(data), _mark()]
        while True:
            if (found := self._refuse_names(path, chain, names)) is not None:
                return found
            if self._changed(_CREATE, [*asked, token, *about.columns])[0]:
                return None
            # Somebody else was quicker with one of the names; what it is, the next look tells.

    def _refuse_names(self, path: str, chain: Sequence[str], folded: Sequence[str]) -> str | None:
        """Hold new names, and only new ones, to the rules that every store has; return what stands there."""
        pairs = [["", *chain[:-1]], [*folded], path, *self._ours]
        rows = self._rows(path, _BESIDE, pairs)
        found: dict[str, tuple[Any, ...]] = {row[0]: row for row in rows}
        _file(path, rows)
        if path in found:
            return found[path][2]
        if len(path.encode(errors="surrogateescape")) > PATH_BYTES:
            raise BadPath(path, f"is longer than {PATH_BYTES} bytes")
        for place in (place for place in chain if place not in found):
            folder, _, name = place.rpartition("/")
            new_name(path, name, beside=[_name(other) for other in found if _folder(other) == folder])
        return None

    def _refuse_unfit(self, path: str, chain: Sequence[str]) -> None:
        """Refuse a path that is a directory, or that has a file for one."""
        _file(path, self._rows(path, _STAMPS, [chain, *self._ours]))

    def _rows(self, path: str, statement: str, asked: Sequence[object]) -> Sequence[tuple[Any, ...]]:
        """Ask about a path; one that is no text is in no row."""
        return self._tenant.rows(statement, asked) if _is_text(path) else []

    def _changed(self, statement: str, asked: Sequence[object]) -> tuple[Any, ...]:
        return self._tenant.rows(statement, asked, once=True)[0]


def _along(path: str) -> tuple[str, list[str]]:
    """Return a path's one spelling, and the paths of all that is on the way to it, itself the last."""
    names = parts(path)
    return "/".join(names), list(accumulate(names, lambda above, name: f"{above}/{name}"))


def _file(path: str, rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """Return the row of a path that is, or may become, a file; the others are what stands above it."""
    own = next((row for row in rows if row[0] == path), None)
    if own is not None and own[1]:
        raise Unreadable(path, "directory")
    if own is None and any(path.startswith(f"{row[0]}/") and not row[1] for row in rows):
        raise Unreadable(path, "not_directory")
    return own


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_open(data: bytes) -> bool:
    return data != b"" and not data.endswith(b"\n")


def _is_text(path: str) -> bool:
    """Tell whether a path is Unicode; a disk may hold others, a database cannot."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mark() -> int:
    return secrets.randbits(62)
