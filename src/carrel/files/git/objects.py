"""What a repository holds: read with pygit2, packed or not, and written one by one, each durable.

An object is named after what it says, so writing one again changes nothing.
"""

import re
import stat
import zlib
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha1
from struct import pack
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from carrel.files import READ_LIMIT
from carrel.files.durable import Directory
from carrel.files.git import damaged, refused
from carrel.files.git.folder import Folder

if TYPE_CHECKING:
    from pygit2 import Odb

Kind = Literal["commit", "tree", "blob"]

FILE = b"100644"
_TREE = b"40000"
ELSEWHERE = (b"120000", b"160000")
"""A link, and a repository of its own: what lies behind either is not this repository's."""

_NUMBERS: dict[Kind, int] = {"commit": 1, "tree": 2, "blob": 3}
_FAST = 1
_LARGE = 512 * 1024
"""How hard to compress: not much, and from this size on not at all; git does it properly when it packs.

At a megabyte it would take longer than all the rest of a commit.
"""

_STORED = b"\x78\x01"
_BLOCK = 0xFFFF
"""How a stream begins that compresses nothing, and what one block of it holds."""

_ID = re.compile(r"[0-9a-f]{40}")
_ID_BYTES = 20


class Item(Struct, frozen=True):
    """One name in a tree: what it is and which object has it."""

    mode: bytes
    name: bytes
    id: str


class Commit(Struct, frozen=True, kw_only=True):
    """A commit; `author` and `committer` are lines with a name, an address and a time."""

    tree: str
    parents: tuple[str, ...] = ()
    author: str
    committer: str
    message: str

    @property
    def at(self) -> int:
        """When it was made, in seconds since 1970; 0 where that cannot be told."""
        words = self.committer.split()
        return int(words[-2]) if len(words) > 1 and words[-2].isdecimal() else 0


