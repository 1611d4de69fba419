"""Servers that start quickly: `carrel serve`, forked from a process that has loaded it and serves nothing itself.

As a program it reads a line for each thing that it is asked, and answers with a line. With the one who asks it
ends, and with it every server.
"""

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn


class Nursery:
    """Starts and ends servers; each writes what it says to `out` and what goes wrong to `log`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.nursery"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, cwd=Path(__file__).parents[2],
        )  # fmt: skip

    def start(self, root: Path, environ: Mapping[str, str], *, port: int, out: Path, log: Path) -> int:
        """Start a server, and return the number of its process."""
        told = {"root": str(root), "environ": dict(environ), "port": port, "out": str(out), "log": str(log)}
        return int(self._ask(told))

    def is_up(self, server: int) -> bool:
        """Tell whether a server has not ended by itself."""
        return self._ask({"look": server}) == "up"

    def end(self, server: int) -> None:
        """End a server as a terminal would, and wait until all is put away."""
        self._ask({"end": server})

    def close(self) -> None:
        """Let go of the process; it takes what is still up along."""
        self._process.communicate()

    def _ask(self, asked: Mapping[str, object]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(asked)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer, "the process that starts servers has ended"
        return answer


def main() -> None:
    """Load what a server needs, then start and end some until nobody asks any more."""
    _load()
    up: set[int] = set()
    for line in sys.stdin:
        sys.stdout.write(f"{_answer(json.loads(line), up)}\n")
        sys.stdout.flush()
    for server in [*up]:
        _end(server, up)


def _answer(asked: Mapping[str, Any], up: set[int]) -> int | str:
    if "root" in asked:
        if (server := os.fork()) == 0:
            _serve(asked)
        up.add(server)
        return server
    if "end" in asked:
        _end(asked["end"], up)
        return "ended"
    if asked["look"] in up and os.waitpid(asked["look"], os.WNOHANG)[0]:
        up.discard(asked["look"])
    return "up" if asked["look"] in up else "ended"


def _end(server: int, up: set[int]) -> None:
    if server in up:
        os.kill(server, signal.SIGTERM)
        os.waitpid(server, 0)
        up.discard(server)


def _load() -> None:
    """Do once what every server would: most modules are loaded when an interface is built."""
    for module in ("carrel.cli.serve", "numpy", "tantivy"):
        import_module(module)
    from carrel.clock import SystemClock  # noqa: PLC0415 - who only asks for servers has no use for all this
    from carrel.http.app import build  # noqa: PLC0415 - as above
    from carrel.http.served import Served  # noqa: PLC0415 - as above

    build(Served([]), token="x" * 43, clock=SystemClock())
    gc.freeze()  # a collector that looked at all this would copy it for each server


def _serve(asked: Mapping[str, Any]) -> NoReturn:
    """Become a server."""
    from carrel.cli.main import run  # noqa: PLC0415 - as above

    status = 1
    try:
        for number, path in enumerate((os.devnull, asked["out"], asked["log"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
        os.environ.update(asked["environ"])
        status = run(["serve", asked["root"], "--port", str(asked["port"]), "--json"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
