"""The log of a command: its steps, how long each took, and what was noticed, a JSON object a line.

It holds names, codes and figures, and never a word of what was read, said or given.
"""

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from carrel import __version__, telemetry
from carrel.cli import output
from carrel.config import read_clock, user_directories
from carrel.errors import Unavailable
from carrel.findings import Finding

FILE = "logs/carrel.jsonl"
_LARGEST = 8 * 1024 * 1024
_MADE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LogFailed(Unavailable):
    """The log that was asked for cannot be written."""

    code = "log_failed"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"The log {path} cannot be written: {problem}.", hint="Name another file with --log."
        )


class _Log:
    """One command's lines in the file of a log."""

    def __init__(self, command: str, path: Path, *, is_own: bool, is_told: bool) -> None:
        self.path = path
        self._command = command
        self._is_told = is_told
        self._started = time.monotonic()
        self._listening = ExitStack()
        self._fd = _opened(path, is_own=is_own)
        self.put("began", version=__version__)
        self._listening.enter_context(telemetry.heard_by(self._step))

    def put(self, event: str, **about: object) -> None:
        """Add a line."""
        from msgspec import json  # noqa: PLC0415 - loaded by now

        at = read_clock(os.environ).now().isoformat().replace("+00:00", "Z")
        data = {"at": at, "pid": os.getpid(), "command": self._command, "event": event, **about}
        try:
            os.write(self._fd, json.encode(data) + b"\n")
        except OSError as error:
            raise LogFailed(self.path, error.strerror or str(error)) from None

    def tell(self, text: str) -> None:
        """Tell a person, who asked for it, what goes on."""
        if self._is_told:
            output.line(output.styled(f"· {text}", dim=True), to_stderr=True)

    def end(self, code: int, error: str) -> None:
        """Add the last line, and let go of the file."""
        self._listening.close()
        seconds = time.monotonic() - self._started
        self.put("ended", code=code, error=error, seconds=round(seconds, 6))
        os.close(self._fd)
        self.tell(f"{self._command} {seconds:.3f} s, exit {code}; log: {output.printable(str(self.path))}")

    def _step(self, name: str, seconds: float, about: Mapping[str, telemetry.Value]) -> None:
        self.put("step", step=name, seconds=round(seconds, 6), about=dict(about))
        self.tell(f"{name} {seconds:.3f} s")


_open: list[_Log] = []
"""The log of the command that runs, if it has one."""


def begin(command: str, file: str | None, *, is_told: bool) -> None:
    """Log this command, in the file given, else in the user's own."""
    path = Path(file) if file else user_directories(os.environ).data / FILE
    _open.append(_Log(command, path, is_own=not file, is_told=is_told))
    output.manner.noticed_by.append(_notice)


def _notice(finding: Finding) -> None:
    """Log what was noticed, by its code: what it says may quote a file."""
    for log in _open:
        log.put("finding", code=finding.code, severity=finding.severity, path=finding.path or None)


def end(code: int, error: str = "") -> None:
    """Log how the command ended."""
    while _open:
        _open.pop().end(code, error)


def _opened(path: Path, *, is_own: bool) -> int:
    """Open a log to be added to, for its owner's eyes; our own one is put aside once it is large."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(path, _MADE, 0o600)
        if is_own and os.fstat(fd).st_size > _LARGEST:
            os.close(fd)
            path.replace(path.with_name(f"{path.name}.old"))
            fd = os.open(path, _MADE, 0o600)
    except OSError as error:
        raise LogFailed(path, error.strerror or str(error)) from None
    return fd
