"""Files: the tree at the left, at the right the folder or the file that was chosen, and what became of it."""

from contextlib import suppress
from itertools import islice
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Query
from msgspec import Struct
from starlette.responses import HTMLResponse

from carrel.context.explain import Explanation
from carrel.errors import CarrelError, NotFound
from carrel.files import Unreadable
from carrel.files.paths import is_own
from carrel.http.explorer import words
from carrel.http.explorer.branches import PAGE, Level, level, way_to
from carrel.http.explorer.changed import Changed, changed
from carrel.http.explorer.inside import Inside, look_inside
from carrel.http.explorer.pages import Looking, Viewer, fragment, page
from carrel.http.explorer.pages import router as pages
from carrel.opening import AgentRequired
from carrel.records.audit import Event
from carrel.runtime.explorer import Node, Totals, total, walk
from carrel.runtime.view import NoSuchPath, View, spelled
from carrel.workspace.scope import HiddenByScope, Scope

router = pages()

TABLE = 80
"""Names that a folder's page shows at a time."""

BRANCH = 40
"""Names of those that the tree shows at first, too."""

MOST_COUNTED = 200_000
"""Names after which a folder is not counted to its end."""

CHANGES = 10
CRUMBS = 12
"""Folders above that lead back; what is deeper has the tree."""

_ABSENT = 404
_UNREAD = "\N{REPLACEMENT CHARACTER}"

Number = Annotated[int, Query(ge=0, le=10**9)]


class Past(Struct, frozen=True, kw_only=True):
    """What memory changed in a file, each with its difference, and what else was done to it."""

    changes: tuple[Changed, ...]
    events: tuple[Event, ...]
    older: int | None


class Why(Struct, frozen=True, kw_only=True):
    """What became of a file in the context; none where an agent must be chosen first."""

    explained: Explanation | None = None
    needs_agent: bool = False


@router.get("/files")
@router.get("/files/{path:path}")
def files(  # noqa: PLR0917 - each is a parameter of the address
    viewer: Looking,
    path: str = "",
    tab: str = "",
    line: Number = 0,
    start: Number = 0,
    after: str = "",
    before: Number = 0,
    beside: str = "",
    *,
    all: bool = False,  # noqa: A002 - as the address says it
) -> HTMLResponse:
    """Show a folder or a file beside the tree; `tab=edit` edits a file, one that is not there yet too."""
    path = _named(viewer, path)
    view = _view(viewer, beside)
    table = _listing(viewer, path, view, start, after)
    root, node = way_to(viewer.desk.workspace.files, path, view, table and table.first(BRANCH))
    shown = _around(viewer, path, root, node, view, beside)
    if table is not None:
        return page(
            viewer, "files_folder.html", title=path or "Files", here="files", table=table, step=TABLE, **shown
        )
    inside = _inside(viewer, path, tab, line, is_whole=all)
    if inside is None:
        is_new = tab == "edit" and shown["may_edit"] and not shown["is_own"]
        is_closed = node is not None and node.reason == "closed"
        answer = page(viewer, "files_absent.html", title=path, here="files", is_new=is_new, **shown)
        answer.status_code = answer.status_code if is_new or is_closed else _ABSENT
        return answer
    past = _past(viewer, path, before) if inside.tab == "history" else None
    told = {"inside": inside, "past": past, "why": _why(viewer, path)}
    return page(viewer, "files_file.html", title=path, here="files", **told, **shown)


@router.get("/tree")
@router.get("/tree/{path:path}")
def branch(  # noqa: PLR0917 - as above
    viewer: Looking, path: str = "", start: Number = 0, stop: Number = PAGE, after: str = "", beside: str = ""
) -> HTMLResponse:
    """Return the names of one folder, to be put into the tree."""
    view = _view(viewer, beside)
    folder = _open(viewer, _named(viewer, path))
    found = level(viewer.desk.workspace.files, folder, view, start, min(stop, start + PAGE), after)
    return fragment(viewer, "files_branch.html", level=found, **_kept(viewer, beside), path="")


@router.get("/totals")
@router.get("/totals/{path:path}")
def totals(viewer: Looking, path: str = "") -> HTMLResponse:
    """Return the sum of all that is below a folder."""
    found, is_whole = _total(viewer, _open(viewer, _named(viewer, path)))
    return fragment(viewer, "files_totals.html", totals=found, is_whole=is_whole)


