"""How a text becomes the words that are searched: folded, without stop words, cut to stems, or in pairs.

The same goes for texts and for queries, so that what was typed without accents finds what has them. Scripts
that part no words are searched by pairs of characters.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final
from unicodedata import combining, normalize

from carrel.index.analysis.languages import STEMMED, STOP_WORDS

if TYPE_CHECKING:  # heavy, and most of what is here needs none of it
    from tantivy import TextAnalyzer

GRAMS: Final = "grams"
"""Stands for a language: the scripts that part no words."""

PLAIN: Final = "plain"
"""Stands for a language: every word as it is typed, but for case and accents."""

LONGEST_WORD = 255
"""Bytes; what is longer is no word that anybody types."""

_ACCENTS = (0, 7, 8, 9)  # no accent, and the marks that change what a letter says
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_RUNS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_PARTED = {
    code: chr(code).lower() if chr(code).isalnum() else " "
    for code in (*range(128), 0xA0, 0xAB, 0xBB, *range(0x2010, 0x205F))
}
"""Small letters for large ones, and a space for what stands between words, typographic signs included."""

_MOST_STEMS = 10_000

Range = tuple[int, int]
"""From one character of a text to before another."""


class _Folds(dict[int, int | None]):
    """What each character is searched as, found out when it is first met: one character, or none."""

    def __missing__(self, code: int) -> int | None:
        plain = _plain(chr(code))
        if code < 1 << 16:
            self[code] = plain
        return plain


def _plain(char: str) -> int | None:
    if combining(char) not in _ACCENTS:
        return None
    if "\ud800" <= char <= "\udfff":
        return 0xFFFD
    parts = normalize("NFKD", char)
    bare = [part for part in parts if combining(part) in _ACCENTS]
    return ord(bare[0]) if len(bare) == 1 else ord(char)


_FOLDS = _Folds()


def fold(text: str) -> str:
    """Return a text as it is searched: no accents, wide and odd forms plain, and nothing that is not Unicode.

    Each character becomes one, or none if it is an accent; case is left to the analyzers.
    """
    if text.isascii():
        return text
    return _BEYOND_ASCII.sub(
        lambda run: run[0].translate(_FOLDS), text
    )  # most of it may be, which is quicker


def unfold(text: str, ranges: Iterable[Range]) -> Iterator[Range]:
    """Yield ranges of a folded text as ranges of the text itself; a letter's accents belong to it."""
    if text.isascii() or len(fold(text)) == len(text):
        yield from ranges
        return
    places = [place for place, char in enumerate(text) if _FOLDS[ord(char)] is not None]
    places.append(len(text))
    for start, end in ranges:
        yield places[start], places[end] if end > start else places[start]


def part_scripts(text: str) -> tuple[str, str]:
    """Part a folded text into its words, and the runs of scripts that part none."""
    if text.isascii() or not _RUNS.search(text):
        return text, ""
    return _RUNS.sub(" ", text), "\n".join(_RUNS.findall(text))


def grams(runs: str) -> list[str]:
    """Return the pairs of characters of some runs, each once; of a run of one, that one."""
    found: dict[str, None] = {}
    for run in runs.split("\n"):
        pairs = (run[at : at + 2] for at in range(len(run) - 1)) if len(run) > 1 else (run,)
        found.update((pair.lower(), None) for pair in pairs if pair)
    return list(found)


def words(text: str, language: str) -> list[str]:
    """Return the words of a folded text as they are indexed in a language, in their order."""
    return analyzer(language).analyze(text)


def find_words(text: str, wanted: frozenset[str], languages: Sequence[str]) -> tuple[Range, ...]:
    """Return where in a text the wanted words are, as indexed in any of the languages, none overlapping."""
    parted = text.translate(_PARTED)
    if parted.isascii() and len(languages) == 1:  # most are, and each hit is looked at
        return tuple(_find_parted(parted, wanted, _stems(languages[0])))
    folded = fold(text)
    has_runs = not folded.isascii() and _RUNS.search(folded) is not None
    # The same length, so that places are those of the text.
    parted = _RUNS.sub(lambda run: " " * len(run[0]), folded) if has_runs else folded
    found = [
        (token.char_offset_from, token.char_offset_to)
        for language in languages
        for token in analyzer(language).pre_tokenize(parted).tokens
        if token.text in wanted
    ]
    if has_runs:
        found += _find_grams(folded.lower(), wanted)
    return tuple(unfold(text, _joined(sorted(found))))


def _find_parted(parted: str, wanted: frozenset[str], stems: Mapping[str, str]) -> Iterator[Range]:
    at = 0
    for word in parted.split(" "):
        if word and stems[word] in wanted:
            yield at, at + len(word)
        at += len(word) + 1


def _find_grams(folded: str, wanted: frozenset[str]) -> Iterator[Range]:
    for run in _RUNS.finditer(folded):
        for at in range(run.start(), run.end()):
            for end in {min(at + 2, run.end()), at + 1}:
                if folded[at:end] in wanted:
                    yield at, end


def _joined(ranges: Iterable[Range]) -> list[Range]:
    joined: list[Range] = []
    for start, end in ranges:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


class _Stems(dict[str, str]):
    """What each word is indexed as, found out when it is met; "" for a stop word."""

    def __init__(self, analyze: Callable[[str], list[str]]) -> None:
        super().__init__()
        self._analyze = analyze

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_STEMS:
            self.clear()
        stem = self[word] = "".join(self._analyze(word))
        return stem


@cache
def _stems(language: str) -> _Stems:
    return _Stems(analyzer(language).analyze)


@cache
def analyzer(language: str) -> "TextAnalyzer":
    """Return what makes words of a folded text in a language."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer  # noqa: PLC0415 - heavy

    if language == GRAMS:
        return TextAnalyzerBuilder(Tokenizer.ngram(1, 2)).filter(Filter.lowercase()).build()
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD + 1))
    builder = builder.filter(Filter.lowercase()).filter(Filter.ascii_fold())
    if language in STOP_WORDS:
        builder = builder.filter(Filter.custom_stopword(sorted(STOP_WORDS[language])))
    if language in STEMMED:
        builder = builder.filter(Filter.stemmer(language))
    return builder.build()
