"""Every Index that is built in, held to its contract; a new one is by one more line in INDEXES."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from carrel.index import Index
from carrel.index.embedded import EmbeddedIndex
from carrel.index.postgres import PostgresIndex
from carrel.postgres import Tenant
from carrel.testing import HashingEmbedder, PlainIndex
from carrel.testing.contracts import IndexContract

INDEXES: dict[str, Callable[[Path, Callable[[], Tenant]], Index]] = {
    "embedded-memory": lambda _, __: EmbeddedIndex(None),
    "embedded-folder": lambda root, _: EmbeddedIndex(root / "index"),
    "embedded-vectors": lambda root, _: EmbeddedIndex(root / "index", embedder=HashingEmbedder()),
    "embedded-memory-vectors": lambda _, __: EmbeddedIndex(None, embedder=HashingEmbedder()),
    "plain": lambda _, __: PlainIndex(),
    "postgres": lambda _, tenant: PostgresIndex(tenant(), "studio"),
    "postgres-vectors": lambda _, tenant: PostgresIndex(tenant(), "studio", embedder=HashingEmbedder()),
}


class TestIndexes(IndexContract):
    @pytest.fixture(params=sorted(INDEXES))
    def index(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
        opened = INDEXES[request.param](tmp_path, lambda: request.getfixturevalue("tenant"))
        yield opened
        opened.close()
