"""What an explorer shows of a workspace: its tree, folder by folder or as one stream, and previews.

Nothing here reads more than it shows: a folder costs its listing, a preview its first bytes. Who listens
decides what there is to see, by the door in `workspace.scope`.
"""

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, TypeVar

from msgspec import DecodeError, Struct, json, to_builtins
from msgspec.structs import replace

from carrel.context.render import one_line
from carrel.context.report import Report, Row
from carrel.errors import NotFound, Refused
from carrel.files import READ_LIMIT, Content, Entry, FileStore, Head, Heads, Kind, Reason, Unreadable, show
from carrel.files.paths import parts
from carrel.workspace.scope import (
    FRONT_MATTER_BYTES,
    OWN_FOLDERS,
    HiddenByScope,
    Privacy,
    Scope,
    says_private,
)

PREVIEW_BYTES = 64 * 1024
PREVIEW_LINES = 2_000
DEEPEST = 256
"""Folders inside each other that a walk enters: the way to each is walked anew, so more would cost dearly."""

DEEPEST_JSON = 64
"""Levels beyond which JSON is shown as it is: indenting it could take a thousand times its size."""

BYTES_PER_TOKEN = 4
NANOSECONDS = 1_000_000_000

Lasts = tuple[bool, ...]
"""For a node and each folder above it, outermost first: whether it is the last of its folder."""

Found = TypeVar("Found", Content, Head)
Standing = Literal["in", "cut", "out", "private"]
PreviewKind = Literal["text", "markdown", "json", "binary"]

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
_KIND_OF_SUFFIX: dict[str, PreviewKind] = {"md": "markdown", "markdown": "markdown", "json": "json"}
_TOO_BROKEN = 10
"""One character in so many that is not UTF-8 makes it no text."""
_REPLACEMENT = "\ufffd".encode()
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


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


def tree(files: FileStore, under: str = "", *, view: View = BARE, everything: bool = False) -> Iterator[Node]:
    """Return the nodes of one folder by name, each made when it is asked for.

    What Carrel and git keep for themselves is shown closed unless `everything` is.
    """
    return _nodes(files, _entries(files, under, view), view, everything=everything)


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


class Preview(Struct, frozen=True, kw_only=True):
    """The beginning of a file as somebody may look at it.

    `digest` is of the whole file, for a later change that must meet it unchanged; none when it is too large
    to be changed here. `lines` is none when it is `truncated`; `formatted` JSON has been indented. Where
    there is a `problem` there is no text, except with "not_utf8": there broken characters are replaced.
    """

    path: str
    kind: PreviewKind | None
    size: int
    modified: str | None
    digest: str | None = None
    text: str | None = None
    truncated: bool = False
    formatted: bool = False
    lines: int | None = None
    problem: Reason | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return to_builtins(self)


