"""What every Index promises."""

import pytest

from carrel.testing.contracts.index.asking import AskingContract
from carrel.testing.contracts.index.samples import filled_shelf
from carrel.testing.contracts.index.syncing import SyncingContract
from carrel.testing.contracts.index.words import WordsContract
from carrel.testing.shelves import Shelf


class IndexContract(SyncingContract, WordsContract, AskingContract):
    """A derived structure that answers questions: give an `index` that holds nothing, and close it after."""

    @pytest.fixture
    def shelf(self) -> Shelf:
        """A source of documents and sessions."""
        return filled_shelf()
