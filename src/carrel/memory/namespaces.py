"""Namespaces as their owner looks after them: listed, switched on and off, renamed, taken along.

All that a namespace says of itself is its front matter. To change that leaves every byte of what was learnt
as it is, and goes through the pen like any other change of memory.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from carrel.errors import NotFound, UsageError
from carrel.files import FileStore, Unreadable, show
from carrel.markdown.frontmatter import Value, parse, update
from carrel.markdown.outline import outline
from carrel.memory.pen import Author, Pen
from carrel.workspace.document import DOCUMENT_LIMIT, Document, decode
from carrel.workspace.namespace import LONGEST_TITLE, SUFFIX, key_of, plain_title

STORE = "namespaces"
_LISTED = 20
_SHOWN = 200
_OWNER = "owner"
_NONE = "---\nenabled: false\n---\n"


class UnknownNamespace(NotFound):
    """No namespace has this key or title."""

    code = "unknown_namespace"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        listed = ", ".join(map(show, known[:_LISTED])) + (", …" if len(known) > _LISTED else "")
        super().__init__(
            f"There is no namespace '{show(name[:_SHOWN])}'.",
            hint=f"There are: {listed}." if known else "The first experience that an agent keeps makes one.",
        )


class AmbiguousNamespace(UsageError):
    """Several namespaces have this title."""

    code = "ambiguous_namespace"

    def __init__(self, name: str, keys: Sequence[str]) -> None:
        listed = ", ".join(map(show, keys[:_LISTED])) + (", …" if len(keys) > _LISTED else "")
        super().__init__(
            f"{len(keys)} namespaces are called '{show(name[:_SHOWN])}'.",
            hint=f"Name one by its key: {listed}.",
        )
        self.keys = tuple(keys)


class BadTitle(UsageError):
    """A title that nobody could tell a namespace by."""

    code = "bad_title"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The title {problem}.", hint=f"Use one line of at most {LONGEST_TITLE} characters.")


class NamespaceRow(Struct, frozen=True, kw_only=True):
    """A namespace in a list: who reads it, whose it is, and how much it holds.

    `problem` says why nothing is known of one whose file cannot be read.
    """

    key: str
    title: str
    enabled: bool = False
    agent: str = ""
    profile: str = ""
    workspace: str = ""
    facts: int = 0
    size: int = 0
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as every surface shows it; null for what it does not say."""
        named = ("agent", "profile", "workspace", "problem")
        return {key: value or None if key in named else value for key, value in asdict(self).items()}


class Namespaces(Struct, frozen=True, kw_only=True):
    """The namespaces in the user's data directory."""

    files: FileStore
    pen: Pen

    def find(self, name: str) -> NamespaceRow:
        """Return the namespace with this key, else the only one with this title, if need be in other case."""
        rows = self.list()
        wanted = plain_title(name)
        for same in (
            [row for row in rows if name in (row.key, row.key + SUFFIX)],
            [row for row in rows if row.title == wanted],
            [row for row in rows if row.title.casefold() == wanted.casefold()],
        ):
            if len(same) > 1:
                raise AmbiguousNamespace(name, [row.key for row in same])
            if same:
                return same[0]
        raise UnknownNamespace(name, [row.title for row in rows])

    def enable(self, name: str) -> NamespaceRow:
        """Let every agent read it."""
        return self._set(name, "enable", {"enabled": True})

    def disable(self, name: str) -> NamespaceRow:
        """Keep it to its own agent."""
        return self._set(name, "disable", {"enabled": False})

    def rename(self, name: str, title: str) -> NamespaceRow:
        """Give it another title; its key stays, and so does whose it is."""
        plain = plain_title(title)
        if not plain:
            raise BadTitle("is empty")
        if len(plain) > LONGEST_TITLE:
            raise BadTitle(f"has {len(plain):,} characters")
        return self._set(name, "rename", {"title": plain})

    def export(self, name: str) -> str:
        """Return its whole Markdown, front matter too, so that it can be put in place elsewhere."""
        path = self.find(name).key + SUFFIX
        content = self.files.read(path)
        if content is None:
            raise UnknownNamespace(name, ())
        try:
            return content.data.decode()
        except UnicodeDecodeError:
            raise Unreadable(path, "not_utf8") from None

    def title(self, path: str) -> str | None:
        """Return the title of the namespace that has this file, none where there is no such file yet."""
        row = self._row(path)
        return row.title if row else None

    def list(self) -> list[NamespaceRow]:
        """Return every namespace, sorted by title and then by key."""
        paths = [entry.path for entry in self.files.list("") if entry.path.endswith(SUFFIX)]
        rows = [row for row in map(self._row, paths) if row is not None]
        return sorted(rows, key=lambda row: (row.title.casefold(), row.key))

    def _set(self, name: str, action: str, changes: Mapping[str, Value]) -> NamespaceRow:
        row = self.find(name)
        path = row.key + SUFFIX
        author = Author(actor=_OWNER, action=action)
        self.pen.edit(STORE, path, lambda text: None if text is None else _changed(text, changes), author)
        changed = self._row(path)
        if changed is None:
            raise UnknownNamespace(name, ())
        return changed

    def _row(self, path: str) -> NamespaceRow | None:
        key = key_of(path)
        try:
            content = self.files.read(path, limit=DOCUMENT_LIMIT)
        except Unreadable as error:
            return NamespaceRow(key=key, title=key, problem=error.reason)
        if content is None:
            return None
        document = decode(path, content.data)
        said = document.meta.extra
        return NamespaceRow(
            key=key,
            title=plain_title(str(said.get("title") or "")) or key,
            enabled=said.get("enabled") is True,
            agent=_said(document, "agent"),
            profile=_said(document, "profile"),
            workspace=_said(document, "workspace"),
            facts=sum(len(section.bullets) for section in outline(document.text)),
            size=len(content.data),
            problem=document.problem or "",
        )


def _said(document: Document, key: str) -> str:
    value = document.meta.extra.get(key)
    return value if isinstance(value, str) else ""


def _changed(text: str, changes: Mapping[str, Value]) -> str:
    """Set keys in the front matter, which a file that somebody made by hand may lack."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    own = text[len(mark) :]
    plain = own.replace("\r\n", "\n")
    if own.startswith("---") or parse(plain).body != plain:
        return update(text, changes)
    newline = "\r\n" if own[: own.find("\n") + 1].endswith("\r\n") else "\n"
    return mark + update(_NONE, changes).replace("\n", newline) + own
