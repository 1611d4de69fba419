"""What every request passes before anything reads it: where it came from, how large and how slow it is."""

import asyncio
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from carrel.errors import CarrelError
from carrel.http.answers import refusal
from carrel.http.errors import BodyTooLarge, EncodedBody, TooSlow, WrongHost, WrongOrigin

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names by which a server on this machine alone is known."""

FILE_BYTES = 16 * 1024 * 1024
"""What one request may bring where it writes a file."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}
"""Said with every answer; a page that needs more says so itself."""

_SAID = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())
_LOOKED_AT = frozenset((b"host", b"origin", b"content-encoding", b"content-length"))


class Limits(Struct, frozen=True, kw_only=True):
    """How much one request may bring, and how long it may take to."""

    body_bytes: int = 2 * 1024 * 1024
    file_bytes: int = FILE_BYTES
    body_seconds: float = 30.0


class Guard:
    """Refuses what comes from elsewhere, is packed, too large or too slow; the app never sees it."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], limits: Limits | None = None) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._limits = limits or Limits()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there is no socket to open here
            await send({"type": "websocket.close", "code": 1008})
            return
        protected = _protected(send)
        try:
            limit = self._admit(scope)
        except CarrelError as error:
            await refusal(error)(scope, receive, protected)
            return
        await self._app(scope, _Patience(receive, limit, self._limits.body_seconds).receive, protected)

    def _admit(self, scope: Scope) -> int:
        """Return how much a request may bring, or say why it is refused; one pass, since each one pays."""
        found: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _LOOKED_AT:
                if name in found:  # two hosts, two lengths: somebody wants one of us to see another
                    raise WrongHost
                found[name] = value
        host = found.get(b"host", b"").decode("latin-1").strip().lower()
        if _name(host) not in self._hosts:
            raise WrongHost
        if b"origin" in found and not _is_own(found[b"origin"].decode("latin-1"), host, scope):
            raise WrongOrigin
        if found.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
            raise EncodedBody
        is_file = scope["method"] == "PUT" and "/files/" in scope["path"]
        limit = self._limits.file_bytes if is_file else self._limits.body_bytes
        length = found.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > limit:
            raise BodyTooLarge(limit)
        return limit


class _Patience:
    """Hands a body on as long as it is not too large and comes in time."""

    def __init__(self, receive: Receive, limit: int, seconds: float) -> None:
        self._receive = receive
        self._limit = limit
        self._seconds = seconds
        self._taken = 0
        self._deadline: float | None = None
        self._is_whole = False

    async def receive(self) -> Message:
        """Return the next part of the body, and then, for as long as it takes, the end of the connection."""
        if self._is_whole:
            return await self._receive()
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow(self._seconds) from None
        self._taken += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._taken > self._limit:
            raise BodyTooLarge(self._limit)
        return message


def _protected(send: Send) -> Send:
    """Say with every answer what a browser must not do with it."""

    async def protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message["headers"]
            said = {name for name, _ in headers}
            headers.extend(each for each in _SAID if each[0] not in said)
        await send(message)

    return protected


def _name(host: str) -> str:
    """Return the name of a host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0] if host.count(":") <= 1 else ""


def _is_own(origin: str, host: str, scope: Scope) -> bool:
    """Tell whether a page of this very server sent the request."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    same = f"{parts.scheme}://{parts.netloc}" == origin and parts.netloc.lower() == host
    return same and parts.scheme in ("https", scope.get("scheme", "http"))
