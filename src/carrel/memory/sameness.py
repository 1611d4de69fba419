"""Do two texts say the same? Decided by their words alone, and in doubt they do not.

A false duplicate would lose what was learnt, and a true one that is missed only costs a line. So every word
counts but articles and the like, in its order (who reports to whom), and with its tense; only plurals and
third persons are taken for the same word, and what stands on either side of `is` may change places.
"""

from collections.abc import Sequence

from carrel.memory.fact import key_of

_FILLERS = frozenset(
    """
    the a an also really just please currently now
    el la los las un una unos unas der die das dem den des ein eine einen einem einer le les une
    """.split()  # noqa: SIM905 - a list of words is easier to read and to change as words
)
_COPULAS = frozenset(("is", "are", "es", "son", "ist", "sind", "est", "sont"))
_POINTING = frozenset(
    """
    in on at by to from with for of as than before after en con para por de bei mit von zu nach als avec pour
    """.split()  # noqa: SIM905 - as above
)
_SHORTEST = 4
_LEAST_COMMON = 2
_MOST_DIFFERENT = 4


def form_of(text: str) -> str:
    """Return what is equal for texts that say the same; it is no text to be read."""
    words = _words(text)
    linking = [place for place, word in enumerate(words) if word in _COPULAS]
    if len(linking) != 1 or linking[0] in (0, len(words) - 1):
        return " ".join(words)
    place = linking[0]
    return " = ".join(sorted((" ".join(words[:place]), " ".join(words[place + 1 :]))))


def is_same(one: str, other: str) -> bool:
    """Tell whether two texts say the same."""
    return form_of(one) == form_of(other)


def corrected_by(text: str, known: Sequence[str]) -> int | None:
    """Return which of some texts another one corrects: the one that begins alike and ends otherwise.

    `The server is in Bonn` corrects `The server is in Rome`, and not `The server is slow`.
    """
    words = _words(text)
    best, found = _LEAST_COMMON - 1, None
    for number, other in enumerate(known):
        others = _words(other)
        alike = _common(words, others)
        rest, gone = words[alike:], others[alike:]
        is_other_value = 0 < len(rest) <= _MOST_DIFFERENT and 0 < len(gone) <= _MOST_DIFFERENT
        if alike > best and is_other_value and _points(rest) == _points(gone):
            best, found = alike, number
    return found


def _words(text: str) -> list[str]:
    words = key_of(text).split()
    return [_singular(word) for word in words if word not in _FILLERS] or words


def _singular(word: str) -> str:
    """Take off the ending of a plural, or of a third person."""
    if len(word) < _SHORTEST or not word.isalpha():
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two texts begin with alike."""
    both = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


def _points(words: Sequence[str]) -> bool:
    """Tell whether words begin with where or how something is, and not with what it is."""
    return words[0] in _POINTING
