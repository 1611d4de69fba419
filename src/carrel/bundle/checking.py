"""Bytes on their way out of a bundle, held to what the manifest says of them."""

from collections.abc import Iterable, Iterator
from hashlib import sha256

from carrel.bundle.errors import BundleDamaged
from carrel.bundle.manifest import Item

CHUNK = 1 << 20


def checked(chunks: Iterable[bytes], item: Item) -> Iterator[bytes]:
    """Yield the bytes of an item, never more than its size; at their end they must be the very ones."""
    size, sha = 0, sha256()
    for chunk in chunks:
        size += len(chunk)
        if size > item.size:
            break
        sha.update(chunk)
        yield chunk
    if size != item.size or sha.hexdigest() != item.sha256:
        raise BundleDamaged(item.entry, "is not what the manifest says")
