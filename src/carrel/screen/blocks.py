"""Keys in armour: the lines from BEGIN to END, or as many as there are where the end was cut off."""

import re
from base64 import b64decode
from collections.abc import Iterator

from carrel.screen.candidate import CERTAIN, Candidate

LONGEST = 65_536
"""In characters, from the first line to the last."""

_BEGIN = b"-----BEGIN "
_ENCODED = b"LS0tLS1CRUdJTi"
_BASE64 = re.compile(r"[A-Za-z0-9+/]{60,}+={0,2}")
_DIGIT = re.compile("[0-9]")
_WALL = re.compile(r"[A-Za-z0-9+/]{40,}+={0,2}")
_HEAD = re.compile(r"-----BEGIN (?P<what>[A-Z0-9 ]{0,40}?(?P<private>PRIVATE KEY)?(?: BLOCK)?)-----")
_LINE = re.compile(r"[A-Za-z0-9+/]{16}|(?:\n|\\n)[A-Za-z0-9+/=]{4,}+(?:\r?\n|\\[nr])")
_BREAK = r"(?:\s|\\[nrt])"
_BODY = re.compile(
    # Only headers, then lines of base64: the prose behind a key without an end is nobody's secret. A short
    # line counts where it closes the base64.
    rf"(?:{_BREAK}*+[A-Z][A-Za-z-]{{2,20}}:[ ][^\s\\]{{1,100}}+(?:[ ][^\s\\]{{1,100}}+){{0,8}})*+"
    rf"(?:{_BREAK}*+[A-Za-z0-9+/]{{16,}}+=*+)*+(?:{_BREAK}*+[A-Za-z0-9+/]{{1,15}}=+)?"
)


def armoured(text: str, plain: bytes) -> Iterator[Candidate]:
    """Yield private keys, and public blocks, of no kind, so that nothing is guessed in them."""
    start = plain.find(_BEGIN)
    while start != -1:
        following = plain.find(_BEGIN, start + 1)
        head = _HEAD.match(text, start)
        if head:
            limit = min(start + LONGEST, len(text) if following == -1 else following)
            end = _end(text, head, limit)
            if end:
                yield Candidate(CERTAIN, start, end, _kind(head))
        start = following


def encoded(text: str, plain: bytes) -> Iterator[Candidate]:
    """Yield private keys whose armour is itself in base64, as in a kubeconfig."""
    start = plain.find(_ENCODED)
    while start != -1:
        found = _BASE64.match(text, start)
        if found and b"PRIVATE KEY" in b64decode(found[0][:60]):
            yield Candidate(CERTAIN, *found.span(), "private_key")
        start = plain.find(_ENCODED, found.end() if found else start + 1)


def without_walls(text: str) -> str:
    """Return a text with a mark for each long run of base64, which says nothing.

    In a part of a text it may be the rest of a key whose first line is in another part.
    """
    return _WALL.sub(_marked, text)


def _marked(found: re.Match[str]) -> str:
    run = found[0]
    is_mixed = not (run.islower() or run.isupper()) and _DIGIT.search(run) is not None
    return "[REDACTED:ENCODED]" if is_mixed else run


def _end(text: str, head: re.Match[str], limit: int) -> int | None:
    """Return where a block ends; none where no key follows, as where somebody only speaks of one."""
    closing = f"-----END {head['what']}-----"
    end = text.find(closing, head.end(), limit)
    if end != -1:
        return end + len(closing) if _LINE.search(text, head.end(), end) else None
    body = _BODY.match(text, head.end(), limit)
    return body.end() if body and _LINE.search(text, head.end(), body.end()) else None


def _kind(head: re.Match[str]) -> str:
    what = head["what"]
    if not head["private"]:
        return ""
    if "PGP" in what:
        return "pgp_private_key"
    return "ssh_private_key" if "OPENSSH" in what or "SSH2" in what else "private_key"
