"""Documents: Markdown files read, decoded and parsed, each once per change."""

import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from carrel.files import Entry, FileStore, Reason, Stamp, Unreadable, is_settled
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.markdown.frontmatter import Meta, parse

DOCUMENT_LIMIT = 2 * 1024 * 1024
"""Bytes beyond which a file is not a document: twenty times what any prompt would take of it."""


class Document(Struct, frozen=True, kw_only=True):
    """One Markdown file: what it says about itself, its text without that, and how to recognise it.

    `problem` says why there is no text although there is a file; `verbatim` is the text with front matter.
    """

    path: str
    text: str = ""
    verbatim: str = ""
    meta: Meta = Meta()
    digest: str = ""
    target: str = ""
    identity: str = ""
    links: int = 1
    problem: Reason | None = None
    warnings: tuple[str, ...] = ()


class Listing(Struct, frozen=True, kw_only=True):
    """What a folder holds, or why that cannot be told."""

    entries: tuple[Entry, ...] = ()
    problem: Reason | None = None


class Documents:
    """The documents of one FileStore, cached by stamp.

    An equal stamp proves equal bytes once it is settled, so that a cached document is as good as a read; what
    is not settled yet is not cached. Without a stamp there is nothing there: what stands in the way, like a
    file above it, could go without a trace, and is not cached either.
    """

    def __init__(self, files: FileStore) -> None:
        self._files = files
        self._cache: dict[str, tuple[Stamp | None, Document | None]] = {}
        self._listings: dict[str, tuple[Stamp | None, Listing]] = {}

    @property
    def is_near(self) -> bool:
        """Whether looking at a file asks nobody else: a disk of this machine answers, or its memory."""
        return isinstance(self._files, LocalFiles | EphemeralFiles)

    def reading(self) -> "Reading":
        """Begin to read, keeping account of what was looked at."""
        return Reading(self)

    def stamps(self, paths: Sequence[str]) -> dict[str, Stamp | None]:
        """Return what tells whether each of these is still the same."""
        return dict(zip(paths, self._files.stamps(paths), strict=True)) if paths else {}

    def load(self, paths: Sequence[str], seen: dict[str, Stamp | None]) -> list[Document | None]:
        """Return the documents at these paths, none where there is no file."""
        seen_ns = time.time_ns()
        stamps = self._files.stamps(paths)
        seen.update(zip(paths, stamps, strict=True))
        return [self._load(path, stamp, seen_ns) for path, stamp in zip(paths, stamps, strict=True)]

    def list(self, folder: str, seen: dict[str, Stamp | None]) -> Listing:
        """Return what a folder holds, sorted; nothing where there is no such folder."""
        seen_ns = time.time_ns()
        stamp = self._files.stamps([folder])[0]
        seen[folder] = stamp
        known = self._listings.get(folder)
        if known is None or known[0] != stamp:
            known = (stamp, _listing(self._files, folder))
            if is_settled(stamp, seen_ns) and not (stamp is None and known[1].problem):
                self._listings[folder] = known
        return known[1]

    def _load(self, path: str, stamp: Stamp | None, seen_ns: int) -> Document | None:
        known = self._cache.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, _read(self._files, path))
            if is_settled(stamp, seen_ns) and not (stamp is None and known[1]):
                self._cache[path] = known
        return known[1]


class Reading:
    """One pass over documents; `seen` is everything its outcome depends on."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._began_ns = time.time_ns()
        self.seen: dict[str, Stamp | None] = {}
        self.read: dict[str, Document | None] = {}
        self.problems: dict[str, Reason] = {}

    def is_settled(self) -> bool:
        """Tell whether all that was seen can be recognised as unchanged later."""
        return all(is_settled(stamp, self._began_ns) for stamp in self.seen.values())

    def documents(self, paths: Sequence[str]) -> list[Document | None]:
        """Return the documents at these paths, none where there is no file; each is looked at once."""
        if missing := [path for path in paths if path not in self.read]:
            self.read.update(zip(missing, self._documents.load(missing, self.seen), strict=True))
        return [self.read[path] for path in paths]

    def document(self, path: str) -> Document | None:
        """Return the document at this path."""
        return self.documents([path])[0]

    def list(self, folder: str) -> tuple[Entry, ...]:
        """Return what a folder holds, sorted; one that cannot be listed holds nothing and is a problem."""
        listing = self._documents.list(folder, self.seen)
        if listing.problem:
            self.problems[folder] = listing.problem
        return listing.entries


def decode(path: str, data: bytes) -> Document:
    """Make a document of a file's bytes: BOM dropped, newlines LF, trailing white space off, meta apart."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Document(path=path, problem="not_utf8")
    text = text.replace("\r\n", "\n").rstrip()
    parsed = parse(text)
    return Document(path=path, text=parsed.body, verbatim=text, meta=parsed.meta, warnings=parsed.problems)


def _read(files: FileStore, path: str) -> Document | None:
    try:
        content = files.read(path, limit=DOCUMENT_LIMIT)
    except Unreadable as error:
        return Document(path=path, problem=error.reason)
    if content is None:
        return None
    return replace(
        decode(path, content.data),
        digest=content.digest,
        target=content.target,
        identity=content.identity,
        links=content.links,
    )


def _listing(files: FileStore, folder: str) -> Listing:
    try:
        return Listing(entries=tuple(files.list(folder)))
    except Unreadable as error:
        return Listing(problem=error.reason)
