"""What indexes are made from in tests: documents and sessions that change at will, and vectors by rule."""

from carrel.testing import HashingEmbedder
from carrel.testing.shelves import Shelf

__all__ = ["Meanings", "Shelf"]


class Meanings(HashingEmbedder):
    """An embedder that tells what it was asked for, and can be made to fail."""

    def __init__(self, name="meanings", broken=None):
        super().__init__(name=name)
        self.broken = broken
        self.embedded = []

    def embed(self, texts):
        if self.broken is not None:
            raise self.broken
        self.embedded += texts
        return super().embed(texts)

    def embed_query(self, text, weigh=None):
        if self.broken is not None:
            raise self.broken
        return super().embed_query(text, weigh)
