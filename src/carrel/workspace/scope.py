"""Who is listening, and what they may see: the one place where privacy is decided."""

from collections.abc import Callable
from enum import StrEnum
from functools import cache

from carrel.errors import Refused, UsageError
from carrel.files.paths import fold, is_own
from carrel.markdown.frontmatter import parse
from carrel.settings import LAYOUT_FILE
from carrel.workspace.document import Document, Reading
from carrel.workspace.ignore import IGNORE_FILE
from carrel.workspace.layout import Layout
from carrel.workspace.manifest import MANIFEST_FILE

FRONT_MATTER_BYTES = 4 * 65_536
"""A file's first bytes that decide whether it calls itself private."""


SETTINGS = frozenset(("carrel.yaml", MANIFEST_FILE, IGNORE_FILE))
"""Files that decide what an agent is, may do and is told; so do descriptions of layouts."""


class Scope(StrEnum):
    """`main` is the owner alone; `shared` is anyone else, and anything unknown."""

    MAIN = "main"
    SHARED = "shared"


class UnknownScope(UsageError):
    """A scope was asked for that does not exist."""

    code = "unknown_scope"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no scope {name!r}.", hint="Use main (the owner alone) or shared (anyone else)."
        )


class HiddenByScope(Refused):
    """Shared scope asked for what only the owner may see; whether it exists is not said."""

    code = "hidden_by_scope"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is not for shared scope.", hint="Only the owner, in main scope, may see it."
        )


def parse_scope(name: str) -> Scope:
    """Return the scope of this name; there is no default for a wrong one."""
    try:
        return Scope(name)
    except ValueError:
        raise UnknownScope(name) from None


class Privacy:
    """Which files a layout keeps for its owner.

    A file is private by any of its names: the one asked for, the one a link leads to, and, where it
    has several hard links, the identity it shares with a private file. Names compare without case
    and Unicode form, so that a twin on another file system cannot differ from its original.
    """

    def __init__(self, layout: Layout, identities: Callable[[], frozenset[str]]) -> None:
        self._private = tuple(_folded(pattern) for pattern in layout.private)
        self._shows = tuple(_folded(name) for name in layout.shared_shows)
        self._identities = cache(identities)

    def covers(self, path: str, target: str, identity: str, links: int) -> bool:
        """Tell whether shared scope must not see this file."""
        if is_own(path) or is_own(target) or sets_up(path) or sets_up(target):
            return True
        if self._shows and not _matches(_folded(path), self._shows):
            return True
        if any(_matches(_folded(name), self._private) for name in (path, target)):
            return True
        return links > 1 and identity in self._identities()

    def covers_document(self, document: Document) -> bool:
        """Tell whether shared scope must not see this document, which may also say so itself."""
        return document.meta.private or self.covers(
            document.path, document.target, document.identity, document.links
        )

    def covers_name(self, path: str) -> bool:
        """Tell whether a path is private by its name alone."""
        return self.covers(path, path, "", 1)

    def covers_folder(self, path: str, target: str) -> bool:
        """Tell whether shared scope must not know of this folder, since nothing in it is for its eyes."""
        return self.covers(f"{path}/", f"{target}/", "", 1)


def says_private(beginning: bytes, *, is_whole: bool) -> bool:
    """Tell whether a file's first bytes say that it is private; more forgiving than `decode`.

    A broken character elsewhere must not make a private file public, and comments that run on beyond
    what was read may still say so.
    """
    text = beginning.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    parsed = parse(text)
    runs_on = not is_whole and text.startswith("<!--") and "\n" not in parsed.body
    return parsed.meta.private or runs_on


def _folded(name: str) -> str:
    return "/".join(fold(part) for part in name.split("/"))


def sets_up(path: str) -> bool:
    """Tell whether a file, by its name, decides what an agent is, may do and is told, or could be made to."""
    name = fold(path.rpartition("/")[2])
    return name in SETTINGS or name.endswith(LAYOUT_FILE)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Match a folder (`memory/**`) by prefix, and a bare file name in any folder."""
    name = path.rpartition("/")[2]
    for pattern in patterns:
        if pattern.endswith("/**"):
            if path.startswith(pattern[:-2]):
                return True
        elif pattern in (path, name):
            return True
    return False


def private_identities(reading: Reading, layout: Layout) -> frozenset[str]:
    """Return the identities of all private files, to recognise one by another of its hard links.

    Looked for where the layout keeps them: its private folders, and the folders that private names are in.
    """
    private = tuple(_folded(pattern) for pattern in layout.private)
    found: set[str] = set()
    folders = ["", layout.home.rstrip("/"), *(p[:-3] for p in layout.private if p.endswith("/**"))]
    visited: set[str] = set()
    while folders:
        for entry in reading.list(folders.pop()):
            is_private = _matches(_folded(entry.path), private)
            if entry.kind == "file" and is_private:
                found.add(entry.identity)
            elif entry.kind == "directory" and is_private and entry.identity not in visited:
                visited.add(entry.identity)
                folders.append(entry.path)
    return frozenset(found)


def privacy_of(layout: Layout, reading: Reading) -> Privacy:
    """Return which files of a workspace are private, as far as its files tell now."""
    return Privacy(layout, lambda: private_identities(reading, layout))


def read_scoped(reading: Reading, layout: Layout, path: str, scope: Scope) -> Document | None:
    """Return a document if this scope may see it; the one door for every surface that reads by path."""
    document = reading.document(path)
    if scope is Scope.SHARED:
        privacy = privacy_of(layout, reading)
        if privacy.covers_name(path) or (document is not None and privacy.covers_document(document)):
            raise HiddenByScope(path)
    return document
