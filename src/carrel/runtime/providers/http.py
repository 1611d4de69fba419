"""HTTP with providers: how long they may be silent, and how much they may send.

Only a model that is asked something imports this and its neighbours: the clients cost a second or more.
"""

from collections.abc import AsyncIterator
from functools import cache
from ssl import SSLContext

import httpx2

CONNECTING = 10.0
AGENT = {"User-Agent": "carrel"}

MOST_BYTES = 1_000_000_000
MOST_OF_AN_EVENT = 16_000_000
MOST_OF_AN_ERROR = 1_000_000


def open_http(silence: float) -> httpx2.AsyncClient:
    """Return a client that waits so long for the next bytes; it follows no redirects, key in hand."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(silence, connect=CONNECTING),
        verify=_certificates(),
        headers={"Accept-Encoding": "identity"},  # who packs a stream keeps its pieces back
        event_hooks={"response": [_bound]},
    )


@cache
def _certificates() -> SSLContext:
    """Load the certificates once: it costs a tenth of a second."""
    return httpx2.create_ssl_context()


class Endless(httpx2.ReadError):
    """More came than any answer has; to the clients it is a connection that broke."""


async def _bound(response: httpx2.Response) -> None:
    """Put an end to answers that have none: clients read an error, and an event, to wherever it ends."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    response.stream = _Bounded(stream, MOST_BYTES if response.is_success else MOST_OF_AN_ERROR)


class _Bounded(httpx2.AsyncByteStream):
    """A stream of bytes that is broken off where it is too long, in all or without an end of a line."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = line = 0
        async for chunk in self._stream:
            total += len(chunk)
            end = chunk.rfind(b"\n")
            line = len(chunk) - end - 1 if end >= 0 else line + len(chunk)
            if total > self._most or line > MOST_OF_AN_EVENT:
                raise Endless("more bytes than an answer has")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
