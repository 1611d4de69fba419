"""`carrel serve` over a desk, as a user starts it: what it says, what it costs, and what time it believes it is."""

import json
import signal
import struct
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

from tests.torture import shim
from tests.torture.desk import Desk
from tests.torture.kills import link_of

_PATIENCE = 30.0
"""Seconds after which an answer does not come any more."""

_IDLE = 2.0
"""Seconds after which a connection is made anew: a server ends those that nobody uses."""


class Sample(NamedTuple):
    """What a process has at a moment."""

    at: float
    megabytes: float
    descriptors: int
    threads: int


class Daytime:
    """The time of day of some processes, which can be moved while they run; where there is no compiler, it cannot."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "leap"
        self._file.write_bytes(bytes(8))
        self._library = shim.build(folder, "leap.c")

    @property
    def environ(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "LEAP": str(self._file)} if self._library else {}

    def leap(self, seconds: int) -> bool:
        """Let it be so many seconds later than it is, or earlier; tell whether that is possible."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", seconds))
        return self._library is not None


class Server:
    """A server, and the one client that it has."""

    def __init__(self, desk: Desk, daytime: Daytime) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "carrel", "-C", str(desk.root), "serve", "--port", "0"],
            env=desk.environ | daytime.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        port, token = link_of(self.process)
        self.wire = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        self._used = time.monotonic()
        self.head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: object = None, **head: str) -> None:
        if time.monotonic() - self._used > _IDLE:
            self.wire.close()
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
        self.wire.request(method, f"/api/v1/w/default/{path}", data, self.head | head)
        self._used = time.monotonic()

    def ask(self, method: str, path: str, body: object = None, **head: str) -> int:
        self.send(method, path, body, **head)
        answer = self.wire.getresponse()
        answer.read()
        return answer.status

    def read(self, path: str) -> str:
        self.send("GET", path)
        return self.wire.getresponse().read().decode()

    def sample(self) -> Sample:
        own = Path(f"/proc/{self.process.pid}")
        told = dict(line.split(":", 1) for line in (own / "status").read_text().splitlines())
        fds = sum(1 for _ in (own / "fd").iterdir())
        return Sample(time.monotonic(), int(told["VmRSS"].split()[0]) / 1024, fds, int(told["Threads"]))

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.wire.close()
        self.process.send_signal(how)
        self.process.communicate()
