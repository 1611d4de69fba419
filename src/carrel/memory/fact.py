"""A fact's text: on one line as people read it, and folded as two of them are compared."""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from carrel import plainjson

KINDS = (
    "preference",
    "user",
    "decision",
    "convention",
    "entity",
    "relation",
    "skill",
    "procedure",
    "event",
    "correction",
    "note",
)
"""What a fact may be; where it belongs follows from this and its layer."""

LONGEST = 1_000
"""Characters of one fact; what is longer is a document."""

_ID = 20
# Controls, the ends of lines that only Unicode knows, and what turns or hides text.
_UNSEEN = re.compile(
    "[\\x00-\\x20\\x7f-\\xa0\u061c\u200b\u200e\u200f\u2028-\u202f\u2060-\u2064\u2066-\u206f\ufeff"
    "\U000e0000-\U000e007f]+"
)
_MARKS = re.compile(r"(?:(?:[-*+]|#{1,6}|>) )+")
_FENCES = re.compile(r"`{3,}|~{3,}")
_QUOTES = "\"'“”„«»\u2018\u2019\u2039\u203a"
_BEFORE = f"{_QUOTES}([{{,;:!¿¡"
_AFTER = f"{_QUOTES})]}},;:!.…。、"


def fact_id(agent: str, session: str, evidence: Iterable[str], text: str) -> str:
    """Return the id of a fact: the same whenever it is taken from the same messages in the same words."""
    told = plainjson.dumps((agent, session, sorted(evidence), normalise(text)))
    return sha256(told).hexdigest()[:_ID]


def normalise(text: str) -> str:
    """Return a text on one line, without what would make it more than text: marks, fences, hidden controls.

    What is not Unicode becomes a question mark, so that any file can hold it. Doing it twice changes nothing.
    """
    plain = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    flat = _FENCES.sub(lambda found: found[0][0], _UNSEEN.sub(" ", plain)).strip(" ")
    return flat[marks.end() :] if (marks := _MARKS.match(flat)) else flat


def key_of(text: str) -> str:
    """Return what is equal for texts of the same words, whatever their case, spaces and punctuation.

    Only punctuation around words goes: `C++` and `C`, `1.5` and `15`, `.env` and `env` stay apart.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", normalise(text)).casefold())
    plain = folded.replace("\u2019", "'").replace("**", "").replace("`", "")
    words = (word.lstrip(_BEFORE).rstrip(_AFTER) for word in plain.split())
    return " ".join(word for word in words if word) or folded
