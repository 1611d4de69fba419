"""What a name announces: a password, a key, a token, a secret, and whose; and whether its value is one."""

import re
from functools import lru_cache

from carrel.screen import likely
from carrel.screen.candidate import NAMED, Candidate
from carrel.screen.likely import Place

ANCHORS = (b"pass", b"pw", b"secret", b"token", b"key")
"""One of these stands in every name."""
WORD = rb"(?P<word>pass(?:word|wd|phrase|code|wort)?|pwd?|secret|token|key)(?:[0-9]{1,2}|_base|_value)?"
"""How a name ends, in lower case."""

_SIGNS = str.maketrans("：＝是は", ":=::")  # noqa: RUF001
_ELSEWHERE = {
    "密码": "pw", "密碼": "pw", "口令": "pw", "密钥": "pw", "令牌": "pw", "パスワード": "  pwd",
    "비밀번호": " pwd", "пароль": "   pwd", "Пароль": "   pwd", "hasło": "  pwd",
}  # fmt: skip
_IN_LATIN = {
    b"contrase\xf1a": b"  password", b"mot de passe": b"    password", b"senha": b"  pwd",
    b"kennwort": b"password", b"wachtwoord": b"  password", b"l\xf6senord": b"     pwd",
    b"contrasena": b"  password", b"contrasen?a": b"   password", b"losenord": b"     pwd",
    b"lo?senord": b"      pwd", b"haslo": b"  pwd",
}  # fmt: skip
"""Names in other languages, each with one in English of the same length: what follows is all that counts.

With accents, without (a search takes them off), and with accents as characters of their own, no Latin-1.
"""

_LONGEST_NAME = 128
_LAST_WORD = re.compile(WORD + rb"\Z")
_NOT_LETTERS = re.compile(r"[^a-z]+")
_SCHEME = re.compile(r"(?:[A-Za-z]{3,12} +)?")
_AUTHORIZATION = ("authorization", "proxy-authorization")
_OF_KEYS = (
    "access", "account", "admin", "api", "app", "application", "auth", "client", "cloudflare", "consumer",
    "deploy", "encryption", "heroku", "integration", "license", "master", "private", "secret", "security",
    "server", "service", "shared", "signing", "storage", "subscription", "webhook", "write",
)  # fmt: skip
"""What makes a key one that opens something."""
_OF_PUBLIC_TOKENS = (
    "bos", "change", "cls", "continuation", "cursor", "end", "eos", "idempotency", "lock", "mask", "max",
    "min", "next", "num", "pad", "page", "per", "publickey", "sep", "special", "start", "starting", "stop",
    "sync", "unk",
)  # fmt: skip
"""What makes a token one that opens nothing: a place in a list, a piece of text."""
_VENDORS = tuple(
    (kind, re.compile(name), re.compile(value))
    for kind, name, value in (
        ("aws_secret_key", r"secretaccesskey|aws.*secret", r"[A-Za-z0-9/+]{40}"),
        ("aws_session_token", r"aws.*(?:session|security)token|amzsecuritytoken", r"[A-Za-z0-9/+]{100,}=*"),
        ("azure_storage_key", r"accountkey|sharedaccesskey|azure", r"[A-Za-z0-9+/]{42,88}={1,2}"),
        ("cloudflare_token", r"cloudflare|cf(?:api|auth|global)", r"[A-Za-z0-9_-]{37,60}"),
        ("datadog_key", r"datadog|dd(?:api|app)", r"[0-9a-f]{32}(?:[0-9a-f]{8})?"),
        ("heroku_key", r"heroku", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
        ("twilio_key", r"twilio", r"[0-9a-f]{32}"),
    )
)
"""Whose key it is, where the letters of a name say so and the value has that vendor's form."""


def lowered(text: str) -> bytes:
    """Return a text in lower case with a byte for each character, names and signs in English."""
    if not text.isascii():
        text = text.translate(_SIGNS)
        for name, same in _ELSEWHERE.items():
            text = text.replace(name, same)
    plain = text.encode("latin-1", "replace").lower()
    for name, same in _IN_LATIN.items():
        plain = plain.replace(name, same)
    return plain


def sort_of(word: str, before: str) -> str:
    """Return what sort of secret a name announces, empty for none; `before` is what its last word follows."""
    last = before[-1:]
    is_hump = word[0].isupper() and last.islower()
    lead = before.lower()
    lead = lead[:-1] if last in (" ", "_", "-", ".") else lead
    match word.lower():
        case "key":
            return "api_key" if lead.endswith(_OF_KEYS) else ""
        case "token":
            return "" if lead.endswith(_OF_PUBLIC_TOKENS) else "token"
        case "secret" | "密钥" | "令牌":
            return "secret"
        case "pass":  # or else it is a verb
            return "password" if is_hump or last in ("_", "-", ".") else ""
        case "pwd" | "pw":
            return "" if last.isalpha() and not is_hump else "password"
        case _:
            return "password"


def kind_of(sort: str, name: str, value: str, *, place: Place) -> str:
    """Return the kind of a value that such a name has, empty where it is no secret after all."""
    if sort == "password":
        return sort if likely.is_password(value, place=place) else ""
    letters = _NOT_LETTERS.sub("", name.lower())
    for kind, whose, form in _VENDORS:
        if form.fullmatch(value) and whose.search(letters):
            return kind
    return sort if likely.is_key(value, place=place) else ""


def by_key(key: str, value: str) -> Candidate | None:
    """Return what is secret of the value that stands under a key of JSON."""
    sort = _sort_of_key(key)
    if not sort:
        return None
    scheme = _SCHEME.match(value) if sort == "bearer_token" else None
    start = scheme.end() if scheme else 0
    kind = kind_of(sort, key, value[start:], place="literal")
    return Candidate(NAMED, start, len(value), kind) if kind else None


@lru_cache(maxsize=1024)
def _sort_of_key(key: str) -> str:
    if len(key) > _LONGEST_NAME:
        return ""
    if key.lower() in _AUTHORIZATION:
        return "bearer_token"
    found = _LAST_WORD.search(lowered(key))
    return sort_of(key[found.start("word") : found.end("word")], key[: found.start()]) if found else ""
