"""Does a long token look random? Only then can it be a secret that no form and no name gives away.

Digests, ids, paths, names in code and encoded text are long too, and common, so each is spared: what is left
changes between upper case, lower case and digits far more often than anything a person named.
"""

import re
from base64 import b64decode
from collections import Counter
from math import log2

SHORTEST, LONGEST = 32, 256
"""In characters; what is longer is data."""

_LEAST_BITS = 4.0  # a character; of 1,000 random tokens of 32 characters one has less
_LEAST_PIECES = 0.38  # a character; names in code have a quarter, random text a half
_MOST_SEPARATORS = 0.1  # a character; names in code have more, random base64 a thirtieth

_MIXED = re.compile(r"(?=[^0-9]*+[0-9][^0-9]*+[0-9])(?=[^A-Z]*+[A-Z])(?=[^a-z]*+[a-z])")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SPARED = re.compile(
    r"sha(?:1|224|256|384|512)[_-]|0x|AAAA|iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|MII|Qm[1-9A-HJ-NP-Za-km-z]{44}$"
    r"|[13][1-9A-HJ-NP-Za-km-z]{31,34}$|pk_(?:live|test)_|(?:asst|batch|call|chatcmpl|cmpl|conv|evt|file|fp|gen|item"
    r"|msg|org|proj|req|resp|rs|run|srvtoolu|step|thread|toolu|user|vs)[_-]"
)
"""How digests, addresses, public keys, certificates, images and the ids of vendors begin."""
_INSIDE = re.compile(r"[0-9a-fA-F]{24}|[0-9a-f]{8}-[0-9a-f]{4}-|EXAMPLE")
_BEFORE = re.compile(
    r"(?:(?<!session)(?<!session_)(?<!sess)id|hash|digest|checksum|fingerprint|etag|sha-?[0-9]{1,3}|md5|integrity"
    r"|cursor|revision|(?:page|next)_?token)[\"'`]?[ :=]{1,3}[\"'`]?\Z"
    r"|\bh1:\Z|\bsha[0-9]{1,3}-\Z|base64,\Z|\?b\?\Z|%\Z",
    re.IGNORECASE,
)
"""A name, or the sign of an encoding, that says that what follows is no secret."""
_STANDARD = str.maketrans("-_", "+/")
_SPACE = re.compile(r"[\s\"'<>()\[\]`]")
_LINE_BEFORE = re.compile(r"[A-Za-z0-9+/]{60}\r?\n[ \t]{0,24}\Z")
_LINE_AFTER = re.compile(r"[ \t]{0,24}\r?\n[ \t]{0,24}[A-Za-z0-9+/]{60}")


def bits(text: str) -> float:
    """Return how much a character of the text tells, by how often each occurs in it."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values())


def looks_random(token: str) -> bool:
    """Tell whether a token was drawn rather than named, counted or computed from something public."""
    bare = token.rstrip("=")
    if not SHORTEST <= len(bare) <= LONGEST or not _MIXED.match(bare):
        return False
    if _SPARED.match(bare) or _INSIDE.search(bare):
        return False
    separators = sum(map(bare.count, "-_/+"))
    if separators > _MOST_SEPARATORS * len(bare):
        return False
    pieces = len(_PIECE.findall(bare)) + separators
    return pieces >= _LEAST_PIECES * len(bare) and bits(bare) >= _LEAST_BITS and not _is_encoded_text(bare)


def is_secret(text: str, start: int, end: int) -> bool:
    """Tell it of a token in its text, where it may be part of a link, a digest or many lines of data."""
    token = text[start:end]
    if not looks_random(token):
        return False
    before = text[max(0, start - LONGEST) : start]
    if _BEFORE.search(before[-24:]) or "://" in _SPACE.split(before)[-1]:
        return False
    if before.endswith(".") and "/" in token:  # example.com/a/b
        return False
    return not (_LINE_BEFORE.search(before[-90:]) or _LINE_AFTER.match(text, end))


def _is_encoded_text(token: str) -> bool:
    """Tell whether a token is base64 of something to read, which no random one ever is."""
    whole = token[: len(token) // 4 * 4].translate(_STANDARD)
    decoded = b64decode(whole)
    try:
        text = decoded.decode()
    except UnicodeDecodeError as error:
        if error.start < len(decoded) - 3:  # else only the last character was cut
            return False
        text = decoded[: error.start].decode()
    return all(character.isprintable() or character.isspace() for character in text)
