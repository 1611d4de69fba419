"""Every Embedder that is built in and needs no server, held to its contract."""

from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.index.embed import Embedder
from carrel.index.embed.cache import CachedEmbedder
from carrel.index.embed.resting import RestingEmbedder
from carrel.index.embed.screened import ScreenedEmbedder
from carrel.index.embed.static import StaticEmbedder
from carrel.screen.policy import Screen
from carrel.testing import HashingEmbedder
from carrel.testing.contracts import EmbedderContract

EMBEDDERS: dict[str, Callable[[Path], Embedder]] = {
    "cached": lambda root: CachedEmbedder(HashingEmbedder(), root / "embeddings.db"),
    "hashing": lambda _: HashingEmbedder(),
    "resting": lambda _: RestingEmbedder(HashingEmbedder()),
    "screened": lambda _: ScreenedEmbedder(HashingEmbedder(), Screen()),
    "static": lambda _: StaticEmbedder(),
}


class TestEmbedders(EmbedderContract):
    @pytest.fixture(params=sorted(EMBEDDERS))
    def embedder(self, request: pytest.FixtureRequest, tmp_path: Path) -> Embedder:
        return EMBEDDERS[request.param](tmp_path)
