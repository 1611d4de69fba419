"""What goes out: JSON with its version, pages, and files as they are."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, Generic, TypeVar

from msgspec import Struct, json, to_builtins
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from carrel import plainjson
from carrel.errors import CarrelError
from carrel.http.errors import problem_of, status_of

SCHEMA_VERSION = 1
_VERSION = b'{"schema_version":%d' % SCHEMA_VERSION
_MOST_ENCODED = 16 * 1024 * 1024
_PLAIN = "text/plain; charset=utf-8"

T = TypeVar("T")

_ADVICE = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
"""What is told beside an error: how to be let in, and after how many seconds to ask again."""


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """Some of many; `next_cursor` asks for what comes after, none where this is the end."""

    items: tuple[T, ...]
    next_cursor: str | None = None


class Reply(Response):
    """A value as one JSON document, with the version of its shape first."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes."""
        data = encoded(content)
        if not data.startswith(b"{") or data.startswith(b'{"schema_version"'):
            return data
        return _VERSION + (data[1:] if data == b"{}" else b"," + data[1:])


class Encoded:
    """Answers as they went out before, by the very value that they were made of; some megabytes at most."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, str], tuple[object, bytes]] = OrderedDict()
        self._size = 0

    def answer(self, value: T, form: str, make: Callable[[T], Any]) -> Response:
        """Return a value in one of its forms: it never changes, so that its bytes do not."""
        key = (id(value), form)
        kept = self._kept.get(key)
        if kept is None or kept[0] is not value:
            kept = self._keep(key, value, bytes(Reply(make(value)).body))
        return Response(kept[1], media_type=Reply.media_type)

    def _keep(self, key: tuple[int, str], value: object, data: bytes) -> tuple[object, bytes]:
        self._let_go(key)
        self._kept[key] = (value, data)
        self._size += len(data)
        while self._size > _MOST_ENCODED:
            self._let_go(next(iter(self._kept)))
        return value, data

    def _let_go(self, key: tuple[int, str]) -> None:
        if (gone := self._kept.pop(key, None)) is not None:
            self._size -= len(gone[1])


class EventStream(StreamingResponse):
    """Server-sent events; whoever makes them has stopped when the response ends, however it does."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        super().__init__(frames, headers={"X-Accel-Buffering": "no"})
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all there is to whoever is still there."""
        async with aclosing(self._frames):
            with suppress(ClientDisconnect):
                await super().__call__(scope, receive, send)


def encoded(content: Any) -> bytes:
    """Return a value as JSON; what is not Unicode is escaped."""
    try:
        return json.encode(content)
    except UnicodeEncodeError:
        return plainjson.dumps(to_builtins(content))


def refusal(error: CarrelError) -> Response:
    """Return how an error is told, and how to ask so that it may be answered."""
    status = status_of(error)
    return Reply(problem_of(error), status, headers=_ADVICE.get(status))


def raw(data: bytes, *, name: str, digest: str) -> Response:
    """Return a file as it is, to be saved: whatever it holds, a browser runs nothing of it."""
    return Response(data, media_type=_PLAIN, headers={"ETag": etag(digest), **attached(name)})


def attached(name: str) -> dict[str, str]:
    """Return what says that an answer is to be saved under a name, and not shown."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "_" for c in name)
    return {"Content-Disposition": f'attachment; filename="{plain}"'}


def etag(digest: str) -> str:
    """Return the tag that stands for a content."""
    return f'"{digest}"'


def tagged(tag: str | None) -> str | None:
    """Return the digest that a tag stands for; none where none was given, or any will do."""
    return None if tag is None or tag.strip() == "*" else tag.strip().removeprefix("W/").strip('"')
