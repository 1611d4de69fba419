"""A bar on standard error for work that takes a while."""

import sys
from collections.abc import Callable

from carrel.cli import output
from carrel.cli.options import Shared

_WIDTH = 30


def bar(shared: Shared) -> Callable[[int, int], None] | None:
    """Return what draws how much of how much is done on a terminal; elsewhere nobody looks."""
    if shared.as_json or not sys.stderr.isatty():
        return None

    def draw(done: int, of: int) -> None:
        filled = _WIDTH * done // max(1, of)
        end = "\n" if done >= of else ""
        output.write(f"\r{'█' * filled}{'░' * (_WIDTH - filled)} {done:,} of {of:,}{end}", to_stderr=True)

    return draw
