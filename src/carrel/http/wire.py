"""What servers of one database have in common: whose turn it is, and that something happened.

Where nothing that is served is in a database, neither has anything to do, and no driver is loaded.
"""

import logging
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from carrel.app import Workspace
from carrel.errors import CarrelError

if TYPE_CHECKING:
    from carrel.postgres.bell import Bell
    from carrel.postgres.leases import Leases

_REST = 0.05
"""Seconds between two rings: what happens many times in one of them is told once."""

_AGAIN = 2.0
_LOG = logging.getLogger("carrel.wire")


class Turns:
    """Which of many servers does a thing; the first who asks, until it dies or its link does."""

    def __init__(self) -> None:
        self._leases: Leases | None = None

    def is_ours(self, what: str, workspace: Workspace) -> bool:
        """Tell whether this process is to do something for a workspace now; one of its own always."""
        if self._leases is None:
            self._leases = workspace.home.leases()
        return self._leases is None or self._leases.holds(f"{what} {workspace.location}")

    def close(self) -> None:
        """Leave it to others."""
        if self._leases is not None:
            self._leases.close()


class Wire:
    """Rings for what happens here and hears what happens elsewhere, in two threads of its own.

    `heard` is told the name of a workspace to look at; it may be told for nothing.
    """

    def __init__(
        self,
        shared: Mapping[str, str],
        heard: Callable[[str], object],
        workspace: Callable[[str], Workspace],
    ) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._hung: Bell | None = None
        self._shared = shared
        self._heard = heard
        self._stopping = Event()
        self._waiting: set[str] = set()
        self._told = Event()
        self._threads = [
            Thread(target=self._listen, name="carrel-hear", daemon=True),
            Thread(target=self._ring, name="carrel-ring", daemon=True),
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def tell(self, name: str) -> None:
        """Have other servers look at a workspace, soon; nobody waits for it."""
        if name in self._shared:
            self._waiting.add(self._shared[name])
            self._told.set()

    def close(self) -> None:
        """End both threads, soon; what was told last is still rung for."""
        self._stopping.set()
        self._told.set()

    def _bell(self) -> "Bell":
        """Return the bell of the database that all of them are in, once that can be reached."""
        with self._lock:
            if self._hung is None:
                self._hung = self._workspace(next(iter(self._shared))).home.bell()
            assert self._hung is not None
            return self._hung

    def _listen(self) -> None:
        from carrel.postgres.bell import mark  # noqa: PLC0415 - only servers of a database

        names = {mark(address): name for name, address in self._shared.items()}

        def heard(sign: str) -> None:
            for name in (names.get(sign),) if sign else names.values():
                if name is not None:
                    self._heard(name)

        while not self._stopping.is_set():
            try:
                self._bell().listen(heard, self._stopping)
            except CarrelError as error:
                _LOG.warning("listen: %s", error.message)
                self._stopping.wait(_AGAIN)

    def _ring(self) -> None:
        while not self._stopping.is_set():
            self._told.wait()
            self._told.clear()
            while self._waiting and self._rings_for(self._waiting.pop()):
                pass
            self._stopping.wait(_REST)
        if self._hung is not None:
            self._hung.close()

    def _rings_for(self, location: str) -> bool:
        """Ring for a workspace; what cannot be told now is told when the database is back."""
        try:
            self._bell().ring(location)
        except CarrelError as error:
            _LOG.warning("ring: %s", error.message)
            self._waiting.add(location)
            self._told.set()
            self._stopping.wait(_AGAIN)
            return False
        return True
