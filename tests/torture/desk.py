"""A workspace to be ill-treated, and who works in it: children that say what was acknowledged, and can be killed."""

import gc
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from carrel.app import Workspace
from carrel.cli.main import run

CONFIG = "layout: carrel\nagents:\n  - {id: kate, display_name: Kate}\nsearch: {embedder: none}\n"
Say = Callable[[str], None]
_ERRORS = 2
_ANEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
FILES = {
    "carrel.yaml": CONFIG,
    "SOUL.md": "Be kind.\n",
    "AGENTS.md": "Be brief.\n",
    "MEMORY.md": "# Memory\n\n## Notes\n\n- zero\n",
}


def share_what_is_loaded() -> None:
    """Let forks of this process use what it has loaded as it lies: a collector that looks at a page copies it."""
    os.register_at_fork(before=gc.freeze)


class Desk:
    """A trusted workspace in a folder, with a home of its own."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES) -> None:
        self.root, self.home = folder / "desk", folder / "home"
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        Workspace.trust(self.root, environ=self.environ)

    @classmethod
    def at(cls, folder: Path) -> "Desk":
        """Return the desk that is in a folder already."""
        desk = cls.__new__(cls)
        desk.root, desk.home = folder / "desk", folder / "home"
        return desk

    @property
    def environ(self) -> dict[str, str]:
        own = {"CARREL_HOME": str(self.home), "PATH": os.environ["PATH"], "HOME": str(self.home)}
        source = os.environ.get("PYTHONPATH")  # a copy of the source that a defect was put into
        return own | {"PYTHONPATH": source} if source else own

    def open(self, **more: str) -> Workspace:
        return Workspace.open(self.root, environ=self.environ | more)

    def log(self, session: str) -> Path:
        return self.root / f"agents/kate/sessions/{session}.log.jsonl"

    @property
    def complaints(self) -> Path:
        """What commands at this desk say on standard error, each time from the start."""
        return self.root.parent / "complaints"

    def carrel(self, *words: str, **more: object) -> "subprocess.Popen[bytes]":
        """Start the command as a user would."""
        return subprocess.Popen(
            [sys.executable, "-m", "carrel", "-C", str(self.root), *words],
            env=self.environ,
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **more},  # type: ignore[arg-type]
        )

    def anew(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start the command as a user would, and keep what it complains of."""
        with self.complaints.open("wb") as complaints:
            return self.carrel(*words, stderr=complaints)

    def forked(self, *words: str, first: Callable[[], object] = bool) -> "Forked":
        """Run the command in a fork of this process, which has loaded everything already; something there first."""
        return Forked(("-C", str(self.root), *words), self.environ, self.complaints, first)


class Forked:
    """A command that began its life in the middle: as `Popen` shows one, as far as it is used here."""

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], complaints: Path, first: Callable[[], object]
    ) -> None:
        (given, self._given), (self._told, told) = os.pipe(), os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._become((given, told, os.open(complaints, _ANEW, 0o600)), environ)
                first()
                os._exit(run(words))
            except BaseException:  # noqa: BLE001 - whatever it is, nobody above may catch it in this process
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(given)
        os.close(told)
        self.stdin, self.stdout = os.fdopen(self._given, "wb"), os.fdopen(self._told, "rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.returncode is None:
            self.kill()
            self.wait()
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return how it ended, a signal as a negative number."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def poll(self) -> int | None:
        """Return how it ended, if it did."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def _become(self, streams: Sequence[int], environ: Mapping[str, str]) -> None:
        """Have streams and an environment of its own, and nothing else of what the parent has open."""
        for stream, fd in enumerate(streams):
            os.dup2(fd, stream)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(environ)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(stream, mode, buffering=1 if stream == _ERRORS else -1, encoding="utf-8")
            for stream, mode in enumerate("rww")
        )


class Child:
    """A fork of this process, which has loaded everything already; what it says comes through a pipe."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            try:
                work(lambda said: _say(writing, said))
                os._exit(0)
            except BaseException:  # noqa: BLE001 - whatever it is, nobody above may catch it in this process
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(writing)
        self._pipe = os.fdopen(reading, "rb")
        self.has_failed = False
        """Whether it ended by an error of its own, which is told on standard error."""
        self.was_killed = False

    def wait_for_word(self) -> bytes:
        return self._pipe.readline()

    def listen(self) -> list[str]:
        """Wait until it has done its work, and return all that it said."""
        with self._pipe as pipe:
            said = [line[:-1].decode() for line in pipe if line.endswith(b"\n")]
        self._end()
        return said

    def kill(self) -> list[str]:
        """End it as a power cut would, and return all that it had said by then, whole lines only."""
        os.kill(self.pid, signal.SIGKILL)
        self._end()
        with self._pipe as pipe:
            return [line[:-1].decode() for line in pipe if line.endswith(b"\n")]

    def _end(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self.has_failed = os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
        self.was_killed = os.WIFSIGNALED(status)


def _say(pipe: int, said: str) -> None:
    os.write(pipe, f"{said}\n".encode())
