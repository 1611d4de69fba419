"""The server over streamable HTTP: one endpoint for an application that lets in whom it knows."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from carrel.mcp.frames import LONGEST
from carrel.mcp.seat import Seated
from carrel.mcp.server import build


class Endpoint:
    """An ASGI application for one route; `lifespan` must be entered once, before its first request.

    It keeps nothing between requests: whoever asks is seated anew, by `seated(request)` with Starlette's
    request. Who may ask at all, and from which host and origin, is for the application around it; where it
    names `hosts`, the SDK checks them once more.
    """

    def __init__(self, seated: Seated, *, hosts: Sequence[str] = (), origins: Sequence[str] = ()) -> None:
        security = TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=list(origins))
        manager = StreamableHTTPSessionManager(
            build(seated),
            json_response=True,
            stateless=True,
            security_settings=security if hosts else None,
            max_request_body_size=LONGEST,
        )
        self._app: ASGIApp = manager.asgi_app
        self.lifespan: Callable[[], AbstractAsyncContextManager[None]] = manager.run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; streams that only wait for news are not kept, since there is none to send."""
        if scope["type"] == "http" and scope["method"] != "POST":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        await self._app(scope, receive, send)
