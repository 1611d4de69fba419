"""Words as the offline model compares them: folded, without plurals, and weighed by how much they say."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

_ENGLISH = """
a about again all also am an and any anybody anyone anything are as at be because been being but by can could
d did do does doing done for from had has have having he her here hers him his how i if in into is it its
itself just ll m me mine more most much my myself no nor not now of off on once only or other our ours out
over own please re s same shall she should so some something such t than that the their them then there these
they this those through to too under until up us ve very was we were what when where which while who whom
whose why will with would yes yet you your yours hi hello hey ok okay thanks thank md txt
"""
_SPANISH = """
al algo como con cual cuando de del donde el ella ellos en era eres es esta estas este esto fue ha hay la las
le les lo los mas me mi mis muy nada ni nos o para pero por porque que quien se ser si sin sobre son su sus
te tu tus un una uno unos y ya yo hola gracias
"""
_GERMAN = """
aber als auch auf aus bei bin bist da das dass dein deine dem den der des die doch du ein eine einem einen
einer er es euch fur hat hatte ich ihr im ist ja kann kein keine man mein meine mich mir mit nach nein nicht
noch nur oder sein sich sie sind uber um und uns unser vom von vor wann war warum was wer welche wenn werden
wie wir wird wo zu zum zur hallo danke
"""
_LITTLE = """
use like want need know say tell said told thing make made get got go goe give take let see show look find
search remember think mean ask answer question really good new day time today
"""
STOP = frozenset(f"{_ENGLISH} {_SPANISH} {_GERMAN}".split())
"""What says nothing of what a text is about."""

WEAK = frozenset(_LITTLE.split())
"""What says little: alone it makes no line an answer."""

_ALIKE = {"today": ("date",), "day": ("date",), "call": ("name",), "born": ("birthday",)}
_WORD = re.compile(r"[^\W_]+")
# Scripts that put no spaces between words: pairs of their characters stand for words.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f]")
_LONGEST = 60
_SHORTEST_STEM = 4

Weights = dict[str, int]


def stems(text: str) -> set[str]:
    """Return the words of a text in the form that is compared; stop words too."""
    return {stem for word in _WORD.findall(text) for stem in _stems_of(word[:_LONGEST])}


def content(text: str) -> list[str]:
    """Return the words of a text that say what it is about, each once, as they are written."""
    found: dict[str, str] = {}
    for match in _WORD.finditer(text):
        word = match[0][:_LONGEST]
        for stem in _stems_of(word):
            if fold(word) not in STOP and stem not in STOP:
                found.setdefault(stem, word)
    return list(dict.fromkeys(found.values()))


def keywords(text: str, most: int) -> list[str]:
    """Return the words to search for: the weightiest few, as they are written and in their order."""
    words = content(text)
    weights = weigh(text)
    weighed = {word: max((weights.get(stem, 0) for stem in _stems_of(word)), default=0) for word in words}
    telling = [word for word in words if weighed[word] > 1] or words
    kept = sorted(telling, key=lambda word: -weighed[word])[:most]
    return [word for word in telling if word in kept]


def weigh(question: str) -> Weights:
    """Return what a question asks about: names and numbers weigh twice, words that say little half."""
    weights: Weights = {}
    for word, is_first in _placed(question):
        if fold(word) in STOP:
            continue
        for stem in _stems_of(word):
            weights[stem] = max(weights.get(stem, 0), _weight(word, stem, is_first=is_first))
            for other in _ALIKE.get(stem, ()):
                weights.setdefault(other, weights[stem])
    return weights


def is_telling(weights: Weights, matched: Iterable[str]) -> bool:
    """Tell whether words in common are more than chance: weak ones are, unless all that was asked is weak."""
    return any(weights[stem] > 1 for stem in matched) or all(weight == 1 for weight in weights.values())


def fold(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c))


def _placed(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each word, and whether it begins a sentence."""
    end = 0
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        yield match[0][:_LONGEST], not end or any(c in ".!?\n:" for c in between)
        end = match.end()


def _weight(word: str, stem: str, *, is_first: bool) -> int:
    if any(c.isdigit() for c in word):
        return 4
    if word[0].isupper() and not is_first:
        return 4
    return 1 if stem in WEAK else 2


@lru_cache(maxsize=8192)
def _stems_of(word: str) -> tuple[str, ...]:
    if _UNSPACED.search(word) and len(word) > 1:
        return tuple(word[n : n + 2] for n in range(len(word) - 1))
    return (_stem(fold(word)),)


def _stem(word: str) -> str:
    """Take off the endings of plurals and of a few forms of verbs."""
    if word.endswith("ies") and len(word) > _SHORTEST_STEM:
        word = f"{word[:-3]}y"
    elif word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= _SHORTEST_STEM:
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word[: -len(ending)]
            return word[:-1] if word[-1] == word[-2] and word[-1] not in "ls" else word
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word
