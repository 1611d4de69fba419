"""What is done beside answering: the queue and what is due, and the index kept up with the files."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from watchfiles import Change, watch

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.files.disk import LockTimeout
from carrel.http.errors import where
from carrel.http.served import At, Served
from carrel.http.watching import Watched
from carrel.http.wire import Turns

PERIOD = 5.0
"""Seconds between two looks at what waits."""

_LOG = logging.getLogger("carrel.sweep")
_PATIENCE = 10.0
_STEP_MS = 200
_NOTHING_MS = 1_000


class Sweeper:
    """Two threads of the process that serves, whatever the number of workers: so each thing is done once.

    It has workspaces of its own, which share files and records with those that answer. What other servers
    serve as well is swept by the one of them whose turn it is, until it dies.
    """

    def __init__(self, directories: Sequence[At]) -> None:
        self._served = Served(directories)
        self._roots = [each.resolve() for each in directories if isinstance(each, Path)]
        self._turns = Turns()
        self._late: set[str] = set()
        """Where the index could not be brought up."""
        self._stopping = Event()
        self._threads = [
            Thread(target=self._sweep, name="carrel-sweep", daemon=True),
            Thread(target=self._watch, name="carrel-watch", daemon=True),
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_PATIENCE)
        if not any(thread.is_alive() for thread in self._threads):
            self._served.close()
            self._turns.close()

    def _sweep(self) -> None:
        while not self._stopping.wait(PERIOD):
            self._each("sweep", self._swept)

    def _swept(self, workspace: Workspace) -> None:
        if workspace.root is not None or self._turns.is_ours("sweep", workspace):
            workspace.sweep()

    def _watch(self) -> None:
        """Keep the indexes up; where watching fails, all is looked at, and watched again a little later.

        All is looked at once more when the watching has begun: of what changed before, nobody is told.
        """
        while self._roots and not self._stopping.is_set():
            self._sync(self._all)
            try:
                for number, changed in enumerate(self._changes()):
                    late, self._late = self._late, set()
                    self._sync({*_paths(changed), *late} if number else self._all)
            except (OSError, RuntimeError):  # a folder is gone, or a name in one is not Unicode
                self._stopping.wait(PERIOD)

    @property
    def _all(self) -> list[str]:
        return [*map(str, self._roots)]

    def _sync(self, changed: Collection[str]) -> None:
        self._each("index", lambda workspace: self._take_in(workspace, changed))

    def _take_in(self, workspace: Workspace, changed: Collection[str]) -> None:
        """Bring an index up to what changed; where another wrote it for too long, that is done again soon."""
        if workspace.root is None:
            return
        root = workspace.root.resolve()
        own = _below(root, changed)
        found = workspace.searching.sync(own).findings if own else ()
        if any(each.code == LockTimeout.code for each in found):
            self._late.add(str(root))

    def _changes(self) -> Iterator[set[tuple[Change, str]]]:
        """Yield what changed, and every now and then nothing, soon after the watching has begun.

        It ends where there are other folders to watch.
        """
        watched = Watched(*self._roots)
        for changed in watch(
            *watched.folders,
            recursive=False,
            watch_filter=watched.is_theirs,
            stop_event=self._stopping,
            step=_STEP_MS,
            rust_timeout=_NOTHING_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
        ):
            yield changed
            if watched.are_others(changed):
                return

    def _each(self, what: str, work: Callable[[Workspace], object]) -> None:
        """Do something for each workspace; what fails is told and tried again."""
        for name in self._served.names:
            try:
                work(self._served.workspace(name))
            except CarrelError as error:
                _LOG.warning("%s of %s: %s", what, name, error.message)
            except Exception as error:  # noqa: BLE001 - the server answers on, whatever breaks beside it
                _LOG.error("%s of %s: %s\n%s", what, name, type(error).__name__, where(error))


def _below(root: Path, paths: Iterable[str]) -> list[str]:
    """Return those paths that are in a workspace, as it names them."""
    places = [Path(path) for path in paths]
    return [place.relative_to(root).as_posix() for place in places if place.is_relative_to(root)]


def _paths(changed: Iterable[tuple[Change, str]]) -> list[str]:
    return [path for _, path in changed]
