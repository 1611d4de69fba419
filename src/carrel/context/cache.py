"""Results kept while the files they were made from stay as they are."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from carrel.files import Stamp
from carrel.workspace.document import Documents, Reading

Result = TypeVar("Result")
Seen = dict[str, Stamp | None]

_MOST_RESULTS = 128


class _Kept(Struct, Generic[Result], frozen=True):
    result: Result
    seen: tuple[Seen, ...]


class Memo(Generic[Result]):
    """A few results, each with everything its making looked at; checking one costs a stat per file."""

    def __init__(self, stores: tuple[Documents, ...]) -> None:
        self._stores = stores
        self._kept: OrderedDict[Hashable, _Kept[Result]] = OrderedDict()
        self._together: tuple[list[str], ...] = tuple([] for _ in stores)

    def look(self) -> "Look[Result]":
        """Begin to ask for results that belong together: the files of all are looked at once, now."""
        return Look(self, self._stores, self._together)

    def get(self, key: Hashable) -> _Kept[Result] | None:
        """Return what is kept for a key, which may have changed since."""
        return self._kept.get(key)

    def put(self, key: Hashable, result: Result, readings: tuple[Reading, ...]) -> None:
        """Keep a result if later changes can be recognised, and let go of the oldest when there are many."""
        if not all(reading.is_settled() for reading in readings):
            return
        self._kept[key] = _Kept(result, tuple(reading.seen for reading in readings))
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_RESULTS:
            self._kept.popitem(last=False)

    def remember(self, asked: Iterable[tuple[Seen, ...]]) -> None:
        """Take note of what was asked for together, so that it is looked at together the next time.

        Neighbours stand side by side, since a folder is then opened once.
        """
        every = [dict[str, None]() for _ in self._stores]
        for seen in asked:
            for paths, own in zip(every, seen, strict=True):
                paths.update(dict.fromkeys(own))
        self._together = tuple(sorted(paths, key=lambda path: path.rpartition("/")) for paths in every)


class Look(Generic[Result]):
    """One pass over kept results: each file is looked at once, however many results depend on it."""

    def __init__(
        self, memo: Memo[Result], stores: tuple[Documents, ...], together: tuple[list[str], ...]
    ) -> None:
        self._memo = memo
        self._stores = stores
        self._now = [store.stamps(paths) for store, paths in zip(stores, together, strict=True)]
        self._asked: list[tuple[Seen, ...]] = []
        self._missed = False

    def get(self, key: Hashable) -> Result | None:
        """Return the result for a key if nothing that it was made from has changed."""
        kept = self._memo.get(key)
        if kept is None:
            return None
        self._asked.append(kept.seen)
        fresh = (self._is_fresh(*each) for each in zip(self._stores, self._now, kept.seen, strict=True))
        return kept.result if all(fresh) else None

    def end(self) -> None:
        """Take note of what belongs together, where that is not known yet."""
        if self._missed:
            self._memo.remember(self._asked)

    def _is_fresh(self, store: Documents, now: Seen, seen: Seen) -> bool:
        if unknown := [path for path in seen if path not in now]:
            self._missed = True
            now.update(store.stamps(unknown))
        return all(now[path] == stamp for path, stamp in seen.items())
