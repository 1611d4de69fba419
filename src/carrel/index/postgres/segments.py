"""Writing words: each write is a segment of its own, and a few of about one size become one.

So a change costs what it changes, a question reads few segments, and what is written is written again only as
often as the index grows fourfold.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from carrel.index.entry import Entry
from carrel.index.postgres.desk import OWN, Desk
from carrel.index.postgres.postings import (
    VERSIONS,
    Bucket,
    Gathering,
    Segment,
    bucket_count,
    keys_in,
    merged,
    parted,
    power_of_two,
    read_bucket,
)

FAN = 4
"""So many segments of about one size are merged, each at most so many times the size of another."""

_ROWS_AT_ONCE = 256
_PART = 4_000_000
"""Buckets that are written in one statement, and bytes that are merged at once."""

_LIST = f"SELECT segment, buckets, entries, totals FROM carrel.index_segments WHERE {OWN}"  # noqa: S608 - constants


class Listed(Struct, frozen=True):
    """What a segment says of itself."""

    segment: int
    buckets: int
    entries: int
    totals: Mapping[str, int]


read_totals = msgspec.msgpack.Decoder(dict[str, int]).decode


class Segments:
    """The words of one workspace, for whoever holds it; segments up to `after` are left alone."""

    def __init__(self, desk: Desk, *, last: int, after: int = 0) -> None:
        self.last = last
        self._desk = desk
        self._after = after

    def write(self, entries: Iterable[Entry], drop: Sequence[int]) -> None:
        """Put entries in place of what their chunks had; `drop` are the ids that are due."""
        versions = self._versions(drop)
        gathering = Gathering()
        for entry in entries:
            gathering.add(entry, versions[entry.stored.id])
        if gathering.entries:
            self._keep(gathering.done())
            self._merge()

    def _versions(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the version that the words of each chunk are to have; those that had some get the next."""
        self._desk.tenant.send(
            "UPDATE carrel.index_chunks c SET words = (c.words + 1) %% %s FROM carrel.index_due d WHERE "
            "c.tenant = %s AND c.workspace = %s AND d.tenant = c.tenant AND d.workspace = c.workspace "
            "AND d.part = 'words' AND d.id = c.id AND NOT d.is_fresh AND c.id = ANY(%s::bigint[])",
            (VERSIONS, *self._desk.own, list(ids)),
        )
        sql = f"SELECT id, words FROM carrel.index_chunks WHERE {OWN} AND id = ANY(%s::bigint[])"  # noqa: S608 - constants
        return {row[0]: row[1] for row in self._desk.rows(sql, (list(ids),))}

    def _keep(self, segment: Segment) -> None:
        self._add(segment.buckets, range(len(segment.buckets)))
        self._list(len(segment.buckets), segment.entries, segment.totals)

    def _add(self, bodies: Sequence[bytes], numbers: Sequence[int]) -> None:
        """Write buckets of the segment that is being made."""
        for begin in range(0, len(bodies), _ROWS_AT_ONCE):
            some = slice(begin, begin + _ROWS_AT_ONCE)
            self._desk.send(
                "INSERT INTO carrel.index_words (tenant, workspace, segment, bucket, body) "
                "SELECT %s, %s, %s, * FROM unnest(%b::integer[], %b::bytea[])",
                (self.last + 1, list(numbers[some]), list(bodies[some])),
            )

    def _list(self, buckets: int, entries: int, totals: Mapping[str, int]) -> None:
        self.last += 1
        self._desk.send(
            "INSERT INTO carrel.index_segments (tenant, workspace, segment, buckets, entries, totals) "
            "VALUES (%s, %s, %s, %s, %s, %s)",
            (self.last, buckets, entries, msgspec.msgpack.encode(totals)),
        )

    # Merging

    def _merge(self) -> None:
        """Make one of several segments of about one size, as long as there are enough."""
        while True:
            by_size: dict[int, list[Listed]] = {}
            for each in listed(self._desk):
                if each.segment > self._after:
                    by_size.setdefault((each.entries.bit_length() + 1) // 2, []).append(each)
            some = next((each for each in by_size.values() if len(each) >= FAN), None)
            if some is None:
                return
            self._merge_some(some)

    def _merge_some(self, some: Sequence[Listed]) -> None:
        """Make one segment of several, a part of their buckets at a time.

        As all numbers of buckets are powers of two, what is in a part of the old ones is in one of the new.
        """
        numbers = [each.segment for each in some]
        size = self._size(numbers)
        fewest = min(each.buckets for each in some)
        parts = min(power_of_two(size // _PART), fewest)
        count = max(bucket_count(size), parts)
        keys: set[int] = set()
        totals = Counter[str]()
        for part in range(parts):
            bodies = self._bodies(numbers, part, parts)
            present = keys_in(bodies)
            live = self._live(present)
            keys |= live
            bucket, words = merged(bodies, present - live)
            totals += words
            self._add(parted(bucket, count, part, parts), range(part, count, parts))
        self.forget(numbers)
        if keys:
            self._list(count, len(keys), totals)
        else:
            self.forget([self.last + 1])

    def _size(self, numbers: Sequence[int]) -> int:
        sql = (
            "SELECT coalesce(sum(octet_length(body)), 0) FROM carrel.index_words "  # noqa: S608 - constants
            f"WHERE {OWN} AND segment = ANY(%s::bigint[])"
        )
        return int(self._desk.rows(sql, (list(numbers),))[0][0])

    def _bodies(self, numbers: Sequence[int], part: int, parts: int) -> list[Bucket]:
        sql = (
            f"SELECT body FROM carrel.index_words WHERE {OWN} "  # noqa: S608 - constants
            "AND segment = ANY(%s::bigint[]) AND bucket & %s = %s ORDER BY segment"
        )
        return [read_bucket(row[0]) for row in self._desk.rows(sql, (list(numbers), parts - 1, part))]

    def _live(self, keys: set[int]) -> set[int]:
        """Return the keys of which the version counts."""
        sql = f"SELECT id, words FROM carrel.index_chunks WHERE {OWN} AND id = ANY(%s::bigint[])"  # noqa: S608 - constants
        rows = self._desk.rows(sql, (sorted({key // VERSIONS for key in keys}),))
        return keys.intersection(own * VERSIONS + version for own, version in rows)

    def forget(self, numbers: Sequence[int]) -> None:
        """Forget segments."""
        for table in ("segments", "words"):
            sql = f"DELETE FROM carrel.index_{table} WHERE {OWN} AND segment = ANY(%s::bigint[])"  # noqa: S608 - one of two
            self._desk.send(sql, (list(numbers),))

    def forget_until(self, last: int) -> None:
        """Forget the segments up to one: every chunk was written again since."""
        self.forget([each.segment for each in listed(self._desk) if each.segment <= last])


def listed(desk: Desk) -> list[Listed]:
    """Return what the segments of a workspace say of themselves."""
    return [Listed(row[0], row[1], row[2], read_totals(row[3])) for row in desk.rows(_LIST)]
