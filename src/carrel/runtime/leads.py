"""What entities named in a query lead to: the pages about them, and about those that they have to do with."""

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from datetime import date

from msgspec import Struct

from carrel.files import Entry, FileStore, Unreadable, walk
from carrel.index import Pointer, Pointers
from carrel.index.source import TEXT_LIMIT
from carrel.memory.graph import Graph, build
from carrel.memory.graph import walk as follow
from carrel.memory.graph.pages import Page, read_page

NAME = "graph"
WEIGHT = 0.5
FOLDER = "memory/entities"


class Leads(Struct):
    """The graph of a workspace's entities, kept while its pages are the same."""

    pages: dict[str, tuple[Hashable, Page]] = {}
    seen: tuple[Hashable, ...] = ()
    graph: Graph = Graph()

    def find(
        self, files: FileStore, home: str, query: str, today: date, shown: Callable[[Entry], bool]
    ) -> tuple[Pointers, ...]:
        """Return where the entities of a query are told of, in the pages that `shown` lets a listener see."""
        entries = [entry for entry in _pages(files, f"{home}{FOLDER}") if shown(entry)]
        if not entries:
            return ()
        seen = tuple((entry.path, entry.stamp) for entry in entries)
        if seen != self.seen:
            self.graph = build(self._read(files, entries))
            self.seen = seen
        leads = follow(self.graph, query, today).leads
        hits = tuple(Pointer(lead.path, lead.line, lead.end_line, lead.score) for lead in leads)
        return (Pointers(name=NAME, hits=hits, weight=WEIGHT),) if hits else ()

    def _read(self, files: FileStore, entries: Iterable[Entry]) -> list[Page]:
        found: dict[str, tuple[Hashable, Page]] = {}
        for entry in entries:
            known = self.pages.get(entry.path)
            if known is None or known[0] != entry.stamp:
                text = _text(files, entry.path)
                known = None if text is None else (entry.stamp, read_page(entry.path, text))
            if known is not None:
                found[entry.path] = known
        self.pages = found
        return [page for _, page in found.values()]


def _pages(files: FileStore, folder: str) -> list[Entry]:
    with suppress(Unreadable):
        found = walk(files, folder, skip=lambda entry: entry.kind not in ("file", "directory"))
        return [entry for entry in found if entry.kind == "file" and entry.path.endswith(".md")]
    return []


def _text(files: FileStore, path: str) -> str | None:
    try:
        content = files.read(path, limit=TEXT_LIMIT)
        return content.data.decode("utf-8-sig") if content else None
    except (Unreadable, UnicodeDecodeError):
        return None
