"""What Carrel promises its users of every embedder, store, tokenizer and importer, these four keep."""

from pathlib import Path

import pytest
from carrel_acme.embedder import TrigramEmbedder
from carrel_acme.importer import read_notes
from carrel_acme.store import SqliteFiles
from carrel_acme.tokenizer import ByteTokenizer

from carrel.testing.contracts import EmbedderContract, FileStoreContract, ImporterContract, TokenizerContract
from carrel.testing.contracts.importers import Reader

NOTES = """\
{"title": "Harbour", "text": "The crane is green."}
{"title": "Talk", "text": "Ana called.", "day": "2026-04-20"}
no note at all
"""


class TestEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> TrigramEmbedder:
        return TrigramEmbedder()


class TestStore(FileStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> SqliteFiles:
        return SqliteFiles(tmp_path / "studio.db")


class TestTokenizer(TokenizerContract):
    @pytest.fixture
    def tokenizer(self) -> ByteTokenizer:
        return ByteTokenizer()


class TestImporter(ImporterContract):
    @pytest.fixture
    def reader(self) -> Reader:
        return read_notes

    @pytest.fixture
    def sample(self, tmp_path: Path) -> Path:
        folder = tmp_path / "acme"
        folder.mkdir()
        (folder / "notes.jsonl").write_text(NOTES)
        return folder
