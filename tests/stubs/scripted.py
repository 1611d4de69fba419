"""A real HTTP server on loopback that answers as its script says: the ground that stubs of providers stand on.

An answer is a status, headers and steps. A step is bytes to send at once, a `Gate` that the test opens, `HANG`,
or one of the ways to leave in the middle. What was asked is kept, so that tests can look at the wire itself.
"""

import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

PATIENCE = 20.0
"""The seconds after which a test that forgot a gate fails instead of standing still."""


class Leave(NamedTuple):
    """A connection that ends before the answer does; with `rudely`, by a reset."""

    rudely: bool = False


HANG = object()
"""A step that says nothing more for as long as the other side listens."""

DISCONNECT = Leave()
RESET = Leave(rudely=True)


class Gate:
    """A step that waits until the test opens it; `reached` tells the test that all before it was sent."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    def wait(self, stopped: threading.Event) -> None:
        self.reached.set()
        for _ in range(int(PATIENCE / 0.01)):
            if self._open.wait(0.01) or stopped.is_set():
                return


class Answer(NamedTuple):
    """What is sent for one request; `framed` says whether the end of the body can be told from a disconnect.

    Steps that are a generator are made as they are sent: it can look at the clock, and need not end.
    """

    steps: Iterable[Any] = ()
    status: int = 200
    headers: Mapping[str, str] = {}
    framed: bool = True


class Asked(NamedTuple):
    """A request as it arrived; `gone` is set once its sender no longer listens to an answer that hangs."""

    path: str
    headers: Mapping[str, str]
    body: Any
    gone: threading.Event


Reaction = Answer | Callable[[Asked], Answer]


class StubServer:
    """Gives one answer of its script a request, the last one again and again.

    `asked` is what came in, the last `keep` of it where that is given, over as many `connections`.
    """

    def __init__(self, *script: Reaction, keep: int | None = None) -> None:
        self.asked: list[Asked] = []
        self._keep = keep
        self.connections = 0
        self._script = list(script) or [Answer(status=500)]
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), _Conversation)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def bodies(self) -> list[Any]:
        return [asked.body for asked in self.asked]

    def then(self, *script: Reaction) -> None:
        """Put a new script in the place of the old one."""
        with self._lock:
            self._script = list(script)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections, hanging ones too, and the threads that held them."""
        self._stopped.set()
        self._server.shutdown()
        with self._lock:
            for connection in self._sockets:
                _shut(connection)
        self._server.server_close()
        self._thread.join()

    def react(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if self._keep is not None:
                del self.asked[: -self._keep]
            reaction = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        return reaction if isinstance(reaction, Answer) else reaction(asked)

    def hold(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            self._sockets.add(connection)

    def release(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connection)

    def listen(self, connection: socket.socket, asked: Asked) -> None:
        """Say nothing until the other side hangs up, or the server is closed."""
        while not self._stopped.is_set():
            ready, _, _ = select.select([connection], [], [], 0.01)
            if ready and not connection.recv(1):
                asked.gone.set()
                return

    def pass_gate(self, gate: Gate) -> None:
        gate.wait(self._stopped)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64
    stub: StubServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that hang up: tests do that on purpose."""


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.stub.hold(self.connection)

    def finish(self) -> None:
        self.server.stub.release(self.connection)
        super().finish()

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        raw = self.rfile.read(size)
        asked = Asked(self.path, headers, json.loads(raw) if raw else None, threading.Event())
        answer = self.server.stub.react(asked)
        self._open(answer)
        for step in answer.steps:
            if not self._take(step, asked, answer.framed):
                self.close_connection = True
                return
        if answer.framed:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _open(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.framed:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Connection", "close")
        self.end_headers()

    def _take(self, step: Any, asked: Asked, framed: bool) -> bool:
        """Do one step and tell whether the answer goes on."""
        if isinstance(step, Gate):
            self.server.stub.pass_gate(step)
        elif step is HANG:
            self.server.stub.listen(self.connection, asked)
            return False
        elif isinstance(step, Leave):
            self._leave(step)
            return False
        elif step:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(step), step) if framed else step)
        return True

    def _leave(self, step: Leave) -> None:
        if step.rudely:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
        else:
            _shut(self.connection)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in http.server
        """Say nothing: a test looks at `asked`."""


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        connection.close()


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()


def document(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that is one JSON document, as errors are."""
    kind = {"Content-Type": "application/json"}
    return Answer([json.dumps(value).encode()], status, {**kind, **(headers or {})})


def streamed(*steps: Any, framed: bool = True) -> Answer:
    """An answer of server-sent events."""
    return Answer(steps, 200, {"Content-Type": "text/event-stream"}, framed)
