"""`carrel serve` as a process of its own: asked over HTTP, stopped by a signal."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

PATIENCE = 240.0


class Server:
    """A running server, and what it said when it began; the token is that of the environment, or its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", line: dict[str, Any], environ: Mapping[str, str]):
        self.process, self.line = process, line
        self.port = int(line["url"].rpartition(":")[2])
        self.token = environ.get("CARREL_TOKEN") or self.token_file.read_text()

    @property
    def token_file(self) -> Path:
        return Path(self.line["token_file"])

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        key = {"Authorization": f"Bearer {self.token if token is None else token}"}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, data, key | headers)
        answer = connection.getresponse()
        told = answer.read()
        connection.close()
        is_json = answer.getheader("content-type", "").startswith("application/json")
        return answer.status, json.loads(told) if is_json else told

    def told(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Ask something of the first workspace, which must succeed."""
        status, told = self.ask(method, f"/api/v1/w/default{path}", body, **headers)
        assert status in (200, 201), told
        return told

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, bytes]:
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, err


@contextmanager
def serving(environ: Mapping[str, str], *words: str) -> Iterator[Server]:
    """Start a server on a free port, and yield it as soon as it answers."""
    with starting(environ, *words) as server:
        until(lambda: reachable(server))
        yield server


@contextmanager
def starting(environ: Mapping[str, str], *words: str) -> Iterator[Server]:
    """Start a server on a free port, and yield it as soon as it has said where that is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "carrel", "serve", *words, "--port", "0", "--json"],
        env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, process.communicate()[1].decode()
        yield Server(process, json.loads(first), environ)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers too, or what they say would never end
        process.communicate()


def reachable(server: Server) -> bool:
    try:
        return server.ask("GET", "/healthz")[0] == 200
    except OSError:
        return False


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
