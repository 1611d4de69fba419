"""A turn with the agent, told as it happens: a stream of AG-UI events."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Annotated, Any
from uuid import uuid4

from anyio import CancelScope
from fastapi import Depends, Path
from msgspec import Meta, Struct, to_builtins
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from carrel import plainjson
from carrel.context.assemble import Assembly
from carrel.errors import CarrelError
from carrel.http.answers import EventStream
from carrel.http.desk import Desk, Writer
from carrel.http.errors import where
from carrel.http.hub import HEARTBEAT
from carrel.http.routes.sessions import SOURCE
from carrel.http.routing import Routes, sent
from carrel.runtime.loop import CallEnded, CallStarted, Ended, Event, Piece, Prepared, Shortening
from carrel.sessions.message import ToolCall
from carrel.workspace.scope import Scope

routes = Routes("sessions", "/w/{workspace}")

Json = dict[str, Any]

_LOG = logging.getLogger("carrel.http")
_AHEAD = 256
"""Events that a turn may be ahead of who reads them; then it waits."""

_ALIVE = b": still here\n\n"
_SHORTENING = "compaction"


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said to the agent. Which model answers is said by the settings alone."""

    message: Annotated[str, Meta(min_length=1, max_length=1_000_000)]


@routes.post("/sessions/{session}/chat", None, takes=Turn, media="text/event-stream")
async def chat(
    desk: Writer,
    session: Annotated[str, Path(max_length=200)],
    body: Annotated[Turn, Depends(sent(Turn))],
) -> Response:
    """Hold a turn with the agent and stream its events, in the form of AG-UI.

    The message is recorded before the model is asked, and what has arrived when the client leaves. A
    STATE_SNAPSHOT holds the report of the context. RUN_FINISHED or RUN_ERROR is the last event.
    """
    session = desk.session(session)
    events = await run_in_threadpool(_begin, desk, session, body.message)
    return EventStream(_beating(events, _Run(session)))


def _begin(desk: Desk, session: str, message: str) -> AsyncGenerator[Event, None]:
    """Return the events of a turn; what somebody else than the owner says has their name on it."""
    sender = None if desk.scope is Scope.MAIN else desk.access.name
    turn = desk.own.conversations.turn(session, message, scope=desk.scope, source=SOURCE, sender=sender)
    desk.note("session.turn", session, session=session)
    return turn


async def _beating(events: AsyncGenerator[Event, None], run: "_Run") -> AsyncGenerator[bytes]:
    """Yield the frames of a turn, and a sign of life where it is quiet; one that nobody reads is stopped."""
    queue = asyncio.Queue[bytes | None](_AHEAD)
    task = asyncio.create_task(_tell(events, run, queue))
    try:
        while True:
            try:
                frame = await asyncio.wait_for(queue.get(), HEARTBEAT)
            except TimeoutError:
                frame = _ALIVE
            if frame is None:
                return
            yield frame
    finally:
        task.cancel()
        with CancelScope(shield=True):  # what had arrived is recorded first
            await asyncio.wait({task})


async def _tell(
    events: AsyncGenerator[Event, None], run: "_Run", queue: "asyncio.Queue[bytes | None]"
) -> None:
    """Put the frames of a turn into a queue, the last of them whatever goes wrong, and then nothing."""
    try:
        async with aclosing(events):
            await queue.put(_framed(run.started()))
            async for event in events:
                for told in run.told(event):
                    await queue.put(_framed(told))
    except CarrelError as error:
        await queue.put(_framed(run.failed(error.code, error.message, error.hint)))
    except Exception as error:  # noqa: BLE001 - the stream has begun: there is nobody above to tell the client
        _LOG.error("a turn broke: %s\n%s", type(error).__name__, where(error))
        await queue.put(_framed(run.failed("internal", "Something broke.", "Please report this.")))
    await queue.put(None)


class _Run:
    """One turn in the words of AG-UI; knows which message is being said."""

    def __init__(self, session: str) -> None:
        self._id = uuid4().hex
        self._session = session
        self._texts = 0
        self._is_speaking = False
        self._is_shortening = False

    def started(self) -> Json:
        """Return the first event."""
        return {"type": "RUN_STARTED", "threadId": self._session, "runId": self._id}

    def failed(self, code: str, message: str, hint: str) -> Json:
        """Return the last event of a turn that could not be held."""
        return {"type": "RUN_ERROR", "message": message, "code": code, "hint": hint}

    def told(self, event: Event) -> Iterator[Json]:
        """Yield what is told of something that happened."""
        match event:
            case Shortening():
                self._is_shortening = True
                yield {"type": "STEP_STARTED", "stepName": _SHORTENING}
            case Prepared(assembly):
                yield from self._prepared(assembly)
            case Piece(text):
                yield from self._spoken(text)
            case CallStarted(call):
                yield from self._silent()
                yield from _called(call)
            case CallEnded(call, result, _):
                yield {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": f"{self._id}-{call.id}",
                    "toolCallId": call.id,
                    "content": result,
                    "role": "tool",
                }
            case Ended():
                yield from self._silent()
                yield self._finished(event)

    def _prepared(self, assembly: object) -> Iterator[Json]:
        if self._is_shortening:
            yield {"type": "STEP_FINISHED", "stepName": _SHORTENING}
        if isinstance(assembly, Assembly):
            yield {"type": "STATE_SNAPSHOT", "snapshot": {"context": assembly.report.to_json()}}

    def _spoken(self, text: str) -> Iterator[Json]:
        if not self._is_speaking:
            self._is_speaking = True
            self._texts += 1
            yield {"type": "TEXT_MESSAGE_START", "messageId": self._message, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._message, "delta": text}

    def _silent(self) -> Iterator[Json]:
        if self._is_speaking:
            self._is_speaking = False
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._message}

    def _finished(self, event: Ended) -> Json:
        result = {
            "finish": event.finish,
            "rounds": event.rounds,
            "spend": to_builtins(event.spend),
            "findings": to_builtins(event.findings),
        }
        return {"type": "RUN_FINISHED", "threadId": self._session, "runId": self._id, "result": result}

    @property
    def _message(self) -> str:
        return f"{self._id}-{self._texts}"


def _called(call: ToolCall) -> Iterator[Json]:
    arguments = (
        call.arguments if isinstance(call.arguments, str) else plainjson.dumps(call.arguments).decode()
    )
    yield {"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name}
    if arguments:
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": arguments}
    yield {"type": "TOOL_CALL_END", "toolCallId": call.id}


def _framed(told: Json) -> bytes:
    """Return an event as a frame; half a character in it is escaped."""
    return b"data: " + plainjson.dumps(told) + b"\n\n"
