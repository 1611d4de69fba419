"""Servers that embed, as OpenAI and as Ollama do: vectors that can be foretold, and answers that are wrong.

A vector here tells its text: the same text always has the same one.
"""

import json
import random
from typing import Any
from zlib import crc32

from tests.stubs.scripted import Answer, Asked, Reaction, StubServer, document

DIMENSIONS = 4
MODEL = "embed-stub"


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """What these servers make of a text; it is not of length one, as few servers' are."""
    chance = random.Random(crc32(text.encode()))
    return [chance.uniform(-3, 3) for _ in range(dimensions)]


def as_openai(*vectors: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(vectors)]
    return {"object": "list", "data": data, "model": MODEL, "usage": {"prompt_tokens": 9, "total_tokens": 9}}


def as_ollama(*vectors: Any) -> dict[str, Any]:
    return {"model": MODEL, "embeddings": list(vectors), "total_duration": 14143917, "prompt_eval_count": 8}


def embedded(asked: Asked) -> Answer:
    """The right answer to either kind of question, by its path."""
    vectors = [vector(text) for text in asked.body["input"]]
    return document(as_ollama(*vectors) if asked.path.endswith("/api/embed") else as_openai(*vectors))


def raw(body: bytes | str, status: int = 200) -> Answer:
    """An answer of any bytes."""
    return Answer([body.encode() if isinstance(body, str) else body], status)


def said(values: str) -> Answer:
    """One vector of OpenAI's, its values spelled as they are given."""
    return raw(json.dumps(as_openai("@")).replace('"@"', f"[{values}]"))


class EmbeddingsStub(StubServer):
    """A server that embeds whatever it is asked to, unless its script says otherwise.

    `url` is its base URL for OpenAI's protocol, `origin` the one for Ollama's.
    """

    def __init__(self, *script: Reaction) -> None:
        super().__init__(*(script or (embedded,)))

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    @property
    def texts(self) -> list[str]:
        """All texts that were sent, in order."""
        return [text for body in self.bodies for text in body["input"]]
