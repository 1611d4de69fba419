"""How much a memory matters, by how it was recalled: five signs from 0 to 1, and one score of them."""

from math import isfinite, log

from msgspec import Struct

from carrel.settings.remembering import DreamWeights

ENOUGH_RECALLS = 6
"""From so many recalls on, more say nothing more."""

ENOUGH = 5
"""Queries, and days, from which on more say nothing more."""


class Signals(Struct, frozen=True, kw_only=True):
    """What the recalls of a memory come to: `relevance` is their mean score, `age` days since the last."""

    hits: int
    queries: int
    days: int
    relevance: float
    age: float


class Signs(Struct, frozen=True, kw_only=True):
    """The five signs of a memory that matters, each from 0 to 1."""

    frequency: float
    relevance: float
    recency: float
    diversity: float
    consolidation: float


def signs_of(signals: Signals, half_life: float) -> Signs:
    """Return the signs of a memory; whatever is no number, or came from the future, counts nothing more."""
    hits, queries, days = (max(number, 0) for number in (signals.hits, signals.queries, signals.days))
    age = max(signals.age, 0.0) if isfinite(signals.age) else 0.0
    return Signs(
        frequency=min(1.0, log(1 + hits) / log(1 + ENOUGH_RECALLS)),
        relevance=min(max(signals.relevance, 0.0), 1.0) if isfinite(signals.relevance) else 0.0,
        recency=2.0 ** (-age / half_life),
        diversity=min(1.0, max(queries, days) / ENOUGH),
        consolidation=min(1.0, days / ENOUGH),
    )


def score_of(signs: Signs, weights: DreamWeights) -> float:
    """Return the score of a memory, from 0 to 1; weights that add up to more than 1 are scaled down to it."""
    pairs = (
        (weights.frequency, signs.frequency),
        (weights.relevance, signs.relevance),
        (weights.recency, signs.recency),
        (weights.diversity, signs.diversity),
        (weights.consolidation, signs.consolidation),
    )
    whole = max(1.0, sum(weight for weight, _ in pairs))
    return min(1.0, sum(weight / whole * sign for weight, sign in pairs))
