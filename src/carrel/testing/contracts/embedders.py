"""What every Embedder promises."""

import numpy as np
import pytest

from carrel.index.embed import Embedder

TEXTS = [
    "The gate closes at nine.",
    "Ana reviews the billing migration.",
    "x",
    "東京タワー 🐙",
    "word " * 3_000,
]
HOSTILE = ["\ud800", "a\0b", "\udcff", "\u202e", "%s {0} \\", "<|endoftext|>"]


class EmbedderContract:
    """Texts to vectors: give an `embedder`."""

    def test_it_has_a_name_that_stays(self, embedder: Embedder) -> None:
        before = embedder.name
        embedder.embed(TEXTS[:1])
        assert isinstance(before, str)
        assert embedder.name == before != ""

    def test_each_text_is_one_float32_row_of_length_one_in_its_place(self, embedder: Embedder) -> None:
        rows = embedder.embed(TEXTS)
        assert rows.dtype == np.float32
        assert rows.shape == (len(TEXTS), embedder.dimensions)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
        alone = embedder.embed(TEXTS[1:2])
        assert np.allclose(alone[0], rows[1], atol=1e-3)

    def test_no_texts_are_no_rows(self, embedder: Embedder) -> None:
        embedder.embed(TEXTS[:1])
        assert embedder.embed([]).shape == (0, embedder.dimensions)

    @pytest.mark.parametrize("blank", ["", " ", "\n\t"])
    def test_a_blank_text_is_all_zeros_and_moves_no_other(self, embedder: Embedder, blank: str) -> None:
        rows = embedder.embed([TEXTS[0], blank, TEXTS[1]])
        assert not rows[1].any()
        assert rows[0].any()
        assert rows[2].any()
        assert not embedder.embed_query(blank).any()

    def test_the_same_text_is_the_same_vector(self, embedder: Embedder) -> None:
        first, second = embedder.embed([TEXTS[0], TEXTS[0]])
        assert np.allclose(first, second, atol=1e-6)
        assert np.allclose(embedder.embed(TEXTS[:1])[0], first, atol=1e-6)

    def test_other_words_are_another_vector(self, embedder: Embedder) -> None:
        one, other = embedder.embed(TEXTS[:2])
        assert float(one @ other) < 0.999

    def test_a_query_is_near_what_says_the_same(self, embedder: Embedder) -> None:
        query = embedder.embed_query(TEXTS[1])
        rows = embedder.embed(TEXTS)
        assert query.shape == (embedder.dimensions,)
        assert query.dtype == np.float32
        assert int(np.argmax(rows @ query)) == 1

    def test_weights_of_words_may_be_given_and_ignored(self, embedder: Embedder) -> None:
        weighed = embedder.embed_query(TEXTS[1], lambda word: 2.0 if word == "billing" else 1.0)
        assert abs(float(np.linalg.norm(weighed)) - 1) < 1e-3

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_text_can_be_embedded(self, embedder: Embedder, text: str) -> None:
        rows = embedder.embed([text, TEXTS[0]])
        assert np.isfinite(rows).all()
        assert np.isfinite(embedder.embed_query(text)).all()
        assert rows[1].any()

    def test_leading_dimensions_make_a_fair_vector_by_themselves(self, embedder: Embedder) -> None:
        rows = embedder.embed(TEXTS[:2])
        assert 0 <= embedder.leading <= embedder.dimensions
        if embedder.leading:
            assert np.linalg.norm(rows[:, : embedder.leading], axis=1).min() > 0
