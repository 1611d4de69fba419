"""The tree of a workspace's files, folder by folder or as one stream, with what each is in the context.

Nothing here reads more than it shows: a folder costs its listing.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from carrel.context.render import one_line
from carrel.files import Entry, FileStore, Kind, Unreadable
from carrel.files.paths import OWN_FOLDERS
from carrel.runtime.view import (
    BARE,
    NoSuchPath,
    Standing,
    View,
    is_hidden,
    is_private,
    is_unseen,
    spelled,
)
from carrel.workspace.scope import HiddenByScope

DEEPEST = 256
"""Folders inside each other that a walk enters: the way to each is walked anew, so more would cost dearly."""

BYTES_PER_TOKEN = 4
NANOSECONDS = 1_000_000_000

Lasts = tuple[bool, ...]
"""For a node and each folder above it, outermost first: whether it is the last of its folder."""

_TEXT_SUFFIXES = frozenset({
    "md", "markdown", "mdx", "txt", "text", "rst", "adoc", "org", "log", "json", "jsonl", "ndjson", "yaml",
    "yml", "toml", "ini", "cfg", "conf", "env", "csv", "tsv", "xml", "html", "htm", "css", "scss", "js",
    "mjs", "cjs", "ts", "tsx", "jsx", "vue", "svelte", "py", "pyi", "rb", "go", "rs", "c", "h", "cc", "cpp",
    "hpp", "cs", "java", "kt", "swift", "php", "pl", "lua", "r", "jl", "sh", "bash", "zsh", "fish", "ps1",
    "bat", "sql", "graphql", "proto", "tex", "srt", "vtt", "svg", "diff", "patch",
})  # fmt: skip
_TEXT_NAMES = frozenset({
    "readme", "license", "licence", "notice", "authors", "changelog", "makefile", "dockerfile", "justfile",
    "gitignore", "gitattributes", "editorconfig", "carrelignore",
})  # fmt: skip


class Node(Struct, frozen=True, kw_only=True, gc=False):
    """One name in the tree.

    `tokens` is what its whole text costs: exact where the report counted it, else estimated from its size,
    none for what is not text. `state` is none where the layout does not consider the file; `reason` says why
    it is cut or out, or why a folder is not opened. `target` is where a link leads.
    """

    path: str
    kind: Kind
    size: int
    modified: str | None
    tokens: int | None = None
    tokens_exact: bool = False
    state: Standing | None = None
    reason: str | None = None
    target: str | None = None


class Beside(Struct, frozen=True, kw_only=True):
    """One node, and those of its folder before it, nearest first, and after it, each made when asked for.

    `number` is how many are before it; none where only asking each of them would tell.
    """

    before: Iterator[Node]
    node: Node | None = None
    after: Iterator[Node]
    number: int | None = 0


class Totals(Struct, kw_only=True):
    """The sum over nodes; `other` are links that lead nowhere inside, pipes, sockets and devices."""

    files: int = 0
    directories: int = 0
    other: int = 0
    bytes: int = 0
    tokens: int = 0
    tokens_exact: bool = True

    def add(self, node: Node) -> None:
        """Count one more node."""
        if node.kind == "directory":
            self.directories += 1
        elif node.kind == "file":
            self.files += 1
            self.bytes += node.size
            if node.tokens is not None:
                self.tokens += node.tokens
                self.tokens_exact = self.tokens_exact and node.tokens_exact
        else:
            self.other += 1


def tree(
    files: FileStore, under: str = "", *, view: View = BARE, everything: bool = False, after: str = ""
) -> Iterator[Node]:
    """Return the nodes of one folder by name, each made when it is asked for.

    What Carrel and git keep for themselves is shown closed unless `everything` is. Of the names up to
    `after` none is looked at.
    """
    entries = _entries(files, under, view)
    if after:
        last = f"{spelled(under)}/{after}" if under else after
        entries = entries[bisect_right(entries, last, key=lambda entry: entry.path) :]
    return _nodes(files, entries, view, everything=everything)


def listed(files: FileStore, under: str = "", *, view: View = BARE) -> list[Entry]:
    """Return what one folder holds, sorted by name; nothing where it is absent, or as good as absent."""
    try:
        entries = _entries(files, under, view)
    except (NoSuchPath, HiddenByScope):
        return []
    return [entry for entry in entries if not is_hidden(files, entry, view)]


def beside(files: FileStore, path: str, *, view: View = BARE) -> Beside:
    """Return what is at a path, among the nodes of its folder.

    Where nothing is, or nothing that this view may know of, all nodes come after it.
    """
    entries = _entries(files, path.rpartition("/")[0], view)
    place = next((number for number, entry in enumerate(entries) if entry.path == path), None)
    if place is not None:
        for node in _nodes(files, entries[place : place + 1], view, everything=False):
            return Beside(
                before=_nodes(files, entries[:place][::-1], view, everything=False),
                node=node,
                after=_nodes(files, entries[place + 1 :], view, everything=False),
                number=None if view.hides else place,
            )
    return Beside(before=iter(()), after=_nodes(files, entries, view, everything=False))


def walk(
    files: FileStore,
    under: str = "",
    *,
    view: View = BARE,
    everything: bool = False,
    depth: int | None = None,
) -> Iterator[Node]:
    """Return the nodes of a folder and of all folders in it, depth first, each folder before its content."""
    steps = outline(files, under, view=view, everything=everything, depth=depth)
    return (node for node, _ in steps)


def outline(
    files: FileStore,
    under: str = "",
    *,
    view: View = BARE,
    everything: bool = False,
    depth: int | None = None,
) -> Iterator[tuple[Node, Lasts]]:
    """Walk, and tell for each node and the folders above it whether it is the last of its folder.

    A folder is entered under its own path only: one that a link leads to is shown and not entered, so
    loops end and nothing is counted twice. One that cannot be listed says why.
    """
    entries = _entries(files, under, view)
    home = _home(files, spelled(under), entries)
    return _outline(files, entries, home, view, everything=everything, depth=depth)


def total(nodes: Iterable[Node]) -> Totals:
    """Return the sum over nodes."""
    totals = Totals()
    for node in nodes:
        totals.add(node)
    return totals


def _entries(files: FileStore, under: str, view: View) -> list[Entry]:
    """List a folder that this view may know of; an absent one is an error, unlike in a store."""
    under = spelled(under)
    if view.hides and view.privacy is not None and under and view.privacy.covers_folder(under, under):
        raise HiddenByScope(under)
    try:
        entries = files.list(under)
    except Unreadable:
        if is_unseen(files, under, view):
            raise NoSuchPath(under) from None
        raise
    is_absent = not entries and under and files.stamps([under])[0] is None
    if is_absent or is_unseen(files, under, view):
        raise NoSuchPath(under)
    return entries


def _nodes(files: FileStore, entries: Sequence[Entry], view: View, *, everything: bool) -> Iterator[Node]:
    if not view.hides and not view.marks:
        return (_node(entry, view, everything=everything) for entry in entries)
    return _scoped_nodes(files, entries, view, everything=everything)


def _scoped_nodes(
    files: FileStore, entries: Sequence[Entry], view: View, *, everything: bool
) -> Iterator[Node]:
    for entry in entries:
        if not is_private(files, entry, view):
            yield _node(entry, view, everything=everything)
        elif view.marks:
            yield replace(_node(entry, view, everything=everything), state="private", reason="scope")


def _node(entry: Entry, view: View, *, everything: bool) -> Node:
    path, kind, size = entry.path, entry.kind, entry.size
    name = path[path.rfind("/") + 1 :]
    verdict = view.verdicts.get(path if path.isprintable() else one_line(path))
    tokens, is_exact, reason = None, False, verdict.reason if verdict else None
    if kind == "file":
        tokens = verdict.tokens if verdict else None
        is_exact = tokens is not None and view.exact
        if tokens is None and _is_text(name):
            tokens = -(-size // BYTES_PER_TOKEN)
    elif kind == "directory" and name in OWN_FOLDERS and not everything:
        reason = "closed"
    return Node(
        path=path,
        kind=kind,
        size=size if kind == "file" else 0,
        modified=iso(entry.modified_ns),
        tokens=tokens,
        tokens_exact=is_exact,
        state=verdict.state if verdict else None,
        reason=reason,
        target=None if entry.target == path else entry.target,
    )


def _outline(
    files: FileStore, entries: Sequence[Entry], home: str, view: View, *, everything: bool, depth: int | None
) -> Iterator[tuple[Node, Lasts]]:
    """Walk with a stack of our own, one level for each folder that is open."""
    stack = [(home, _flagged(_nodes(files, entries, view, everything=everything), ()))]
    while stack:
        above, nodes = stack[-1]
        step = next(nodes, None)
        if step is None:
            stack.pop()
            continue
        node, lasts = step
        if node.kind != "directory" or len(stack) == depth or not _is_entered(node, above):
            yield step
            continue
        node, below = _opened(files, node) if len(stack) < DEEPEST else (replace(node, reason="too_deep"), [])
        yield node, lasts
        inner = _flagged(_nodes(files, below, view, everything=everything), lasts)
        stack.append((_real(node), inner))


def _flagged(nodes: Iterator[Node], above: Lasts) -> Iterator[tuple[Node, Lasts]]:
    """Tell the last of some nodes from the others, one node behind."""
    inner, last = (*above, False), (*above, True)
    node = next(nodes, None)
    if node is None:
        return
    for following in nodes:
        yield node, inner
        node = following
    yield node, last


def _is_entered(node: Node, above: str) -> bool:
    """Tell whether a folder stands here by its own name and is not closed."""
    name = node.path[node.path.rfind("/") + 1 :]
    own = f"{above}/{name}" if above else name
    return _real(node) == own and node.reason != "closed"


def _real(node: Node) -> str:
    return node.path if node.target is None else node.target


def _opened(files: FileStore, node: Node) -> tuple[Node, list[Entry]]:
    try:
        return node, files.list(node.path)
    except Unreadable as error:
        return replace(node, reason=error.reason), []


def _home(files: FileStore, under: str, entries: Sequence[Entry]) -> str:
    """Return where a folder really is: a link may have led to it, or to a folder in it."""
    if not under or all(e.target == e.path for e in entries if e.kind == "directory"):
        return under
    beside = files.list(under.rpartition("/")[0])
    return next((entry.target for entry in beside if entry.path == under), under)


def _is_text(name: str) -> bool:
    return suffix(name) in _TEXT_SUFFIXES or name.lower().lstrip(".") in _TEXT_NAMES


def suffix(name: str) -> str:
    """Return what stands after the last dot, in lower case."""
    return name[name.rfind(".") + 1 :].lower()


def iso(nanoseconds: int) -> str | None:
    """Return a file's time in UTC, to the second; none for years that no calendar has."""
    return _iso_second(nanoseconds // NANOSECONDS)


@lru_cache(maxsize=4096)
def _iso_second(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None  # a file system can hold them
