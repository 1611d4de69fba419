"""LangGraph's store over a workspace: each item a page in memory that people can read, diff and search.

with Workspace.open("my-agent") as workspace:
    graph = builder.compile(store=CarrelStore(workspace, scope="main"))
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from heapq import nlargest
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from carrel.adapters.langchain.items import (
    ENDING,
    HEADING,
    BadItem,
    Kept,
    UnreadableItem,
    folder_of,
    parse,
    place_of,
)
from carrel.adapters.langchain.matching import is_among, matches
from carrel.app import Workspace
from carrel.files import Content, Entry, Stale, Unreadable, walk
from carrel.index import Filter
from carrel.memory.pen import Author
from carrel.runtime.loop.threads import in_thread
from carrel.screen.policy import BlockedByPrivacy
from carrel.workspace.scope import Scope, parse_scope

_ATTEMPTS = 200
_FEWEST_HITS, _MOST_HITS = 40, 2_000


class CarrelStore(BaseStore):
    """Items as files below `memory/store/<scope>`; it owns nothing, and the workspace must stay open.

    What is kept for the owner and what is kept before others are two folders, and no store reaches the
    other's. Both are the owner's files: in shared scope no prompt, search or recall holds any of them.
    """

    def __init__(self, workspace: Workspace, *, scope: str = Scope.SHARED) -> None:
        super().__init__()
        self._workspace = workspace
        self._root = f"{workspace.layout.home}memory/store/{parse_scope(scope)}"
        self._author = Author(actor="langgraph", action="store", agent=workspace.agent.id)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer what is asked from what was kept before, then keep what is new; of one key the last."""
        ops = list(ops)
        results = [None if isinstance(op, PutOp) else self._answer(op) for op in ops]
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values()
        for op in puts if len(puts) > 1 else ():  # of several none is kept where one cannot be
            self._refuse(op)
        for op in puts:
            self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same beside the loop."""
        return await in_thread(self.batch, list(ops))

    def _answer(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._ranked(op) if op.query and op.query.strip() else self._newest(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise BadItem(f"there is no operation {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        path = place_of(self._root, op.namespace, op.key)
        _, kept = self._read(path)
        return None if kept is None else Item(**_told(kept))

    def _refuse(self, op: PutOp) -> None:
        """Refuse what could not be kept, whatever is there."""
        path = place_of(self._root, op.namespace, op.key)
        if op.value is not None:
            self._page(path, op, None)

    def _put(self, op: PutOp) -> None:
        """Keep an item, or remove it; who was faster is replaced, and the day of its making stays."""
        path = place_of(self._root, op.namespace, op.key)
        for _ in range(_ATTEMPTS - 1):
            with suppress(Stale):
                return self._replace(path, op)
        return self._replace(path, op)

    def _replace(self, path: str, op: PutOp) -> None:
        content, before = self._read(path)
        data = None if op.value is None else self._page(path, op, before)
        if data is not None or content is not None:
            self._workspace.memory.pen.put("workspace", path, data, self._author, expect=content)

    def _page(self, path: str, op: PutOp, before: Kept | None) -> bytes:
        if not isinstance(op.value, dict):
            raise BadItem("the value is no dict")
        now = self._workspace.config.clock.now()
        kept = Kept(
            namespace=tuple(op.namespace),
            key=op.key,
            value=op.value,
            created_at=before.created_at if before else now,
            updated_at=now,
        )
        text = kept.to_text()
        screened = self._workspace.screen.of(text)
        if screened.blocked or (screened.found and not parse(self._root, path, screened.text.encode())):
            raise BlockedByPrivacy(screened.found)
        return screened.text.encode()

    def _read(self, path: str) -> tuple[Content | None, Kept | None]:
        content = self._workspace.files.read(path)
        if content is None:
            return None, None
        kept = parse(self._root, path, content.data)
        if kept is None or content.target != path:
            raise UnreadableItem(path)
        return content, kept

    def _ranked(self, op: SearchOp) -> list[SearchItem]:
        """Return what the workspace's index finds for a query, best first, each item once."""
        wanted, limit = op.offset + op.limit, 0
        found: dict[str, SearchItem] = {}
        within = Filter(paths=(folder_of(self._root, op.namespace_prefix),))
        while len(found) < wanted and limit < _MOST_HITS:
            limit = max(_FEWEST_HITS, 4 * wanted, 4 * limit)
            hits = self._workspace.search(op.query or "", limit=min(limit, _MOST_HITS), within=within).hits
            for hit in hits:
                path = hit.chunk.path
                is_known = path in found or HEADING not in hit.chunk.headings
                kept = None if is_known else self._readable(path)
                if kept is not None and matches(kept.value, op.filter):
                    found[path] = SearchItem(**_told(kept), score=hit.score)
            if len(hits) < limit:
                break
        return list(found.values())[op.offset : wanted]

    def _newest(self, op: SearchOp) -> list[SearchItem]:
        """Return what is as a filter asks, what was written last first."""
        inside = (kept for kept in self._walk(op.namespace_prefix) if matches(kept.value, op.filter))
        found = nlargest(op.offset + op.limit, inside, key=lambda kept: kept.updated_at)
        return [SearchItem(**_told(kept)) for kept in found[op.offset :]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        every = {kept.namespace for kept in self._walk((), once=True)}
        found = {each[: op.max_depth] for each in every if is_among(each, op.match_conditions)}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _walk(self, prefix: tuple[str, ...], *, once: bool = False) -> Iterator[Kept]:
        """Yield what can be read of a namespace and of those in it; `once`, of each the first."""
        files, done = self._workspace.files, set[str]()
        for entry in walk(files, folder_of(self._root, prefix), skip=_is_other):
            folder = entry.path.rpartition("/")[0]
            if once and folder in done:
                continue
            if (kept := self._readable(entry.path)) is not None:
                done.add(folder)
                yield kept

    def _readable(self, path: str) -> Kept | None:
        with suppress(UnreadableItem, Unreadable):  # asked for by its name it says what is wrong
            return self._read(path)[1]
        return None


def _told(kept: Kept) -> dict[str, Any]:
    return {name: getattr(kept, name) for name in kept.__struct_fields__}


def _is_other(entry: Entry) -> bool:
    """Tell whether something is neither a folder nor a file of an item."""
    return entry.kind != "directory" and (entry.kind != "file" or not entry.path.endswith(ENDING))
