"""The server over standard input and output: a message a line, and nothing else on either.

The SDK has a transport of its own, which takes lines of any length, answers what is no message with silence,
and leaves a thread behind that only the end of the input stops.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from carrel import plainjson
from carrel.mcp.frames import LONGEST, frames
from carrel.mcp.seat import Seated
from carrel.mcp.server import build
from carrel.runtime.loop.threads import in_thread

MOST_OPEN = 64
"""Requests that are worked on at once; the rest waits in the pipe."""

PATIENCE = 30.0
"""Seconds for which the end of the input waits for answers that are still to be given."""

_Incoming = SessionMessage | Exception


def serve(seated: Seated) -> None:
    """Serve one client over standard input and output until it closes the former."""
    inward, outward = _claim(0, os.O_RDONLY), _claim(1, os.O_WRONLY)
    _log_plainly()
    wire = Wire(lambda size: os.read(inward, size), lambda data: _write(outward, data))
    asyncio.run(wire.run(build(seated)))


class Wire:
    """One client's end of a pipe: owns what is read and not yet answered."""

    def __init__(self, read: Callable[[int], bytes], write: Callable[[bytes], None]) -> None:
        self._read = read
        self._write = write
        self._open: set[RequestId] = set()
        self._change = anyio.Condition()

    async def run(self, server: Server[Any]) -> None:
        """Serve until the input ends, or nobody reads the output any more."""
        into, incoming = anyio.create_memory_object_stream[_Incoming](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._write_all, from_server, group.cancel_scope)
            # Beside the loop, as a daemon: a read that never returns must not keep the process.
            reading = Thread(
                target=self._read_all, args=(asyncio.get_running_loop(), into, outgoing.clone()), daemon=True
            )
            reading.start()
            await server.run(incoming, outgoing, server.create_initialization_options())

    def _read_all(
        self,
        loop: asyncio.AbstractEventLoop,
        into: MemoryObjectSendStream[_Incoming],
        outgoing: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        async def take(frame: bytes | None) -> None:
            await self._take(frame, into, outgoing)

        async def end() -> None:
            with anyio.move_on_after(PATIENCE):
                await self._until(lambda: not self._open)
            outgoing.close()
            into.close()

        with suppress(RuntimeError, asyncio.CancelledError):  # the loop is gone: so is who asked
            with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                for frame in frames(self._read):
                    asyncio.run_coroutine_threadsafe(take(frame), loop).result()
            asyncio.run_coroutine_threadsafe(end(), loop).result()

    async def _take(
        self,
        frame: bytes | None,
        into: MemoryObjectSendStream[_Incoming],
        outgoing: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        parsed = _parsed(frame)
        if isinstance(parsed, JSONRPCError):
            await outgoing.send(SessionMessage(parsed))
            return
        message = parsed.message
        if isinstance(message, JSONRPCRequest):
            await self._until(lambda: len(self._open) < MOST_OPEN)
            self._open.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            await self._settle((message.params or {}).get("requestId"))  # it will not be answered
        await into.send(parsed)

    async def _write_all(
        self, messages: MemoryObjectReceiveStream[SessionMessage], scope: anyio.CancelScope
    ) -> None:
        async with messages:
            async for each in messages:
                message = each.message
                data = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                try:
                    await in_thread(self._write, data + b"\n")
                except OSError:  # nobody reads any more
                    scope.cancel()
                    return
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    await self._settle(message.id)

    async def _settle(self, request: Any) -> None:
        async with self._change:
            if isinstance(request, str | int):
                self._open.discard(request)
            self._change.notify_all()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        async with self._change:
            while not is_so():
                await self._change.wait()


def _parsed(frame: bytes | None) -> SessionMessage | JSONRPCError:
    """Return the message of a frame, else the error that answers it."""
    if frame is None:
        return _error(INVALID_REQUEST, f"A message may have {LONGEST:,} bytes.")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(frame, by_name=False))
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return _error(PARSE_ERROR, "This is no JSON in Unicode.", _id_in(frame))
        return _error(INVALID_REQUEST, "This is no message of JSON-RPC 2.0.", _id_in(frame))


def _id_in(frame: bytes) -> RequestId | None:
    """Return the id of what would be a request if more of it were right: somebody may wait for it."""
    with suppress(ValueError):
        value = plainjson.loads(frame)
        found = value.get("id") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(found, str | int) and not isinstance(found, bool):
            return found
    return None


def _error(code: int, message: str, request: RequestId | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=message))


def _claim(stream: int, mode: int) -> int:
    """Return a descriptor of our own for a standard stream, which now leads nowhere, or to the log."""
    nowhere = os.open(os.devnull, mode)
    try:
        own = os.dup(stream)
    except OSError:  # the shell closed it
        return nowhere
    try:
        os.dup2(2 if mode == os.O_WRONLY else nowhere, stream)
    except OSError:
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return own


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class _Plain(logging.Formatter):
    """One line an entry: a traceback is for nobody who reads this."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        return f"({ei[0].__name__})" if ei and ei[0] else ""


def _log_plainly() -> None:
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(_Plain("%(message)s"))
    logging.basicConfig(handlers=[shown], level=logging.WARNING)
