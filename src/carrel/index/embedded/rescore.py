"""What changes the score of a candidate among the others: who speaks in it, and what was found beside it."""

from collections.abc import Collection

from carrel.index.embedded.words import Candidates

SPEAKER = 0.4
"""How much more what a speaker said counts where the question names the speaker."""

NEAREST, NEAR = 0.25, 0.125
"""What the score of a neighbour adds, one or two chunks away: one of several good turns is a good one."""


def rescore(candidates: Candidates, speakers: Collection[int]) -> list[tuple[int, float]]:
    """Return the candidates with their scores after that, best first."""
    beside = dict(zip(candidates.stands, candidates.scores, strict=True)).get
    scored: list[tuple[float, int]] = []
    fields = (candidates.ids, candidates.scores, candidates.stands, candidates.speakers)
    for own, alone, at, speaker in zip(*fields, strict=True):
        score = alone + NEAREST * (beside(at - 1, 0.0) + beside(at + 1, 0.0))
        score += NEAR * (beside(at - 2, 0.0) + beside(at + 2, 0.0))
        scored.append((-score * (1 + SPEAKER) if speaker in speakers else -score, own))
    scored.sort()
    return [(own, -score) for score, own in scored]
