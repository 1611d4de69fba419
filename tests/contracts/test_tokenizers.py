"""Every vocabulary that is built in, held to the contract of a Tokenizer."""

import pytest

from carrel.testing.contracts import TokenizerContract
from carrel.tokens import VOCABULARIES, Tokenizer, Vocabulary


class TestVocabularies(TokenizerContract):
    @pytest.fixture(params=VOCABULARIES)
    def tokenizer(self, request: pytest.FixtureRequest) -> Tokenizer:
        return Vocabulary(request.param)
