"""What follows `Bearer` and `Basic`, as in the header by which a program says who it is."""

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
