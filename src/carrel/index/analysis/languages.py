"""What is known of languages: which words carry no meaning in them, and in which one a text is written."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

ENGLISH: Final = "english"
"""What a text is taken for when nothing tells."""


def _read() -> dict[str, frozenset[str]]:
    """Return the words of each language, as the file beside this one lists them."""
    found: dict[str, frozenset[str]] = {}
    for block in Path(__file__).with_name("stop_words.txt").read_text("utf-8").split("\n\n")[1:]:
        language, _, words = block.partition(":")
        found[language] = frozenset(words.split())
    return found


STOP_WORDS: Final = _read()
"""The words that a search leaves out, by language."""

_SCRIPTS: Final = (
    ("russian", re.compile("[\u0400-\u052f]")),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("arabic", re.compile("[\u0600-\u06ff]")),
    ("tamil", re.compile("[\u0b80-\u0bff]")),
)
STEMMED: Final = (*STOP_WORDS, "arabic", "greek", "tamil")
"""The languages whose words are cut to their stems."""

_SAMPLE = 400  # characters; bounded, so that telling the language costs next to nothing
_FEWEST = 3
_MARGIN = 1.5  # names and loans make any text look a little like English


def tell_language(text: str) -> str:
    """Return the language of a text (folded, as it is searched), English where nothing tells.

    Only its beginning is looked at: by its script, else by the small words in it.
    """
    sample = text[:_SAMPLE]
    if not sample.isascii():
        letters = sum(map(str.isalpha, sample))
        for language, script in _SCRIPTS:
            if len(script.findall(sample)) * 2 > letters:
                return language
    counts = _count(sample.lower().split())
    if not counts:
        return ENGLISH
    best = max(counts, key=lambda language: (counts[language], language))
    is_sure = counts[best] >= _FEWEST and counts[best] > _MARGIN * counts.get(ENGLISH, 0)
    return best if is_sure else ENGLISH


def _count(words: Iterable[str]) -> dict[str, int]:
    """Return how many of the words are small ones of each language."""
    counts: dict[str, int] = {}
    telling = _telling()
    for word in words:
        for language in telling.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    return counts


@cache
def _telling() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, words in STOP_WORDS.items():
        for word in words:
            found[word] = (*found.get(word, ()), language)
    return found
