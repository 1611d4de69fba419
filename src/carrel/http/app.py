"""The interface, put together: guard, gate, endpoints, and what becomes of errors."""

import logging
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from carrel import __version__
from carrel.clock import Clock
from carrel.errors import CarrelError
from carrel.http import explorer
from carrel.http.access import Door
from carrel.http.answers import Reply, refusal
from carrel.http.errors import Problem, where
from carrel.http.explorer.pages import failed, told
from carrel.http.gate import Gate, Rate
from carrel.http.guard import LOOPBACK, Guard, Limits
from carrel.http.hub import Hub
from carrel.http.mcp import Endpoint
from carrel.http.metrics import Measured, Metrics
from carrel.http.openapi import describe
from carrel.http.routes import all_routes
from carrel.http.routes.front import front
from carrel.http.routing import Declared
from carrel.http.served import Served

API = "/api/v1"

_LOG = logging.getLogger("carrel.http")
_CODES = {404: "not_found", 405: "wrong_method"}


def build(
    served: Served,
    *,
    token: str,
    clock: Clock,
    hosts: Iterable[str] = LOOPBACK,
    limits: Limits | None = None,
    rate: tuple[float, int] = (5_000.0, 10_000),
    guesses: tuple[float, int] = (1.0, 30),
) -> "Interface":
    """Return the interface over some workspaces; whoever calls it closes them.

    `rate` is how many a second, and at once, each key may ask; `guesses` how many without one, by address.
    """
    app = FastAPI(
        title="Carrel",
        version=__version__,
        description="The workspace and memory layer for LLM agents.",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"logs": False, "operation_spans": False},  # which would quote what was sent
    )
    app.state.served = served
    app.state.door = door = Door(token, served, clock.now)
    app.state.hub = hub = Hub(served, door.still_opens)
    app.state.metrics = metrics = Metrics()
    for kind, tell in ((CarrelError, _refused), (HTTPException, _failed), (RequestValidationError, _invalid)):
        app.add_exception_handler(kind, tell)
    app.add_exception_handler(Exception, _broken)
    declared: dict[str, Declared] = {}
    for routes in all_routes():
        routes.add_to(app, API)
        declared |= routes.declared
    app.include_router(front)  # after them: a router within an app costs whoever passes by it
    explorer.add_to(app)
    app.state.mcp = mcp = Endpoint()
    app.router.routes.append(mcp.route())
    app.openapi = lambda: describe(app, declared)
    gate = Gate(app, door=door, requests=Rate(*rate), guesses=Rate(*guesses))
    return Interface(Guard(Measured(gate, metrics), hosts=hosts, limits=limits), hub)


class Interface:
    """All that a server calls; `stop` ends what would never end by itself."""

    def __init__(self, app: ASGIApp, hub: Hub) -> None:
        self._app = app
        self.stop = hub.stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; what broke was told to who asked and to the log already.

        What is cancelled ends: a server that is told twice to stop, or has waited long enough, does that.
        """
        with suppress(Exception, CancelledError):
            await self._app(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    app.state.hub.start()
    try:
        with suppress(CancelledError):  # or whoever has no patience is shown where all that was
            async with app.state.mcp.lifespan():
                yield
    finally:
        app.state.hub.stop()


async def _refused(request: Request, error: Any) -> Response:
    """Tell a program in JSON, and a person on a page."""
    return refusal(error) if request.url.path.startswith(API) else failed(error)


async def _failed(request: Request, error: Any) -> Response:
    """Tell of an address or a method that does not exist."""
    code = _CODES.get(error.status_code, "usage")
    problem = Problem(code=code, message=str(error.detail), hint="/openapi.json lists all addresses.")
    return _answer(request, problem, error.status_code, error.headers)


async def _invalid(request: Request, error: Any) -> Response:
    """Say what is wrong with the parameters, without sending them back."""
    wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
    return _answer(
        request, Problem(code="usage", message=wrong, hint="/openapi.json says what is taken."), 400
    )


async def _broken(request: Request, error: Exception) -> Response:
    """Say that something broke, and keep how to ourselves; the log says where, and quotes nobody."""
    route = getattr(request.scope.get("route"), "path", "")
    _LOG.error("%s %s: %s\n%s", request.method, route, type(error).__name__, where(error))
    return _answer(
        request, Problem(code="internal", message="Something broke.", hint="Please report this."), 500
    )


def _answer(request: Request, problem: Problem, status: int, headers: Any = None) -> Response:
    """Tell a browser on a page, and anybody else in JSON."""
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(API):
        return told(problem, status)
    return Reply(problem, status, headers=headers)
