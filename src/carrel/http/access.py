"""Who is let in, how far, and as whose ears."""

from collections.abc import Callable
from datetime import datetime
from hmac import compare_digest, new
from typing import Protocol

from msgspec import Struct

from carrel.http.errors import Beyond, NeedsKey
from carrel.records.keys import RIGHTS, Key, Right, matches, parted
from carrel.shelf import OWNER
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

COOKIE = "carrel"
CSRF_HEADER = "x-csrf-token"

_KEY = "key:"
_DEEDS: dict[Right, str] = {"read": "read this", "write": "change this", "admin": "look after the workspace"}


class Access(Struct, frozen=True, kw_only=True):
    """What somebody may do; `workspace` is the only one they may do it in, none means any."""

    name: str
    right: Right
    scope: Scope
    workspace: str | None = None
    csrf: str = ""
    """The word that a browser's changes must say; none is needed of who holds the key itself."""

    def require(self, right: Right, *, owner: bool) -> None:
        """Refuse who may not do so much, or would hear what is not for them."""
        if RIGHTS.index(self.right) < RIGHTS.index(right):
            raise Beyond(_DEEDS[right])
        if owner and self.scope is not Scope.MAIN:
            raise HiddenByScope("this part of the workspace")

    def listening(self, scope: str | None) -> Scope:
        """Return as whose ears a request is answered: as asked, and never as more than the key's."""
        asked = self.scope if scope is None else parse_scope(scope)
        if asked is Scope.MAIN and self.scope is not Scope.MAIN:
            raise HiddenByScope("main scope")
        return asked


class KeyCupboard(Protocol):
    """Where keys are looked up: in the records of whichever workspace has one."""

    def find_key(self, key: str) -> tuple[str, Key] | None:
        """Return the workspace of a key and what is kept of it."""
        ...


class Door:
    """Lets in the holder of the server's token, of a cookie made from it, or of a workspace's key."""

    def __init__(self, token: str, keys: KeyCupboard, now: Callable[[], datetime]) -> None:
        self._token = token
        self._keys = keys
        self._now = now

    def owner(self, token: str) -> Access | None:
        """Return the owner, if this is the token that only they can read."""
        if token and compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            return Access(name=OWNER, right="admin", scope=Scope.MAIN)
        return None

    def browser(self, cookie: str) -> Access | None:
        """Return the owner, if their browser was let in before."""
        if cookie and compare_digest(cookie.encode("utf-8", "replace"), self.cookie().encode()):
            return Access(name=OWNER, right="admin", scope=Scope.MAIN, csrf=self._derived("csrf"))
        return None

    def holder(self, text: str) -> Access:
        """Return who holds this key; looks it up each time, so that what is revoked opens nothing."""
        named = parted(text)
        found = self._keys.find_key(named[0]) if named else None
        if named is None or found is None:
            raise NeedsKey
        workspace, key = found
        if not matches(key, named[1]) or not key.opens(self._now()):
            raise NeedsKey
        return Access(name=f"{_KEY}{key.id}", right=key.right, scope=Scope(key.scope), workspace=workspace)

    def still_opens(self, access: Access) -> bool:
        """Tell whether who was let in would be let in now; asked of what goes on for long."""
        if access.workspace is None:
            return True
        found = self._keys.find_key(access.name.removeprefix(_KEY))
        return found is not None and found[1].opens(self._now())

    def cookie(self) -> str:
        """Return what a browser that was let in sends back: it does not give the token away."""
        return self._derived("cookie")

    def _derived(self, purpose: str) -> str:
        return new(self._token.encode(), purpose.encode(), "sha256").hexdigest()
