"""Where bytes live: the FileStore port, its values, and what can go wrong with any store.

Paths are relative and '/'-separated; `paths.py` says which are allowed. Absent, empty and unreadable
are three different answers everywhere: None, b"" and `Unreadable`.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import Conflict, Unavailable

READ_LIMIT = 16 * 1024 * 1024
"""What `read` takes into memory unless told otherwise, in bytes."""

Stamp = tuple[int, int, int, int]
"""(inode, size, mtime_ns, ctime_ns) on a disk, any tuple elsewhere: equal means unchanged, once settled.

The last is when the store saw the last change, by the machine's clock where such a clock stamps it.
"""

SETTLED_NS = 2_000_000_000
"""A file that changed more recently may change again without its times showing it."""

AHEAD_NS = 600_000_000_000
"""A change that lies further ahead is from before the clock was set back: the next one has another time.

What lies ahead by less may be on a file server whose clock is.
"""

NEVER_NS = 2**63 - 1
"""When something last changed of which a store cannot tell that."""

Kind = Literal["file", "directory", "link", "special"]
"""A link that stays inside is what it leads to; "link" is one that leads outside, dangles or loops."""

Reason = Literal[
    "permission",
    "special_file",
    "directory",
    "not_directory",
    "link_outside",
    "link_loop",
    "too_large",
    "io_error",
    "not_utf8",
]


class Entry(Struct, frozen=True, kw_only=True):
    """One name in a directory.

    `path` is where it was listed, `target` where it leads inside the root (the same where no link is
    involved), and `identity` is equal for two paths exactly when they are one file.
    """

    path: str
    kind: Kind
    size: int
    modified_ns: int
    target: str
    identity: str
    links: int
    stamp: Stamp


class Content(Struct, frozen=True, kw_only=True):
    """The bytes of one file, their digest, and which file it is."""

    data: bytes
    digest: str
    target: str
    identity: str
    links: int


class Part(Struct, frozen=True, kw_only=True):
    """Some bytes of one file, and what is known of it without reading the rest."""

    data: bytes
    size: int
    modified_ns: int
    target: str
    identity: str
    links: int


_REASONS: dict[Reason, tuple[str, str]] = {
    "permission": ("permission denied", "Allow this user to read it, for example with chmod u+r."),
    "special_file": ("it is a pipe, socket or device", "Replace it with a regular file."),
    "directory": ("it is a directory", "Name a file inside it, or move the directory away."),
    "not_directory": (
        "a file stands where a directory is needed",
        "Move that file away, or name another path.",
    ),
    "link_outside": (
        "it is a link that leads outside the workspace",
        "Copy the file into the workspace instead.",
    ),
    "link_loop": (
        "its links lead round in a circle, or through too many others",
        "Point the link at the file.",
    ),
    "too_large": (
        "it is larger than may be read at once",
        "Split the file, or keep it out with .carrelignore.",
    ),
    "io_error": ("the disk reported an error", "Check the disk and try again."),
    "not_utf8": ("it is not UTF-8 text", "Save it as UTF-8."),
}


class Unreadable(Unavailable):
    """There is something at this path, but its bytes cannot be had."""

    code = "unreadable"

    def __init__(self, path: str, reason: Reason, *, detail: str = "") -> None:
        what, hint = _REASONS[reason]
        where = show(path) or "the folder itself"
        super().__init__(f"Cannot read {where}: {what}{f' ({detail})' if detail else ''}.", hint=hint)
        self.path = path
        self.reason: Reason = reason


class Stale(Conflict):
    """The file is not what the caller last saw; nothing was written."""

    code = "stale"

    def __init__(self, path: str, *, expected: str | None, found: str | None) -> None:
        if expected is None:
            message = f"{show(path)} exists already."
        elif found is None:
            message = f"{show(path)} is gone."
        else:
            message = f"{show(path)} was changed by somebody else in the meantime."
        super().__init__(message, hint="Read it again and repeat the change on what it says now.")
        self.path = path
        self.expected = expected
        self.found = found


class FileStore(Protocol):
    """Eight verbs over the files of one root; every mutation is durable when it returns."""

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent; what is there but cannot be read raises Unreadable."""
        ...

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent; else as `read` does."""
        ...

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory, None where there is neither; "" is the root."""
        ...

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name in code point order, none when it is absent."""
        ...

    def target(self, path: str) -> str:
        """Return where a file would be written, after all links: also those that lead to nothing yet."""
        ...

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        ...

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, after completing a last line that lacks its newline; return the size.

        With `at`, only to a file of that many bytes (0: or to none), so that nobody's lines come between
        what was read and what is added; else Stale is raised.
        """
        ...

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`; a link is removed, what it leads to stays."""
        ...


def is_settled(stamp: Stamp | None, seen_ns: int) -> bool:
    """Tell whether a stamp taken at this time proves, when it is met again, that nothing changed."""
    return stamp is None or not is_recent(stamp[3], seen_ns)


def is_recent(changed_ns: int, seen_ns: int) -> bool:
    """Tell whether what changed at a time may change again without its times showing it."""
    return seen_ns - SETTLED_NS <= changed_ns <= seen_ns + AHEAD_NS or changed_ns == NEVER_NS


def walk(store: FileStore, under: str = "", *, skip: Callable[[Entry], bool]) -> Iterator[Entry]:
    """Yield all below `under` that is not a directory, depth first, each directory's names sorted.

    A directory is entered once, by identity, so loops of links end; one reached by a link waits until
    the end, so that a file's own path wins over an alias. What cannot be read still appears: links
    that lead nowhere and special files as such, a directory that cannot be listed as itself.
    """
    entered = {under}
    aliases = deque[Entry]()
    pending = _beneath(under, store.list(under))
    while pending or aliases:
        entry, is_alias = pending.pop() if pending else (aliases.popleft(), False)
        if entry.identity in entered or entry.target in entered or skip(entry):
            continue
        if entry.kind != "directory":
            yield entry
        elif is_alias:
            aliases.append(entry)
        else:
            entered.update((entry.identity, entry.target))
            try:
                pending += _beneath(entry.target, store.list(entry.path))
            except Unreadable:
                yield entry


def directories(store: FileStore, *, skip: Callable[[str], bool]) -> Iterator[str]:
    """Yield the root and every directory below it, however deep; not links, nor what cannot be listed."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with suppress(Unreadable):
            entries = store.list(folder)
            yield folder
            own = (e.path for e in entries if e.kind == "directory" and e.target == e.path)
            pending += [path for path in own if not skip(path)]


def _beneath(directory: str, entries: list[Entry]) -> list[tuple[Entry, bool]]:
    """Return a directory's entries, last first, each with whether a link led to it."""
    prefix = f"{directory}/" if directory else ""
    own = [(e, e.target != prefix + e.path.rpartition("/")[2]) for e in entries]
    return own[::-1]


def show(path: str) -> str:
    """Return the path as a person may safely see it: control and undecodable characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in path)
