"""A peer in an environment of its own: made on request, started as a process, asked through a pipe."""

import json
import os
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Self

from table import Table

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

PATIENCE = 150.0
"""Seconds after which a peer that says nothing is taken to hang."""


AT_ONCE = 10


class Absent(Exception):
    """A peer that is not installed, could not be, ended, or hangs; the message says which."""


class Peer:
    """One process of a peer; all that it is told is answered with the time that it took."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._log = folder.with_name(f"{folder.name}.log")
        self._hangs = False
        python = python_of(name)
        if not python.exists():
            raise Absent(f"it is not installed; `python bench/peers --install --peer {name}` does it")
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as errors:
            self._process = subprocess.Popen(
                [python, HERE / "inside.py", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "HOME": str(folder)},
            )
        told = self.tell(do="open", folder=str(folder))
        self.version, self.about = told["version"], told["about"]

    def tell(self, **what: object) -> dict[str, Any]:
        """Have something done; a peer that ended meanwhile, or does not answer, is Absent."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watch = threading.Timer(PATIENCE, self._give_up)
        watch.start()
        try:
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            watch.cancel()
        if not line.endswith(b"\n"):
            self.close()
            raise Absent(self._why())
        return json.loads(line)

    def ask(self, texts: Sequence[str], limit: int) -> list[tuple[float, list[int]]]:
        """The milliseconds and the numbers of each answer; patience is for ten of them."""
        parts = (texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE))
        return [each for part in parts for each in self.tell(do="ask", texts=part, limit=limit)["answers"]]

    def _give_up(self) -> None:
        self._hangs = True
        self._process.kill()

    def _why(self) -> str:
        if self._hangs:
            return f"it did not answer within {PATIENCE:.0f} s"
        said = self._log.read_text("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "it said nothing")
        return f"it ended: {last[:200].replace('|', '/').replace('`', '')}"

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


@contextmanager
def tolerated(name: str, *tables: Table) -> Iterator[None]:
    """A peer that is absent or fails is told in the tables, and the others go on."""
    print(f"  {tables[0].title}: {name} …", file=sys.stderr, flush=True)
    try:
        yield
    except Absent as error:
        for table in tables:
            table.leave_out(name, str(error))


# Environments


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


def versions(names: Sequence[str]) -> dict[str, str]:
    """What is installed of the packages that the peers are made of."""
    found: dict[str, str] = {}
    for name in names:
        wanted = {package.split("==")[0] for package in PACKAGES[name]} or {CARREL}
        places = [str(path) for path in python_of(name).parents[1].glob("lib/python*/site-packages")]
        for each in distributions(path=places):
            if each.name in wanted:
                found[each.name] = each.version
    return found
