"""Words as the offline model weighs them: by how much they say of what is asked."""

from collections.abc import Iterable, Iterator

from carrel.memory.words import LONGEST, STOP, WORD, content, fold, stems, stems_of

__all__ = ["STOP", "WEAK", "Weights", "content", "fold", "is_telling", "keywords", "stems", "weigh"]

_LITTLE = """
use like want need know say tell said told thing make made get got go goe give take let see show look find
search remember think mean ask answer question really good new day time today
"""
WEAK = frozenset(_LITTLE.split())
"""What says little: alone it makes no line an answer."""

_ALIKE = {"today": ("date",), "day": ("date",), "call": ("name",), "born": ("birthday",)}

Weights = dict[str, int]


def keywords(text: str, most: int) -> list[str]:
    """Return the words to search for: the weightiest few, as they are written and in their order."""
    words = content(text)
    weights = weigh(text)
    weighed = {word: max((weights.get(stem, 0) for stem in stems_of(word)), default=0) for word in words}
    telling = [word for word in words if weighed[word] > 1] or words
    kept = sorted(telling, key=lambda word: -weighed[word])[:most]
    return [word for word in telling if word in kept]


def weigh(question: str) -> Weights:
    """Return what a question asks about: names and numbers weigh twice, words that say little half."""
    weights: Weights = {}
    for word, is_first in _placed(question):
        if fold(word) in STOP:
            continue
        for stem in stems_of(word):
            weights[stem] = max(weights.get(stem, 0), _weight(word, stem, is_first=is_first))
            for other in _ALIKE.get(stem, ()):
                weights.setdefault(other, weights[stem])
    return weights


def is_telling(weights: Weights, matched: Iterable[str]) -> bool:
    """Tell whether words in common are more than chance: weak ones are, unless all that was asked is weak."""
    return any(weights[stem] > 1 for stem in matched) or all(weight == 1 for weight in weights.values())


def _placed(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each word, and whether it begins a sentence."""
    end = 0
    for match in WORD.finditer(text):
        between = text[end : match.start()]
        yield match[0][:LONGEST], not end or any(c in ".!?\n:" for c in between)
        end = match.end()


def _weight(word: str, stem: str, *, is_first: bool) -> int:
    if any(c.isdigit() for c in word):
        return 4
    if word[0].isupper() and not is_first:
        return 4
    return 1 if stem in WEAK else 2