class Objects:
    """The objects of one repository, as long as that is held."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._packs: Odb | None = None
        self._unsynced: set[str] = set()

    def read(self, kind: Kind, name: str) -> bytes:
        """Return what an object says; one that is missing, or not what it should be, is a damage."""
        from pygit2 import GitError, Odb, Oid  # noqa: PLC0415 - loads slowly, and most commands commit nothing

        self._refuse_odd(name)
        try:
            if self._packs is None:
                self._packs = Odb(str(self._folder.path))
            found, size = self._packs.read_header(Oid(hex=name))
            if found != _NUMBERS[kind] or size > READ_LIMIT:
                raise damaged(f"the object {name} is no {kind}, or too large")
            return self._packs.read(Oid(hex=name))[1]
        except (GitError, KeyError, ValueError) as error:
            raise damaged(f"the object {name} cannot be read") from error

    def write(self, kind: Kind, data: bytes, name: str | None = None) -> str:
        """Keep an object, and return its name, which may be known; it may be relied on after `sync`."""
        name = name or _name_of(kind, data)
        folder, fan = self._folder, name[:2]
        if folder.look(fan) is None:
            with suppress(FileExistsError):  # git was faster
                folder.disk.mkdir(fan, directory=folder.fd)
            self._unsynced.add("")
        directory = Directory(folder.disk, folder.fd, folder.name)
        with directory.temporary(_packed(kind, data), like=None) as temporary:
            folder.disk.rename(temporary, f"{fan}/{name[2:]}", directory=folder.fd)
        self._unsynced.add(fan)
        return name

    def sync(self) -> None:
        """Make the names of all that was written durable; what they name is already."""
        for fan in sorted(self._unsynced, reverse=True):
            with self._folder.inside(*filter(None, [fan])) as folder:
                folder.disk.fsync(folder.fd)
        self._unsynced.clear()

    def commit(self, name: str) -> Commit:
        """Return a commit."""
        head, _, message = self.read("commit", name).decode(errors="replace").partition("\n\n")
        lines = [(key, value) for key, _, value in (line.partition(" ") for line in head.split("\n"))]
        first = dict(reversed(lines))
        return Commit(
            tree=first.get("tree", ""),
            parents=tuple(value for key, value in lines if key == "parent"),
            author=first.get("author", ""),
            committer=first.get("committer", ""),
            message=message,
        )

    def write_commit(self, commit: Commit) -> str:
        """Keep a commit, and return its name."""
        head = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
        head += [f"author {commit.author}", f"committer {commit.committer}"]
        return self.write("commit", ("\n".join(head) + f"\n\n{commit.message}").encode(errors="replace"))

    def find(self, tree: str | None, names: Sequence[bytes]) -> Item | None:
        """Return what a path leads to in a tree; one that leads behind a link is refused."""
        levels = self._levels(tree, names)
        return _named(levels[-1], names[-1]) if len(levels) == len(names) else None

    def edited(self, tree: str | None, names: Sequence[bytes], item: Item | None) -> str:
        """Return the tree with this item at a path, or with none; no folder stays that holds nothing."""
        levels = self._levels(tree, names)
        levels += [[] for _ in range(len(names) - len(levels))]
        for name, items in zip(reversed(names), reversed(levels), strict=True):
            rest = [other for other in items if other.name != name]
            if item is not None:
                rest.append(Item(item.mode, name, item.id))
            item = Item(_TREE, b"", self.write("tree", _encoded(rest))) if rest else None
        return item.id if item else self.write("tree", b"")

    def _levels(self, tree: str | None, names: Sequence[bytes]) -> list[list[Item]]:
        """Return what is in each folder along a path, as far as there are folders."""
        levels: list[list[Item]] = []
        for name in names:
            if tree is None:
                break
            levels.append(_items(self.read("tree", tree)))
            found = _named(levels[-1], name)
            if found and found.mode in ELSEWHERE:
                shown = name.decode(errors="replace")
                raise refused(f"git keeps {shown} as a link, or as a repository of its own")
            tree = found.id if found and found.mode == _TREE else None
        return levels

    def _refuse_odd(self, name: str) -> None:
        """Refuse an object that is no plain file: a pipe would never be read to its end."""
        if not _ID.fullmatch(name):
            raise damaged("an object in it has no proper name")
        found = self._folder.look(f"{name[:2]}/{name[2:]}")
        if found and not stat.S_ISREG(found.st_mode):
            raise refused(f"the object {name} is no plain file")


def blob_id(data: bytes) -> str:
    """Return the name of the object that holds these bytes."""
    return _name_of("blob", data)


def _name_of(kind: Kind, data: bytes) -> str:
    sha = sha1(_head(kind, data), usedforsecurity=False)
    sha.update(data)
    return sha.hexdigest()


def _head(kind: Kind, data: bytes) -> bytes:
    return f"{kind} {len(data)}\0".encode()


def _packed(kind: Kind, data: bytes) -> bytes:
    """Return an object as it is kept; zlib would take five times as long to compress nothing."""
    head = _head(kind, data)
    if len(data) < _LARGE:
        return zlib.compress(head + data, _FAST)
    rest = memoryview(data)
    parts: list[bytes | memoryview] = [_STORED, _block(len(head), is_last=False), head]
    while rest:
        block, rest = rest[:_BLOCK], rest[_BLOCK:]
        parts += (_block(len(block), is_last=not rest), block)
    return b"".join((*parts, pack(">I", zlib.adler32(data, zlib.adler32(head)))))


def _block(size: int, *, is_last: bool) -> bytes:
    return pack("<?HH", is_last, size, size ^ _BLOCK)


def _named(items: Sequence[Item], name: bytes) -> Item | None:
    return next((item for item in items if item.name == name), None)


def _items(data: bytes) -> list[Item]:
    items: list[Item] = []
    place = 0
    while place < len(data):
        end = data.find(b"\0", place)
        mode, _, name = data[place:end].partition(b" ")
        place = end + 1 + _ID_BYTES
        if end < 0 or place > len(data):
            raise damaged("a tree in it is cut off")
        items.append(Item(mode, name, data[place - _ID_BYTES : place].hex()))
    return items


def _encoded(items: Sequence[Item]) -> bytes:
    ordered = sorted(items, key=lambda item: item.name + (b"/" if item.mode == _TREE else b""))
    return b"".join(b"%s %s\0%s" % (item.mode, item.name, bytes.fromhex(item.id)) for item in ordered)
