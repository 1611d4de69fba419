"""Servers that somebody names, and the keys for them: what can be wrong with either is told beforehand."""

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

_LONGEST_KEY = 4_000


class Key:
    """A secret that does not show itself."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Key(…)"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def reveal(self) -> str:
        """Return the secret, for the one place that sends it."""
        return self._text


class Unusable(ValueError):
    """An address or a key that cannot be used; it says why in a few words, and holds neither."""


def parse_address(url: str) -> SplitResult:
    """Return the parts of a base URL, which is an address and nothing more."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise Unusable("cannot be read") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unusable("must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise Unusable("holds a user or a password")
    if parts.query or parts.fragment or not url.isprintable() or not url.isascii() or " " in url:
        raise Unusable("holds more than an address")
    return parts


def read_key(variable: str, environ: Mapping[str, str]) -> Key:
    """Return the key in a variable."""
    text = environ.get(variable, "").strip()
    if not text:
        raise Unusable("is not set")
    # What cannot stand in a header would be quoted by a client's error, key and all.
    if len(text) > _LONGEST_KEY or not text.isascii() or not text.isprintable() or " " in text:
        raise Unusable("holds what cannot be a key")
    return Key(text)
