"""Does what was said support a fact? Told by words: half of those that mean something, all names and numbers.

It catches what was made up, and not what was misunderstood: nobody can tell love from hate by counting words.
"""

import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import islice

from carrel.memory.words import LONGEST, STOP, WORD, content_stems, fold, stems, stems_of

SHARE = 0.5
"""Of the words of a fact, those that what was said must have."""

_READ = 20_000  # characters of one message, half of them at its end; a model is shown fewer
_COMPARED = 200_000  # characters of a text from outside
_NEAR = 400  # days between what was said and a day that it may have meant
_CAPITALS = 0.25
_FEW_WORDS = 6
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_SENTENCE = re.compile(r"(?<=[.!?;])(?=\s)|(?<=[\n\u3002\uff01\uff1f])")
_ASKING = ("?", "\uff1f")
_WITHIN = frozenset("@./\\:")
_AROUND = ".,;:!?/\"'`()[]{}<>*_\u201c\u201d\u2018\u2019\u2026"
_HOST = re.compile(r"://([\w.-]{1,253}+)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,8192}+={0,2}")
_MOST_ENCODED = 100


def _listed(words: str) -> frozenset[str]:
    return frozenset(stem for word in words.split() for stem in stems_of(word))


NARRATING = _listed(
    """
    user owner assistant agent team project conversation person people
    prefers wants wishes likes decided chose agreed said says asked asks mentioned stated told
    uses used using called named works lives has needs plans currently always never favourite favorite
    usuario usuaria equipo proyecto prefiere quiere usa decidio dijo vive trabaja
    nutzer nutzerin benutzer benutzerin projekt bevorzugt mochte nutzt verwendet entschied sagte wohnt
    arbeitet
    utilisateur utilisatrice equipe projet prefere veut utilise decide habite travaille
    """
)
"""How a fact is told, whatever it is about: these words need not have been said."""

# What a day may be resolved from: `tomorrow` was said, and a date is remembered.
_TIMES = _listed(
    """
    today tomorrow yesterday tonight week weekend month year next last
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    hoy manana ayer semana mes ano lunes martes miercoles jueves viernes sabado domingo enero febrero marzo
    abril mayo junio julio agosto septiembre octubre noviembre diciembre
    heute morgen gestern woche monat jahr montag dienstag mittwoch donnerstag freitag samstag sonntag januar
    februar marz april mai juni juli august september oktober november dezember
    aujourd hui demain hier semaine mois annee lundi mardi mercredi jeudi vendredi samedi dimanche
    """
)
_NUMBERS = {
    stem: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
        "zero un deux trois quatre cinq six sept huit neuf dix onze douze",
    )
    for number, word in enumerate(words.split())
    for stem in stems_of(word)
}


_DENYING = frozenset(
    """
    no not never none nothing without cannot t nunca jamas sin nada nicht nie kein keine keinen ohne nichts
    ne pas jamais sans rien nao sem
    """.split()  # noqa: SIM905 - a list of words is easier to read and to change as words
)


def supports(text: str, evidence: Sequence[str], days: Collection[date] = ()) -> bool:
    """Tell whether a fact's words are among what was said, on these days."""
    said = [_heard(_clipped(each)) for each in evidence]
    heard = {stem for words, _ in said for stem in words}
    heard |= {_NUMBERS[stem] for stem in heard & _NUMBERS.keys()}
    heard |= {str(day.year + more) for day in days for more in (-1, 0, 1)}
    if heard & _TIMES:
        text = _DAY.sub(lambda found: "" if _is_near(found[0], days) else found[0], text)
    are_nouns = any(capitalised for _, capitalised in said)
    names = _numbers(text) if are_nouns else _names(text) | _numbers(text)
    if any(not heard.issuperset(stems_of(name)) for name in names):
        return False
    return _share(content_stems(text), heard) >= SHARE


def repeats(text: str, outside: str) -> bool:
    """Tell whether a fact's words are among what somebody else said, wherever in a long text."""
    return supports(text, _pieces(outside))


def brings(outside: str, text: str, own: Sequence[str]) -> bool:
    """Tell whether a text from outside may have put something into a fact that its owner half said.

    It has a word or an address of the fact that the owner did not say, or answers what the owner only asked,
    or denies what the owner did not.
    """
    telling = content_stems(_DAY.sub("", text)) - NARRATING
    said = {stem for each in own for stem in _heard(_clipped(each))[0]}
    missing = {stem for stem in telling - said if not stem.isdigit()}
    if any(not missing.isdisjoint(_heard(piece)[0]) for piece in _pieces(outside)):
        return True
    if exact(text) & exact(outside[:_COMPARED]) - exact("\n".join(own)):
        return True
    spoken = [sentence for each in own for sentence in sentences_on(_clipped(each), telling)]
    is_said = not all(map(asks, spoken)) and denies(text) == any(map(denies, spoken))
    return not is_said and repeats(text, outside)


