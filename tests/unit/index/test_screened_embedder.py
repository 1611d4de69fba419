"""What is kept out of memory becomes no vector either."""

import numpy as np

from carrel.index.embed.screened import ScreenedEmbedder
from carrel.screen.policy import Screen
from carrel.testing import HashingEmbedder

KEY = "gh" + "p_" + "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q"
MAIL = "Write to tom@example.com."


class Heard(HashingEmbedder):
    """An embedder that remembers what it was given."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return super().embed(texts)

    def embed_query(self, text, weigh=None):
        self.texts.append(text)
        return super().embed_query(text, weigh)


def test_secrets_are_marks_before_a_text_is_embedded():
    heard = Heard()
    embedder = ScreenedEmbedder(heard, Screen())
    embedder.embed([f"The key is {KEY}.", MAIL])
    embedder.embed_query(f"Whose is {KEY}?")
    assert heard.texts == ["The key is [REDACTED:GITHUB_TOKEN].", MAIL, "Whose is [REDACTED:GITHUB_TOKEN]?"]
    assert (embedder.name, embedder.dimensions, embedder.blocked) == (heard.name, heard.dimensions, 0)


def test_a_text_that_is_blocked_has_no_direction_and_is_counted():
    heard = Heard()
    embedder = ScreenedEmbedder(heard, Screen(personal="block"))
    rows = embedder.embed(["A plain sentence.", MAIL])
    assert heard.texts == ["A plain sentence.", ""]
    assert np.any(rows[0])
    assert not np.any(rows[1])
    assert embedder.blocked == 1


def test_vectors_of_another_policy_have_another_name():
    names = {
        ScreenedEmbedder(Heard(), Screen(secrets=secrets, personal=personal)).name
        for secrets in ("block", "redact", "allow")
        for personal in ("block", "redact", "allow")
    }
    assert len(names) == 9


def test_the_rest_of_a_key_whose_first_line_is_in_another_chunk_is_not_embedded():
    heard = Heard()
    line = "XWA4P7c7uRSWGW9zMb3B/ha1tqIcCsv5pI2JTWu4jCRdbz9g0dZBtUggkbtX6hdf"
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    ScreenedEmbedder(heard, Screen()).embed([f"{line}\n{line}\nThe digest is {digest}."])
    assert heard.texts == [f"[REDACTED:ENCODED]\n[REDACTED:ENCODED]\nThe digest is {digest}."]
