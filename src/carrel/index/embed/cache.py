"""Vectors by content, kept in a file: what a server has embedded once is never sent to it again."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carrel.findings import Finding
from carrel.index.embed import Embedder, Weigh
from carrel.records.cachefile import CacheFile

_AT_ONCE = 256
_KEEP_ROWS = 200_000
_MIGRATIONS = (
    """
    CREATE TABLE embeddings (
        id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, vector BLOB NOT NULL
    ) STRICT;
    """,
)
_FIND = "SELECT vector FROM embeddings WHERE sha256 = ?"
_KEEP = (
    "INSERT INTO embeddings (sha256, vector) VALUES (?, ?) ON CONFLICT DO UPDATE SET vector = excluded.vector"
)
_FORGET = f"DELETE FROM embeddings WHERE id <= (SELECT max(id) FROM embeddings) - {_KEEP_ROWS}"  # noqa: S608 - a constant


class CachedEmbedder:
    """An embedder over a cache file; without a usable file it works all the same.

    A vector belongs to the digest of (embedder, text): neither an edit nor another model leaves a stale one.
    """

    def __init__(self, embedder: Embedder, path: Path, *, inside: Path | None = None) -> None:
        self._embedder = embedder
        self._cache = CacheFile(path, _MIGRATIONS, inside=inside)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the cache file."""
        return self._cache.findings

    @property
    def name(self) -> str:
        """The name of the embedder behind the cache."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The length of a vector, 0 while that is not known."""
        return self._embedder.dimensions

    @property
    def leading(self) -> int:
        """The leading dimensions of the embedder behind the cache."""
        return self._embedder.leading

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; what is new is kept part by part, so that a failure loses little."""
        keys = [self._key(text) for text in texts]
        asked = dict(zip(keys, texts, strict=True))
        found = self._found(asked)
        waiting = iter([key for key in asked if key not in found])
        while part := list(islice(waiting, _AT_ONCE)):
            rows = self._embedder.embed([asked[key] for key in part])
            fresh = dict(zip(part, rows, strict=True))
            self._keep(fresh)
            found |= fresh
        widths = {len(row) for row in found.values() if row.any()}
        if len(widths) > 1:  # the server has another model by this name than when it was first asked
            self._keep(dict(zip(keys, made := self._embedder.embed(texts), strict=True)))
            return made
        made = np.zeros((len(texts), max(widths, default=self.dimensions)), np.float32)
        for place, key in zip(made, keys, strict=True):
            if found[key].any():
                place[:] = found[key]
        return made

    def embed_query(self, text: str, weigh: Weigh | None = None) -> NDArray[np.float32]:
        """Return the vector of a query; hardly any is asked twice."""
        return self._embedder.embed_query(text, weigh)

    def close(self) -> None:
        """Let go of the file."""
        self._cache.close()

    def _key(self, text: str) -> bytes:
        return sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def _found(self, keys: Iterable[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return what is known already, and is as long as the server's vectors are now."""
        width = 4 * self.dimensions
        found: dict[bytes, NDArray[np.float32]] = {}
        for key in keys:
            for (vector,) in self._cache.rows(_FIND, (key,)):
                row = np.frombuffer(vector[: len(vector) // 4 * 4], "<f4")
                if len(vector) == (width or len(row) * 4) and row.any() and np.isfinite(row).all():
                    found[key] = row
        return found

    def _keep(self, fresh: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Write what is new; a failure costs only time, or money, later."""
        new = [(_KEEP, (key, row.astype("<f4").tobytes())) for key, row in fresh.items() if row.any()]
        self._cache.keep([*new, (_FORGET, ())])
