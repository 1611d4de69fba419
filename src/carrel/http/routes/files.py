"""Files: the tree, and each file as it is, changed only by who saw what it holds."""

from typing import Annotated

from fastapi import Depends, Header, Query
from msgspec import Struct
from starlette.responses import Response

from carrel.files import Stale
from carrel.http.answers import Page, etag, raw, tagged
from carrel.http.desk import Desk, OwnerWriter, Reader
from carrel.http.routing import Routes, Sent, sent
from carrel.runtime.edit import ABSENT, Discarded, Moved, Written
from carrel.runtime.explorer import Node
from carrel.runtime.preview import PREVIEW_BYTES, Preview

routes = Routes("files", "/w/{workspace}")

_PAGE = 200


class Move(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where to where."""

    source: str
    target: str


@routes.get("/tree", Page[Node])
def tree(
    desk: Reader,
    path: Annotated[str, Query(max_length=4_096)] = "",
    depth: Annotated[int, Query(ge=1, le=64)] = 1,
    cursor: Annotated[str, Query(max_length=4_096)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = _PAGE,
) -> Page[Node]:
    """List what is below a folder. Each file says what became of it in the context."""
    items: list[Node] = []
    seen = not cursor
    for node, _ in desk.workspace.outline(path, scope=desk.scope, depth=depth):
        if seen:
            items.append(node)
        seen = seen or node.path == cursor
        if len(items) > limit:
            return Page(items=tuple(items[:limit]), next_cursor=items[limit - 1].path)
    return Page(items=tuple(items))


@routes.get("/files/{path:path}", None, media="text/plain")
def read_file(desk: Reader, path: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """Return a file as it is. Its ETag is what a change must name."""
    content = desk.fetch(path)
    if etag(content.digest) in (if_none_match or ""):  # alone, in a list, or as a weak one
        return Response(status_code=304, headers={"ETag": etag(content.digest)})
    return raw(content.data, name=path.rpartition("/")[2], digest=content.digest)


@routes.get("/preview/{path:path}", Preview)
def preview_file(
    desk: Reader, path: str, limit: Annotated[int, Query(ge=1, le=PREVIEW_BYTES)] = PREVIEW_BYTES
) -> Preview:
    """Return the beginning of a file for somebody to look at."""
    return desk.workspace.preview(path, limit=limit, scope=desk.scope)


@routes.put("/files/{path:path}", Written, takes=bytes)
def write_file(
    desk: OwnerWriter,
    path: str,
    body: Sent,
    if_match: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Written:
    """Write a file over the content that If-Match names; `If-None-Match: *` makes a new one."""
    expect = ABSENT if if_none_match == "*" else _expected(desk, path, if_match)
    written = desk.workspace.put(path, body, expect=expect, scope=desk.scope, actor=desk.access.name)
    desk.note("file.put", written.path, digest=written.digest, size=written.size, change=written.change)
    return written


@routes.delete("/files/{path:path}", Discarded)
def remove_file(desk: OwnerWriter, path: str, if_match: Annotated[str | None, Header()] = None) -> Discarded:
    """Remove a file. It is kept in the workspace's trash."""
    expect = _expected(desk, path, if_match)
    found = desk.workspace.fetch(path, scope=desk.scope) if expect is not None else None
    if expect is not None and (found is None or found.digest != expect):
        raise Stale(path, expected=expect, found=found.digest if found else None)
    discarded = desk.workspace.discard(path, scope=desk.scope)
    desk.note("file.discard", discarded.path, digest=discarded.digest)
    return discarded


@routes.post("/files:move", Moved, takes=Move)
def move_file(desk: OwnerWriter, body: Annotated[Move, Depends(sent(Move))]) -> Moved:
    """Give a file another path, which must be free."""
    moved = desk.workspace.move(body.source, body.target, scope=desk.scope)
    desk.note("file.move", moved.path, target=moved.target, digest=moved.digest)
    return moved


def _expected(desk: Desk, path: str, tag: str | None) -> str | None:
    """Return the digest of what a change is over; `*` is whatever is there, and something must be."""
    if tag is None or tag.strip() != "*":
        return tagged(tag)
    found = desk.workspace.fetch(path, scope=desk.scope)
    if found is None:
        raise Stale(path, expected="*", found=None)
    return found.digest
