"""What shows a person that work goes on: a bar where it can be counted, else for how long it was done."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import IO, TYPE_CHECKING

from carrel.cli import output

if TYPE_CHECKING:
    from carrel.cli.options import Shared

_WIDTH = 30
_SECONDS = 1.0
_CLEAR = "\r\x1b[2K"


def bar(shared: "Shared") -> Callable[[int, int], None] | None:
    """Return what draws how much of how much is done on a terminal; elsewhere nobody looks."""
    if not _is_watched(shared):
        return None

    def draw(done: int, of: int) -> None:
        filled = _WIDTH * done // max(1, of)
        end = "\n" if done >= of else ""
        output.write(f"\r{'█' * filled}{'░' * (_WIDTH - filled)} {done:,} of {of:,}{end}", to_stderr=True)

    return draw


@contextmanager
def waiting(shared: "Shared", doing: str) -> Generator[None]:
    """Say on a terminal what is being done, once that takes longer than a moment; then the line goes."""
    if not _is_watched(shared):
        yield
        return
    shared.copy_root()  # which has a bar
    done = Event()
    teller = Thread(target=_tell, args=(doing, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(doing: str, done: Event) -> None:
    seconds = 0
    while not done.wait(_SECONDS):
        seconds += 1
        output.write(f"{_CLEAR}{doing} … {seconds:,} s", to_stderr=True)
    if seconds:
        output.write(_CLEAR, to_stderr=True)


def _is_watched(shared: "Shared") -> bool:
    """Tell whether a person looks at standard error, and wants to."""
    stream: IO[str] | None = sys.stderr  # none where the shell closed it
    return not (shared.as_json or shared.quiet) and stream is not None and stream.isatty()
