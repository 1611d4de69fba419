"""What was read of a catalog, kept while it says the same: most questions meet what others met before."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from carrel.index.catalog import Known, Stored

Stand = tuple[int, int]
"""Where a chunk stands, as one number, and the number of who spoke."""

_MOST = 2_000
"""Chunks of which it is kept what they say; where they stand is short, and kept of ten times as many."""

Value = TypeVar("Value")


class Kept(Struct):
    """What is known of places and chunks; a chunk's id is never given to another one.

    `seen` is the version of what others wrote that it holds for. What a chunk says and who said it stays
    while there is one, so that it is let go of where one is moved or dropped, and not where one is added.
    """

    seen: int = 0
    places: dict[str, Known] | None = None
    stands: dict[int, Stand] = {}
    chunks: dict[int, Stored] = {}

    def let_go(self, *, of_places: bool = True) -> None:
        """Forget it all, or all but what is known of places."""
        self.stands, self.chunks = {}, {}
        if of_places:
            self.places = None

    def stands_of(
        self, ids: Sequence[int], read: Callable[[Sequence[int]], dict[int, Stand]]
    ) -> dict[int, Stand]:
        """Return where these chunks stand, of which only those that are not kept are read."""
        return _completed(self.stands, ids, read, 10 * _MOST)

    def chunks_of(
        self, ids: Sequence[int], read: Callable[[Sequence[int]], dict[int, Stored]]
    ) -> dict[int, Stored]:
        """Return these chunks, of which only those that are not kept are read."""
        return _completed(self.chunks, ids, read, _MOST)


def _completed(
    kept: dict[int, Value],
    ids: Sequence[int],
    read: Callable[[Sequence[int]], dict[int, Value]],
    most: int,
) -> dict[int, Value]:
    missing = [own for own in ids if own not in kept]
    if not missing:
        return {own: kept[own] for own in ids}
    more = read(missing)
    found = {own: kept[own] if own in kept else more[own] for own in ids if own in kept or own in more}
    if len(kept) + len(more) > most:
        kept.clear()
    if len(more) <= most:
        kept.update(more)
    return found
