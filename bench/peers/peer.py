"""A peer in an environment of its own: made on request, started as a process, asked through a pipe."""

import json
import os
import subprocess
import sys
import threading
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
CARREL = "carrel"
PACKAGES: Mapping[str, Sequence[str]] = {
    CARREL: (),
    "chroma": ("chromadb==1.5.9",),
    "lancedb": ("lancedb==0.40.0",),
    "langgraph": ("langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2", "pysqlite3-binary"),
    "mem0": ("mem0ai==2.2.1",),
    "memsearch": ("memsearch==0.4.23",),
    "txtai": ("txtai==9.14.0", "faiss-cpu"),
}
"""What each peer is installed from; Carrel is installed beside each, for the same vectors."""


class Missing(Exception):
    """A peer that is not installed."""


class Peer:
    """One process of a peer; all that it is told is answered with the time that it took."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        python = python_of(name)
        if not python.exists():
            raise Missing(f"{name} is not installed: python bench/peers --install {name}")
        self._process = subprocess.Popen(
            [python, HERE / "inside.py", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "HOME": str(folder)},
        )  # fmt: skip
        told = self.tell(do="open", folder=str(folder))
        self.version, self.about = told["version"], told["about"]

    def tell(self, **what: object) -> dict[str, Any]:
        """Have something done; a peer that ended meanwhile is an EOFError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EOFError(self.name) from None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError(self.name)
        return json.loads(line)

    def kill_in(self, seconds: float) -> None:
        """End it in mid-work, as a power cut ends a process."""
        threading.Timer(seconds, self._process.kill).start()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def python_of(name: str) -> Path:
    return Path(sys.executable) if name == CARREL else PROJECT / ".peers" / name / "bin/python"


def install(name: str) -> None:
    """Make the environment of a peer, or bring it up to date."""
    if name == CARREL:
        return
    python = python_of(name)
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
    quiet = ("--quiet", "--disable-pip-version-check")
    own = ("--constraint", str(PROJECT / "constraints.txt"), "--editable", f"{PROJECT}[embed]")
    pip = (str(python), "-m", "pip", "install", *quiet)
    subprocess.run([*pip, *PACKAGES[name]], check=True)
    subprocess.run([*pip, *own], check=True)
