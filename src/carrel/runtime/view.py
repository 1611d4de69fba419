"""Who looks at the files, and what there is for them to see: the owner's view and everybody else's.

Scope is decided by `workspace.scope`; here its answer meets the bytes, so that what was asked about and
what is shown are the same.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal, TypeVar

from msgspec import Struct

from carrel.context.report import Report, Row
from carrel.errors import NotFound, Refused
from carrel.files import READ_LIMIT, Content, Entry, FileStore, Part, Unreadable, show
from carrel.files.paths import parts
from carrel.workspace.scope import FRONT_MATTER_BYTES, HiddenByScope, Privacy, Scope, says_private

Standing = Literal["in", "cut", "out", "private"]
Found = TypeVar("Found", Content, Part)

_STANDINGS: dict[str, Standing] = {
    "included": "in",
    "truncated": "cut",
    "excluded": "out",
    "unreadable": "out",
    "blocked": "out",
    "hidden": "private",
}
# The kinds of sections that are called by a path; others have names of their own.
_OF_FILES = frozenset({"document", "notebook", "layer", "journal", "knowledge", "skills"})


class NoSuchPath(NotFound):
    """There is nothing at this path."""

    code = "no_such_path"

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no {show(path)}.", hint="`carrel files tree` shows what there is.")
        self.path = path


class BinaryFile(Refused):
    """The file is no text that could be shown as it is."""

    code = "binary_file"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{show(path)} is not UTF-8 text.",
            hint="Open it with a program for its kind, or save it as UTF-8.",
        )
        self.path = path


class Verdict(Struct, frozen=True, gc=False):
    """What a report says of one path; no tokens where it did not count them for this file alone."""

    state: Standing
    reason: str | None
    tokens: int | None


class View(Struct, frozen=True, kw_only=True):
    """Who looks, beside which report.

    In shared scope private files do not exist. The owner who looks at a report of shared scope sees them
    marked "private".
    """

    verdicts: Mapping[str, Verdict] = {}
    exact: bool = False
    privacy: Privacy | None = None
    hides: bool = False
    """Whether private files are left out."""
    marks: bool = False
    """Whether private files are marked."""


BARE = View()
"""The owner's view without a report."""


def look(privacy: Privacy, report: Report | None = None, scope: Scope = Scope.MAIN) -> View:
    """Return the view of whoever is listening."""
    verdicts = dict[str, Verdict]()
    for row in report.sections if report else ():
        for name, verdict in _verdicts(row):
            verdicts.setdefault(name, verdict)
    hides = scope is Scope.SHARED
    marks = not hides and report is not None and report.scope == Scope.SHARED
    exact = report is not None and report.tokens.exact
    return View(verdicts=verdicts, exact=exact, privacy=privacy, hides=hides, marks=marks)


def fetch(files: FileStore, path: str, *, view: View = BARE, limit: int = READ_LIMIT) -> Content | None:
    """Return a file exactly as it is, if this view may see it; none when it is absent."""
    path = spelled(path)
    return looked_at(files, path, view, lambda: files.read(path, limit=limit))


def exact_text(path: str, content: Content) -> str:
    """Return a file's text with every byte accounted for, its byte order mark and newlines included."""
    try:
        text = content.data.decode()
    except UnicodeDecodeError:
        raise BinaryFile(path) from None
    if "\0" in text:
        raise BinaryFile(path)
    return text


def spelled(path: str) -> str:
    """Return a path in its one spelling, "" for the root; any name that a listing showed is allowed."""
    return "" if path in ("", ".", "./") else "/".join(parts(path))


def is_hidden(files: FileStore, entry: Entry, view: View) -> bool:
    """Tell whether this view must not know of an entry."""
    return view.hides and is_private(files, entry, view)


def is_private(files: FileStore, entry: Entry, view: View) -> bool:
    """Tell whether shared scope must not know of an entry; a file is asked what it says itself."""
    if view.privacy is None:
        return False
    is_kept = _is_kept(files, entry, view.privacy)
    return is_kept or (entry.kind == "directory" and holds_only_private(files, entry.target, view.privacy))