def preview(
    files: FileStore,
    path: str,
    *,
    limit: int = PREVIEW_BYTES,
    lines: int = PREVIEW_LINES,
    view: View = BARE,
) -> Preview:
    """Return the first `limit` bytes or `lines` lines of a file, whichever end first, never half a character.

    What is there but cannot be read is a preview with a problem; what is not there is an error.
    """
    path = spelled(path)
    try:
        head, digest = _beginning(files, path, limit, view)
    except Unreadable as error:
        return Preview(path=path, kind=None, size=0, modified=None, problem=error.reason)
    shown = _shown(path, head.data[:limit], is_whole=head.size <= limit, lines=lines)
    return replace(shown, size=head.size, modified=_iso(head.modified_ns // NANOSECONDS), digest=digest)


def fetch(files: FileStore, path: str, *, view: View = BARE) -> Content | None:
    """Return a file exactly as it is, if this view may see it; none when it is absent."""
    path = spelled(path)
    return _looked_at(files, path, view, lambda: files.read(path))


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


def _entries(files: FileStore, under: str, view: View) -> list[Entry]:
    """List a folder that this view may know of; an absent one is an error, unlike in a store."""
    under = spelled(under)
    if view.hides and view.privacy is not None and under and view.privacy.covers_folder(under, under):
        raise HiddenByScope(under)
    entries = files.list(under)
    if not entries and under and files.stamps([under])[0] is None:
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
        if not _is_private(files, entry, view):
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
        modified=_iso(entry.modified_ns // NANOSECONDS),
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


def _is_private(files: FileStore, entry: Entry, view: View) -> bool:
    privacy = view.privacy
    if privacy is None:
        return False
    if entry.kind == "directory":
        return privacy.covers_folder(entry.path, entry.target)
    if privacy.covers(entry.path, entry.target, entry.identity, entry.links):
        return True
    if entry.kind != "file":
        return False  # it has no bytes to show, or to ask
    try:
        head = _head(files, entry.path, FRONT_MATTER_BYTES)
    except Unreadable:
        return True  # it may say so, and nobody can tell
    return head is None or says_private(head.data, is_whole=head.size <= FRONT_MATTER_BYTES)


def _beginning(files: FileStore, path: str, limit: int, view: View) -> tuple[Head, str | None]:
    """Return the start of a file and the digest of the whole, unless that is too much to read."""
    size = max(limit, FRONT_MATTER_BYTES) if view.hides else limit
    head = _looked_at(files, path, view, lambda: _head(files, path, size))
    if head is None:
        raise NoSuchPath(path)
    if not isinstance(files, Heads):
        head = replace(head, modified_ns=_modified(files, path))
    if head.size <= len(head.data):
        return head, sha256(head.data).hexdigest()
    if head.size > READ_LIMIT:
        return head, None
    content = fetch(files, path, view=view)
    if content is None:
        raise NoSuchPath(path)
    return replace(head, data=content.data, size=len(content.data)), content.digest


def _looked_at(files: FileStore, path: str, view: View, read: Callable[[], Found | None]) -> Found | None:
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
            _looked_at(files, path, view, lambda: _head(files, path, FRONT_MATTER_BYTES))
        elif error.reason in ("permission", "io_error"):
            raise HiddenByScope(path) from None  # it may be private, and nobody can tell
        raise
    if found is None:
        return None
    beginning = found.data[:FRONT_MATTER_BYTES]
    is_whole = len(beginning) == (found.size if isinstance(found, Head) else len(found.data))
    is_covered = privacy.covers(path, found.target, found.identity, found.links)
    if is_covered or says_private(beginning, is_whole=is_whole):
        raise HiddenByScope(path)
    return found


def _head(files: FileStore, path: str, size: int) -> Head | None:
    """Return the start of a file, reading all of it where the store cannot do better."""
    if isinstance(files, Heads):
        return files.head(path, size)
    content = files.read(path)
    if content is None:
        return None
    return Head(
        data=content.data[:size],
        size=len(content.data),
        modified_ns=0,
        target=content.target,
        identity=content.identity,
        links=content.links,
    )


def _modified(files: FileStore, path: str) -> int:
    beside = files.list(path.rpartition("/")[0])
    return next((entry.modified_ns for entry in beside if entry.path == path), 0)


def _shown(path: str, data: bytes, *, is_whole: bool, lines: int) -> Preview:
    """Return what of some bytes can be looked at."""
    bare = Preview(path=path, kind="binary", size=0, modified=None, truncated=not is_whole)
    if b"\0" in data:
        return bare
    text = getincrementaldecoder("utf-8")("replace").decode(data, final=is_whole).removeprefix("\ufeff")
    broken = text.count("\ufffd") - data.count(_REPLACEMENT)
    if broken * _TOO_BROKEN > len(text):
        return bare
    kind = _KIND_OF_SUFFIX.get(_suffix(path), "text")
    formatted = _formatted(text) if kind == "json" and is_whole and not broken else None
    text, is_cut = _first_lines(formatted or text, lines)
    is_whole = is_whole and not is_cut
    return replace(
        bare,
        kind=kind,
        text=text,
        truncated=not is_whole,
        formatted=formatted is not None,
        lines=_count_lines(text) if is_whole else None,
        problem="not_utf8" if broken else None,
    )


def _formatted(text: str) -> str | None:
    """Return JSON indented, every number as it was written; none when it is not valid or too deep."""
    depth = deepest = 0
    for character in text.encode().translate(None, delete=_NO_BRACKETS):
        depth += 1 if character in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > DEEPEST_JSON:
        return None
    try:
        return json.format(text, indent=2)
    except (DecodeError, RecursionError):
        return None


def _first_lines(text: str, count: int) -> tuple[str, bool]:
    """Return the first lines, and whether any were left out."""
    position = 0
    for _ in range(count):
        position = text.find("\n", position) + 1
        if not position:
            return text, False
    return text[:position], position < len(text)


def _count_lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))


def _is_text(name: str) -> bool:
    return _suffix(name) in _TEXT_SUFFIXES or name.lower().lstrip(".") in _TEXT_NAMES


def _suffix(name: str) -> str:
    return name[name.rfind(".") + 1 :].lower()


@lru_cache(maxsize=4096)
def _iso(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None  # a file system can hold years that no calendar has
