"""A server at a port of this process, and requests to it as they stand: no client tidies their paths up."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import NamedTuple

import uvicorn

from carrel.http.app import Interface
from carrel.http.server import Impatient

_PATIENCE = 20.0


class Answer(NamedTuple):
    status: int
    text: str


@contextmanager
def at_a_port(app: Interface, log_level: str | None = None) -> Iterator[int]:
    """Serve as `carrel serve` does, in a thread, and yield the port."""
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        port=0, http=Impatient, ws="none", lifespan="on", log_config=None, log_level=log_level, access_log=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        threading.Event().wait(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        app.stop()
        server.should_exit = True
        thread.join(_PATIENCE)


def send(port: int, method: str, target: bytes, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """Send a request whose target is exactly these bytes, and return what is answered."""
    lines = [f"{name}: {value}".encode() for name, value in headers.items()]
    lines += [b"Host: 127.0.0.1:%d" % port, b"Connection: close", b"Content-Length: %d" % len(body)]
    head = b"\r\n".join([b"%b %b HTTP/1.1" % (method.encode(), target), *lines])
    with socket.create_connection(("127.0.0.1", port), _PATIENCE) as wire:
        wire.sendall(head + b"\r\n\r\n" + body)
        with HTTPResponse(wire, method=method) as answer:
            answer.begin()
            return Answer(answer.status, answer.read().decode("utf-8", "replace"))
