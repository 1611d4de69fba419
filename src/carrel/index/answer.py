"""Answering a question by its words and its meaning: the lists of each part, made one."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.index import Filter, Found, Hit, Pointers, Query
from carrel.index.analysis import PLAIN, find_words, fold
from carrel.index.analysis.languages import tell_language
from carrel.index.catalog import Reading, Stored
from carrel.index.embed import Embedder, Weigh
from carrel.index.entry import code_of
from carrel.index.fuse import Fused, Ranking, fuse_ranks, fuse_scores
from carrel.index.fuse.reorder import by_recency, diversify
from carrel.index.query import Plan, plan
from carrel.index.rescore import Candidates, rescore
from carrel.index.trouble import told
from carrel.index.within import passes

if TYPE_CHECKING:  # numpy is heavy, and who searches words alone has no use for it
    import numpy as np
    from numpy.typing import NDArray

POOL, FUSED_POOL = 60, 120
"""How many candidates a list gives, at least: alone, and where another may move them up."""

VECTOR_WEIGHT = 0.6
"""What the list of vectors counts beside that of words, of static ones; docs/decisions has the figures."""

FAR = 0.2
"""What is no nearer than this, and has no word of the question, is not shown: something is always nearest."""

_MOST_HITS = 1_000
_POOL_PER_HIT = 4
_SPARE = 5  # what is found and gone by now is not shown, and this many may be
_SHOWN_LANGUAGES = 4
_NO_FACETS: Mapping[str, Mapping[str, int]] = {}


def limited(query: Query) -> int:
    """Return how many hits an answer has at most."""
    return min(max(query.limit, 0), _MOST_HITS)


class WordLists(Protocol):
    """What an answer asks of the words."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that occur."""
        ...

    def search(self, plan: Plan, within: Filter, limit: int) -> Candidates:
        """Return the chunks with most and rarest of the words; the filter comes before the cut."""
        ...

    def facets(self, plan: Plan, within: Filter) -> Mapping[str, Mapping[str, int]]:
        """Return how many chunks with any of the words there are, by tier, agent and session."""
        ...

    def weigh(self, plan: Plan) -> Weigh:
        """Return what tells how much a word of a question says: the fewer chunks have it, the more."""
        ...


Near = Callable[["NDArray[np.float32]", Filter, int], Candidates]
"""Returns the chunks nearest to a direction that a filter lets through, so many of them."""


class Parts(Struct, frozen=True, kw_only=True):
    """What can answer at the moment."""

    catalog: Reading
    words: WordLists | None
    near: Near | None
    embedder: Embedder | None
    speakers: Sequence[str]


