"""How files lie in a bucket, and what the objects of one file say together.

A document is one object with the document's bytes, at PREFIX/TENANT/WORKSPACE/PATH, as any other tool
would put it there. A file that is added to is a log: its object begins with a line that names the log,
then comes what it said when the log began; what was added since are objects of their own, the segments,
numbered and never changed, in a place beside the workspace:

    acme/studio/memory/2026-04-24.md                           carrel-log ID, then the first lines
    acme/studio+log/=memory/2026-04-24.md/ID/000000000         empty: a log of this name was begun
    acme/studio+log/=memory/2026-04-24.md/ID/000000001         a token, then the next lines
    acme/studio+log/=memory/2026-04-24.md/ID/000000002         empty: the seal, nothing comes after it

Whoever adds creates the next number, if it is absent; whoever replaces or removes a log first seals it in
the same way, so that one of the two sees the other. The ID is in no other object ever, so a swap of the
first object by ETag cannot take one log for another.
"""

import hashlib
import secrets
import unicodedata
from collections.abc import Iterable, Sequence

from msgspec import Struct

from carrel.files import Entry, Stamp
from carrel.files.objects.bucket import Found
from carrel.files.paths import BadId, valid_id

KEY_BYTES = 1024
"""What every store takes as a key."""

_LOG, _GONE = b"carrel-log ", b"carrel-gone "
_ID = 32
LOG_BYTES, GONE_BYTES, TOKEN_BYTES = len(_LOG) + _ID + 1, len(_GONE) + _ID + 1, _ID + 1


class Head(Struct, frozen=True):
    """What the first object of a file is: a document, the beginning of a log, or what a removal left."""

    log: str = ""
    is_gone: bool = False


class Shape(Struct, frozen=True, kw_only=True):
    """The objects of one file, all but their bytes."""

    path: str
    head: Found
    log: str
    segments: tuple[Found, ...] = ()
    last: int = 0
    is_sealed: bool = False
    is_doubtful: bool = False
    """Whether the log may have ended between two looks; a third at the head then tells."""

    beside: tuple[Found, ...] = ()
    """All that is there of this and of earlier logs."""

    @property
    def offset(self) -> int:
        """Where the file's own bytes begin in its first object."""
        return LOG_BYTES if self.log else 0

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return self.head.size - self.offset + sum(found.size - TOKEN_BYTES for found in self.segments)

    @property
    def stamp(self) -> Stamp:
        """What changes when the file does."""
        # An ETag is another one when the bytes are, so no clock has to tell when a stamp is settled.
        told = "\n".join(f"{found.key} {found.e_tag}" for found in (self.head, *self.segments))
        return (_mark(told), self.size, self.changed_ns, 0)

    @property
    def changed_ns(self) -> int:
        """When that was last, by the store's clock."""
        return max(found.changed_ns for found in (self.head, *self.segments))

    @property
    def entry(self) -> Entry:
        """The file as a listing shows it."""
        return Entry(
            path=self.path, kind="file", size=self.size, modified_ns=self.changed_ns, target=self.path,
            identity=self.path, links=1, stamp=self.stamp,
        )  # fmt: skip


class Places(Struct, frozen=True):
    """The keys of one workspace."""

    root: str

    def head(self, path: str) -> str:
        """Return where the first object of a file is, and most often the only one."""
        return f"{self.root}/{path}" if path else self.root

    def logs(self, folder: str) -> str:
        """Return where the logs of a folder's own files are."""
        return f"{self.root}+log/={_one(folder)}"

    def segments(self, path: str) -> str:
        """Return where the logs of one file are."""
        folder, _, name = path.rpartition("/")
        return f"{self.logs(folder)}/{name}"

    def segment(self, path: str, log: str, number: int) -> str:
        """Return where one segment of a log is."""
        return f"{self.segments(path)}/{log}/{number:09}"

    def holds(self, path: str) -> bool:
        """Tell whether there can be a file of this path; a disk may hold others."""
        is_text = not any(unicodedata.category(c) in ("Cc", "Cs") for c in path)
        return is_text and len(self.segment(path, "0" * _ID, 0).encode()) <= KEY_BYTES


def places(prefix: Sequence[str], tenant: str, workspace: str) -> Places:
    """Return the keys of a workspace; no two of them share one."""
    if not workspace.strip("."):
        raise BadId(workspace)
    return Places("/".join([*prefix, valid_id(tenant), _one(workspace)]))


def new_id() -> str:
    """Return what nobody has used, for a log or a segment."""
    return secrets.token_hex(_ID // 2)


def head_of(data: bytes) -> Head:
    """Return what an object is by its first bytes, of which LOG_BYTES and one more are enough."""
    if data.startswith(_LOG) and _is_id(data[len(_LOG) : LOG_BYTES]):
        return Head(log=data[len(_LOG) : LOG_BYTES - 1].decode())
    return Head(is_gone=len(data) == GONE_BYTES and data.startswith(_GONE) and _is_id(data[len(_GONE) :]))


def log_head(log: str, body: bytes) -> bytes:
    """Return the first object of a log."""
    return _LOG + log.encode() + b"\n" + body


def gone_head() -> bytes:
    """Return what stands for a removed file, for the moment until its object is removed too."""
    return _GONE + new_id().encode() + b"\n"


def segment(lines: bytes) -> bytes:
    """Return an object that no other call could have made."""
    return new_id().encode() + b"\n" + lines


def shape_of(path: str, head: Found, log: str, beside: Iterable[Found]) -> Shape:
    """Return a file's shape from what is listed of its logs."""
    beside = tuple(beside)
    numbered = {
        int(number): found
        for found in beside
        for _, this, number in [found.key.rsplit("/", 2)]
        if log and this == log and number.isdecimal()
    }
    segments = [numbered[number] for number in sorted(numbered) if numbered[number].size > TOKEN_BYTES]
    is_sealed = len(segments) < len(numbered.keys() - {0})
    return Shape(
        path=path, head=head, log=log, segments=tuple(segments), last=max(numbered, default=0),
        is_sealed=is_sealed, is_doubtful=bool(log) and (is_sealed or 0 not in numbered), beside=beside,
    )  # fmt: skip


def folder_entry(path: str, names: Iterable[str]) -> Entry:
    """Return the entry of a directory in which these names are."""
    return Entry(
        path=path, kind="directory", size=0, modified_ns=0, target=path, identity=path, links=1,
        stamp=folder_stamp(names),
    )  # fmt: skip


def folder_stamp(names: Iterable[str]) -> Stamp:
    """Return the stamp of a directory, which changes when a name comes or goes."""
    known = sorted(names)
    return (0, len(known), _mark("/".join(known)), 0)


def _one(name: str) -> str:
    """Return a name or path as one part of a key."""
    return name.replace("%", "%25").replace("/", "%2F").replace("+", "%2B")


def _is_id(text: bytes) -> bool:
    return text.endswith(b"\n") and len(text) == _ID + 1 and text[:-1].isalnum() and text.isascii()


def _mark(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])
