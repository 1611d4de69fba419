"""Who asks: found out before a route is looked for, so that strangers learn not even what exists."""

from collections import OrderedDict
from collections.abc import Iterator
from hmac import compare_digest
from time import monotonic

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from carrel.errors import CarrelError
from carrel.http.access import COOKIE, CSRF_HEADER, Access, Door
from carrel.http.answers import refusal
from carrel.http.errors import NeedsCsrf, NeedsKey, TooMany
from carrel.http.explorer.pages import failed

LOGIN = "/login"
"""Where a token is taken from the address: each try is a guess."""

OPEN = ("/healthz", "/readyz", LOGIN, "/static/")
"""How addresses begin that anybody on a right host may ask; none tells anything of a workspace."""

_SAFE = ("GET", "HEAD", "OPTIONS")
_KNOWN = 4_096


class Rate:
    """So many at a time and so many a second, for each who asks; those not seen for long are let go of."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> bool:
        """Tell whether one more may come in now."""
        now = monotonic()
        left, at = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._per_second)
        self._left[name] = (max(left - 1, 0), now)
        if len(self._left) > _KNOWN:
            self._left.popitem(last=False)
        return left >= 1


class Gate:
    """Finds out who asks and hands that on; who cannot say is refused."""

    def __init__(self, app: ASGIApp, *, door: Door, requests: Rate, guesses: Rate) -> None:
        self._app = app
        self._door = door
        self._requests = requests
        self._guesses = guesses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on whoever may come in."""
        if scope["type"] == "http":
            try:
                await self._look_at(scope)
            except CarrelError as error:
                is_person = "text/html" in Headers(scope=scope).get("accept", "")
                await (failed(error) if is_person else refusal(error))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _look_at(self, scope: Scope) -> None:
        if not scope["path"].startswith(OPEN):
            scope.setdefault("state", {})["access"] = await self._admit(Headers(scope=scope), scope)
        elif scope["path"] == LOGIN and not self._guesses.take(_address(scope)):
            raise TooMany

    async def _admit(self, headers: Headers, scope: Scope) -> Access:
        """Return who asks."""
        try:
            access = await self._known(headers, scope["method"])
        except NeedsKey:
            if not self._guesses.take(_address(scope)):
                raise TooMany from None
            raise
        if not self._requests.take(access.name):
            raise TooMany
        return access

    async def _known(self, headers: Headers, method: str) -> Access:
        given = headers.getlist("authorization")
        if given:
            kind, _, text = given[0].partition(" ")
            if len(given) > 1 or kind.lower() != "bearer":
                raise NeedsKey
            return self._door.owner(text.strip()) or await run_in_threadpool(self._door.holder, text.strip())
        access = next(filter(None, map(self._door.browser, _cookies(headers))), None)
        if access is None:
            raise NeedsKey
        said = headers.get(CSRF_HEADER, "").encode()
        if method not in _SAFE and not compare_digest(said, access.csrf.encode()):
            raise NeedsCsrf
        return access


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _cookies(headers: Headers) -> Iterator[str]:
    """Yield what is called like our cookie; others on this machine set theirs for all ports, odd ones too."""
    for header in headers.getlist("cookie"):
        for each in header.split(";"):
            name, _, value = each.partition("=")
            if name.strip() == COOKIE:
                yield value.strip().strip('"')
