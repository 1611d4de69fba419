"""Results kept while the files they were made from stay as they are."""

from collections import OrderedDict
from collections.abc import Hashable
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

    def get(self, key: Hashable) -> Result | None:
        """Return the result for a key if nothing that it was made from has changed."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        fresh = (store.unchanged(seen) for store, seen in zip(self._stores, kept.seen, strict=True))
        return kept.result if all(fresh) else None

    def put(self, key: Hashable, result: Result, readings: tuple[Reading, ...]) -> None:
        """Keep a result if later changes can be recognised, and let go of the oldest when there are many."""
        if not all(reading.is_settled() for reading in readings):
            return
        self._kept[key] = _Kept(result, tuple(reading.seen for reading in readings))
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_RESULTS:
            self._kept.popitem(last=False)
