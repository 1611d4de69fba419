"""Making one order of several: the lists of words, vectors and the graph walk, each with its weight.

`fuse_ranks` looks at places only (reciprocal rank fusion), `fuse_scores` at how far apart the scores of a
list are (min-max). Either way a score is from 0 to 1, where 1 is the most that any entry could have reached:
the best of every list that answered, in the tier that counts most. So a minimum score means something, and
a list that found nothing lowers nobody. What each list said is kept beside the score.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from math import isfinite
from typing import Any

from msgspec import Struct

RRF_K = 60
"""How slowly a place in a list loses its worth: the 61st counts about half as much as the first."""

_COARSE = 2.0**12
"""Added and taken away, it rounds to 40 bits: adding scores in another order must make no difference."""

Ranked = Sequence[tuple[int, float]]
"""Ids with their scores, best first; larger is better."""

Key = Callable[[int], Any]
"""What breaks ties between ids: their path and line, for instance."""

Tier = Callable[[int], str]


class Ranking(Struct, frozen=True, kw_only=True):
    """One list that takes part; a weight of 0 leaves it out.

    `low` is what an entry that is not listed would score: 0 for words when the list holds all that match.
    Unset, it is the last score of the list, which is right when the list was cut.
    """

    name: str
    hits: Ranked
    weight: float = 1.0
    low: float | None = None


class Placing(Struct, frozen=True, kw_only=True):
    """What one list said of an entry; `part` is what of the fused score comes from there.

    Ranks count from 1, and equal scores share one, so that the order of ties changes nothing.
    """

    name: str
    rank: int
    score: float
    weight: float
    part: float


class Moved(Struct, frozen=True, kw_only=True):
    """That diversity moved an entry: its rank before, and what it is most like of those now above it."""

    rank: int
    like: int | None = None
    similarity: float = 0.0


class Fused(Struct, frozen=True, kw_only=True):
    """One entry of the fused order.

    `relevance` is the sum of the parts; a minimum belongs there. `score` is that times `recency`. `boost` is
    the weight of the entry's tier, already in the parts.
    """

    id: int
    score: float
    relevance: float
    placings: tuple[Placing, ...]
    tier: str = ""
    boost: float = 1.0
    recency: float = 1.0
    moved: Moved | None = None


def fuse_ranks(
    rankings: Iterable[Ranking],
    *,
    boosts: Mapping[str, float] | None = None,
    tier: Tier | None = None,
    key: Key = int,
    limit: int | None = None,
    k: int = RRF_K,
) -> list[Fused]:
    """Return the entries by reciprocal rank: in each list the first is worth 1, others (k + 1) / (k + rank).

    `boosts` are weights by tier, 1 where a tier is not named.
    """

    def worth(_: Ranking, said: _Said) -> _Worth:
        return {each: (k + 1) / (k + rank) for each, (rank, _) in said.items()}

    return _fuse(rankings, worth, _Boosts(boosts, tier), key, limit)


def fuse_scores(
    rankings: Iterable[Ranking],
    *,
    boosts: Mapping[str, float] | None = None,
    tier: Tier | None = None,
    key: Key = int,
    limit: int | None = None,
) -> list[Fused]:
    """Return the entries by score: in each list the best is worth 1, what is not listed 0.

    Where all scores of a list are equal, all are its best.
    """
    return _fuse(rankings, _by_distance, _Boosts(boosts, tier), key, limit)


_Said = dict[int, tuple[int, float]]  # rank and score by id
_Worth = dict[int, float]


class _Boosts:
    """The weight of an entry's tier, looked up where there is any."""

    def __init__(self, weights: Mapping[str, float] | None, tier: Tier | None) -> None:
        self.weights = weights or {}
        self.most = max(1.0, *self.weights.values()) if self.weights else 1.0
        self._tier = tier

    def name(self, entry: int) -> str:
        return self._tier(entry) if self._tier else ""

    def weight(self, entry: int) -> float:
        return self.weights.get(self.name(entry), 1.0) if self.weights else 1.0


def _fuse(
    rankings: Iterable[Ranking],
    worth: Callable[[Ranking, _Said], _Worth],
    boosts: _Boosts,
    key: Key,
    limit: int | None,
) -> list[Fused]:
    # By name: the sum must not depend on the order in which lists arrive.
    heard = sorted((each for each in rankings if each.hits and each.weight > 0), key=lambda each: each.name)
    most = sum(ranking.weight for ranking in heard) * boosts.most
    said = [_ranks(ranking.hits) for ranking in heard]
    parts = [worth(ranking, places) for ranking, places in zip(heard, said, strict=True)]
    lists = [
        (ranking, ranking.weight / most, places, worths)
        for ranking, places, worths in zip(heard, said, parts, strict=True)
    ]
    sums: dict[int, float] = {}
    for _, share, _, worths in lists:
        before = sums.get
        sums |= {entry: before(entry, 0.0) + share * value for entry, value in worths.items()}
    if boosts.weights:
        sums = {entry: value * boosts.weight(entry) for entry, value in sums.items()}
    scores = {entry: value + _COARSE - _COARSE for entry, value in sums.items()}

    def build(entry: int) -> Fused:
        boost = boosts.weight(entry) if boosts.weights else 1.0
        placings = [
            Placing(
                name=ranking.name,
                rank=places[entry][0],
                score=places[entry][1],
                weight=ranking.weight,
                part=share * worths[entry] * boost,
            )
            for ranking, share, places, worths in lists
            if entry in places
        ]
        return Fused(
            id=entry,
            score=(score := scores[entry]),
            relevance=score,
            placings=tuple(placings),
            tier=boosts.name(entry),
            boost=boost,
        )

    return [build(entry) for entry in islice(_ordered(scores, key), limit)]


def _ordered(scores: Mapping[int, float], key: Key) -> Iterator[int]:
    """Yield ids by falling score; the key is asked for those that tie, which are few."""
    by_score = sorted(scores, key=scores.__getitem__, reverse=True)
    for _, group in groupby(by_score, key=scores.__getitem__):
        tied = list(group)
        yield from sorted(tied, key=key) if len(tied) > 1 else tied


def _ranks(hits: Ranked) -> _Said:
    """Return each entry's rank and score, where equal scores share a rank; a second mention is ignored."""
    said: _Said = {}
    rank, last = 0, None
    for entry, score in hits:
        if entry in said:
            continue
        if score != last:
            rank, last = len(said) + 1, score
        said[entry] = (rank, score)
    return said


def _by_distance(ranking: Ranking, said: _Said) -> _Worth:
    """Return how far up between the lowest and the highest score each is; what is no number is the lowest."""
    scores = [score for _, score in said.values()]
    finite = scores if isfinite(sum(scores)) else [score for score in scores if isfinite(score)]
    high = max(finite, default=0.0)
    low = min(finite, default=0.0) if ranking.low is None else min(ranking.low, high)
    span = high - low
    if span > 0 and isfinite(span):
        return {
            entry: above / span if 0.0 < (above := score - low) <= span else 0.0
            for entry, (_, score) in said.items()
        }
    return {entry: 1.0 if isfinite(score) else 0.0 for entry, (_, score) in said.items()}
