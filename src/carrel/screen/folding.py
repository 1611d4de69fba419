"""A text as a hasty reader takes it: one case, one alphabet, one space; no accents, emphasis or disguise."""
# ruff: noqa: RUF001 - letters that look alike are what this is about

import re
from functools import lru_cache
from unicodedata import category, normalize

_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]")
_OTHER = re.compile(r"[\u0370-\u04ff]")
_SPACED = re.compile(r"(?<!\w)(?:\w ){2,200}\w(?!\w)")
_TOKEN = re.compile(r"[a-z0-9]++")
_SPACE = re.compile(r"\s+")
_EMPHASIS = str.maketrans("", "", "*_`~")
_JOINED = re.compile(r"(?<=[a-z0-9])_(?=[a-z0-9])")
_DIGITS = str.maketrans("0134578", "oieastb")
_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтнвгпАВЕЅІЈКМНОРСТУХαεοινρυκτχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwkmthbrnABESIJKMHOPCTYXaeoivpuktxABEZHIKMNOPTYX",
)
"""Letters of Cyrillic and Greek with the Latin ones that they look like."""
_PLAIN = {
    "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
    "’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "‐": "-", "‑": "-",
}  # fmt: skip
_INVISIBLE = ("Mn", "Me", "Cf", "Cs", "Co")


class _Reader(dict[int, str]):
    """What each character is read as; asked one by one, so that no text makes it slow."""

    def __missing__(self, code: int) -> str:
        return _read_as(code)


_READER = _Reader()


def folded(text: str) -> str:
    """Return the text in small letters, with what only disguises words taken away."""
    if not text.isascii():
        text = in_one_alphabet(text).translate(_READER)
    text = _JOINED.sub(" ", text.lower()).translate(_EMPHASIS)
    text = _SPACED.sub(lambda found: found[0].replace(" ", ""), text)
    return _SPACE.sub(" ", _TOKEN.sub(_undisguised, text))


def _undisguised(token: re.Match[str]) -> str:
    """Read digits within a word as the letters that they stand for; behind it they are a number."""
    word = token[0]
    return (
        word
        if not word.rstrip("0123456789") or word.rstrip("0123456789").isalpha()
        else word.translate(_DIGITS)
    )


def in_one_alphabet(text: str) -> str:
    """Return the text with letters that only look Latin made so, in words that mix alphabets."""
    if not _OTHER.search(text):
        return text
    return _WORD.sub(lambda found: found[0].translate(_ALIKE) if is_mixed(found[0]) else found[0], text)


def is_mixed(word: str) -> bool:
    """Tell whether a word is Latin but for letters that look it."""
    if word.isascii() or not _LATIN.search(word) or not _OTHER.search(word):
        return False
    return not _OTHER.search(word.translate(_ALIKE))


@lru_cache(maxsize=8192)
def _read_as(code: int) -> str:
    character = chr(code)
    if character.isascii():
        return character
    if category(character) in _INVISIBLE:
        return ""
    plain = normalize("NFKC", character).lower()
    letters = (_PLAIN.get(letter, normalize("NFD", letter)[0]) for letter in plain)
    return "".join(own if own.isascii() else letter for own, letter in zip(letters, plain, strict=True))
