"""Results kept while the files they were made from stay as they are."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import Generic, TypeVar

from msgspec import Struct

from carrel.files import Stamp
from carrel.workspace.document import Documents, Reading

Result = TypeVar("Result")
Seen = dict[str, Stamp | None]

_MOST_RESULTS = 128


class Lookout:
    """Where looks are taken from: knows which files belong together, so that they are looked at together."""

    def __init__(self, stores: tuple[Documents, ...]) -> None:
        self._stores = stores
        self._together: tuple[list[str], ...] = tuple([] for _ in stores)

    def look(self) -> "Look":
        """Look now at the files that belong together."""
        return Look(self, self._stores, self._together)

    def remember(self, asked: Iterable[tuple[Seen, ...]]) -> None:
        """Take note of what was asked for together, so that it is looked at together the next time.

        Neighbours stand side by side, since a folder is then opened once.
        """
        every = [dict[str, None]() for _ in self._stores]
        for seen in asked:
            for paths, own in zip(every, seen, strict=True):
                paths.update(dict.fromkeys(own))
        self._together = tuple(sorted(paths, key=lambda path: path.rpartition("/")) for paths in every)


class Look:
    """One pass over kept results: each file is looked at once, however many results depend on it."""

    def __init__(
        self, lookout: Lookout, stores: tuple[Documents, ...], together: tuple[list[str], ...]
    ) -> None:
        self._lookout = lookout
        self._stores = stores
        self._now = [store.stamps(paths) for store, paths in zip(stores, together, strict=True)]
        self._asked: list[tuple[Seen, ...]] = []
        self._found: list[tuple[Seen, ...] | None] = []
        self._missed = False

    def is_fresh(self, seen: tuple[Seen, ...]) -> bool:
        """Tell whether all is as it was seen."""
        self._asked.append(seen)
        fresh = all(self._is_as_before(*each) for each in zip(self._stores, self._now, seen, strict=True))
        if fresh:
            self._found.append(seen)
        return fresh

    def note(self, readings: tuple[Reading, ...]) -> tuple[Seen, ...] | None:
        """Return what was read just now, where later changes to it can be recognised."""
        is_settled = all(reading.is_settled() for reading in readings)
        seen = tuple(reading.seen for reading in readings) if is_settled else None
        self._found.append(seen)
        return seen

    def all_seen(self) -> tuple[Seen, ...] | None:
        """Return what all the results of this look depend on; none where they are not of one moment."""
        every = tuple[Seen, ...]({} for _ in self._stores)
        for found in self._found:
            if found is None:
                return None
            for known, own in zip(every, found, strict=True):
                if any(known.setdefault(path, stamp) != stamp for path, stamp in own.items()):
                    return None
        return every

    def end(self) -> None:
        """Take note of what belongs together, where that is not known yet."""
        if self._missed:
            self._lookout.remember(self._asked)

    def _is_as_before(self, store: Documents, now: Seen, seen: Seen) -> bool:
        if unknown := [path for path in seen if path not in now]:
            self._missed = True
            now.update(store.stamps(unknown))
        return all(now[path] == stamp for path, stamp in seen.items())


class _Kept(Struct, Generic[Result], frozen=True):
    result: Result
    seen: tuple[Seen, ...]


class Memo(Generic[Result]):
    """A few results, each with everything its making looked at; checking one costs a stat per file."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Kept[Result]] = OrderedDict()

    def get(self, key: Hashable, look: Look) -> Result | None:
        """Return the result for a key if nothing that it was made from has changed."""
        kept = self._kept.get(key)
        return kept.result if kept is not None and look.is_fresh(kept.seen) else None

    def put(self, key: Hashable, result: Result, seen: tuple[Seen, ...] | None) -> None:
        """Keep a result where it is known what it depends on, and let go of the oldest when there are many.

        Threads may do so at once: each step leaves it whole.
        """
        if seen is None:
            return
        self._kept.pop(key, None)
        self._kept[key] = _Kept(result, seen)
        if len(self._kept) > _MOST_RESULTS:
            with suppress(KeyError):  # another thread let go of it
                self._kept.popitem(last=False)
