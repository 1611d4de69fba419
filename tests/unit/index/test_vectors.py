"""Search over vectors by id: what is nearest, what may be looked at, and what does not fit."""

from array import array

import numpy as np
import pytest

from carrel.index import vectors as module
from carrel.index.vectors import BadVectors, Vectors

DIMENSIONS = 16


def unit(count, dimensions=DIMENSIONS, seed=0):
    made = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def front_heavy(count, seed=0):
    """What a model makes that puts the most into its first dimensions."""
    made = unit(count, seed=seed)
    made[:, DIMENSIONS // 2 :] *= 0.1
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def by_hand(ids, matrix, query, k):
    """The nearest, in the plainest way: the cosine of each, sorted."""
    cosines = matrix.astype(np.float64) @ query.astype(np.float64)
    order = sorted(zip(ids, cosines, strict=True), key=lambda pair: (-round(pair[1], 6), pair[0]))
    return [identity for identity, _ in order[:k]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache/vectors.bin"


@pytest.fixture
def vectors(path):
    return Vectors(path, embedder="test")


def ids_of(hits):
    return [identity for identity, _ in hits]


def test_the_nearest_come_first_with_their_cosines(vectors):
    matrix = unit(200)
    vectors.put(range(1, 201), matrix)
    for query in unit(5, seed=1):
        hits = vectors.search(query, k=20)
        assert ids_of(hits) == by_hand(range(1, 201), matrix, query, 20)
        assert np.allclose([score for _, score in hits], sorted(matrix @ query)[::-1][:20], atol=1e-6)
        assert all(type(identity) is int and type(score) is float for identity, score in hits)


def test_before_anything_is_put_nothing_is_found(vectors, path):
    assert (vectors.search(unit(1)[0], k=5), len(vectors), vectors.dimensions) == ([], 0, 0)
    vectors.drop([1, 2])
    assert not path.parent.exists()


@pytest.mark.parametrize("k", [0, -1])
def test_who_asks_for_none_gets_none(vectors, k):
    vectors.put([1], unit(1))
    assert vectors.search(unit(1)[0], k=k) == []


def test_who_asks_for_more_than_there_are_gets_all(vectors):
    vectors.put([3, 1, 2], unit(3))
    assert sorted(ids_of(vectors.search(unit(1)[0], k=99))) == [1, 2, 3]


def test_a_query_without_direction_is_near_to_nothing(vectors):
    vectors.put([1], unit(1))
    assert vectors.search(np.zeros(DIMENSIONS, np.float32), k=5) == []


def test_equal_vectors_come_by_id_in_whatever_order_they_were_put(vectors):
    one = unit(1)
    vectors.put([9, 4, 7], np.repeat(one, 3, axis=0))
    vectors.put([2, 8], np.repeat(one, 2, axis=0))
    assert ids_of(vectors.search(one[0], k=3)) == [2, 4, 7]


@pytest.mark.parametrize("allowed", [{3}, {1, 2, 3, 5, 8}, set(range(1, 190)), set(), {999}, {3, 999}])
@pytest.mark.parametrize(
    "form", [set, list, lambda ids: np.array(sorted(ids), np.int64), lambda ids: array("q", ids)]
)
def test_only_what_is_allowed_is_found_and_all_of_that(vectors, allowed, form):
    matrix = unit(200)
    vectors.put(range(1, 201), matrix)
    query = unit(1, seed=1)[0]
    inside = [identity for identity in range(1, 201) if identity in allowed]
    hits = vectors.search(query, allowed=form(allowed), k=10)
    assert ids_of(hits) == by_hand(inside, matrix[[n - 1 for n in inside]], query, 10)


def test_what_was_dropped_is_not_found_even_where_it_is_allowed(vectors):
    vectors.put([1, 2, 3], unit(3))
    vectors.drop([2, 99])
    assert sorted(ids_of(vectors.search(unit(1)[0], allowed=[1, 2], k=5))) == [1]
    assert (vectors.ids.tolist(), len(vectors)) == ([1, 3], 2)


def test_the_last_vector_of_an_id_counts(vectors):
    rows = unit(3)
    vectors.put([1, 2], rows[:2])
    vectors.put([1], rows[2:])
    vectors.put([5, 5], rows[:2])
    assert dict(vectors.search(rows[2], k=9))[1] == pytest.approx(1)
    assert dict(vectors.search(rows[1], k=9))[5] == pytest.approx(1)
    assert vectors.ids.tolist() == [1, 2, 5]


def test_an_id_that_was_dropped_can_come_back(vectors):
    vectors.put([1], unit(1))
    vectors.drop([1])
    assert len(vectors) == 0
    vectors.put([1], unit(1, seed=2))
    assert vectors.search(unit(1, seed=2)[0], k=1) == [(1, pytest.approx(1))]


def test_nothing_put_changes_nothing(vectors, path):
    vectors.put([], np.zeros((0, DIMENSIONS), np.float32))
    assert not path.exists()


BAD = {
    "fewer rows": ([1, 2], unit(1)),
    "more rows": ([1], unit(2)),
    "one dimension": ([1], unit(1)[0]),
    "no dimensions": ([1], np.zeros((1, 0), np.float32)),
    "other dimensions": ([1], unit(1, 3)),
    "nan": ([1], np.full((1, DIMENSIONS), np.nan, np.float32)),
    "infinite": ([1], np.full((1, DIMENSIONS), np.inf, np.float32)),
    "negative id": ([-1], unit(1)),
}


@pytest.mark.parametrize(("ids", "matrix"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_an_error_and_is_not_kept(vectors, path, ids, matrix):
    vectors.put([7], unit(1))
    before = path.read_bytes()
    with pytest.raises(BadVectors) as caught:
        vectors.put(ids, matrix)
    assert (caught.value.code, path.read_bytes()) == ("bad_vectors", before)
    assert vectors.ids.tolist() == [7]


@pytest.mark.parametrize("query", [unit(1, 3)[0], unit(2), np.full(DIMENSIONS, np.nan, np.float32)])
def test_a_query_that_does_not_fit_is_an_error(vectors, query):
    vectors.put([7], unit(1))
    with pytest.raises(BadVectors):
        vectors.search(query, k=3)


def test_once_all_are_dropped_vectors_may_have_another_length(vectors):
    vectors.put([1, 2], unit(2))
    vectors.drop([1, 2])
    vectors.put([1], unit(1, 3))
    assert (vectors.dimensions, vectors.ids.tolist()) == (3, [1])


def test_vectors_of_one_dimension_are_vectors(vectors):
    vectors.put([1, 2], np.array([[1], [-1]], np.float32))
    vectors.drop([1])
    assert vectors.search(np.array([-1], np.float32), k=5) == [(2, 1.0)]


def test_a_first_pass_finds_what_a_full_scan_finds(path, monkeypatch):
    monkeypatch.setattr(module, "_PASS_ROWS", 2_000)
    monkeypatch.setattr(module, "_PASS_KEEPS", 200)
    matrix = front_heavy(4_000)
    full, quick = (Vectors(path, embedder="test", leading=leading) for leading in (0, DIMENSIONS // 2))
    full.put(range(1, 4_001), matrix)
    allowed = set(range(1, 4_001, 3)) | {3_999}
    for number, query in enumerate(front_heavy(60, seed=1)):
        full.put([10_000 + number], query[None])  # rows that the first pass has not gathered
        full.drop([number + 1])
        for limit in (None, allowed):
            expected = full.search(query, allowed=limit, k=10)
            assert quick.search(query, allowed=limit, k=10) == expected
    assert quick._heads is not None


def test_a_first_pass_does_not_outlive_its_file(path, monkeypatch):
    monkeypatch.setattr(module, "_PASS_ROWS", 500)
    monkeypatch.setattr(module, "_PASS_KEEPS", 100)
    monkeypatch.setattr(module, "_PASS_AFTER", 1)
    quick = Vectors(path, embedder="test", leading=8)
    quick.put(range(2_000), unit(2_000))
    query = unit(1, seed=5)[0]
    quick.search(query, k=5)
    quick.drop(range(2_000))
    matrix = front_heavy(2_000, seed=9)
    quick.put(range(2_000), matrix)
    assert [ids_of(quick.search(matrix[n], k=1)) for n in range(100)] == [[n] for n in range(100)]
