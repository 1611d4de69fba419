"""An embedder without weights: a text is the bag of its trigrams, folded into 256 numbers."""

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from carrel.index.embed import Embedder, EmbedderChoice, Weigh

DIMENSIONS = 256


class TrigramEmbedder:
    """Texts that share pieces of words have vectors that lie near each other."""

    name = "trigrams-256"
    dimensions = DIMENSIONS
    leading = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, of length one; a blank text is all zeros."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for place in _places(text):
                row[place] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)

    def embed_query(self, text: str, weigh: Weigh | None = None) -> NDArray[np.float32]:
        """Return the vector of a query; whole words are not known here, so that none is weighed."""
        del weigh
        return self.embed([text])[0]


def _places(text: str) -> list[int]:
    words = text.lower().split()
    padded = (f" {word} ".encode("utf-8", "replace") for word in words)
    return [crc32(word[at : at + 3]) % DIMENSIONS for word in padded for at in range(len(word) - 2)]


def open_embedder(choice: EmbedderChoice, environ: Mapping[str, str]) -> Embedder:
    """Return the embedder; the choice has `search.embedder_model` and its like, the environment keys."""
    del choice, environ
    return TrigramEmbedder()