def _is_kept(files: FileStore, entry: Entry, privacy: Privacy) -> bool:
    """Tell whether an entry is private by itself, whatever a folder may hold."""
    if entry.kind == "directory":
        return privacy.covers_folder(entry.path, entry.target)
    if privacy.covers(entry.path, entry.target, entry.identity, entry.links):
        return True
    if entry.kind != "file":
        return False  # it has no bytes to show, or to ask
    try:
        head = files.part(entry.path, 0, FRONT_MATTER_BYTES)
    except Unreadable:
        return True  # it may say so, and nobody can tell
    return head is None or says_private(head.data, is_whole=head.size <= FRONT_MATTER_BYTES)


def holds_only_private(files: FileStore, folder: str, privacy: Privacy) -> bool:
    """Tell whether all that is in a folder is private, so that its name tells of nothing else.

    Folders are asked by where they really are, each once, so that loops of links end. Links to folders count
    where there is nothing else: one to what everybody may see makes no name public.
    """
    pending, asked, holds = [folder], {folder}, False
    while pending:
        try:
            inside = _inside(files, pending.pop())
        except Unreadable:
            holds = True  # what is in it may be private, and nobody can tell
            continue
        if not inside:
            return False
        for entry in inside:
            if _is_kept(files, entry, privacy):
                holds = True
            elif entry.kind != "directory":
                return False
            elif entry.target not in asked:
                asked.add(entry.target)
                pending.append(entry.target)
    return holds


def _inside(files: FileStore, folder: str) -> list[Entry]:
    """List what counts for a folder: what is its own, else the links to folders that it is made of."""
    inside = files.list(folder)
    return [entry for entry in inside if entry.kind != "directory" or entry.path == entry.target] or inside


@contextmanager
def discreet(path: str, view: View) -> Generator[None]:
    """Let a file that is private by what it holds be absent, since a refusal would say that it is there.

    What is private by its name alone is refused whether it is there or not.
    """
    try:
        yield
    except HiddenByScope:
        if view.privacy is None or view.privacy.covers_name(spelled(path)):
            raise
        raise NoSuchPath(path) from None


def is_unseen(files: FileStore, path: str, view: View) -> bool:
    """Tell whether what is at a path, or in its way, is not for this view, which is not told what it is.

    In its way is a file that stands where the path has a folder.
    """
    if not view.hides:
        return False
    names, found = spelled(path).split("/"), list[Entry]()
    with suppress(Unreadable):  # a file that stands where a folder would: it is the last that was found
        for depth in range(len(names)):
            inside, own = files.list("/".join(names[:depth])), "/".join(names[: depth + 1])
            found += [entry for entry in inside if entry.path == own]
    return bool(found) and is_private(files, found[-1], view)


def looked_at(files: FileStore, path: str, view: View, read: Callable[[], Found | None]) -> Found | None:
    """Return what was read if this view may see it; of what it may not, not even that it exists."""
    privacy = view.privacy
    if not view.hides or privacy is None:
        return read()
    if privacy.covers_name(path):
        raise HiddenByScope(path)
    try:
        found = read()
    except Unreadable as error:
        if error.reason == "too_large":
            looked_at(files, path, view, lambda: files.part(path, 0, FRONT_MATTER_BYTES))
        elif error.reason in ("permission", "io_error"):
            raise HiddenByScope(path) from None  # it may be private, and nobody can tell
        elif is_unseen(files, path, view):
            raise HiddenByScope(path) from None
        raise
    if found is None:
        return None
    beginning = found.data[:FRONT_MATTER_BYTES]
    is_whole = len(beginning) == (found.size if isinstance(found, Part) else len(found.data))
    is_covered = privacy.covers(path, found.target, found.identity, found.links)
    if is_covered or says_private(beginning, is_whole=is_whole):
        raise HiddenByScope(path)
    return found


def _verdicts(row: Row) -> Iterator[tuple[str, Verdict]]:
    """Yield the paths that a row speaks of; notebooks that are shown as one section have one row."""
    if row.kind not in _OF_FILES or row.state == "missing":
        return
    is_counted = row.raw_tokens > 0 or row.reason == "empty"
    state, reason = _STANDINGS[row.state], row.reason or None
    yield row.name, Verdict(state, reason, row.raw_tokens if is_counted else None)
    if row.kind == "layer" and ", " in row.name:
        for name in row.name.split(", "):
            yield name, Verdict(state, reason, None)
