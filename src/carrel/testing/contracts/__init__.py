"""Contracts: what every implementation of a port promises, as tests that whoever writes one inherits.

    class TestMyStore(FileStoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path)

One fixture says what is tried. Nothing but pytest is needed, and Carrel holds what is built in to the same.
"""

import pytest

_PARTS = ("embedders", "files", "importers", "index", "records", "tokenizers")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))

from carrel.testing.contracts.embedders import EmbedderContract  # noqa: E402 - after it is known what to rewrite
from carrel.testing.contracts.files import FileStoreContract  # noqa: E402 - as above
from carrel.testing.contracts.importers import ImporterContract  # noqa: E402 - as above
from carrel.testing.contracts.index import IndexContract  # noqa: E402 - as above
from carrel.testing.contracts.records import RecordsContract  # noqa: E402 - as above
from carrel.testing.contracts.tokenizers import TokenizerContract  # noqa: E402 - as above

__all__ = [
    "EmbedderContract",
    "FileStoreContract",
    "ImporterContract",
    "IndexContract",
    "RecordsContract",
    "TokenizerContract",
]
