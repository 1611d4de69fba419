"""What follows `Bearer`, `Basic` and the like, as in the header by which a program says who it is."""

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterator

from carrel.screen import likely
from carrel.screen.candidate import NAMED, Candidate

_LOOK_BACK = 40
_SHORTEST = 16
_BEARER = re.compile(
    rb"bearer(?:[ \t]{1,3}|[\"']?[:=][ \t]?[\"']?)(?P<value>[A-Za-z0-9_.~+/-]{8,4096}+={0,2})", re.IGNORECASE
)
_BASIC = re.compile(rb"basic[ \t]{1,3}(?P<value>[A-Za-z0-9_+/-]{6,1024}+={0,2})", re.IGNORECASE)
_OTHER = re.compile(
    rb"authorization(?:[\"']{0,2}[ \t]{0,2}[:=,][ \t]{0,2}[\"']?)(?:token|ssws|api-?key|sso-key)"
    rb"(?:[ \t]{1,2}|=)(?:token=)?[\"']?(?P<value>[a-z0-9_.~+/!@=:-]{12,1024}+)"
)
_AUTH = re.compile(
    rb"_?auth(?:\\?[\"'][ \t]{0,2}:|[ \t]{0,2}=)[ \t]{0,2}\\?[\"']?(?P<value>[a-z0-9_+/-]{8,1024}+={0,2})"
)
"""The login in a file of Docker or npm; both are matched in lower case."""
_COOKIE = re.compile(
    rb"(?<=[ ;:])[a-z0-9_.-]{0,40}?(?:sess|sid|auth|token|jwt)[a-z0-9_.-]{0,20}="
    rb"(?P<value>[a-z0-9_.~+/%!:-]{12,1024}+)"
)
_LONGEST_HEADER = 4_096


def headers(plain: bytes, lowered: bytes) -> Iterator[Candidate]:
    """Yield tokens of bearers, and users with their passwords, from a text with a byte for each character."""
    start = lowered.find(b"bearer")
    while start != -1:
        found = _BEARER.match(plain, start)
        if found and _is_token(found["value"].decode(), lowered[max(0, start - _LOOK_BACK) : start]):
            yield Candidate(NAMED, *found.span("value"), "bearer_token")
        start = lowered.find(b"bearer", start + 1)
    start = lowered.find(b"basic")
    while start != -1:
        found = _BASIC.match(plain, start)
        if found and _is_login(found["value"]):
            yield Candidate(NAMED, *found.span("value"), "basic_auth")
        start = lowered.find(b"basic", start + 1)
    yield from _named(plain, lowered)
    yield from _cookies(plain, lowered)


def _named(plain: bytes, lowered: bytes) -> Iterator[Candidate]:
    """Yield what other schemes have behind their name, and logins in files of settings."""
    start = lowered.find(b"auth")
    while start != -1:
        other = _OTHER.match(lowered, start)
        login = _AUTH.match(lowered, start)
        if other and likely.is_key(plain[slice(*other.span("value"))].decode("latin-1"), place="literal"):
            yield Candidate(NAMED, *other.span("value"), "bearer_token")
        elif login and _is_login(plain[slice(*login.span("value"))]):
            yield Candidate(NAMED, *login.span("value"), "basic_auth")
        start = lowered.find(b"auth", start + 1)


def _cookies(plain: bytes, lowered: bytes) -> Iterator[Candidate]:
    """Yield what a browser is known by, from the header that it sends or is sent."""
    start = lowered.find(b"cookie:")
    while start != -1:
        end = lowered.find(b"\n", start, start + _LONGEST_HEADER)
        end = min(len(lowered), start + _LONGEST_HEADER) if end == -1 else end
        for found in _COOKIE.finditer(lowered, start, end):
            if likely.is_key(plain[slice(*found.span("value"))].decode("latin-1"), place="literal"):
                yield Candidate(NAMED, *found.span("value"), "token")
        start = lowered.find(b"cookie:", end)


def _is_token(value: str, before: bytes) -> bool:
    """Tell whether a bearer's token is one; outside of a header it must show more."""
    is_header = b"authorization" in before
    return (is_header or len(value) >= _SHORTEST) and likely.is_key(
        value, place="literal" if is_header else "prose"
    )


def _is_login(value: bytes) -> bool:
    """Tell whether base64 holds a user and a password, parted by a colon."""
    try:
        decoded = b64decode(value + b"=" * (-len(value) % 4)).decode()
    except (BadBase64, UnicodeDecodeError):
        return False
    return ":" in decoded and decoded.isprintable()
