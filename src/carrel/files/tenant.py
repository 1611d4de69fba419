"""One tenant's part of a shared store, as a store of its own: the prefix that its callers never see.

A tenant lives in `.carrel-tenants/<folder>`, apart from the ordinary files of the shared store. The store
itself shows all of it, so it is for the operator: put another root beneath a tenant's, never this one.
"""

import os
import re
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar, runtime_checkable

from msgspec.structs import replace

from carrel.errors import CarrelError, UsageError
from carrel.files import READ_LIMIT, Content, Entry, FileStore, Part, Stale, Stamp, Unreadable, show
from carrel.files.disk import typed_failures
from carrel.files.durable import Directory
from carrel.files.local import LocalFiles
from carrel.files.paths import NAME_BYTES, BadId, new_name, parts, valid_id
from carrel.files.resolve import DIRECTORY, Root

TENANTS = ".carrel-tenants"
FOLDER_BYTES = 200
"""How long a tenant's folder may be: with the top folder it never fills what an error shows of a path."""

_ESCAPED = re.compile(r"\A.|[^a-z0-9._-]|\.\Z")

_Seen = TypeVar("_Seen", Content, Entry, Part)


class BadTenant(UsageError):
    """A tenant's id is missing, or cannot be one; there is no default tenant."""

    code = "bad_tenant"

    def __init__(self, tenant: str | None) -> None:
        shown = show((tenant or "")[:NAME_BYTES])
        super().__init__(
            f"'{shown}' cannot be a tenant's id." if shown else "The tenant's id is missing.",
            hint="Name the tenant: up to 128 letters, digits, '.', '_' and '-' always work.",
        )
        self.tenant = tenant


def tenant_folder(tenant: str) -> str:
    """Return the name of a tenant's folder, another one for every id on every file system.

    An id of lower-case letters, digits, '.', '_' and '-' that any system can hold is its own folder. In
    every other the first character, and whatever is not one of those, becomes its UTF-8 bytes as `=2f`: so
    the name starts with '=', decodes to one id only, and has no case or accents that a system could fold.
    """
    if not tenant or not tenant.isprintable() or tenant != tenant.strip():
        raise BadTenant(tenant)
    folder = tenant if _is_plain(tenant) else _ESCAPED.sub(_escape, tenant)
    if len(folder) > FOLDER_BYTES:
        raise BadTenant(tenant)
    return folder


def _is_plain(tenant: str) -> bool:
    try:
        return valid_id(tenant) == tenant.lower()
    except BadId:
        return False


def _escape(found: re.Match[str]) -> str:
    return "".join(f"={byte:02x}" for byte in found[0].encode())


@runtime_checkable
class Divisible(Protocol):
    """A store made of others, which knows how to give a folder of itself as a root."""

    def within(self, folder: str) -> FileStore:
        """Return the store whose root is this folder, and which no link leaves."""
        ...


def within(store: FileStore, folder: str) -> FileStore:
    """Return a folder of a store as a store of its own, out of which neither path nor link leads.

    Only local stores have links, and there the folder itself becomes the root of every walk: that holds for
    stamps too, which have no target that could be checked afterwards.
    """
    if isinstance(store, LocalFiles):
        return _LocalFolder(store, folder)
    if isinstance(store, Divisible):
        return store.within(folder)
    return _Folder(store, folder)


class TenantFiles:
    """The files of one tenant in a shared store; no verb reaches, shows or names another's.

    `tenant_folder` says where they are. A hard link is a file of its own, as in every local store.
    """

    def __init__(self, store: FileStore, tenant: str) -> None:
        self.tenant = tenant
        self.files = within(store, f"{TENANTS}/{tenant_folder(tenant)}")
        """The same files, as the store that keeps them."""

    def within(self, folder: str) -> FileStore:
        """Return a folder of this tenant as a store of its own."""
        return within(self.files, folder)

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent; a link to another tenant's file raises Unreadable."""
        return self.files.read(path, limit=limit)

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        return self.files.part(path, start, size)

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory of this tenant, None where there is neither."""
        return self.files.stamps(paths)

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name, none before the tenant's first file."""
        return self.files.list(under)

    def target(self, path: str) -> str:
        """Return where a file would be written; a link to another tenant's raises Unreadable."""
        return self.files.target(path)

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        return self.files.write(path, data, expect=expect)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, of a file with `at` bytes where that is given."""
        return self.files.append(path, data, at=at)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        self.files.remove(path, expect=expect)


class _Folder:
    """A folder of a store without links; its name stays out of paths, targets, identities and errors."""

    def __init__(self, store: FileStore, folder: str) -> None:
        self._store = store
        self._folder = folder
        self._prefix = f"{folder}/"

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent."""
        with self._told():
            content = self._store.read(self._inner(path), limit=limit)
        return None if content is None else self._own(path, content)

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        with self._told():
            part = self._store.part(self._inner(path), start, size)
        return None if part is None else self._own(path, part)

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory."""
        with self._told():
            return self._store.stamps([self._inner(path) if path else self._folder for path in paths])

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name."""
        with self._told():
            found = self._store.list(self._inner(under) if under else self._folder)
        return [
            replace(self._own(under, entry), path=entry.path.removeprefix(self._prefix)) for entry in found
        ]

    def target(self, path: str) -> str:
        """Return where a file would be written."""
        with self._told():
            return self._below(path, self._store.target(self._inner(path)))

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        with self._told():
            return self._store.write(self._inner(path), data, expect=expect)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, of a file with `at` bytes where that is given."""
        with self._told():
            return self._store.append(self._inner(path), data, at=at)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        with self._told():
            self._store.remove(self._inner(path), expect=expect)

    def _inner(self, path: str) -> str:
        return self._prefix + "/".join(parts(path))

    def _own(self, path: str, seen: _Seen) -> _Seen:
        return replace(
            seen,
            target=self._below(path, seen.target),
            identity=seen.identity.removeprefix(self._prefix),
        )

    def _below(self, path: str, target: str) -> str:
        if not target.startswith(self._prefix):
            # No store of this kind is known to follow links; one that does must not lead out here.
            raise Unreadable(path, "link_outside")
        return target.removeprefix(self._prefix)

    @contextmanager
    def _told(self) -> Generator[None]:
        """Take the folder's name out of whatever the store has to say."""
        try:
            yield
        except CarrelError as error:
            said = vars(error)
            said.update({field: self._hidden(text) for field, text in said.items() if isinstance(text, str)})
            error.args = (error.message,)
            raise

    def _hidden(self, text: str) -> str:
        # Once only: a path of the tenant's own may spell the same words again.
        return text.replace(self._prefix, "", 1) if self._prefix in text else text.replace(self._folder, ".")


