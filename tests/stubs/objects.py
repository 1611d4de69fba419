"""A real S3 server for tests: moto on loopback, one for each process that needs it, with faults on demand."""

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from threading import Lock, Thread
from typing import Any
from urllib.request import Request, urlopen

import pytest

NUMBERS = count(1)
BUCKET = "carrel-tests"
Asked = tuple[str, str]
"""A method and a path with its query."""


class S3:
    """The server. Requests are answered one at a time, so a condition and what depends on it are one step."""

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415 - this module is loaded by every run
        from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415

        class Handler(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._lock = Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.requests: list[Asked] = []
        self.fault: (
            Callable[[Asked, Callable[[], Iterable[bytes]], Callable[..., Any]], Iterable[bytes]] | None
        ) = None
        Thread(target=self._server.serve_forever, daemon=True).start()
        urlopen(Request(f"{self.endpoint}/{BUCKET}", method="PUT")).close()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fail(
        self, times: int, *, method: str = "", status: str = "503 Slow Down", done: bool = False
    ) -> None:
        """Answer the next requests of a method with a status, before they are done or after."""
        left = count(times, -1)

        def fault(request: Asked, answer: Callable[..., Any], start: Callable[..., Any]) -> Iterable[bytes]:
            if not request[0].startswith(method) or next(left) <= 0:
                return answer()
            if done:
                list(answer(lambda *_: None))
            body = b"<Error><Code>SlowDown</Code></Error>"
            start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
            return [body]

        self.fault = fault

    def truncate(self, times: int, *, method: str = "GET") -> None:
        """Break off the bodies of the next answers half-way, though their length is told."""
        left = count(times, -1)

        def fault(request: Asked, answer: Callable[..., Any], start: Callable[..., Any]) -> Iterable[bytes]:
            if not request[0].startswith(method) or next(left) <= 0:
                return answer()
            told: list[Any] = []
            body = b"".join(answer(lambda *given: told.extend(given)))
            start(
                told[0],
                [item for item in told[1] if item[0].lower() != "content-length"]
                + [("Content-Length", str(len(body))), ("Connection", "close")],
            )
            return [body[: len(body) // 2]]

        self.fault = fault

    def mend(self) -> None:
        self.fault = None

    def asked(self, method: str = "") -> list[Asked]:
        return [request for request in self.requests if request[0].startswith(method)]

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        query = environ.get("QUERY_STRING", "")
        request = (environ["REQUEST_METHOD"], environ["PATH_INFO"] + (f"?{query}" if query else ""))
        self.requests.append(request)

        def answer(start: Callable[..., Any] = start) -> list[bytes]:
            with self._lock:
                return list(self._moto(environ, start))

        fault = self.fault
        return answer() if fault is None else fault(request, answer, start)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    server = S3()
    yield server
    server.stop()


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """The server, mended, and the environment that leads to it."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server.endpoint,
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    s3_server.requests.clear()
    yield s3_server
    s3_server.mend()


@pytest.fixture
def objects(s3: S3) -> str:
    """The URL of a place in a bucket where nobody was before."""
    return f"s3://{BUCKET}/test-{next(NUMBERS)}"
