"""Texts to vectors: the Embedder port, and which of its implementations was chosen.

    embedder = open_embedder(EmbedderChoice(kind="static"), environ={})

Vectors are float32 rows of length one, so that a dot product is a cosine; a blank text is all zeros.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Weigh = Callable[[str], float]
"""How much a word of a query counts, by its rarity for instance; words come in lower case."""

KINDS = ("static", "openai", "ollama", "none")
"""The embedders that are built in; any other name is an extension's."""


class Embedder(Protocol):
    """Two verbs over one model; what cannot be had is an Unavailable, and never a vector that is not one."""

    @property
    def name(self) -> str:
        """What was used to make the vectors: those of two names are not to be compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector, 0 while a server has not told it yet."""
        ...

    @property
    def leading(self) -> int:
        """How many of the first dimensions make a fair vector by themselves, 0 where nobody promises any."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row for each text, in their order."""
        ...

    def embed_query(self, text: str, weigh: Weigh | None = None) -> "NDArray[np.float32]":
        """Return the vector of a query; an embedder that reads whole sentences has no use for weights."""
        ...


class EmbedderChoice(Struct, frozen=True, kw_only=True):
    """What a user chose: `model` and `base_url` are for servers, `key_variable` names what holds the key.

    `kind` is one of `KINDS`, or the name of an extension, which is given the whole choice.
    """

    kind: str = "static"
    model: str = ""
    base_url: str = ""
    key_variable: str = ""


def open_embedder(
    choice: EmbedderChoice,
    *,
    environ: Mapping[str, str],
    cache: Path | None = None,
    inside: Path | None = None,
) -> Embedder | None:
    """Return the embedder of this choice, None where none is wanted; nothing is asked of a network yet.

    What a server or an extension made is kept in `cache`; static vectors take less time to make than to keep.
    """
    if choice.kind == "none":
        return None
    if choice.kind == "static":
        from carrel.index.embed.static import StaticEmbedder  # noqa: PLC0415 - numpy and a vocabulary

        return StaticEmbedder()
    from carrel.index.embed.cache import CachedEmbedder  # noqa: PLC0415 - not for static ones
    from carrel.index.embed.resting import RestingEmbedder  # noqa: PLC0415 - as above

    embedder = RestingEmbedder(_of_server(choice, environ) or _of_extension(choice, environ))
    return embedder if cache is None else CachedEmbedder(embedder, cache, inside=inside)


def _of_server(choice: EmbedderChoice, environ: Mapping[str, str]) -> Embedder | None:
    if choice.kind not in KINDS:
        return None
    from carrel.index.embed.http import HttpEmbedder  # noqa: PLC0415 - for servers only
    from carrel.index.embed.server import find_server  # noqa: PLC0415 - for servers only

    return HttpEmbedder(find_server(choice, environ))


def _of_extension(choice: EmbedderChoice, environ: Mapping[str, str]) -> Embedder:
    from carrel.extensions import find, open_extension  # noqa: PLC0415 - few have one
    from carrel.index.embed.checked import CheckedEmbedder  # noqa: PLC0415 - as above

    offer = find("embedders", choice.kind, known=KINDS)
    return CheckedEmbedder(open_extension(offer, choice, environ), offer)


def batches(texts: Sequence[str], *, most: int, characters: int) -> Iterator[Sequence[str]]:
    """Yield the texts in order, so many at once, and fewer where they are long."""
    start = size = 0
    for number, text in enumerate(texts):
        if number > start and (number - start >= most or size + len(text) > characters):
            yield texts[start:number]
            start, size = number, 0
        size += len(text)
    if start < len(texts):
        yield texts[start:]


def well_formed(text: str) -> str:
    """Return a text that can be written as UTF-8; a lone surrogate becomes a question mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
