"""An embedder of an extension, which is believed nothing: what it makes is looked at before it is kept."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from carrel.extensions import ExtensionFailed, Offer, blamed_on
from carrel.index.embed import Embedder, Weigh

_SLACK = 1e-3


class CheckedEmbedder:
    """Passes on vectors that are some: finite rows of one width and of length one, or all zeros."""

    def __init__(self, embedder: Embedder, offer: Offer) -> None:
        self._embedder = embedder
        self._offer = offer

    @property
    def name(self) -> str:
        """The name of the embedder; the package is in it, since those of two packages are two embedders."""
        return f"{self._offer.package}:{self._embedder.name}"

    @property
    def dimensions(self) -> int:
        """The length of a vector, 0 while that is not known."""
        with blamed_on(self._offer):
            return int(self._embedder.dimensions)

    @property
    def leading(self) -> int:
        """The leading dimensions of the embedder."""
        with blamed_on(self._offer):
            return int(self._embedder.leading)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        return self._checked(self._embedder.embed(texts), (len(texts),))

    def embed_query(self, text: str, weigh: Weigh | None = None) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return self._checked(self._embedder.embed_query(text, weigh), ())

    def _checked(self, made: object, shape: tuple[int, ...]) -> NDArray[np.float32]:
        with blamed_on(self._offer):
            rows = np.asarray(made, np.float32)
        width = self.dimensions
        if rows.shape[:-1] != shape or rows.ndim != len(shape) + 1 or (width and rows.shape[-1] != width):
            wanted = (*shape, width or "any")
            raise ExtensionFailed(self._offer, f"made {rows.shape} numbers where {wanted} were wanted")
        lengths = np.linalg.norm(rows, axis=-1)
        if not bool(
            np.all((np.abs(lengths - 1) < _SLACK) | (lengths == 0))
        ):  # nor is it of what is not finite
            raise ExtensionFailed(self._offer, "made vectors that are neither of length one nor all zeros")
        return rows
