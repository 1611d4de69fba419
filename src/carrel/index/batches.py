"""Making the vectors of chunks that have none yet, in batches of a size that fits the embedder."""

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from carrel.index import Progress, Stop
from carrel.index.embed import Embedder

if TYPE_CHECKING:  # numpy is heavy, and who searches words alone has no use for it
    import numpy as np
    from numpy.typing import NDArray

_FIRST, _LEAST, _MOST = 64, 64, 2_048
_SECONDS = 0.5
"""A batch that takes less is followed by a larger one: a server is slower than a table by far."""


class Batch(Struct, frozen=True, kw_only=True):
    """Chunks that are due, of one set of vectors; those that are gone have no text."""

    vectors: str
    ids: tuple[int, ...]
    texts: Mapping[int, str]


class Lacking(Protocol):
    """Where vectors are lacking."""

    def next(self, size: int) -> Batch | None:
        """Return some chunks that are due, None where there are none for this embedder."""
        ...

    def keep(self, batch: Batch, made: "NDArray[np.float32] | None") -> None:
        """Keep the vectors of the chunks that are still there."""
        ...

    def waiting(self) -> int:
        """Return how many chunks are due."""
        ...


def make_vectors(lacking: Lacking, embedder: Embedder, progress: Progress | None, stop: Stop | None) -> None:
    """Make vectors until none is lacking, or until the rest is to be left for later."""
    size, done = _FIRST, 0
    while not (stop and stop()) and (batch := lacking.next(size)):
        begin = monotonic()
        made = embedder.embed(list(batch.texts.values())) if batch.texts else None
        lacking.keep(batch, made)
        done += len(batch.ids)
        if progress is not None:
            progress(done, done + lacking.waiting())
        size = min(size * 2, _MOST) if monotonic() - begin < _SECONDS else max(size // 2, _LEAST)