def exact(text: str) -> set[str]:
    """Return the addresses, paths and figures of a text, which mean something else with one sign changed."""
    words = (word.strip(_AROUND).casefold() for word in text.split())
    plain = (word.removeprefix("https://").removeprefix("http://") for word in words)
    return {word for word in plain if not _WITHIN.isdisjoint(word)}


def denies(text: str) -> bool:
    """Tell whether a text denies something."""
    return not _DENYING.isdisjoint(fold(word) for word in WORD.findall(text))


def asks(sentence: str) -> bool:
    """Tell whether a sentence asks, and states nothing."""
    return sentence.rstrip().endswith(_ASKING)


def addresses(text: str) -> set[str]:
    """Return the addresses of mail in a text, and the hosts of those of the web."""
    mail = exact(" ".join(word for word in text.split() if "@" in word.strip(_AROUND)[1:]))
    return mail | {found[1].casefold() for found in _HOST.finditer(text)}


def names(text: str) -> set[str]:
    """Return the names and figures of a text, as words are compared."""
    return {stem for word in _names(text) | _numbers(text) for stem in stems_of(word)}


def sentences_on(message: str, words: Collection[str]) -> list[str]:
    """Return the sentences of a message that have one of some words."""
    return [part for part in _SENTENCE.split(message) if not content_stems(part).isdisjoint(words)]


def spelt_out(text: str) -> str:
    """Return a text with what its base64 says, which a model reads as easily."""
    found = (token[0].rstrip("=") for token in islice(_BASE64.finditer(text), _MOST_ENCODED))
    decoded = (b64decode(token[: len(token) // 4 * 4]).decode("utf-8", "replace") for token in found)
    words = (" ".join(each.split()) for each in decoded if "\ufffd" not in each)
    return "\n".join((text, *filter(str.isprintable, words)))


def _pieces(text: str) -> list[str]:
    """Part a long text, so that nothing in its middle is passed over; a word may stand in two of them."""
    told = spelt_out(text[:_COMPARED])
    return [told[at : at + _READ] for at in range(0, len(told), _READ - LONGEST)]


@lru_cache(maxsize=512)
def _heard(text: str) -> tuple[frozenset[str], bool]:
    """Return the words of what was said, and whether it writes all nouns with a capital."""
    return frozenset(stems(text)), _capitalises_nouns(text)


def _share(wanted: Collection[str], heard: Collection[str]) -> float:
    telling = [stem for stem in wanted if stem not in NARRATING] or list(wanted)
    return sum(stem in heard for stem in telling) / len(telling) if telling else 0.0


def _names(text: str) -> set[str]:
    """Return the words that look like names; one that begins a sentence may be any word."""
    return {
        word
        for word, is_first in _placed(text)
        if (word[0].isupper() and not is_first)
        or (len(word) > 1 and not word[1:].islower() and word[1:].isalpha())
        if word[0].isupper() and fold(word) not in STOP and not NARRATING.issuperset(stems_of(word))
    }


def _numbers(text: str) -> set[str]:
    """Return the words with digits; nobody says the minutes of a full hour."""
    found = (word for word, _ in _placed(text) if any(c.isdigit() for c in word))
    return {word.lstrip("0") or "0" if word.isdigit() else word for word in found if word != "00"}


def _placed(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each word, and whether it begins a sentence."""
    end = 0
    for match in WORD.finditer(text):
        between = text[end : match.start()]
        yield match[0][:LONGEST], not end or any(c in ".!?\n:" for c in between)
        end = match.end()


def _capitalises_nouns(text: str) -> bool:
    """Tell whether so many words begin with a capital that these cannot all be names, as in German."""
    inner = [word for word, is_first in _placed(text) if not is_first and word[0].isalpha()]
    return len(inner) >= _FEW_WORDS and sum(word[0].isupper() for word in inner) > len(inner) * _CAPITALS


def _is_near(day: str, days: Collection[date]) -> bool:
    try:
        meant = date.fromisoformat(day)
    except ValueError:
        return False
    return any(abs((meant - said).days) <= _NEAR for said in days)


def _clipped(text: str) -> str:
    half = _READ // 2
    return text if len(text) <= _READ else f"{text[:half]}\n{text[-half:]}"
