"""The stage of the demo: a directory of its own, in which what is shown is really typed into a shell."""

import os
import selectors
import shlex
import signal
import subprocess
import sys
from codecs import getincrementaldecoder
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from msgspec import Struct

from carrel.app import Workspace
from carrel.cli import output
from carrel.cli.demo_screen import Screen
from carrel.errors import Unavailable

Process = subprocess.Popen[bytes]

WORKSPACE = "ada"
_TURN = 0.1
"""Seconds between two turns of the wheel."""
_PIECE = 65_536


class DemoFailed(Unavailable):
    """Something that the demo tells did not happen."""

    code = "demo_failed"

    def __init__(self, said: str) -> None:
        super().__init__(f"The demo could not show what it tells: {said}", hint="Please report this.")


class Ran(Struct, frozen=True, kw_only=True):
    """A command as it was typed, what it printed, and how it ended: below zero by a signal."""

    command: str
    printed: str = ""
    code: int = 0
    seconds: float = 0.0


class Stage:
    """A directory with a home of its own; the user's settings, caches and memory are left alone."""

    def __init__(self, folder: Path, environ: Mapping[str, str], screen: Screen) -> None:
        self.folder = folder
        self.root = folder / WORKSPACE
        self.screen = screen
        self.ran: list[Ran] = []
        self.environ = _environment(folder, environ, screen)

    def open(self) -> Workspace:
        """Open the workspace as a program does that uses the library."""
        return Workspace.open(self.root, environ=self.environ)

    def at(self, moment: str, called: str) -> None:
        """Set the clock of what follows."""
        self.environ["CARREL_NOW"] = moment
        command = f"export CARREL_NOW={moment}   # {called}"
        self.screen.command(command)
        self.ran.append(Ran(command=command))

    def run(self, command: str) -> str:
        """Type a command, and return what it printed."""
        begun = monotonic()
        with self._typing(command) as process:
            printed = "".join(self._heard(process))
        self.screen.ended()
        seconds = round(monotonic() - begun, 2)
        self.ran.append(Ran(command=command, printed=printed, code=process.returncode, seconds=seconds))
        if process.returncode:
            raise DemoFailed(f"`{command}` ended with {process.returncode}: {' '.join(printed.split())}")
        return printed

    def kill(self, command: str, *, said: str, after: str) -> Ran:
        """Type a command that listens, say something to it, and kill it once it has printed some words."""
        with self._typing(f"exec {command}", shown=command) as process:
            assert process.stdin is not None
            self.screen.typed(said)
            process.stdin.write(f"{said}\n".encode())
            process.stdin.flush()
            printed = ""
            for text in self._heard(process):
                printed += text
                if after in printed:
                    break
            self.screen.ended()
            self.run(f"kill -9 {process.pid}")
            process.wait()
        ran = Ran(command=command, printed=printed, code=process.returncode)
        self.ran.insert(-1, ran)
        return ran

    @contextmanager
    def _typing(self, command: str, *, shown: str = "") -> Generator[Process]:
        """Start a command in a group of its own; nothing of it outlives this."""
        self.screen.command(shown or command)
        with subprocess.Popen(  # noqa: S603 - the demo's own commands
            ("/bin/sh", "-c", command),
            stdin=subprocess.PIPE if shown else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environ,
            cwd=self.folder,
            start_new_session=True,
        ) as process:
            try:
                yield process
                process.wait()
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def _heard(self, process: Process) -> Iterator[str]:
        """Yield what a command prints, and show it as it comes."""
        assert process.stdout is not None
        begun = monotonic()
        decoder = getincrementaldecoder("utf-8")("replace")
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(_TURN):
                    self.screen.wait(monotonic() - begun)
                    continue
                data = os.read(process.stdout.fileno(), _PIECE)
                text = decoder.decode(data, final=not data)
                self.screen.printed(text)
                yield text
                if not data:
                    return


def _environment(folder: Path, environ: Mapping[str, str], screen: Screen) -> dict[str, str]:
    """Return what commands are told: a home in the folder, and `carrel` as this Python has it."""
    programs = folder / "bin"
    programs.mkdir()
    command = programs / "carrel"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m carrel "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    own = {name: value for name, value in environ.items() if not name.startswith("CARREL_")}
    return {
        **own,
        "CARREL_HOME": str(folder / "home"),
        "PATH": f"{programs}{os.pathsep}{own.get('PATH', os.defpath)}",
        "COLUMNS": str(screen.room),
        ("FORCE_COLOR" if output.is_coloured() and not screen.is_silent else "NO_COLOR"): "1",
    }
