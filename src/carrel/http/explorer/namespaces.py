"""What agents learnt beyond one workspace: who reads it, and what a switch would add to whose prompt."""

from starlette.responses import HTMLResponse

from carrel.http.explorer.choosing import hidden_from
from carrel.http.explorer.effects import effects, tokens_in
from carrel.http.explorer.pages import Looking, page
from carrel.http.explorer.pages import router as pages
from carrel.http.routes.namespaces import ListedNamespace, list_namespaces
from carrel.memory.namespaces import UnknownNamespace
from carrel.workspace.namespace import SUFFIX

router = pages()


@router.get("/namespaces")
def namespaces(viewer: Looking) -> HTMLResponse:
    """List the namespaces; of the one that is asked for, show what its switch would do first."""
    if hidden := hidden_from(viewer, title="Namespaces", here="namespaces"):
        return hidden
    own = viewer.desk.workspace
    rows: tuple[ListedNamespace, ...] = list_namespaces(viewer.desk).items
    asked = viewer.request.query_params.get("look", "")
    chosen = next((row for row in rows if row.key == asked), None)
    if asked and chosen is None:
        raise UnknownNamespace(asked, [row.title for row in rows])
    return page(
        viewer,
        "namespaces.html",
        title="Namespaces",
        here="namespaces",
        rows=[(row, tokens_in(own, row.key + SUFFIX)) for row in rows],
        chosen=chosen,
        effects=effects(viewer, chosen.key + SUFFIX, enabled=not chosen.enabled) if chosen else (),
        home=str(own.root),
    )
