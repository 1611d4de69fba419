"""Work that nobody waits for, in a thread beside the others."""

import atexit
from collections.abc import Callable
from threading import Event, Lock, Thread

Work = Callable[[Callable[[], bool]], None]
"""Is given what tells whether it is to end early, and raises nothing."""


class Beside:
    """Does one kind of work, once at a time; what is asked for meanwhile is done when that has ended.

    Who closes it, and a process that ends, wait `patience` seconds for what is being done, and leave it alone
    after that: the work must be such that it can be broken off anywhere. What need not begin at once begins
    when its time has come, when somebody waits for it or asks for it at once, or when it is closed.
    """

    def __init__(self, work: Work, name: str, *, patience: float) -> None:
        self._work = work
        self._name = name
        self._patience = patience
        self._lock = Lock()
        self._over = Event()
        self._pressing = Event()
        self._thread: Thread | None = None
        self._is_asked = False

    def begin(self, after: float = 0.0) -> bool:
        """Have the work done, after so many seconds at most; tell whether nobody was to do it already."""
        with self._lock:
            if self._over.is_set():
                return False
            if not after:
                self._pressing.set()
            if self._thread is not None:
                self._is_asked = True
                return False
            if after:
                self._pressing.clear()
            thread = Thread(target=self._run, args=(after,), name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # there are too many threads, or the process is ending
                return False
            self._thread = thread
            atexit.unregister(self.close)
            atexit.register(self.close)
            return True

    def wait(self, seconds: float | None = None) -> None:
        """Wait until nothing is left to do, or for so long."""
        if (thread := self._thread) is not None:
            self._pressing.set()
            thread.join(seconds)

    def close(self) -> None:
        """Begin nothing any more, and wait a while for what is being done."""
        self._over.set()
        self.wait(self._patience)
        atexit.unregister(self.close)

    def _run(self, after: float) -> None:
        goes_on = True
        while goes_on:
            self._pressing.wait(after)
            self._is_asked = False  # whatever was asked for until now, this does
            self._work(self._over.is_set)
            goes_on = self._goes_on()

    def _goes_on(self) -> bool:
        with self._lock:
            is_asked, self._is_asked = self._is_asked and not self._over.is_set(), False
            if not is_asked:
                self._thread = None
            return is_asked
