"""An index that looks at every chunk, and an embedder without weights: small, and the same everywhere."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from math import log
from threading import RLock
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec.structs import replace

from carrel.index import Filter, Found, Pointers, Progress, Query, Source, Status, Stop, SyncReport
from carrel.index.analysis import GRAMS, PLAIN, fold, words
from carrel.index.analysis.languages import ENGLISH, STEMMED
from carrel.index.answer import Answer, Parts, limited
from carrel.index.embed import Weigh
from carrel.index.embedded.catalog import Catalog
from carrel.index.embedded.texts import KeptTexts
from carrel.index.entry import Entry, code_of, entry_of, stands_at
from carrel.index.query import Plan
from carrel.index.rescore import CONTEXT, PHRASE, Candidates
from carrel.index.sync import take_in
from carrel.index.verbatim import find_verbatim
from carrel.index.within import passes

if TYPE_CHECKING:  # numpy is heavy, and not every test has vectors
    import numpy as np
    from numpy.typing import NDArray

_SATURATION, _LENGTH = 1.2, 0.75  # of BM25
_BEGINNING = 5  # letters by which words are told apart

Term = tuple[str, str]
"""A field of an entry, and a word in it."""


class HashingEmbedder:
    """Texts are near to each other by the words that they share; words that begin alike are the same.

    It needs no weights and no server, and makes the same vectors on every machine.
    """

    leading = 0

    def __init__(self, dimensions: int = 1_024, *, name: str = "hashing") -> None:
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row for each text."""
        import numpy as np  # noqa: PLC0415 - heavy

        rows = [self._vector(text, None) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str, weigh: Weigh | None = None) -> "NDArray[np.float32]":
        """Return the vector of a query."""
        return self._vector(text, weigh)

    def _vector(self, text: str, weigh: Weigh | None) -> "NDArray[np.float32]":
        import numpy as np  # noqa: PLC0415 - heavy

        made = np.zeros(self.dimensions, np.float32)
        for word in words(fold(text), PLAIN):
            made[crc32(word[:_BEGINNING].encode()) % self.dimensions] += weigh(word) if weigh else 1.0
        length = float(np.sqrt(np.vecdot(made, made)))
        return made / np.float32(length) if length else made


