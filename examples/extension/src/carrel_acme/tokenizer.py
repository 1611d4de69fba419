"""A tokenizer for models that read bytes: each of them is a token."""

from carrel.tokens import Tokenizer


class ByteTokenizer:
    """As many tokens as there are bytes."""

    name = "acme-bytes"

    def encode(self, text: str) -> list[int]:
        """Return the bytes of a text; half a surrogate pair is a question mark."""
        return list(text.encode("utf-8", "replace"))

    def decode(self, ids: list[int]) -> bytes:
        """Return the bytes that the ids are."""
        return bytes(ids)


def open_tokenizer(model: str) -> Tokenizer:
    """Return what counts for a model, "" where none is named."""
    del model
    return ByteTokenizer()
