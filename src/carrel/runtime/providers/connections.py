"""Connections that are open: one for each endpoint in each event loop, whoever asks, until the loop ends."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from carrel.runtime.providers.endpoint import Endpoint

if TYPE_CHECKING:
    from carrel.runtime.providers.wire import Connection

_Line = tuple[Endpoint, float]

_OPEN: "dict[asyncio.AbstractEventLoop, dict[_Line, tuple[Connection, AsyncGenerator[None, None]]]]" = {}
"""Sockets belong to the loop that opened them and are closed in it; a model may outlive it, or end before."""


async def connect(endpoint: Endpoint, *, silence: float) -> "Connection":
    """Return the connection to an endpoint that may be silent for so long, a new one where there is none."""
    loop = asyncio.get_running_loop()
    lines = _OPEN.get(loop, {})
    if (endpoint, silence) not in lines:
        made = await asyncio.to_thread(_open, endpoint, silence)
        lines = _lines_of(loop)
        if (endpoint, silence) not in lines:  # somebody else may have been quicker
            keeper = _until_the_end(made)
            lines[endpoint, silence] = made, keeper
            await anext(keeper)
    return lines[endpoint, silence][0]


def _lines_of(
    loop: asyncio.AbstractEventLoop,
) -> "dict[_Line, tuple[Connection, AsyncGenerator[None, None]]]":
    """Return what is open in a loop, and forget those that have ended."""
    for ended in [other for other in _OPEN if other.is_closed()]:
        _OPEN.pop(ended, None)
    return _OPEN.setdefault(loop, {})


def _open(endpoint: Endpoint, silence: float) -> "Connection":
    from carrel.runtime.providers.wire import Connection  # noqa: PLC0415 - a second's work, once

    return Connection(endpoint, silence=silence)


async def _until_the_end(connection: "Connection") -> AsyncGenerator[None, None]:
    """Close a connection when this generator is closed, which a loop does with all of them when it ends."""
    try:
        yield
    finally:
        await connection.close()
