"""A stretch of text that may be a secret, and how sure that is."""

from typing import NamedTuple

CERTAIN, NAMED, GUESSED = range(3)
"""By its own form; by the name before it; by nothing but its look. Where two overlap the surer one counts."""


class Candidate(NamedTuple):
    """A place in a text; a kind that is empty only keeps others from being guessed there."""

    rank: int
    start: int
    end: int
    kind: str
