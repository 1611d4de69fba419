"""What a conversation leaves to be done, done while a person reads and types."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from carrel.app import Workspace
from carrel.conversing.sweeping import worker_name
from carrel.errors import CarrelError
from carrel.runtime.consolidation import KIND as CONSOLIDATE
from carrel.runtime.remember import KIND
from carrel.runtime.sweep import let_go

PATIENCE = 3.0
"""Seconds that whoever leaves waits for it; what is left stays in the queue."""


class Background:
    """Makes memory of what was said, in a thread with a workspace of its own; one at a time."""

    def __init__(self, open_workspace: Callable[[], Workspace], model: str | None) -> None:
        self._open = open_workspace
        self._model = model
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Begin with what waits, unless that is under way."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._work, name="carrel-memory", daemon=True)
            self._thread.start()

    def leave(self) -> bool:
        """Wait a little for what is under way; tell whether it has ended."""
        if self._thread is not None:
            self._thread.join(PATIENCE)
        has_ended = self._thread is None or not self._thread.is_alive()
        if not has_ended:
            self._let_go()
        return has_ended

    def _let_go(self) -> None:
        """Give back what this process took."""
        with suppress(CarrelError), self._open() as workspace:
            let_go(workspace.records.queue, worker_name())

    def _work(self) -> None:
        # It stays in the queue, which tells why; and no traceback may stand in the middle of a conversation.
        with suppress(Exception), self._open() as workspace:
            model = workspace.model(self._model) if self._model else None
            workspace.sweep(model=model, kinds=(KIND, CONSOLIDATE))
