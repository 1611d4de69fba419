"""How much is looked at before an index tells what is there now: everything, or where something changed."""

from collections.abc import Callable, Iterable, Mapping
from math import inf
from time import monotonic
from typing import NamedTuple

from carrel.files.disk import LockTimeout
from carrel.index import SyncReport
from carrel.runtime.library import Library, spelled
from carrel.runtime.unseen import EVERYTHING, Unseen

FRESH = 5.0
"""Seconds for which a large workspace is taken to be as it was, but for what was written here."""

WATCHED = 60.0
"""The same where somebody watches it, and says what changed."""

LARGE = 1_000
"""Files and sessions from which on a workspace is not looked over whole before every search."""


class Look(NamedTuple):
    """What is to be looked at: `only` some paths, or everything; and what was unseen when it began."""

    only: frozenset[str] | None
    unseen: Mapping[str, int]
    rules: str


class Freshness:
    """What an index has yet to look at, and when it saw everything; threads may share it."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        """Tells how many files and sessions the index knows."""
        self._unseen = Unseen()
        self._looked_at = -inf
        self._rules = ""
        """By which everything was looked over then."""
        self._is_large: bool | None = None

    def expire(self, changed: Iterable[str]) -> None:
        """Have paths looked at that changed just now."""
        self._unseen.note(EVERYTHING if ".." in path.split("/") else spelled(path) for path in changed)

    def look(self, library: Library, seconds: float) -> Look:
        """Begin a look at everything: in a small workspace always, in a large one after some seconds.

        So it is where its rules are others by now, and where a path that changed may be more than itself: it
        is gone, is a folder, or has other names.
        """
        unseen = self._unseen.changed()
        is_known = self._rules == library.rules and monotonic() < self._looked_at + seconds
        is_some = self._is_large and is_known and library.has_alone(unseen)
        return Look(frozenset(unseen) if is_some else None, unseen, library.rules)

    def saw(self, look: Look, report: SyncReport) -> None:
        """Take note of what came of a look; what could not be read then stays unseen."""
        if any(finding.code == LockTimeout.code for finding in report.findings):
            return  # somebody else wrote the index all the time
        self._unseen.saw({path: look.unseen[path] for path in look.unseen if path not in report.unread})
        if look.only is not None:
            return
        if self._is_large is None or report.changed or report.gone:
            self._is_large = self._count() > LARGE
        self._looked_at, self._rules = monotonic(), look.rules
