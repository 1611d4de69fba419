"""How well chunks answer, by the words of a segment's buckets: BM25 in each field, as tantivy has it."""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrel.index.analysis import GRAMS, fold
from carrel.index.postgres.postings import EXACT, LENGTHS, PLACES, RECORD, keys_of, records_of
from carrel.index.query import MOST_WORDS, Plan
from carrel.index.rescore import CONTEXT, PHRASE

_SATURATION, _LENGTH = 1.2, 0.75
_ROOM = 17  # bits for where in a chunk a word stands, and a little more

Term = tuple[str, str]
"""A field, and a word in it."""

Scores = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Keys of chunks, and what each scores; best first."""


class Lists:
    """What was read for one question: the records of its words by field and word, and how much there is."""

    def __init__(self, data: Mapping[Term, bytes], entries: int, totals: Mapping[str, int]) -> None:
        self._found = data
        self._entries = entries
        self._totals = totals

    def scores(self, plan: Plan) -> Scores:
        """Return all chunks with any of the words, best first."""
        found = [*self._words(plan), *(self._phrase(phrase) for phrase in plan.phrases)]
        if not found:
            return np.empty(0, np.int64), np.empty(0)
        keys = np.concatenate([each for each, _ in found])
        values = np.concatenate([each for _, each in found])
        distinct, at = np.unique(keys, return_inverse=True)
        sums: NDArray[np.float64] = np.bincount(at, values, len(distinct)).astype(np.float64, copy=False)
        order = np.lexsort((distinct, -sums))
        return distinct[order], sums[order]

    def rarity(self, word: str) -> float:
        """Return how much a word tells, as it is typed: the fewer chunks have it, the more."""
        return self._rarity(EXACT, fold(word))

    def _words(self, plan: Plan) -> Iterable[Scores]:
        by_language = {**plan.words, GRAMS: plan.grams}
        for language, found in by_language.items():
            for word in self._rarest(f"text_{language}", found):
                yield self._term(f"text_{language}", word, 1.0)
                yield self._term(f"context_{language}", word, CONTEXT)
        if not any(by_language.values()):
            for word in plan.plain:
                yield self._term(EXACT, word, 1.0)

    def _rarest(self, field: str, found: Sequence[str]) -> Sequence[str]:
        if len(found) <= MOST_WORDS:
            return found
        counts = {word: len(self._data(field, word)) for word in found}
        return sorted((word for word in found if counts[word]), key=lambda word: counts[word])[:MOST_WORDS]

    def _term(self, field: str, word: str, weight: float) -> Scores:
        records = records_of(self._data(field, word))
        worth = weight * self._rarity(field, word)
        return keys_of(records), worth * self._saturated(field, records["times"], records["length"])

    def _phrase(self, phrase: Sequence[str]) -> Scores:
        """Return the chunks in which words follow each other, each as good as all of them are rare."""
        first = records_of(self._data(EXACT, phrase[0]))
        keys = keys_of(first)
        places = self._places(phrase[0], keys, first["times"])
        for step, word in enumerate(phrase[1:], 1):
            records = records_of(self._data(EXACT, word))
            here = self._places(word, keys_of(records), records["times"]) - step
            places = np.intersect1d(places, here)
        having, times = np.unique(places >> _ROOM, return_counts=True)
        lengths = first["length"][np.argsort(keys)][np.searchsorted(np.sort(keys), having)]
        worth = PHRASE * sum(self._rarity(EXACT, word) for word in phrase)
        return having, worth * self._saturated(EXACT, times, lengths)

    def _places(self, word: str, keys: NDArray[np.int64], times: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return where a word stands, as numbers that are next to each other where the words are."""
        places = np.frombuffer(self._data(PLACES, word), "<u2").astype(np.int64)
        owners = np.repeat(keys, times)[: len(places)]
        return (owners << _ROOM) + places[: len(owners)] + MOST_WORDS

    def _saturated(
        self, field: str, times: NDArray[np.integer[Any]], codes: NDArray[np.uint8]
    ) -> NDArray[np.float64]:
        average = max(self._totals.get(field, 0) / max(self._entries, 1), 1e-9)
        count = times.astype(np.float64)
        length = 1 - _LENGTH + _LENGTH * LENGTHS[codes] / average
        return count * (_SATURATION + 1) / (count + _SATURATION * length)

    def _rarity(self, field: str, word: str) -> float:
        having = min(len(self._data(field, word)) // RECORD.itemsize, self._entries)
        return log(1 + (self._entries - having + 0.5) / (having + 0.5))

    def _data(self, field: str, word: str) -> bytes:
        return self._found.get((field, word), b"")
