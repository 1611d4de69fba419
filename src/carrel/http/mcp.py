"""MCP at `/mcp`: the same server as over standard input and output, seated by whoever's key it is."""

from asyncio import Event, Future, create_task, get_running_loop, shield, to_thread
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette import types
from starlette.requests import Request
from starlette.routing import Route

from carrel.http.access import OWNER, Access
from carrel.http.served import DEFAULT, Served
from carrel.mcp.seat import Seat
from carrel.workspace.scope import Scope

if TYPE_CHECKING:
    from carrel.mcp.asgi import Endpoint as Over

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
    """The route; what answers there is loaded for the first request, since it takes most of a second.

    Its `lifespan` must be entered before that. What could not be loaded is tried again for the next one.
    """

    def __init__(self) -> None:
        self._asked: Event
        self._ended: Event
        self._answering: Future[types.ASGIApp]

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        """Answer one request."""
        self._asked.set()
        answer = await shield(self._answering)  # who gives up waiting does so for itself
        await answer(scope, receive, send)

    def route(self) -> Route:
        """Return the route."""
        return Route(PATH, self, include_in_schema=False)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Be there for requests."""
        self._asked, self._ended = Event(), Event()
        self._answering = get_running_loop().create_future()
        keeper = create_task(self._keep())
        try:
            yield
        finally:
            self._ended.set()
            self._asked.set()
            await keeper
            self._answering.cancel()

    async def _keep(self) -> None:
        """Load what answers when it is asked for, and end what it began in the task that began it."""
        while not self._ended.is_set():
            await self._asked.wait()
            self._asked.clear()
            if not self._ended.is_set():
                await self._answer_to_the_end()

    async def _answer_to_the_end(self) -> None:
        try:
            over = await to_thread(_load)
            async with over.lifespan():
                self._answering.set_result(over)
                await self._ended.wait()
        except Exception as error:  # noqa: BLE001 - whoever asked is told, and the log with them
            waiting, self._answering = self._answering, get_running_loop().create_future()
            if not waiting.done():
                waiting.set_exception(error)


def _load() -> "Over":
    from carrel.mcp.asgi import Endpoint as Over  # noqa: PLC0415 - see above

    return Over(seat_of)
