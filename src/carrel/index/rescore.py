"""What changes the score of a candidate among the others: who speaks in it, and what was found beside it."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from carrel.index.entry import code_of, stands_at

CONTEXT = 1.2
"""What a word near a chunk counts, beside one in it: its own text is among what is near it."""

PHRASE = 2.0
"""What words that stand together as typed count, beside the same words anywhere."""

SPEAKER = 0.4
"""How much more what a speaker said counts where the question names the speaker."""

NEAREST, NEAR = 0.25, 0.125
"""What the score of a neighbour adds, one or two chunks away: one of several good turns is a good one."""


class Candidates(Struct, frozen=True):
    """Chunks, best first: ids, scores, where they stand, and a number for who spoke; field by field."""

    ids: Sequence[int] = ()
    scores: Sequence[float] = ()
    stands: Sequence[int] = ()
    speakers: Sequence[int] = ()


Standing = tuple[int, float, int, int, str, str]
"""A chunk: id, score, place, number there, tier and speaker."""


def candidates_of(standing: Iterable[Standing]) -> Candidates:
    """Return chunks, best first, as candidates."""
    rows = list(standing)
    return Candidates(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [stands_at(place, seq, tier) for _, _, place, seq, tier, _ in rows],
        [code_of(speaker) if speaker else 0 for *_, speaker in rows],
    )


def rescore(candidates: Candidates, speakers: Collection[int]) -> list[tuple[int, float]]:
    """Return the candidates with their scores after that, best first."""
    beside = dict(zip(candidates.stands, candidates.scores, strict=True)).get
    fields = (candidates.ids, candidates.scores, candidates.stands, candidates.speakers)
    # Said in one line: it is done some hundred times before every answer.
    scored = [
        (
            alone
            + NEAREST * (beside(at - 1, 0.0) + beside(at + 1, 0.0))
            + NEAR * (beside(at - 2, 0.0) + beside(at + 2, 0.0)),
            own,
            speaker,
        )
        for own, alone, at, speaker in zip(*fields, strict=True)
    ]
    ordered = [
        (-score * (1 + SPEAKER) if speaker in speakers else -score, own) for score, own, speaker in scored
    ]
    ordered.sort()
    return [(own, -score) for score, own in ordered]
