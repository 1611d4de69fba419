"""What every Tokenizer promises."""

import pytest

from carrel.tokens import Tokenizer

TEXTS = [
    "", " ", "Be kind.", "The gate closes at nine.\n\n- Ana\n- Ben\n", "Zürich, señor, naïve", "東京タワーに行きたい",
    "🐙🏳️‍🌈", "a\0b", "\r\n\t", "<|endoftext|><s>[INST]", "x" * 5_000, "word " * 2_000, "12345678901234567890",
]  # fmt: skip


class TokenizerContract:
    """One vocabulary, text to ids and back to bytes: give a `tokenizer`."""

    def test_it_has_a_name_for_the_counts_that_are_kept(self, tokenizer: Tokenizer) -> None:
        assert isinstance(tokenizer.name, str)
        assert tokenizer.name.strip() == tokenizer.name != ""

    @pytest.mark.parametrize("text", TEXTS)
    def test_the_bytes_of_all_ids_are_the_text(self, tokenizer: Tokenizer, text: str) -> None:
        ids = tokenizer.encode(text)
        assert all(type(each) is int for each in ids)
        assert tokenizer.decode(ids) == text.encode()
        assert bool(ids) == bool(text)

    @pytest.mark.parametrize("text", TEXTS)
    def test_ids_in_two_halves_are_the_bytes_in_two_halves(self, tokenizer: Tokenizer, text: str) -> None:
        ids = tokenizer.encode(text)
        half = len(ids) // 2
        assert tokenizer.decode(ids[:half]) + tokenizer.decode(ids[half:]) == text.encode()

    @pytest.mark.parametrize("text", TEXTS)
    def test_the_same_text_has_the_same_ids(self, tokenizer: Tokenizer, text: str) -> None:
        assert tokenizer.encode(text) == tokenizer.encode(text)

    def test_a_longer_text_costs_no_less(self, tokenizer: Tokenizer) -> None:
        costs = [len(tokenizer.encode("the gate " * count)) for count in (1, 2, 10, 100)]
        assert costs == sorted(costs)
        assert costs[-1] > costs[0]

    def test_half_a_surrogate_pair_is_counted_and_is_no_error(self, tokenizer: Tokenizer) -> None:
        assert tokenizer.encode("a\ud800b")
