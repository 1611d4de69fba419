"""An embedder that is left alone after it failed: a server that hangs must not cost every search."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from carrel.errors import Unavailable
from carrel.index.embed import Embedder, Weigh

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REST = 60.0
"""Seconds after a failure in which the same failure is told at once."""


class RestingEmbedder:
    """Passes on what is asked, and after a failure says so again without asking, for a while."""

    def __init__(self, embedder: Embedder, *, now: Callable[[], float] = monotonic) -> None:
        self._embedder = embedder
        self._now = now
        self._failure: tuple[float, Unavailable] | None = None

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The length of a vector, 0 while that is not known."""
        return self._embedder.dimensions

    @property
    def leading(self) -> int:
        """The leading dimensions of the embedder."""
        return self._embedder.leading

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row for each text."""
        return self._tried(lambda: self._embedder.embed(texts))

    def embed_query(self, text: str, weigh: Weigh | None = None) -> "NDArray[np.float32]":
        """Return the vector of a query."""
        return self._tried(lambda: self._embedder.embed_query(text, weigh))

    def _tried(self, ask: "Callable[[], NDArray[np.float32]]") -> "NDArray[np.float32]":
        if self._failure is not None and self._now() < self._failure[0]:
            raise self._failure[1]
        try:
            made = ask()
        except Unavailable as error:
            self._failure = self._now() + REST, error
            raise
        self._failure = None
        return made