class Answer:
    """One question on its way to hits."""

    def __init__(self, parts: Parts, query: Query, also: Sequence[Pointers], limit: int) -> None:
        self._parts = parts
        self._query = query
        self._also = also
        self._limit = limit
        is_alone = query.mode == "lexical" or parts.near is None
        self._pool = max(POOL if is_alone else FUSED_POOL, _POOL_PER_HIT * limit)
        self._findings: list[Finding] = []
        self._stored: dict[int, Stored] = {}
        self._likely: list[int] = []

    def found(self) -> Found:
        """Return the hits, best first, and what could not be asked."""
        rankings = [*self._rankings(), *(self._pointed(each) for each in self._also)]
        fuse = fuse_ranks if self._query.by_ranks else fuse_scores
        is_reordered = bool(self._query.today or self._query.diverse)
        if len(rankings) == 1 and not (is_reordered or self._query.boosts):
            rankings = [_cut(rankings[0], self._limit + _SPARE)]
        self._likely = [own for each in rankings for own, _ in each.hits[: self._limit + _SPARE]]
        order = fuse(
            rankings,
            boosts=self._query.boosts,
            tier=self._tier if self._query.boosts else None,
            key=self._place,
            limit=self._pool if is_reordered else self._limit + _SPARE,
        )
        order = [each for each in order if each.relevance >= self._query.least]
        hits = self._hits(self._reordered(order) if is_reordered else order)
        facets = self._facets() if self._query.facets else _NO_FACETS
        return Found(hits=hits, facets=facets, degraded=bool(self._findings), findings=tuple(self._findings))

    @cached_property
    def _plan(self) -> Plan:
        languages = self._parts.words.languages if self._parts.words else ()
        return plan(self._query.text, languages=languages, speakers=self._parts.speakers)

    def _rankings(self) -> list[Ranking]:
        """Return what words and vectors say; where vectors alone were asked and cannot say, words do."""
        mode = self._query.mode
        by_vector = self._ask(self._by_vector) if mode in ("hybrid", "vector") else None
        by_word = None
        if mode != "vector" or by_vector is None:
            by_word = self._ask(self._by_word)
        if mode == "hybrid" and by_vector is not None:
            by_vector = _without_far(by_vector, by_word)
        return [each for each in (by_word, by_vector) if each is not None]

    def _ask(self, part: Callable[[], Ranking | None]) -> Ranking | None:
        try:
            return part()
        except Unavailable as error:
            self._findings.append(told(error))
            return None

    def _by_word(self) -> Ranking | None:
        if self._parts.words is None or self._plan.is_empty:
            return None
        found = self._parts.words.search(self._plan, self._query.within, self._pool)
        is_cut = len(found.ids) == self._pool
        return Ranking(name="words", hits=rescore(found, self._speakers), low=None if is_cut else 0.0)

    def _by_vector(self) -> Ranking | None:
        near, embedder = self._parts.near, self._parts.embedder
        if near is None or embedder is None or self._plan.is_empty:
            return None
        # How rare a word is tells of all texts, and so only to those who may see all.
        words = self._parts.words
        weigh = None if self._query.within.shared or words is None else words.weigh(self._plan)
        direction = embedder.embed_query(self._plan.meaning, weigh)
        found = near(direction, self._query.within, self._pool)
        return Ranking(name="vectors", hits=rescore(found, self._speakers), weight=VECTOR_WEIGHT)

    def _pointed(self, pointers: Pointers) -> Ranking:
        """Return the list that others made, of chunks that the filter lets through."""
        found: dict[int, float] = {}
        for pointer in pointers.hits:
            for stored in self._parts.catalog.at(pointer.path, pointer.line, pointer.end_line):
                if passes(stored.chunk, self._query.within):
                    self._stored[stored.id] = stored
                    found[stored.id] = max(pointer.score, found.get(stored.id, pointer.score))
        hits = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        return Ranking(name=pointers.name, hits=hits, weight=pointers.weight, low=0.0)

    @cached_property
    def _speakers(self) -> frozenset[int]:
        return frozenset(code_of(speaker) for speaker in self._plan.speakers)

    # What fusing has to know of a chunk

    def _read(self, own: int) -> Stored | None:
        """Return a chunk; those that are likely to be asked for next are read with it."""
        if own not in self._stored:
            self._stored.update(self._parts.catalog.chunks([own, *self._likely]))
            self._likely = []
        return self._stored.get(own)

    def _tier(self, own: int) -> str:
        stored = self._read(own)
        return stored.chunk.tier if stored else ""

    def _place(self, own: int) -> tuple[str, int, int]:
        stored = self._read(own)
        return (stored.chunk.path, stored.chunk.line, own) if stored else ("", 0, own)

    def _age(self, own: int) -> float | None:
        stored = self._read(own)
        then, today = _day(stored.chunk.date if stored else ""), _day(self._query.today)
        return (today - then).days if then and today else None

    def _reordered(self, order: Sequence[Fused]) -> list[Fused]:
        self._stored.update(self._parts.catalog.chunks([each.id for each in order]))
        ordered = list(order)
        if self._query.today:
            ordered = by_recency(ordered, self._age, key=self._place)
        if self._query.diverse:
            ordered = diversify(ordered, self._likeness, limit=self._limit)
        return ordered

    def _likeness(self, one: int, other: int) -> float:
        """Return the share of words that two chunks have in common."""
        words = [
            frozenset(stored.chunk.text.casefold().split())
            for own in (one, other)
            if (stored := self._read(own))
        ]
        if len(words) < 2 or not any(words):  # noqa: PLR2004 - both of them
            return 0.0
        return len(words[0] & words[1]) / len(words[0] | words[1])

    # From what was found to what is shown

    def _hits(self, order: Sequence[Fused]) -> tuple[Hit, ...]:
        """Return the first of the order that are still there."""
        hits: list[Hit] = []
        for begin in range(0, len(order), self._limit):
            some = order[begin : begin + self._limit]
            missing = [each.id for each in some if each.id not in self._stored]
            self._stored.update(self._parts.catalog.chunks(missing))
            hits += [self._hit(each, stored) for each in some if (stored := self._stored.get(each.id))]
            if len(hits) >= self._limit:
                break
        return tuple(hits[: self._limit])

    def _hit(self, fused: Fused, stored: Stored) -> Hit:
        ranges = self._ranges(stored.chunk.text) if self._query.ranges else ()
        return Hit(id=stored.id, chunk=stored.chunk, score=fused.score, ranges=ranges, fused=fused)

    def _ranges(self, text: str) -> tuple[tuple[int, int], ...]:
        languages = list(self._plan.words) or [PLAIN]
        likely = languages if len(languages) <= _SHOWN_LANGUAGES else [tell_language(fold(text))]
        ranges = find_words(text, self._wanted, likely)
        if not ranges and likely != languages:  # what it stands among may have told another language
            ranges = find_words(text, self._wanted, languages)
        return ranges

    @cached_property
    def _wanted(self) -> frozenset[str]:
        return self._plan.wanted

    def _facets(self) -> Mapping[str, Mapping[str, int]]:
        if self._parts.words is None or self._plan.is_empty:
            return {}
        try:
            return self._parts.words.facets(self._plan, self._query.within)
        except Unavailable:
            return {}


def _without_far(by_vector: Ranking, by_word: Ranking | None) -> Ranking:
    """Return a list without what is far away and has no word of the question, scored as with all of it."""
    having = {own for own, _ in by_word.hits} if by_word else frozenset[int]()
    near = [(own, score) for own, score in by_vector.hits if score >= FAR or own in having]
    return replace(by_vector, hits=near, low=by_vector.hits[-1][1] if by_vector.hits else None)


def _cut(ranking: Ranking, size: int) -> Ranking:
    """Return the first of a list that nothing else can change, scored as with the whole of it."""
    low = ranking.low if ranking.low is not None or not ranking.hits else ranking.hits[-1][1]
    return replace(ranking, hits=ranking.hits[:size], low=low)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
