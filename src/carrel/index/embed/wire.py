"""One question over HTTP, with the standard library: bounded in time and size."""

import socket
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ssl import SSLContext, create_default_context
from threading import Event, Timer
from typing import Self

from msgspec import Struct

from carrel.index.embed.server import Server

_CONNECTING = 10.0
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "carrel",
}


class Reply(Struct, frozen=True):
    """What came back: the status, the seconds that the server asks to wait, and the body."""

    status: int
    after: float | None
    body: bytes


class Broken(Exception):
    """There was no answer: the message says in a few words why not."""


class Line:
    """A connection to one server, opened by the first question and kept for those that follow.

    No redirect is followed, key in hand, and no proxy asked.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection: HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; the next question opens the line again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def ask(self, body: bytes, *, seconds: float, most: int) -> Reply:
        """Send a body and return the answer, which takes at most so many seconds and bytes in all."""
        if self._connection is None:
            self._connection = _connection(self._server, min(seconds, _CONNECTING))
        connection = self._connection
        late = Event()
        # A time limit on the socket begins anew with every byte; this one does not.
        alarm = Timer(seconds, _hang_up, (connection, late))
        alarm.daemon = True
        alarm.start()
        try:
            connection.request("POST", self._server.path, body, {**_HEADERS, **self._server.headers})
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            reply = _read(connection, most)
        except (OSError, HTTPException) as error:
            self.close()
            is_late = late.is_set() or isinstance(error, TimeoutError)
            raise Broken("did not answer in time" if is_late else _explain(error)) from error
        finally:
            alarm.cancel()
        if late.is_set() or len(reply.body) > most:  # what is left on this line belongs to no question
            self.close()
        return reply


def _connection(server: Server, seconds: float) -> HTTPConnection:
    if server.is_secure:
        return HTTPSConnection(server.host, server.port, timeout=seconds, context=_certificates())
    return HTTPConnection(server.host, server.port, timeout=seconds)


@cache
def _certificates() -> SSLContext:
    return create_default_context()


def _read(connection: HTTPConnection, most: int) -> Reply:
    """Read one answer; a byte more than the most is how a longer one is known."""
    response = connection.getresponse()
    told = response.getheader("Retry-After", "")
    after = float(told) if told.isascii() and told.isdigit() and len(told) < 10 else None  # noqa: PLR2004 - any wait
    return Reply(response.status, after, response.read(most + 1))


def _hang_up(connection: HTTPConnection, late: Event) -> None:
    late.set()
    if (line := connection.sock) is not None:
        with suppress(OSError):  # it may have ended by itself
            socket.socket.shutdown(line, socket.SHUT_RDWR)


def _explain(error: OSError | HTTPException) -> str:
    if isinstance(error, socket.gaierror):
        return "cannot be found"
    if isinstance(error, ConnectionRefusedError):
        return "does not accept connections"
    if isinstance(error, HTTPException | ConnectionError):
        return "broke the connection"
    return "cannot be reached"
