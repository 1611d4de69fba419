"""What a page about one agent's own does where several are at home and none was named: it asks which."""

from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.http.explorer.pages import Viewer, page
from carrel.opening import AgentRequired
from carrel.workspace.scope import Scope

_DIGITS = 17
"""Of a number that records can have."""


def own_of(viewer: Viewer, *, title: str, here: str) -> Workspace | HTMLResponse:
    """Return one agent's workspace for its owner, else the page that says why there is nothing to see."""
    if hidden := hidden_from(viewer, title=title, here=here):
        return hidden
    try:
        return viewer.desk.own
    except AgentRequired:
        return page(viewer, "choose.html", title=title, here=here)


def hidden_from(viewer: Viewer, *, title: str, here: str) -> HTMLResponse | None:
    """Return the page that tells others' eyes that they see nothing of this; none for the owner."""
    if viewer.desk.scope is Scope.MAIN:
        return None
    return page(viewer, "private.html", title=title, here=here)


def numbered(viewer: Viewer, name: str) -> int | None:
    """Return a number that an address names; whatever is none is taken for not given."""
    text = viewer.request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
