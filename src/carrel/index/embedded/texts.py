"""Texts as they stand, put together again from their chunks, and kept for the next question."""

from collections.abc import Iterator

from carrel.index import Filter
from carrel.index.embedded.catalog import Catalog
from carrel.index.embedded.filters import read_place, select_places
from carrel.index.verbatim import Whole, wholes_of

_MOST_KEPT = 4_000_000
_NUMBERS = 64
"""Characters of texts that are kept for the next question, and what the numbers of a chunk count as."""


class KeptTexts:
    """The texts of a catalog; those that were put together are kept until it changes."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._version: object = None
        self._kept: dict[tuple[Filter, int], list[Whole]] = {}
        self._size = 0

    def within(self, within: Filter) -> Iterator[Whole]:
        """Yield what a filter lets through, by path and line; a place is read when its turn comes."""
        if self._version != (version := self.catalog.version()):
            self._kept.clear()
            self._version, self._size = version, 0
        for place, is_session in select_places(self.catalog, within):
            wholes = self._kept.get((within, place))
            if wholes is None:
                passages = read_place(self.catalog, place, within)
                wholes = list(wholes_of(passages, is_session=is_session))
                self._keep((within, place), wholes)
            yield from wholes

    def _keep(self, key: tuple[Filter, int], wholes: list[Whole]) -> None:
        size = sum(len(each.text) + _NUMBERS * len(each.ids) for each in wholes)
        if self._size + size <= _MOST_KEPT:
            self._kept[key] = wholes
            self._size += size
