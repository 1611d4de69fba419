"""Values as the cells of the catalog hold them: whatever a file is called or says, it can be kept."""

from collections.abc import Sequence
from typing import Final

from msgspec import json

words_of: Final = json.Decoder(tuple[str, ...]).decode
"""Reads what `json_of` wrote."""


def clean(text: str) -> str:
    """Return a text that a database can hold; what is not Unicode becomes a mark that says so."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def json_of(texts: Sequence[str]) -> str:
    """Return several texts as one."""
    return json.encode([clean(text) for text in texts]).decode() if texts else "[]"


def blob_of(path: str) -> bytes:
    """Return a path, which need not be Unicode, so that it comes back as it was."""
    return path.encode("utf-8", "surrogatepass")


def path_of(blob: bytes) -> str:
    """Return the path again."""
    return blob.decode("utf-8", "surrogatepass")