class PlainIndex:
    """An Index in memory, without vectors, for tests of what uses one: words answer whatever is asked for.

    What it finds, and in which order, is much what the real one finds.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._catalog = Catalog(None)
        self._words: _PlainWords | None = None

    def sync(
        self,
        source: Source,
        *,
        only: Collection[str] | None = None,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> SyncReport:
        """Make the index match its source; there are no vectors that could be left for later."""
        del stop
        with self._lock:
            report = take_in(self._catalog, source, only=only, progress=progress)
            self._words = None
            return replace(report, unsearched=self._catalog.lacking())

    def search(self, query: Query, also: Sequence[Pointers] = ()) -> Found:
        """Answer a question by looking at everything."""
        limit = limited(query)
        if not limit:
            return Found()
        with self._lock:
            if query.mode in ("literal", "regex"):
                return find_verbatim(KeptTexts(self._catalog), query, limit)
            if self._words is None:
                self._words = _PlainWords(list(_entries(self._catalog)))
            parts = Parts(
                catalog=self._catalog,
                words=self._words,
                near=None,
                embedder=None,
                speakers=self._catalog.speakers(shared=query.within.shared),
            )
            return Answer(parts, query, also, limit).found()

    def status(self) -> Status:
        """Return what the index holds."""
        with self._lock:
            places, chunks = self._catalog.count()
            return Status(places=places, chunks=chunks, unsearched=self._catalog.lacking())

    def rebuild(self, source: Source, *, progress: Progress | None = None) -> SyncReport:
        """Forget everything and index it anew."""
        with self._lock:
            self._catalog.clear()
            return self.sync(source, progress=progress)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._catalog.clear()
            self._words = None


def _entries(catalog: Catalog) -> Iterator[Entry]:
    for _, stored in groupby(catalog.matching("1", ()), key=lambda each: each.place):
        near = list(stored)
        yield from (entry_of(near, at) for at in range(len(near)))


class _PlainWords:
    """The words of all entries, by field; what `Words` promises, by BM25 as in a textbook."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._fields = [(entry, _fields_of(entry)) for entry in entries]
        self.count = len(entries)
        present = {entry.language for entry in entries}
        self.languages = tuple(each for each in STEMMED if each in present) or (ENGLISH,)

    def search(self, plan: Plan, within: Filter, limit: int) -> Candidates:
        """Return the chunks with most and rarest of the words, best first."""
        found = [
            (score, entry.stored)
            for entry, fields in self._fields
            if passes(entry.stored.chunk, within) and (score := self._score(plan, fields)) > 0
        ]
        found.sort(key=lambda pair: (-pair[0], pair[1].id))
        stored = [each for _, each in found[:limit]]
        return Candidates(
            [each.id for each in stored],
            [score for score, _ in found[:limit]],
            [stands_at(each.place, each.seq, each.chunk.tier) for each in stored],
            [code_of(each.chunk.speaker) if each.chunk.speaker else 0 for each in stored],
        )

    def facets(self, plan: Plan, within: Filter) -> Mapping[str, Mapping[str, int]]:
        """Return how many chunks with any of the words there are, by tier, agent and session."""
        ids = set(self.search(plan, within, self.count).ids)
        chunks = [entry.stored.chunk for entry, _ in self._fields if entry.stored.id in ids]
        return {
            name: dict(Counter(value for chunk in chunks if (value := getattr(chunk, name))))
            for name in ("tier", "agent", "session")
        }

    def weigh(self, plan: Plan) -> Weigh:
        """Return what tells how much a word says."""
        del plan  # any word is looked up in no time
        return lambda word: self._rarity("exact", fold(word))

    @cached_property
    def _having(self) -> Counter[Term]:
        """How many chunks have each term."""
        return Counter(
            (name, word) for _, fields in self._fields for name in fields for word in set(fields[name])
        )

    @cached_property
    def _lengths(self) -> Mapping[str, float]:
        """How many words each field has, on average."""
        total = Counter[str]()
        for _, fields in self._fields:
            total.update({name: len(found) for name, found in fields.items()})
        return {name: size / max(self.count, 1) for name, size in total.items()}

    def _score(self, plan: Plan, fields: Mapping[str, Sequence[str]]) -> float:
        by_language = {
            language: found for language, found in {**plan.words, GRAMS: plan.grams}.items() if found
        }
        score = sum(
            self._worth(fields, f"text_{language}", (word,))
            + CONTEXT * self._worth(fields, f"context_{language}", (word,))
            for language, found in by_language.items()
            for word in found
        )
        score += PHRASE * sum(self._worth(fields, "exact", phrase) for phrase in plan.phrases)
        bare = () if by_language else plan.plain
        return score + sum(self._worth(fields, "exact", (word,)) for word in bare)

    def _worth(self, fields: Mapping[str, Sequence[str]], name: str, phrase: Sequence[str]) -> float:
        found = fields.get(name, ())
        times = _count(found, phrase)
        if not times:
            return 0.0
        rarity = sum(self._rarity(name, word) for word in phrase)
        length = 1 - _LENGTH + _LENGTH * len(found) / self._lengths[name]
        return rarity * times * (_SATURATION + 1) / (times + _SATURATION * length)

    def _rarity(self, name: str, word: str) -> float:
        having = self._having[name, word]
        return log(1 + (self.count - having + 0.5) / (having + 0.5))


def _fields_of(entry: Entry) -> dict[str, list[str]]:
    return {
        f"text_{entry.language}": words(entry.text, entry.language),
        f"context_{entry.language}": words(entry.context, entry.language),
        "exact": words(entry.text, PLAIN),
        f"text_{GRAMS}": words(entry.runs, GRAMS),
        f"context_{GRAMS}": words(entry.context_runs, GRAMS),
    }


def _count(found: Sequence[str], phrase: Sequence[str]) -> int:
    """Return how often some words follow each other."""
    places: Iterable[int] = (at for at, word in enumerate(found) if word == phrase[0])
    return sum(found[at : at + len(phrase)] == list(phrase) for at in places)
