"""Keys to the HTTP interface of a workspace: what each may do, and for how long.

A key is shown once, when it is made; what is kept of it opens nothing.
"""

from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import NotFound

Right = Literal["read", "write", "admin"]
"""Each includes those before it."""

RIGHTS: tuple[Right, ...] = ("read", "write", "admin")

PREFIX = "carrel"
"""What a key begins with, so that people and scanners know one when they see it."""

_SECRET_BYTES = 32


class Key(Struct, frozen=True, kw_only=True):
    """What is kept of a key; `scope` is what its holder may hear, at most."""

    id: str
    name: str
    digest: str
    right: Right
    scope: str
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None

    def opens(self, now: datetime) -> bool:
        """Tell whether the key is good at this time."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class UnknownKey(NotFound):
    """No key has this id."""

    code = "unknown_key"

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no key {key[:80]!r}.", hint="`carrel keys list` shows them.")


class Keys(Protocol):
    """The keys of one workspace; a revoked one is kept, so that the trail can name it."""

    def add(self, key: Key) -> None:
        """Keep a new key."""
        ...

    def get(self, key: str) -> Key | None:
        """Return the key with this id."""
        ...

    def all(self) -> list[Key]:
        """Return all keys, the oldest first."""
        ...

    def revoke(self, key: str, *, at: datetime) -> Key:
        """End a key for good; one that was revoked before stays as it is."""
        ...


def mint(*, name: str, right: Right, scope: str, now: datetime, expires: datetime | None) -> tuple[Key, str]:
    """Return a new key and the text that opens with it, which is not kept."""
    number, secret = token_hex(6), token_urlsafe(_SECRET_BYTES)
    key = Key(
        id=number,
        name=name,
        digest=_digest(secret),
        right=right,
        scope=scope,
        created=now,
        expires=expires,
    )
    return key, f"{PREFIX}_{number}_{secret}"


def parted(text: str) -> tuple[str, str] | None:
    """Return the id and the secret of a key as it was shown, none where this is not one."""
    prefix, _, rest = text.partition("_")
    number, _, secret = rest.partition("_")
    return (number, secret) if prefix == PREFIX and number and secret else None


def matches(key: Key, secret: str) -> bool:
    """Tell whether this secret is the key's, in the same time whichever it is."""
    return compare_digest(key.digest, _digest(secret))


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
