"""What may change a fused order afterwards: how old an entry is, and how like those above it."""

from collections.abc import Callable, Sequence
from math import isfinite

from msgspec.structs import replace

from carrel.index.fuse import Fused, Key, Moved

HALF_LIFE = 30.0
"""Days after which half of what being new is worth is gone."""

RECENCY_SHARE = 0.2
"""The most that age may take from a score."""

BALANCE = 0.7
"""How much relevance counts when diversity chooses; the rest is being unlike what stands above."""

_POOL = 5  # candidates per place to fill that diversity looks at


def by_recency(
    entries: Sequence[Fused],
    age: Callable[[int], float | None],
    *,
    half_life: float = HALF_LIFE,
    share: float = RECENCY_SHARE,
    key: Key = int,
) -> list[Fused]:
    """Return the entries with newer ones higher; `age` is in days, None for what has no date.

    Age takes at most the share, however old an entry is, and nothing from what has no date or one that is
    still to come: what nobody else can answer stays first. `relevance` is left as it was.
    """
    share = min(max(share, 0.0), 1.0)
    aged = [_aged(entry, age(entry.id), half_life, share) for entry in entries]
    aged.sort(key=lambda entry: (-entry.score, key(entry.id)))
    return aged


def _aged(entry: Fused, days: float | None, half_life: float, share: float) -> Fused:
    if days is None or not days > 0:
        return entry
    freshness = 0.5 ** (days / half_life) if half_life > 0 else 0.0
    recency = 1.0 - share + share * freshness
    return replace(entry, recency=recency, score=entry.relevance * recency)


def diversify(
    entries: Sequence[Fused],
    similarity: Callable[[int, int], float],
    *,
    balance: float = BALANCE,
    limit: int = 20,
) -> list[Fused]:
    """Return the entries with the first `limit` chosen one by one, relevant and unlike those above (MMR).

    `similarity` is from 0 to 1 and is asked about the best few times `limit` entries. None is lost: the
    others follow in their order.
    """
    pool = [_Candidate(rank, entry) for rank, entry in enumerate(entries[: limit * _POOL], 1)]
    top = pool[0].entry.score if pool else 0.0
    chosen: list[Fused] = []
    while pool and len(chosen) < limit:
        best = max(pool, key=lambda each: each.worth(top, balance))
        pool.remove(best)
        chosen.append(best.placed(len(chosen) + 1))
        for each in pool:
            each.compare(best.entry.id, similarity(each.entry.id, best.entry.id))
    return [*chosen, *(each.entry for each in pool), *entries[limit * _POOL :]]


class _Candidate:
    """An entry that may be chosen next, and what it is most like of those chosen."""

    def __init__(self, rank: int, entry: Fused) -> None:
        self.entry = entry
        self._rank = rank
        self._like: int | None = None
        self._similarity = 0.0

    def compare(self, other: int, similarity: float) -> None:
        if isfinite(similarity) and similarity > self._similarity:
            self._like, self._similarity = other, min(similarity, 1.0)

    def worth(self, top: float, balance: float) -> float:
        relevance = self.entry.score / top if top > 0 else 0.0
        return balance * relevance - (1.0 - balance) * self._similarity

    def placed(self, rank: int) -> Fused:
        if rank == self._rank:
            return self.entry
        moved = Moved(rank=self._rank, like=self._like, similarity=self._similarity)
        return replace(self.entry, moved=moved)
