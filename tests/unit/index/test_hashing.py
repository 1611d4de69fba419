"""The embedder that ships for tests: the same vectors everywhere, and near where words are shared."""

import numpy as np
import pytest

from carrel.testing import HashingEmbedder

HOSTILE = ["", " ", "?!", "\0", "\ud800", "é" * 50, "東京", "x" * 100_000]


def near(embedder, one, other):
    rows = embedder.embed([one, other])
    return float(rows[0] @ rows[1])


def test_texts_are_near_by_the_words_that_they_share():
    embedder = HashingEmbedder()
    assert near(embedder, "The apple is ripe.", "the APPLE is ripe") == pytest.approx(1)
    assert near(embedder, "ripe apples", "apple") > 0.5
    assert near(embedder, "ripe apples", "a zebra") == pytest.approx(0)


@pytest.mark.parametrize("dimensions", [8, 256])
def test_every_text_has_a_vector_of_length_one_or_of_zeros(dimensions):
    embedder = HashingEmbedder(dimensions)
    made = embedder.embed([*HOSTILE, "words"])
    assert (made.shape, made.dtype) == ((len(HOSTILE) + 1, dimensions), np.float32)
    assert [round(float(np.linalg.norm(row)), 5) for row in made[[0, 1, 2, 3, -1]]] == [0, 0, 0, 0, 1]
    assert embedder.embed([]).shape == (0, dimensions)


def test_vectors_are_the_same_on_every_machine():
    (made,) = HashingEmbedder(16).embed(["An apple a day."])
    assert np.flatnonzero(made).tolist() == [0, 3, 6]


def test_a_word_of_a_query_counts_as_much_as_it_weighs():
    embedder = HashingEmbedder()
    made = embedder.embed_query("apple zebra", lambda word: 0.0 if word == "zebra" else 1.0)
    assert np.allclose(made, embedder.embed(["apple"])[0])
    assert np.allclose(embedder.embed_query("apple zebra"), embedder.embed(["zebra apple"])[0])
