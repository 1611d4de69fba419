"""Keys as rows; what one may do is its reach, since `right` is a word of SQL."""

from typing import Any

from carrel.records.content import as_written, named
from carrel.records.keys import Key
from carrel.records.rows.columns import FromText, from_moment, to_moment, to_text

COLUMNS = ("id", "name", "digest", "reach", "scope", "created", "expires", "revoked")


def from_key(key: Key, text: FromText) -> tuple[Any, ...]:
    """Return the columns of a key."""
    return (
        text(key.id),
        text(named(key.name)),
        key.digest,
        key.right,
        key.scope,
        from_moment(key.created),
        None if key.expires is None else from_moment(key.expires),
        None if key.revoked is None else from_moment(key.revoked),
    )


@as_written("A key")
def to_key(row: tuple[Any, ...]) -> Key:
    """Return the key of these columns."""
    number, name, digest, right, scope, created, expires, revoked = row
    return Key(
        id=to_text(number),
        name=to_text(name),
        digest=digest,
        right=right,
        scope=scope,
        created=to_moment(created),
        expires=None if expires is None else to_moment(expires),
        revoked=None if revoked is None else to_moment(revoked),
    )
