"""How vectors lie in a file: a header, then records of one size that only ever are added.

A record is a vector, the id it belongs to, and a seal over both; the last record of an id counts. A record
whose id is negative takes away the id that is its complement. What a crash left half written has no valid
seal, and everything from there to the end of the file is not there.
"""

import zlib
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

VERSION = 1
HEADER_SIZE = 4_096
MOST_DIMENSIONS = 65_536

_MAGIC = b"carrel vectors\n\0"
_PREFIX = len(_MAGIC) + 8
_ID_FACTOR, _SUM_FACTOR, _START = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9

Records = NDArray[np.void]
"""Records as they lie in the file: fields `vector`, `id` and `seal`."""


class Header(Struct, frozen=True, kw_only=True):
    """What a file says of itself; a version that is not ours is all that may be read of a newer one."""

    version: int = VERSION
    dimensions: int = 0
    embedder: str = ""


def format_header(header: Header) -> bytes:
    """Return the bytes that a file begins with."""
    told = msgspec.json.encode(header)
    numbers = len(told).to_bytes(4, "little") + zlib.crc32(told).to_bytes(4, "little")
    return (_MAGIC + numbers + told).ljust(HEADER_SIZE, b"\0")


def parse_header(data: bytes) -> Header | None:
    """Return what a file says of itself, None when it is not one of ours, or damaged."""
    size, check = (int.from_bytes(data[at : at + 4], "little") for at in (len(_MAGIC), len(_MAGIC) + 4))
    told = data[_PREFIX : _PREFIX + size]
    if not data.startswith(_MAGIC) or len(data) < HEADER_SIZE or zlib.crc32(told) != check:
        return None
    try:
        header = msgspec.json.decode(told, type=Header)
    except msgspec.MsgspecError:
        return None
    return header if header.version > VERSION or 0 < header.dimensions <= MOST_DIMENSIONS else None


def record_type(dimensions: int) -> np.dtype[np.void]:
    """Return how one record lies in the file."""
    fields: Any = [("vector", "<f4", (dimensions,)), ("id", "<i8"), ("seal", "<u8")]
    return np.dtype(fields)


def make_records(ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> Records:
    """Return sealed records of these ids and vectors."""
    records = np.empty(len(ids), record_type(vectors.shape[1]))
    records["vector"] = vectors
    records["id"] = ids
    records["seal"] = _seals(records)
    return records


def make_removals(ids: NDArray[np.int64], dimensions: int) -> Records:
    """Return sealed records that take ids away."""
    return make_records(~ids, np.zeros((len(ids), dimensions), np.float32))


def count_whole(records: Records) -> int | None:
    """Return how many records precede a torn end, None where it is damage: whole ones follow."""
    valid = records["seal"] == _seals(records)
    whole = int(np.argmin(valid)) if not valid.all() else len(valid)
    return None if valid[whole:].any() else whole


def fold_ids(earlier: NDArray[np.int64], added: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the id whose vector each record holds, -1 where a later record replaced it or took it away.

    `earlier` are such ids already; `added` are those of the records after them, as they lie in the file.
    """
    subjects = np.where(added < 0, ~added, added)
    folded = added
    if (added[:1] < 0).any() or (added[1:] <= added[:-1]).any():
        _, from_end = np.unique(subjects[::-1], return_index=True)
        last = len(added) - 1 - from_end
        folded = np.full(len(added), -1, np.int64)
        folded[last] = np.maximum(added[last], -1)
    if len(earlier) and len(subjects) and subjects.min() <= earlier.max():
        earlier = np.where(np.isin(earlier, subjects), -1, earlier)
    return np.concatenate((earlier, folded))


def _seals(records: Records) -> NDArray[np.uint64]:
    """Return what the seal of each record must be: a sum, not a cipher, but zeros never have a valid one."""
    words = records["vector"].view("<u4")
    total = np.add.reduce(words, axis=1, dtype=np.uint64)
    ids = records["id"].astype(np.uint64)
    return total * np.uint64(_SUM_FACTOR) ^ ids * np.uint64(_ID_FACTOR) ^ np.uint64(_START)
