"""Asking ahead: what work of one kind asked the last two times is asked for at once, in one round trip.

An answer is as old as the work at most, and no answer is used after the work has changed something.

Why not by hand: files, records and index are ports of their own, each asked where its answer is needed, and
to ask them together would have every caller know which of them are in a database. Counted by
bench/scale_assembly.py, warm, without it and with it: an assembly 2 and 1 round trips, with a session 5
and 1, a prepare 6 and 2, one that recalls for a message 28 and 5, a search 15 and 5. The bar is 3.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import Lock
from typing import Any

Rows = list[tuple[Any, ...]]
Params = Sequence[object] | Mapping[str, object]
Statement = tuple[str, Params]
Ask = Callable[[Sequence[Statement]], list[Rows]]
"""Asks several statements in one round trip and returns the rows of each."""

_MOST_KINDS = 1_000
_MOST_STATEMENTS = 32


class Foresight:
    """One piece of work: what it asked, and what is known because it was foreseen."""

    def __init__(self, foreseen: Mapping[str, Statement]) -> None:
        self.asked: dict[str, Statement] = {}
        self._foreseen = dict(foreseen)
        self._known: dict[str, Rows] = {}
        self.is_over = False
        """Whether the work has changed something: from then on it sees only what is there."""

    def rows(self, statement: Statement, ask: Ask) -> Rows:
        """Return the rows of a statement that changes nothing."""
        key = repr(statement)
        self.asked[key] = statement
        if key not in self._known:
            wanted = self._foreseen | {key: statement}
            self._foreseen = {}
            self._known |= dict(zip(wanted, ask([*wanted.values()]), strict=True))
        return [*self._known[key]]


class Plans:
    """What work of each kind is likely to ask; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kinds: dict[Hashable, tuple[dict[str, Statement], dict[str, Statement]]] = {}

    def begin(self, kind: Hashable) -> Foresight:
        """Return the foresight of new work."""
        _, foreseen = self._kinds.get(kind, ({}, {}))
        return Foresight(foreseen)

    def learn(self, kind: Hashable, work: Foresight) -> None:
        """Remember what work asked; only what it had asked before as well is foreseen from now on."""
        with self._lock:
            before, _ = self._kinds.pop(kind, ({}, {}))
            again = {key: each for key, each in work.asked.items() if key in before}
            self._kinds[kind] = work.asked, dict([*again.items()][:_MOST_STATEMENTS])
            while len(self._kinds) > _MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
