"""MCP at `/mcp`: the same server as over standard input and output, seated by whoever's key it is."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp

from carrel.http.access import OWNER, Access
from carrel.http.served import DEFAULT, Served
from carrel.mcp.seat import Seat
from carrel.workspace.scope import Scope

PATH = "/mcp"


def seat_of(request: Request) -> Seat:
    """Seat a client: as its key says; the owner's own token hears all only where the address says so."""
    access: Access = request.state.access
    served: Served = request.app.state.served
    query = request.query_params
    asked = query.get("scope") or (Scope.SHARED if access.name == OWNER else None)
    name = access.workspace or served.name_of(query.get("workspace", DEFAULT))
    access.require("read", owner=False)
    return Seat(
        workspace=served.workspace(name, query.get("agent")),
        scope=access.listening(asked),
        may_write=access.right != "read",
        door=access.name.removeprefix("key:"),
    )


class Endpoint:
    """The route, and what must be entered before its first request."""

    def __init__(self) -> None:
        from carrel.mcp.asgi import Endpoint as Over  # noqa: PLC0415 - it takes most of a second

        over = Over(seat_of)
        self._app: ASGIApp = over
        self.lifespan: AbstractAsyncContextManager[Any] = over.lifespan()

    def route(self) -> Route:
        """Return the route."""
        return Route(PATH, self._app, include_in_schema=False)