def _named(viewer: Viewer, path: str) -> str:
    """Return the path that an address names: the bytes of it where they are not Unicode."""
    if _UNREAD in path:
        raw = viewer.request.scope["raw_path"].decode("ascii", "replace").split("/", 4)[-1]
        path = unquote(raw, errors="surrogateescape")
    return spelled(path)


def _open(viewer: Viewer, folder: str) -> str:
    """Return a folder that may be looked into."""
    if _is_closed(viewer, folder):
        raise NoSuchPath(folder)
    return folder


def _is_closed(viewer: Viewer, path: str) -> bool:
    """Tell whether a path is in what git or Carrel keeps, or leads there."""
    with suppress(CarrelError):
        return bool(path) and (is_own(path) or is_own(viewer.desk.workspace.files.target(path)))
    return False


def _view(viewer: Viewer, beside: str) -> View:
    """Return how the listener sees the files; the owner may mark what others see of them."""
    scope = viewer.desk.scope
    is_beside = scope is Scope.MAIN and beside == Scope.SHARED.value
    return viewer.desk.workspace.view(scope, beside=Scope.SHARED if is_beside else None)


def _kept(viewer: Viewer, beside: str) -> dict[str, Any]:
    desk = viewer.desk
    return {"beside": beside, "kept": words.kept(desk.agent, desk.scope, beside=beside)}


def _around(  # noqa: PLR0917 - what every such page shows
    viewer: Viewer, path: str, root: Level, node: Node | None, view: View, beside: str
) -> dict[str, Any]:
    """Return what stands around a folder or a file."""
    names = path.split("/") if path else []
    last = range(max(0, len(names) - 1 - CRUMBS), len(names) - 1)
    crumbs = [("/".join(names[: count + 1]), names[count]) for count in last]
    return {
        "root": root,
        "node": node,
        "path": path,
        "name": names[-1] if names else "Files",
        "crumbs": crumbs,
        "is_deep": last.start > 0,
        "above": "/".join(names[:-1]),
        "is_own": _is_closed(viewer, path),
        "is_named": path == path.encode("utf-8", "replace").decode(),  # else the API can't be asked for it
        "may_edit": viewer.desk.access.right != "read" and viewer.desk.scope is Scope.MAIN,
        "counted": view.exact,
        **_kept(viewer, beside),
    }


def _listing(viewer: Viewer, path: str, view: View, start: int, after: str) -> Level | None:
    """Return the names of a folder; none where this is no folder, or one that is not looked into."""
    if _is_closed(viewer, path):
        return None
    with suppress(NotFound, HiddenByScope, Unreadable):
        return level(viewer.desk.workspace.files, path, view, start, start + TABLE, after)
    return None


def _inside(viewer: Viewer, path: str, tab: str, line: int, *, is_whole: bool) -> Inside | None:
    """Return what is in a file, none where there is none for this listener."""
    workspace, scope = viewer.desk.workspace, viewer.desk.scope
    if _is_closed(viewer, path):
        return None  # it is made from the files, or git's
    with suppress(NoSuchPath, HiddenByScope):
        found = look_inside(workspace, path, scope=scope, tab=tab, line=line, is_whole=is_whole)
        is_none = found.preview.problem == "not_directory"
        is_hidden = found.preview.problem == "directory" and scope is not Scope.MAIN
        return None if is_none or is_hidden else found
    return None


def _total(viewer: Viewer, path: str) -> tuple[Totals, bool]:
    view = _view(viewer, "")
    nodes = walk(viewer.desk.workspace.files, path, view=view)
    found = total(islice(nodes, MOST_COUNTED))
    return found, next(nodes, None) is None


def _why(viewer: Viewer, path: str) -> Why:
    """Say why a file is in the prompt or not: the owner's to ask, of one agent."""
    if viewer.desk.scope is not Scope.MAIN:
        return Why()
    try:
        return Why(explained=viewer.desk.own.explain(path))
    except AgentRequired:
        return Why(needs_agent=True)
    except CarrelError:
        return Why()


def _past(viewer: Viewer, path: str, before: int) -> Past | None:
    """Return the history of a file; it is the owner's."""
    if viewer.desk.scope is not Scope.MAIN:
        return None
    workspace = viewer.desk.workspace
    found = workspace.memory.history(path, limit=CHANGES, before=before or None)
    changes = [changed(workspace, each, is_open=True) for each in found if each.store == "workspace"]
    events = workspace.records.audit.events(target=path, limit=20) if not before else []
    return Past(
        changes=tuple(changes),
        events=tuple(each for each in events if each.action.startswith("file.")),
        older=found[-1].id if len(found) == CHANGES else None,
    )
