"""Vectors from a table, offline: each token has one, and a text is the mean of its tokens'.

The table is the one inside wordllama's wheel; the package itself is never imported. Stored texts count each
token alike; a query may count rare words more, which finds better and leaves what is stored alone.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from carrel.index.embed import Weigh, batches, well_formed
from carrel.index.embed.errors import EmbedderMissing

NAME = "static:l2-supercat-256"
DIMENSIONS = 256
LEADING = 128
LONGEST = 20_000
"""The characters of a text that count; a chunk is far shorter."""

_PACKAGE = "wordllama"
_WEIGHTS = Path("weights/l2_supercat_256.safetensors")
_TENSOR = "embedding.weight"
_VOCABULARY = "llama2"
_TOKENS = 32_000
_LONGEST_HEADER = 100_000
_AT_ONCE = 4_096
_CHARACTERS_AT_ONCE = 1_000_000
_WORD = re.compile(r"\w+")


class _Splintr(Protocol):
    def encode_batch_flat(self, texts: list[str]) -> tuple[bytes, bytes]: ...


class StaticEmbedder:
    """A table of vectors by token, mapped from the disk, and the vocabulary that finds them."""

    name = NAME
    dimensions = DIMENSIONS
    leading = LEADING

    def __init__(self, weights: Path | None = None) -> None:
        self._table = load_table(weights or find_weights())
        self._vocabulary = _load_vocabulary()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the normalised mean of each text's tokens."""
        made = np.zeros((len(texts), DIMENSIONS), np.float32)
        start = 0
        cut = ["" if text.isspace() else text[:LONGEST] for text in texts]  # spaces have tokens too
        for batch in batches(cut, most=_AT_ONCE, characters=_CHARACTERS_AT_ONCE):
            self._add_up(batch, made[start : start + len(batch)])
            start += len(batch)
        return normalised(made)

    def embed_query(self, text: str, weigh: Weigh | None = None) -> NDArray[np.float32]:
        """Return the vector of a query, each word as heavy as `weigh` says; all weightless is all alike."""
        text = text[:LONGEST]
        words = text.split() if weigh is not None else []
        if weigh is not None and words:
            weights = np.array([_weight(word, weigh) for word in words], np.float32)
            ids, ends = self._tokens(words)
            by_token = np.repeat(weights, np.diff(ends, prepend=0))
            vector = normalised((by_token[:, None] * self._table[ids]).sum(axis=0)[None])[0]
            if vector.any():
                return vector
        return self.embed([text])[0]

    def _add_up(self, texts: Sequence[str], sums: NDArray[np.float32]) -> None:
        """Put the sum of each text's tokens in its row; each token of all is looked up and widened once.

        The plain sum keeps away from BLAS, whose threads cost more than they gain on pieces this small.
        """
        ids, ends = self._tokens(texts)
        distinct, places = np.unique(ids, return_inverse=True)
        vectors = self._table[distinct].astype(np.float32)
        start = 0
        for row, end in zip(sums, ends, strict=True):
            if end > start:
                np.add.reduce(vectors.take(places[start:end], axis=0), axis=0, out=row)
            start = end

    def _tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], list[int]]:
        """Return the tokens of all texts in one row, and where those of each text end."""
        try:
            flat, offsets = self._vocabulary.encode_batch_flat(list(texts))
        except UnicodeEncodeError:
            flat, offsets = self._vocabulary.encode_batch_flat([well_formed(text) for text in texts])
        ids = np.frombuffer(flat, "<u4")
        # A text may spell the tokens by which chats are parted, which have no vector: they say nothing.
        return np.where(ids < _TOKENS, ids, 0), np.frombuffer(offsets, "<u8")[1:].tolist()


def normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of length one; a row of zeros stays as it is."""
    lengths = np.sqrt(np.vecdot(rows, rows))[:, None]
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _weight(piece: str, weigh: Weigh) -> float:
    """Return the weight of the heaviest word in a piece between spaces; punctuation has none."""
    return max((max(weigh(word), 0.0) for word in _WORD.findall(piece.lower())), default=0.0)


def find_weights() -> Path:
    """Return where the installed package keeps its weights, without running any of it."""
    spec = find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(place) / _WEIGHTS).is_file():
            return path
    raise EmbedderMissing(
        "static",
        f"needs the weights in the package {_PACKAGE}, which is not installed",
        hint="Install it: pip install 'carrel[embed]'",
    )


def load_table(path: Path) -> NDArray[np.float16]:
    """Map the table of vectors in a safetensors file; only what is looked up is ever read.

    The file begins with the size of a header in JSON, which says where in the rest each tensor lies.
    """
    try:
        with path.open("rb") as file:
            data = mmap(file.fileno(), 0, access=ACCESS_READ)
        size = int.from_bytes(data[:8], "little")
        header = msgspec.json.decode(data[8 : 8 + min(size, _LONGEST_HEADER)], type=dict[str, Any])
        start = 8 + size + _place(msgspec.convert(header[_TENSOR], _Tensor))
        table = np.frombuffer(data, "<f2", _TOKENS * DIMENSIONS, start)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise EmbedderMissing(
            "static",
            f"cannot use the weights in {path.name}: {error}",
            hint="Install them again: pip install --force-reinstall 'carrel[embed]'",
        ) from error
    return table.reshape(_TOKENS, DIMENSIONS)


class _Tensor(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def _place(tensor: _Tensor) -> int:
    """Return where the table lies behind the header, if it is the one that goes with the vocabulary."""
    start, end = tensor.data_offsets
    if (tensor.dtype, tensor.shape) != ("F16", (_TOKENS, DIMENSIONS)):
        raise ValueError("it is another table")
    if start < 0 or end - start != 2 * _TOKENS * DIMENSIONS:
        raise ValueError("its header and its size do not agree")
    return start


@cache
def _load_vocabulary() -> _Splintr:
    """Load it once per process, for all workspaces: it is immutable."""
    from splintr import Tokenizer  # noqa: PLC0415 - its types are incomplete

    return Tokenizer.from_pretrained(_VOCABULARY)
