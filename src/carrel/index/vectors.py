"""Exact search over vectors in one mapped file that several processes read while one of them writes.

Nothing that a reader may be looking at is ever changed: records are only added, and a file with many dead
ones is replaced by a new one. The file is derived: what is damaged or foreign is set aside and begun anew.
"""

from array import array
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.errors import Unavailable
from carrel.files.disk import Disk
from carrel.index.rowfile import RowFile, View
from carrel.index.rows import make_records, make_removals

_FEW = 8
"""A filter that leaves less than one row in so many is followed row by row; else all rows are scored."""

_PASS_ROWS = 20_000
_PASS_AFTER = 16
_PASS_KEEPS = 1_000
_PASS_KEEPS_PER_HIT = 10
_PASS_MARGIN = 4
_PASS_NEW = 16
"""A first pass over the leading dimensions pays off in large files that are searched again and again.

It keeps 1,000 rows for the second, or 10 for each hit, and is left out where that is no small part of all.
"""


class BadVectors(Unavailable):
    """These are not vectors that belong with those in the file; none was kept."""

    code = "bad_vectors"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The vectors do not fit: {problem}.",
            hint="If the embedder changed, rebuild the index: carrel index rebuild",
        )


class _Heads(Struct, frozen=True):
    """The leading dimensions of the records in a view, side by side in memory.

    As long as the view is held, no other file can have its inode.
    """

    view: View
    matrix: NDArray[np.float32]


class Vectors:
    """The vectors of one embedder by id; one process at a time writes, any number may search."""

    def __init__(
        self,
        path: Path,
        *,
        embedder: str,
        leading: int = 0,
        inside: Path | None = None,
        disk: Disk | None = None,
    ) -> None:
        self._file = RowFile(path, embedder=embedder, inside=inside, disk=disk or Disk())
        self._leading = leading
        self._heads: _Heads | None = None
        self._searches = 0

    def __len__(self) -> int:
        return self._file.view().live

    @property
    def was_damaged(self) -> bool:
        """Whether a file was met that is damaged, or none of ours; the next write sets it aside."""
        return self._file.was_damaged

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids that have a vector, ascending."""
        view = self._file.view()
        return np.sort(view.ids[view.ids >= 0])

    @property
    def dimensions(self) -> int:
        """The length of the vectors here, 0 while there are none."""
        return self._file.view().dimensions

    def search(
        self,
        query: NDArray[np.float32],
        *,
        allowed: Collection[int] | NDArray[np.int64] | None = None,
        k: int,
    ) -> Sequence[tuple[int, float]]:
        """Return the ids of the k vectors nearest to a query with their cosines, best first, ties by id.

        Only `allowed` ids are looked at. A query without direction is near to nothing.
        """
        view = self._file.view()
        if not view.live or k <= 0 or not query.any():
            return []
        _check(query[None], view.dimensions)
        query = np.ascontiguousarray(query, np.float32)
        found = np.flatnonzero(_mask(view, allowed))
        found = self._promising(view, query, found, max(_PASS_KEEPS, _PASS_KEEPS_PER_HIT * k))
        vectors = view.records["vector"]
        # One product a row, and not one of the whole: BLAS has threads for that, and they are in the way.
        if len(found) * _FEW > len(vectors):
            scores = np.vecdot(vectors, query)[found]
        else:
            scores = np.vecdot(vectors[found], query)
        return _best(view.ids[found], scores, k)

    def put(self, ids: Sequence[int] | NDArray[np.int64], matrix: NDArray[np.float32]) -> None:
        """Keep the vector of each id, in the place of the one it had; on disk when this returns."""
        numbers = _numbers(ids)
        if matrix.ndim != 2 or len(matrix) != len(numbers):  # noqa: PLR2004 - rows and columns
            raise BadVectors(f"{len(numbers):,} ids for a matrix of shape {matrix.shape}")
        if not len(numbers):
            return
        _check(matrix, matrix.shape[1])
        with self._file.writing() as view:
            if view.live:
                _check(matrix, view.dimensions)
            self._file.add(view, make_records(numbers, matrix))
        self._file.view()  # who wrote has time to look at it, who searches next has not

    def drop(self, ids: Collection[int] | NDArray[np.int64]) -> None:
        """Forget the vectors of these ids; one that is not there is no error."""
        numbers = _numbers(ids)
        if not _mask(self._file.view(), numbers).any():
            return
        with self._file.writing() as view:
            known = view.ids[_mask(view, numbers)]
            if len(known):
                self._file.add(view, make_removals(known, view.dimensions))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._heads = None

    def _promising(
        self, view: View, query: NDArray[np.float32], found: NDArray[np.intp], keep: int
    ) -> NDArray[np.intp]:
        """Return the rows worth a full look: those that their leading dimensions speak for, and new ones."""
        heads = self._headed(view) if len(found) > _PASS_MARGIN * keep else None
        if heads is None:
            return found
        body, new = np.split(found, [np.searchsorted(found, len(heads))])
        if len(body) <= keep:
            return found
        rough = np.vecdot(heads, query[: self._leading])[body]
        best = body[np.argpartition(rough, len(body) - keep)[-keep:]]
        return np.concatenate((np.sort(best), new))

    def _headed(self, view: View) -> NDArray[np.float32] | None:
        """Return the leading dimensions of most rows, gathered once it is clear that they will be used."""
        count = len(view.records)
        if not 0 < self._leading < view.dimensions or count < _PASS_ROWS:
            return None
        self._searches += 1
        if self._searches < _PASS_AFTER:
            return None
        heads = self._heads
        if heads is None or heads.view.inode != view.inode or (count - len(heads.matrix)) * _PASS_NEW > count:
            matrix = np.ascontiguousarray(view.records["vector"][:, : self._leading])
            heads = self._heads = _Heads(view, matrix)
        return heads.matrix


def _mask(view: View, allowed: Collection[int] | NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return which records may be looked at."""
    live = view.ids >= 0
    return live if allowed is None else live & np.isin(view.ids, _numbers(allowed))


def _best(ids: NDArray[np.int64], scores: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    if k < len(ids):
        edge = np.partition(scores, len(ids) - k)[len(ids) - k]
        ids, scores = ids[scores >= edge], scores[scores >= edge]
    order = np.lexsort((ids, -scores))[:k]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def _numbers(ids: Collection[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    has_them_in_a_row = isinstance(ids, np.ndarray | array)
    numbers = (
        cast("NDArray[np.int64]", np.asarray(ids))
        if has_them_in_a_row
        else np.fromiter(ids, np.int64, len(ids))
    )
    if len(numbers) and numbers.min() < 0:
        raise BadVectors("an id is negative")
    return numbers


def _check(matrix: NDArray[np.float32], dimensions: int) -> None:
    if matrix.ndim != 2 or matrix.shape[1] != dimensions or not dimensions:  # noqa: PLR2004 - rows and columns
        raise BadVectors(f"they have the shape {matrix.shape}, and the file {dimensions:,} dimensions")
    if not np.isfinite(matrix).all():
        raise BadVectors("some are not numbers, or infinite")
