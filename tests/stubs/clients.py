"""A real MCP client, of the SDK, before a server in this process, in another one, or behind a port."""

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.routing import Route

MODES = ("auto", "legacy")
"""The revision of 2026-07-28, which has no handshake, and the last one that has."""


def talk(server: Any, work: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    """Do some work with a client of a server, and return what it returns."""

    async def hold() -> Any:
        async with Client(server, mode=mode) as client:
            return await work(client)

    return asyncio.run(hold())


def program(process: Any, *words: Any, **more: str) -> StdioServerParameters:
    """Return how `carrel` is started as a server, with the home of a test."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "carrel", *map(str, words)],
        env=process.environment(more),
        cwd=str(process.cwd),
    )


class Answer:
    """What became of a call."""

    def __init__(self, result: Any) -> None:
        self.is_error: bool = result.is_error
        self.value: Any = result.structured_content
        self.text: str = "".join(part.text for part in result.content)

    @property
    def error(self) -> dict[str, str]:
        assert self.is_error, self.text
        assert self.value is None
        error = json.loads(self.text)["error"]
        assert set(error) == {"code", "message", "hint"}
        return error


async def call(client: Client, name: str, /, **arguments: Any) -> Answer:
    """Call a tool; what it returns has the shape that it promises, which the client checks."""
    answer = Answer(await client.call_tool(name, arguments))
    if not answer.is_error:
        assert json.loads(answer.text) == answer.value
    return answer


async def refused(work: Awaitable[Any]) -> MCPError:
    """Return the error of the protocol with which some work is refused."""
    with pytest.raises(MCPError) as caught:
        await work
    return caught.value


@contextmanager
def served(endpoint: Any, around: Any = None):
    """Serve an endpoint on a free port of this machine; yields its address."""

    @asynccontextmanager
    async def lifespan(_: Starlette):
        async with endpoint.lifespan():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint=endpoint)], lifespan=lifespan)
    config = uvicorn.Config(around(app) if around else app, port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        threading.Event().wait(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join(10)
