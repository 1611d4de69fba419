"""What a bundle is written from, and what is read from one: a manifest, and the bytes of its items."""

from collections.abc import Iterator
from typing import Protocol

from carrel.bundle.manifest import Item, Manifest


class Source(Protocol):
    """The manifest, and the bytes of each of its items."""

    @property
    def manifest(self) -> Manifest:
        """What there is."""
        ...

    def chunks(self, item: Item) -> Iterator[bytes]:
        """Yield the bytes of an item; where these are not what the manifest says, BundleDamaged is raised."""
        ...
