"""Beside the workspaces: which there are, whether the server is well, and how a browser is let in."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from msgspec import Struct, json
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from carrel.errors import CarrelError
from carrel.http.access import COOKIE, Access, Door
from carrel.http.answers import Page, Reply
from carrel.http.errors import NeedsKey
from carrel.http.metrics import Metrics
from carrel.http.routing import Routes
from carrel.http.served import Served

routes = Routes("workspaces")
front = APIRouter(include_in_schema=False)


class Shown(Struct, frozen=True, kw_only=True):
    """A workspace that may be opened, and as what; `csrf` is the word that a browser's changes say."""

    name: str
    layout: str
    agents: tuple[str, ...]
    scope: str
    right: str
    csrf: str = ""


@routes.get("/workspaces", Page[Shown])
def list_workspaces(request: Request) -> Page[Shown]:
    """List the workspaces that this key opens."""
    access: Access = request.state.access
    served: Served = request.app.state.served
    names = [name for name in served.names if access.workspace in (None, name)]
    return Page(items=tuple(_shown(served, name, access) for name in names))


def _shown(served: Served, name: str, access: Access) -> Shown:
    workspace = served.workspace(name)
    agents = tuple(agent.id for agent in workspace.config.settings.agents)
    return Shown(
        name=name,
        layout=workspace.layout.name,
        agents=agents or (workspace.agent.id,),
        scope=access.scope,
        right=access.right,
        csrf=access.csrf,
    )


@front.get("/")
async def home(request: Request) -> Response:
    """Lead to the workspace of a key, else to the first."""
    access: Access = request.state.access
    name = access.workspace or request.app.state.served.names[0]
    return RedirectResponse(f"/w/{name}/overview")


@front.get("/healthz")
async def alive() -> Response:
    """Say that the server answers."""
    return Reply({"status": "ok"})


@front.get("/readyz")
async def ready(request: Request) -> Response:
    """Say whether the workspaces can be read and their records written."""
    served: Served = request.app.state.served
    try:
        await run_in_threadpool(_look, served)
    except CarrelError:
        return Reply({"status": "unavailable"}, 503)
    return (
        Reply({"status": "stopping"}, 503) if request.app.state.hub.is_stopping else Reply({"status": "ok"})
    )


def _look(served: Served) -> None:
    for name in served.names:
        workspace = served.workspace(name)
        workspace.files.list("")
        workspace.records.layout()


@front.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """Return the description of the interface."""
    return Response(json.encode(request.app.openapi()), media_type="application/json")


@front.get("/metrics")
def metrics(request: Request) -> Response:
    """Return the figures of this worker, as Prometheus reads them; a key is told its workspace's alone."""
    access: Access = request.state.access
    told: Metrics = request.app.state.metrics
    text = told.to_text(request.app.state.hub.listening, request.app.state.served, access.workspace)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@front.get("/login")
async def login(request: Request, token: Annotated[str, Query(max_length=500)] = "") -> Response:
    """Let the owner's browser in: the link that `carrel serve` prints."""
    door: Door = request.app.state.door
    if door.owner(token) is None:
        raise NeedsKey
    answer = RedirectResponse("/", status_code=303)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, door.cookie(), httponly=True, samesite="strict", secure=secure)
    return answer
