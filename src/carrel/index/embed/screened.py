"""An embedder before which texts are screened: what is kept out of memory becomes no vector either."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from carrel.index.embed import Embedder, Weigh
from carrel.screen.blocks import without_walls
from carrel.screen.policy import Screen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_USUAL = Screen()


class ScreenedEmbedder:
    """An embedder that is given marks for what a policy redacts, and nothing of a text that it blocks.

    Vectors made under another policy than the usual one have another name, so that a change of it makes all
    of them anew.
    """

    def __init__(self, embedder: Embedder, screen: Screen) -> None:
        self._embedder = embedder
        self._screen = screen
        self.blocked = 0
        """How many texts were kept back so far: words find them, vectors do not."""

    @property
    def name(self) -> str:
        """The name of the embedder, with the policy where that is not the usual one."""
        if self._screen == _USUAL:
            return self._embedder.name
        return f"{self._embedder.name} secrets={self._screen.secrets} personal={self._screen.personal}"

    @property
    def dimensions(self) -> int:
        """The length of a vector, 0 while that is not known."""
        return self._embedder.dimensions

    @property
    def leading(self) -> int:
        """The leading dimensions of the embedder."""
        return self._embedder.leading

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row for each text; of one that is blocked it is all zeros."""
        return self._embedder.embed([*self._screened(texts)])

    def embed_query(self, text: str, weigh: Weigh | None = None) -> "NDArray[np.float32]":
        """Return the vector of a query, which a server reads too."""
        return self._embedder.embed_query(next(self._screened((text,))), weigh)

    def _screened(self, texts: Sequence[str]) -> Iterator[str]:
        for text in texts:
            screened = self._screen.of(text)
            self.blocked += screened.blocked
            told = "" if screened.blocked else screened.text
            # A chunk may begin in the middle of a key.
            yield told if self._screen.secrets == "allow" else without_walls(told)