class _NotMade(Exception):
    """The folder is not there yet, which its callers see as an empty store."""


class _LocalFolder(LocalFiles):
    """A folder of a local store as the root of every walk, made with its first file.

    Unlike a root that its owner chose, the folder is never reached by a link: one that stands in its place
    would make one tenant of two.
    """

    def __init__(self, store: LocalFiles, folder: str) -> None:
        # The same root, disk, patience and memory of what was swept; only where walks start differs.
        vars(self).update(vars(store))
        above = store.folder if isinstance(store, _LocalFolder) else ()
        self.folder: tuple[str, ...] = (*above, *parts(folder))

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent."""
        try:
            return super().read(path, limit=limit)
        except _NotMade:
            return None

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        try:
            return super().part(path, start, size)
        except _NotMade:
            return None

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory, None where there is neither."""
        try:
            return super().stamps(paths)
        except (_NotMade, Unreadable):
            # The paths are held to the rules all the same; "" is the root.
            return [None for path in paths if not path or parts(path)]

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name."""
        try:
            return super().list(under)
        except _NotMade:
            return []

    def target(self, path: str) -> str:
        """Return where a file would be written."""
        try:
            return super().target(path)
        except _NotMade:
            return "/".join(parts(path))

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        try:
            return super().write(path, data, expect=expect)
        except _NotMade:
            if expect is not None:
                raise Stale(path, expected=expect, found=None) from None
            self._make(path)
            return super().write(path, data, expect=None)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, of a file with `at` bytes where that is given."""
        try:
            return super().append(path, data, at=at)
        except _NotMade:
            if at:
                raise Stale(path, expected=str(at), found=None) from None
            self._make(path)
            return super().append(path, data, at=at)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        try:
            super().remove(path, expect=expect)
        except _NotMade:
            raise Stale(path, expected=expect, found=None) from None

    def _place_of(self, names: Sequence[str]) -> str:
        return super()._place_of((*self.folder, *names))

    def _opened(self) -> Root:
        with super()._opened() as root:
            fd = os.dup(root.fd)
            for name in self.folder:
                fd = _descended(fd, name)
        return Root(fd, tuple((*spelling, *self.folder) for spelling in root.spellings))

    @contextmanager
    def _changing(self, path: str, *, expect: str | None = None) -> Generator[tuple[Directory, str]]:
        with super()._changing(path, expect=expect) as (directory, name):
            # Unlike a root that was there before us, this one's own name must be made durable.
            yield replace(directory, is_root=False), name

    def _make(self, path: str) -> None:
        """Make the folder for its first file, each level durable before the next."""
        for name in parts(path):
            new_name(path, name)  # a path that is refused leaves no trace
        with typed_failures(path), super()._opened() as root:
            fd = os.dup(root.fd)
            try:
                for name in self.folder:
                    above = Directory(self._disk, fd, path)
                    with above.locked(self._lock_seconds):
                        above.make(name)
                    below = os.open(name, DIRECTORY, dir_fd=fd)
                    os.close(fd)
                    fd = below
            finally:
                os.close(fd)


def _descended(fd: int, name: str) -> int:
    """Open a directory in another, which is closed, without following a link that stands in its place."""
    try:
        return os.open(name, DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        raise _NotMade from None
    except PermissionError:
        raise Unreadable(".", "permission") from None
    except OSError as error:
        raise Unreadable(".", "link_outside" if _is_link(fd, name) else "not_directory") from error
    finally:
        os.close(fd)


def _is_link(fd: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=fd).st_mode)
    except OSError:
        return False
