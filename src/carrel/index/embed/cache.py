"""Vectors by content, kept in a file: what a server has embedded once is never sent to it again."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.index.embed import Embedder, Weigh
from carrel.records.database import Database

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
        self.findings: tuple[Finding, ...] = ()
        self._embedder = embedder
        self._database = self._open(path, inside)

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
        if self._database is not None:
            self._database.close()

    def _key(self, text: str) -> bytes:
        return sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def _open(self, path: Path, inside: Path | None) -> Database | None:
        try:
            database = Database(path, _MIGRATIONS, durable=False, inside=inside)
        except Unavailable as error:
            self._degrade(error)
            return None
        if database.was_damaged:
            message = f"{path.name} was damaged; it was set aside as {path.name}.damaged and begun anew."
            hint = f"Delete {path.name}.damaged when you have no use for it."
            self.findings += (Finding(code="cache_damaged", message=message, severity="info", hint=hint),)
        return database

    def _found(self, keys: Iterable[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return what is known already, and is as long as the server's vectors are now."""
        width = 4 * self.dimensions
        found: dict[bytes, NDArray[np.float32]] = {}
        for key in keys:
            for (vector,) in self._rows(_FIND, (key,)):
                row = np.frombuffer(vector[: len(vector) // 4 * 4], "<f4")
                if len(vector) == (width or len(row) * 4) and row.any() and np.isfinite(row).all():
                    found[key] = row
        return found

    def _keep(self, fresh: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Write what is new, in one transaction; a failure costs only time, or money, later."""
        if self._database is None:
            return
        try:
            with self._database.transaction():
                for key, row in fresh.items():
                    if row.any():
                        self._database.rows(_KEEP, (key, row.astype("<f4").tobytes()))
                self._database.rows(_FORGET)
        except Unavailable as error:
            self._degrade(error)

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[tuple[bytes]]:
        if self._database is None:
            return []
        try:
            return self._database.rows(sql, values)
        except Unavailable as error:
            self._degrade(error)
            return []

    def _degrade(self, error: Unavailable) -> None:
        """Go on without the file, and say so once."""
        self._database = None
        self.findings += (
            Finding(code="cache_unavailable", message=error.message, severity="info", hint=error.hint),
        )
