"""What is known to have changed since it was last looked at."""

from collections.abc import Iterable, Mapping
from itertools import count
from threading import Lock

EVERYTHING = ""
"""The path of the root: it stands for whatever is below it."""


class Unseen:
    """Paths that somebody has yet to look at, at first all of them; threads may share it.

    What changes while it is looked at stays unseen: that look may have come too early.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._numbers = count(1)
        self._changed: dict[str, int] = {EVERYTHING: 0}

    def note(self, paths: Iterable[str]) -> None:
        """Take note of what has changed just now."""
        with self._lock:
            self._changed |= dict.fromkeys(paths, next(self._numbers))

    def changed(self) -> Mapping[str, int]:
        """Return what changed, each path with the number of its change."""
        with self._lock:
            return dict(self._changed)

    def saw(self, changed: Mapping[str, int]) -> None:
        """Take note that somebody has looked at all of this since it was returned."""
        with self._lock:
            self._changed = {
                path: number for path, number in self._changed.items() if changed.get(path) != number
            }
