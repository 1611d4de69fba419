"""Whether a value is a secret, given that its name says so.

Names lie: `password: required`, `token = self.token`, `api_key=${API_KEY}`. So the value must look like one
as well: not a word, not code, not a stand-in. How much it has to show depends on where it stands.
"""

import re
from typing import Literal

from carrel.screen.entropy import bits

LONGEST = 2_048
"""In characters."""

Place = Literal["prose", "literal", "setting"]
"""Where it might be prose or code; in quotes, behind a flag, in a query; after `NAME=`."""

_LEAST_BITS = 1.5
_PASSPHRASE = 20
_WORD_AS_PASSWORD = 8
_PLAIN = frozenset(("disabled", "optional", "password", "required", "undefined"))
_RANDOM_PIECES = 0.38  # a character, as in random letters
_NAMED_PIECES = 0.31  # a character, as in names in code
_SCRAMBLED_PIECES = 0.25  # a character, where both cases are mixed: words have four letters or more
_SCRAMBLED = 10  # characters
_FEW_DIGITS = 0.15  # of all characters

_STAND_IN = re.compile(
    r"\$\w*\Z|[$#%@]?[{(<\[]{1,2}[^})>\]]*[})>\]]|\$[({]|\{\{|<|%\(|%[A-Z_]+%\Z|[!:@]\w+\Z"
    r"|.*(?:://|\[REDACTED:|\.\.\.|…|\*\*\*|x{5}|(?<![a-z0-9])x{3,}(?![a-z0-9])"
    r"|your|example|placeholder|change[_-]?me|dummy|sample|redacted"
    r"|replace|insert|todo|fixme|masked|omitted|not[_-]?set|foobar)"
    r"|(?:arn|enc|env|file|kms|op|ref|sops|ssm|vault|sha[0-9]+)[:\[(]|[\w.+-]+@[\w-]+\.[\w.-]+\Z",
    re.IGNORECASE | re.DOTALL,
)
"""Variables, templates, references, links, addresses, and what people write where a secret would stand."""
_PATH = re.compile(r"(?:\.{0,2}|~|[A-Za-z]:)[/\\](?:.*[/\\]|\w+\Z)", re.DOTALL)
_CALL = re.compile(r"[\w$.:>-]*[(\[{]")
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)+\Z")
_BRACKET = re.compile(r"[()\[\]{}]")
_ALGORITHM = re.compile(
    r"(?<![A-Za-z0-9])(?:base(?:16|32|58|64|85)|sha-?[0-9]|md[45]|bcrypt|scrypt|argon2|pbkdf2|utf-?(?:8|16)|aes-?[0-9]|rsa-?[0-9]"
    r"|[ehr]s(?:256|384|512)|ed25519|x509|oauth|rot13|hmac|http|totp|2fa)",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?i:pass|pwd|secret|token|cred|auth|(?:access|api|master|private|public)key)|(?<![A-Za-z])[Kk]ey|(?<=[a-z])Key|KEY"
)
"""What names are made of; a monkey is no key."""
_SEPARATOR = re.compile(r"[-_./:,]+")
_WORD = re.compile(r"[^\W\d_]*|[0-9]{1,4}")
_NUMBERED_WORD = re.compile(r"[^\W\d_]{0,14}[0-9]{0,4}")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")
_MARK = re.compile(r"[^\w\s./,:;-]")


def is_password(value: str, *, place: Place) -> bool:
    """Tell whether what is called a password is one; people choose them, so it may be half a word."""
    if not _may_be(value, 6) or _PATH.match(value):
        return False
    if value.isdigit():
        return True
    if place == "prose":
        return _is_password_in_prose(value)
    if place == "setting" and len(value) >= _WORD_AS_PASSWORD and value.lower() not in _PLAIN:
        return True
    return not _is_wordy(value.rstrip("*:?!."), _WORD) or _is_passphrase(value) or _is_scrambled(value)


def _is_password_in_prose(value: str) -> bool:
    if _is_code(value) or _ALGORITHM.search(value) or _NAME.search(value) or not _LETTER.search(value):
        return False
    if _MARK.search(value[:-1]) or ("-" in value and _is_passphrase(value)):
        return True
    return bool(_DIGIT.search(value)) and not (_SEPARATOR.search(value) and _is_wordy(value, _NUMBERED_WORD))


def is_key(value: str, *, place: Place) -> bool:
    """Tell whether what is called a key, token or secret is one; machines make them, so it is no word."""
    if not _may_be(value, 12 if place == "prose" else 8) or not _LETTER.search(value):
        return False
    if place == "prose" and (_is_code(value) or _BRACKET.search(value)):
        return False
    digits = len(_DIGIT.findall(value))
    pieces = len(_PIECE.findall(value))
    if not digits:
        return len(value) >= _PASSPHRASE and pieces >= _RANDOM_PIECES * len(value)
    if digits < _FEW_DIGITS * len(value) and pieces <= _NAMED_PIECES * len(value):
        return False
    return not _is_wordy(value, _NUMBERED_WORD)


def _may_be(value: str, least: int) -> bool:
    """Tell whether a value could be a secret of any kind: one word, of more than a few characters."""
    if not least <= len(value) <= LONGEST or any(map(str.isspace, value)):
        return False
    return _STAND_IN.match(value) is None and bits(value) >= _LEAST_BITS


def _is_code(value: str) -> bool:
    """Tell whether a value is a call, or names with dots between, as long as these look like names."""
    if _CALL.match(value):
        return True
    return bool(_DOTTED.match(value)) and len(_PIECE.findall(value)) < _RANDOM_PIECES * len(value)


def _is_wordy(value: str, word: re.Pattern[str]) -> bool:
    return all(word.fullmatch(part) for part in _SEPARATOR.split(value))


def _is_passphrase(value: str) -> bool:
    """Tell whether words make a secret by their number: correct-horse-battery-staple."""
    return len(value) >= _PASSPHRASE and len(_SEPARATOR.split(value)) >= 4 and not _NAME.search(value)  # noqa: PLR2004


def _is_scrambled(value: str) -> bool:
    """Tell whether letters alone are drawn rather than spelt: dbFbSegORKUQGD."""
    is_mixed = (
        len(value) >= _SCRAMBLED and value.isalpha() and not value[1:].islower() and not value.isupper()
    )
    return (
        is_mixed and len(_PIECE.findall(value)) >= _SCRAMBLED_PIECES * len(value) and not _NAME.search(value)
    )
