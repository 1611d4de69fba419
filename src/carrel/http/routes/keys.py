"""Keys: made, listed and revoked by who looks after the workspace."""

from datetime import timedelta
from typing import Annotated

from fastapi import Depends
from msgspec import Meta, Struct

from carrel.http.answers import Page
from carrel.http.desk import Admin
from carrel.http.routing import Routes, sent
from carrel.records.keys import Key, Right, mint
from carrel.workspace.scope import Scope

routes = Routes("keys", "/w/{workspace}")

Days = Annotated[int, Meta(ge=1, le=3_650)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]


class NewKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a key is for; without `days` it is good until it is revoked."""

    name: Name
    right: Right = "read"
    scope: Scope = Scope.SHARED
    days: Days | None = None


class KnownKey(Struct, frozen=True, kw_only=True):
    """A key as its owner sees it: what opens is not told again."""

    id: str
    name: str
    right: Right
    scope: str
    created: str
    expires: str | None
    revoked: str | None
    key: str | None = None
    """The key itself, shown this once."""


@routes.get("/keys", Page[KnownKey])
def list_keys(desk: Admin) -> Page[KnownKey]:
    """List the keys of this workspace, revoked ones too."""
    return Page(items=tuple(known(key) for key in desk.workspace.records.keys.all()))


@routes.post("/keys", KnownKey, takes=NewKey, status=201)
def create_key(desk: Admin, body: Annotated[NewKey, Depends(sent(NewKey))]) -> KnownKey:
    """Make a key. It is shown this once."""
    now = desk.workspace.config.clock.now()
    expires = now + timedelta(days=body.days) if body.days else None
    key, text = mint(name=body.name, right=body.right, scope=body.scope, now=now, expires=expires)
    desk.workspace.records.keys.add(key)
    desk.note("key.create", key.id, name=key.name, right=key.right, scope=key.scope)
    return known(key, text)


@routes.delete("/keys/{key}", KnownKey)
def revoke_key(desk: Admin, key: str) -> KnownKey:
    """Revoke a key; the next request with it is refused."""
    revoked = desk.workspace.records.keys.revoke(key, at=desk.workspace.config.clock.now())
    desk.note("key.revoke", revoked.id, name=revoked.name)
    return known(revoked)


def known(key: Key, text: str | None = None) -> KnownKey:
    """Return what is told of a key."""
    return KnownKey(
        id=key.id,
        name=key.name,
        right=key.right,
        scope=key.scope,
        created=key.created.isoformat(),
        expires=key.expires.isoformat() if key.expires else None,
        revoked=key.revoked.isoformat() if key.revoked else None,
        key=text,
    )
