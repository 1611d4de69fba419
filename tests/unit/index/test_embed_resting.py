"""An embedder that failed is left alone for a while."""

import numpy as np
import pytest

from carrel.errors import Unavailable
from carrel.index.embed.resting import REST, RestingEmbedder


class Server:
    """Fails while it is down, and counts how often it was asked."""

    name, dimensions, leading = "server", 2, 0

    def __init__(self):
        self.asked = 0
        self.is_down = True

    def embed(self, texts):
        self.asked += 1
        if self.is_down:
            raise Unavailable("It is down.", hint="Wait.")
        return np.ones((len(texts), 2), np.float32)

    def embed_query(self, text, weigh=None):
        assert weigh is None
        return self.embed([text])[0]


def test_after_a_failure_nobody_is_asked_for_a_while():
    server, clock = Server(), [0.0]
    embedder = RestingEmbedder(server, now=lambda: clock[0])
    for _ in range(3):
        with pytest.raises(Unavailable, match="down"):
            embedder.embed(["a"])
        with pytest.raises(Unavailable, match="down"):
            embedder.embed_query("a")
    assert server.asked == 1
    server.is_down, clock[0] = False, REST
    assert embedder.embed(["a", "b"]).shape == (2, 2)
    assert embedder.embed_query("a").shape == (2,)
    assert server.asked == 3
