"""Words as texts are compared by: folded, without plurals, and without those that say nothing."""

import re
import unicodedata
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
STOP = frozenset(f"{_ENGLISH} {_SPANISH} {_GERMAN}".split())
"""What says nothing of what a text is about."""

LONGEST = 60
"""Characters of a word that count."""

WORD = re.compile(r"[^\W_]+")
# Scripts that put no spaces between words: pairs of their characters stand for words.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f]")
_SHORTEST_STEM = 4


def stems(text: str) -> set[str]:
    """Return the words of a text in the form that is compared; stop words too."""
    return {stem for word in WORD.findall(text) for stem in stems_of(word[:LONGEST])}


def content(text: str) -> list[str]:
    """Return the words of a text that say what it is about, each once, as they are written."""
    found: dict[str, str] = {}
    for match in WORD.finditer(text):
        word = match[0][:LONGEST]
        for stem in stems_of(word):
            if fold(word) not in STOP and stem not in STOP:
                found.setdefault(stem, word)
    return list(dict.fromkeys(found.values()))


def content_stems(text: str) -> set[str]:
    """Return the words that say what a text is about, in the form that is compared."""
    words = (word[:LONGEST] for word in WORD.findall(text))
    return {stem for word in words if fold(word) not in STOP for stem in stems_of(word) if stem not in STOP}


def fold(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c))


@lru_cache(maxsize=8192)
def stems_of(word: str) -> tuple[str, ...]:
    """Return what one word is compared by; in scripts without spaces that are pairs of characters."""
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
