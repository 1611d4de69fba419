"""How words lie in a segment: for each field and word, who has it, how often, and how long those are.

A segment is a number of buckets; a word is in the bucket that its hash says, so that a question reads a few
small rows, however many words there are. A bucket is MessagePack: fields, in them words, in them records of
one size. What a chunk had before it was written again stays until segments are merged: of the records of a
chunk, those of its present version count.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log2
from zlib import crc32

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.index.analysis import GRAMS, PLAIN, words
from carrel.index.entry import Entry

EXACT = "exact"
PLACES = "places"
"""Where in a chunk each word of the field `exact` stands, as 16-bit numbers, as many as its record tells."""

VERSIONS = 256
_FULL = 4_096  # bytes of a bucket, about
_MOST_BUCKETS = 1 << 16
_MOST_TIMES, _LAST_PLACE = 255, 65_535
_EXACT_LENGTHS, _STEPS = 128, 16

RECORD = np.dtype([("id", "<u4"), ("version", "u1"), ("times", "u1"), ("length", "u1")])
"""A chunk that has a word; the length of its field is told as `_length_code` does."""

LENGTHS: NDArray[np.float32] = np.array(
    [
        code if code < _EXACT_LENGTHS else (_EXACT_LENGTHS - 1) * 2 ** ((code - _EXACT_LENGTHS + 1) / _STEPS)
        for code in range(256)
    ],
    np.float32,
)

Bucket = dict[str, dict[str, bytes]]
"""Records by field and word."""


class Segment(Struct, frozen=True, kw_only=True):
    """Words of some chunks: how many these are, how many words each field of them has, and the buckets."""

    entries: int
    totals: Mapping[str, int]
    buckets: Sequence[bytes]


class Gathering:
    """Words on their way into a segment."""

    def __init__(self) -> None:
        self.entries = 0
        self.totals = Counter[str]()
        self._fields: dict[str, dict[str, bytearray]] = {}

    def add(self, entry: Entry, version: int) -> None:
        """Take in the words of a chunk, of which this will be the version that counts."""
        self.entries += 1
        head = entry.stored.id.to_bytes(4, "little") + bytes((version,))
        for field, found in _fields_of(entry).items():
            self.totals[field] += len(found)
            code = _length_code(len(found))
            lists = self._fields.setdefault(field, {})
            for word, times in Counter(found).items():
                lists.setdefault(word, bytearray()).extend(head + bytes((min(times, _MOST_TIMES), code)))
            if field == EXACT:
                self._add_places(found)

    def _add_places(self, found: Sequence[str]) -> None:
        lists = self._fields.setdefault(PLACES, {})
        counts = Counter[str]()
        for at, word in enumerate(found):
            counts[word] += 1
            if counts[word] <= _MOST_TIMES:
                lists.setdefault(word, bytearray()).extend(min(at, _LAST_PLACE).to_bytes(2, "little"))

    def done(self) -> Segment:
        """Return the segment."""
        size = sum(
            len(data) + len(word) + 4 for lists in self._fields.values() for word, data in lists.items()
        )
        count = bucket_count(size)
        return Segment(entries=self.entries, totals=dict(self.totals), buckets=parted(self._fields, count))


def bucket_count(size: int) -> int:
    """Return how many buckets so many bytes are put in: a power of two."""
    return min(power_of_two(size // _FULL), _MOST_BUCKETS)


def power_of_two(number: int) -> int:
    """Return the first power of two that is no less than a number."""
    return 1 << max(number - 1, 0).bit_length()


def parted(
    lists: Mapping[str, Mapping[str, bytes | bytearray]], count: int, part: int = 0, parts: int = 1
) -> list[bytes]:
    """Return the buckets that some words are in: of so many in all, each so manieth from one on."""
    buckets: list[dict[str, dict[str, bytes | bytearray]]] = [{} for _ in range(part, count, parts)]
    for field, found in lists.items():
        for word, data in found.items():
            at = hash_of(word) & (count - 1)
            buckets[at // parts].setdefault(field, {})[word] = data
    return [msgspec.msgpack.encode(each) for each in buckets]


def hash_of(word: str) -> int:
    """Return the number that says in which bucket a word is."""
    return crc32(word.encode("utf-8", "replace"))


read_bucket = msgspec.msgpack.Decoder(Bucket).decode


def records_of(data: bytes) -> NDArray[np.void]:
    """Return the records in some bytes; what is cut off at their end is none."""
    return np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)


def keys_of(records: NDArray[np.void]) -> NDArray[np.int64]:
    """Return for each record a number that stands for its chunk in its version."""
    return records["id"].astype(np.int64) * VERSIONS + records["version"]


def merged(buckets: Iterable[Bucket], stale: Collection[int]) -> tuple[Bucket, Counter[str]]:
    """Return the buckets of several segments as one, without stale keys, and the words of each field."""
    without = np.array(sorted(stale), np.int64)
    joined: dict[str, dict[str, bytearray]] = {}
    for bucket in buckets:
        for field, word, data in _living(bucket, without) if stale else _all_of(bucket):
            joined.setdefault(field, {}).setdefault(word, bytearray()).extend(data)
    made = {field: {word: bytes(data) for word, data in lists.items()} for field, lists in joined.items()}
    totals = {
        field: int(records_of(b"".join(lists.values()))["times"].sum())
        for field, lists in made.items()
        if field != PLACES
    }
    return made, Counter(totals)


def keys_in(buckets: Iterable[Bucket]) -> set[int]:
    """Return the keys of all records in some buckets."""
    data = b"".join(
        data for bucket in buckets for field in bucket if field != PLACES for data in bucket[field].values()
    )
    return set(np.unique(keys_of(records_of(data))).tolist())


def _all_of(bucket: Bucket) -> Iterator[tuple[str, str, bytes]]:
    for field, lists in bucket.items():
        for word, data in lists.items():
            yield field, word, data


def _living(bucket: Bucket, stale: NDArray[np.int64]) -> Iterator[tuple[str, str, bytes]]:
    for field, lists in bucket.items():
        for word, data in lists.items() if field != PLACES else ():
            records = records_of(data)
            mask = np.isin(keys_of(records), stale, invert=True)
            if not mask.any():
                continue
            yield field, word, records[mask].tobytes()
            if field == EXACT:
                places = np.frombuffer(bucket.get(PLACES, {}).get(word, b""), "<u2")
                yield PLACES, word, places[np.repeat(mask, records["times"])[: len(places)]].tobytes()


def _fields_of(entry: Entry) -> dict[str, list[str]]:
    """Return the words of a chunk by field; a field without any is left out."""
    fields = {
        f"text_{entry.language}": words(entry.text, entry.language),
        f"context_{entry.language}": words(entry.context, entry.language),
        EXACT: words(entry.text, PLAIN),
    }
    if entry.context_runs:
        fields[f"text_{GRAMS}"] = words(entry.runs, GRAMS)
        fields[f"context_{GRAMS}"] = words(entry.context_runs, GRAMS)
    return {field: found for field, found in fields.items() if found}


def _length_code(length: int) -> int:
    if length < _EXACT_LENGTHS:
        return length
    return min(_EXACT_LENGTHS - 1 + round(_STEPS * log2(length / (_EXACT_LENGTHS - 1))), 255)
