"""Why a hit stands where it does, in plain sentences.

A score compares hits with each other. It is shown as a number between 0 and 1 and never as a percentage or
a certainty: the best hit of a question that nothing answers has a high one too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite

from carrel.index.fuse import Fused, Moved, Placing

Fields = Mapping[str, Sequence[str]]
"""The words of the query that were found, by the field they are in: text, headings, speaker …"""

_MOST_WORDS = 12
_LONGEST_WORD = 40
_NOTICEABLE = 0.005  # less is not told: it would read as nothing


def explain(
    entry: Fused,
    rank: int,
    *,
    matched: Fields | None = None,
    profile: str = "",
    where: Callable[[int], str] = str,
) -> tuple[str, ...]:
    """Return a few lines on one hit: its words, what each list said, and what changed its place since.

    `rank` is the place it has now, `profile` the kind of question that weighted its tier, `where` tells
    what another hit is called.
    """
    lines = (
        f"{_ordinal(rank)}, score {_number(entry.score)} where 1 would be the best of every list.",
        _words(matched or {}, entry.placings),
        *(_placing(placing) for placing in entry.placings),
        *_changes(entry, rank, profile, where),
    )
    return tuple(line for line in lines if line)


def _words(matched: Fields, placings: Sequence[Placing]) -> str:
    found = [f"{field}: {_listed(words)}" for field, words in matched.items() if words]
    if found:
        return f"Found in its {'; in its '.join(found)}."
    names = [placing.name for placing in placings]
    return f"No word of the query is in it; it comes from {_and(names)}." if names else ""


def _placing(placing: Placing) -> str:
    weight = "" if placing.weight == 1 else f", a list of weight {_number(placing.weight)}"
    return (
        f"{_ordinal(placing.rank)} by {placing.name} with {_number(placing.score)}{weight}: "
        f"{_number(placing.part)} of the score."
    )


def _changes(entry: Fused, rank: int, profile: str, where: Callable[[int], str]) -> Iterator[str]:
    if entry.boost != 1:
        reason = f" in {profile} questions" if profile else ""
        yield f"The {entry.tier} tier counts {_number(entry.boost)} times{reason}."
    if 1 - entry.recency >= _NOTICEABLE:
        yield f"Its age leaves {_number(entry.recency)} of {_number(entry.relevance)}."
    if entry.moved:
        yield _moved(entry.moved, rank, where)


def _moved(moved: Moved, rank: int, where: Callable[[int], str]) -> str:
    before = f"{_ordinal(moved.rank)} by score"
    if rank < moved.rank or moved.like is None:
        return f"{before}, and higher here because others repeat what stands above."
    alike = f"{_number(moved.similarity)} like {where(moved.like)} above"
    return f"{before}, and lower here because it is {alike}."


def _listed(words: Sequence[str]) -> str:
    shown = ", ".join(_short(word) for word in words[:_MOST_WORDS])
    more = len(words) - _MOST_WORDS
    return f"{shown} and {more} more" if more > 0 else shown


def _short(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…"


def _and(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _number(value: float) -> str:
    """Return a number with as many digits as tell something."""
    if not isfinite(value):
        return "no number"
    digits = 3 if abs(value) < 1 else 2
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _ordinal(number: int) -> str:
    teens = range(11, 14)
    ending = "th" if number % 100 in teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
