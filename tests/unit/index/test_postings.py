"""How words lie in segments: in buckets by their hash, merged without what does not count any more."""

from hypothesis import given
from hypothesis import strategies as st

from carrel.index.catalog import Stored
from carrel.index.chunk import Chunk
from carrel.index.entry import entry_of
from carrel.index.postgres.postings import (
    VERSIONS,
    Gathering,
    bucket_count,
    hash_of,
    keys_in,
    merged,
    parted,
    power_of_two,
    read_bucket,
)

WORDS = ("tea", "opera", "osprey", "harbour", "東京タワー", "ERR_TIMED_OUT", "the")
texts = st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join)


def entry(own, text):
    chunk = Chunk(path="a.md", line=own, end_line=own, text=text, tier="document")
    return entry_of([Stored(own, 1, own, chunk)], 0)


def gathered(entries):
    gathering = Gathering()
    for own, version, text in entries:
        gathering.add(entry(own, text), version)
    return gathering.done()


def buckets_of(segment):
    return [read_bucket(body) for body in segment.buckets]


def joined(buckets):
    return {
        (field, word): data
        for bucket in buckets
        for field, lists in bucket.items()
        for word, data in lists.items()
    }


@given(st.lists(st.lists(texts, max_size=4), max_size=5))
def test_merged_segments_are_what_one_of_all_would_be(parts):
    numbered = [[(at * 10 + n, 0, text) for n, text in enumerate(part)] for at, part in enumerate(parts, 1)]
    bucket, totals = merged([each for part in numbered for each in buckets_of(gathered(part))], ())
    whole = gathered([each for part in numbered for each in part])
    assert joined([bucket]) == joined(buckets_of(whole))
    assert totals == whole.totals


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_what_was_written_again_is_gone_once_segments_are_merged(pairs):
    before = [(own, 0, old) for own, (old, _) in enumerate(pairs, 1)]
    after = [(own, 1, new) for own, (_, new) in enumerate(pairs, 1)]
    found = [*buckets_of(gathered(before)), *buckets_of(gathered(after))]
    stale = {key for key in keys_in(found) if key % VERSIONS == 0}
    bucket, totals = merged(found, stale)
    assert joined([bucket]) == joined(buckets_of(gathered(after)))
    assert totals == gathered(after).totals


@given(st.integers(0, 6), st.integers(0, 6), st.sets(st.text(min_size=1, max_size=5), max_size=30))
def test_every_word_is_in_the_bucket_that_its_hash_says(more, few, words):
    count, parts = 1 << max(more, few), 1 << min(more, few)
    lists = {"exact": {word: word.encode("utf-8", "replace") for word in words}}
    for part in range(parts):
        own = {
            "exact": {word: data for word, data in lists["exact"].items() if hash_of(word) % parts == part}
        }
        bodies = parted(own, count, part, parts)
        assert len(bodies) == count // parts
        for number, body in zip(range(part, count, parts), bodies, strict=True):
            held = read_bucket(body).get("exact", {})
            assert set(held) == {word for word in own["exact"] if hash_of(word) % count == number}


@given(st.integers(0, 10**9))
def test_there_are_as_many_buckets_as_the_next_power_of_two_says(size):
    count = bucket_count(size)
    assert count == power_of_two(count) <= 1 << 16
