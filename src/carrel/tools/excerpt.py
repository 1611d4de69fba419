"""Shortening what a tool returns: cut by characters, always visibly, never between a letter and its marks."""

import re
import unicodedata
from functools import lru_cache
from itertools import accumulate

ELLIPSIS = "…"

_SEARCHED = 100_000  # characters of a text in which the place of a word is looked for
_LONGEST_CLUSTER = 16
_JOINER = "\u200d"
_WORD = re.compile(r"\w+")


def clip(text: str, limit: int) -> tuple[str, bool]:
    """Return at most `limit` characters, the ellipsis included where it was cut, and whether it was."""
    if len(text) <= limit:
        return text, False
    return text[: boundary(text, limit - len(ELLIPSIS))] + ELLIPSIS, True


def boundary(text: str, end: int) -> int:
    """Return where to cut at or a little before `end`, so that what belongs to one letter stays together."""
    for place in range(end, max(0, end - _LONGEST_CLUSTER), -1):
        if place == len(text) or not (_extends(text[place]) or text[place - 1] == _JOINER):
            return place
    return end


def words_of(query: str) -> tuple[str, ...]:
    """Return the words of a query without case and accents, each once."""
    return tuple(dict.fromkeys(_WORD.findall(folded(query))))


def folded(text: str) -> str:
    """Return a text without case and accents."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


def around(text: str, words: tuple[str, ...], limit: int) -> str:
    """Return at most `limit` characters of a text, from around the first of these folded words."""
    if len(text) <= limit:
        return text
    start = boundary(text, max(0, min(_place(text, words) - limit // 3, len(text) - limit + 1)))
    lead = ELLIPSIS if start else ""
    rest, _ = clip(text[start : start + limit + 1], limit - len(lead))
    return lead + rest


def _place(text: str, words: tuple[str, ...]) -> int:
    """Return where the first of these words begins, 0 where none is found."""
    text = text[:_SEARCHED]
    plain = folded(text)
    found = min((at for word in words if (at := plain.find(word)) >= 0), default=0)
    if len(plain) == len(text) or not found:
        return found
    ends = accumulate(len(_folded(c)) for c in text)  # a letter may fold to several, or to none
    return next(index for index, end in enumerate(ends) if end > found)


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character.casefold())
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn").casefold()


def _extends(character: str) -> bool:
    """Tell whether a character belongs to the one before it: a mark, a variation or a tone."""
    return (
        character == _JOINER
        or unicodedata.category(character)[0] == "M"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
