"""How many tokens a text costs, and what is known of the models that will read it."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Protocol

from msgspec import Struct

DEFAULT_VOCABULARY = "o200k_base"
DEFAULT_WINDOW = 128_000

LONGEST_STRETCH = 1 << 15
"""The characters that are given to a tokenizer at once: it takes many times their size in memory."""

_TRIES = 100
_GOES_ON = re.compile(r"[^\S\r\n]*[\r\n]|/")
"""What a newline can be one token with: more of them, and a slash as in a comment."""
_TWO_WORDS = re.compile("[a-z] [a-z]")


class Model(Struct, frozen=True):
    """What is known of a model: its vocabulary, whether counts in it are exact, and its window."""

    vocabulary: str = DEFAULT_VOCABULARY
    exact: bool = True
    window: int = DEFAULT_WINDOW
    known: bool = True


# Longest prefix wins. Where no vocabulary can be had, o200k_base counts, and is marked as an estimate.
_MODELS = {
    "gpt-3.5": Model("cl100k_base", window=16_385),
    "gpt-4": Model("cl100k_base", window=8_192),
    "gpt-4-turbo": Model("cl100k_base", window=128_000),
    "gpt-4o": Model(window=128_000),
    "gpt-4.1": Model(window=1_047_576),
    "gpt-5": Model(window=400_000),
    "gpt-oss": Model(window=131_072),
    "o1": Model(window=200_000),
    "o3": Model(window=200_000),
    "o4": Model(window=200_000),
    "claude": Model(exact=False, window=200_000),
    "gemini": Model(exact=False, window=1_048_576),
    "grok": Model(exact=False, window=131_072),
    "grok-4": Model(exact=False, window=256_000),
    "llama-3": Model("llama3", window=131_072),
    "llama3": Model("llama3", window=131_072),
    "qwen3": Model("qwen3", window=131_072),
    "deepseek": Model("deepseek_v3", window=128_000),
    "kimi-k2": Model("kimi_k2", window=131_072),
    "glm-4": Model("glm4", window=128_000),
    "phi-4": Model("phi4", window=16_384),
    "gemma-3": Model(exact=False, window=131_072),  # its vocabulary has no byte-level form to cut by
    "gemma3": Model(exact=False, window=131_072),
}
_UNKNOWN = Model(exact=False, known=False)

VOCABULARIES = tuple(sorted({model.vocabulary for model in _MODELS.values()}))
"""What tokens can be counted with without an extension."""

KNOWN_MODELS = tuple(sorted(_MODELS))
"""How the names of models begin that something is known of."""


def describe_model(name: str | None) -> Model:
    """Return what is known of a model by the longest matching prefix of its name.

    A name may have a provider before it and a tag behind it, `ollama/qwen3:8b`: the last piece that is known
    counts. No name means the defaults; an unknown name gets the default window, and the caller reports it.
    """
    if name is None:
        return Model()
    for piece in reversed(name.lower().replace(":", "/").split("/")):
        matches = [prefix for prefix in _MODELS if piece.startswith(prefix)]
        if matches:
            return _MODELS[max(matches, key=len)]
    return _UNKNOWN


class Tokenizer(Protocol):
    """One vocabulary: text to ids and back to bytes; spellings of special tokens are ordinary text."""

    @property
    def name(self) -> str:
        """The vocabulary's name, part of the key of every stored count."""
        ...

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        ...

    def decode(self, ids: list[int]) -> bytes:
        """Return the bytes of some ids; a character may be cut at either end."""
        ...


def stretches(text: str, longest: int = LONGEST_STRETCH) -> Iterator[tuple[str, bool]]:
    """Part a long text, and say of each stretch whether it ends where no vocabulary joins two tokens.

    That is after the last newline of some white space, else before the space between two plain letters. Only
    what has neither for long is cut elsewhere.
    """
    start = 0
    while len(text) - start > longest:
        end = _boundary(text, start, start + longest)
        yield text[start : end or start + longest], end > 0
        start = end or start + longest
    yield text[start:], True


def _boundary(text: str, start: int, end: int) -> int:
    """Return the last good place to part a text before an end, 0 where a few looks find none."""
    return _place(text, start, end, "\n", _ends_a_line) or _place(text, start, end, " ", _parts_two_words)


def _place(text: str, start: int, end: int, sign: str, is_good: Callable[[str, int], int]) -> int:
    for _ in range(_TRIES):
        end = text.rfind(sign, start + 1, end)
        if end == -1:
            break
        if place := is_good(text, end):
            return place
    return 0


def _ends_a_line(text: str, at: int) -> int:
    return 0 if _GOES_ON.match(text, at + 1) else at + 1


def _parts_two_words(text: str, at: int) -> int:
    return at if _TWO_WORDS.match(text, at - 1) else 0


def is_countable(text: str) -> bool:
    """Tell whether the tokens of a text are counted exactly; else a few are wrong where a word was cut."""
    return len(text) <= LONGEST_STRETCH or all(is_whole for _, is_whole in stretches(text))


class Vocabulary:
    """A vocabulary shipped inside splintr, loaded when the first text needs it.

    `encoded` counts the texts it has worked on, so that a cache can be proved to work.
    """

    def __init__(self, name: str = DEFAULT_VOCABULARY) -> None:
        self.name = name
        self.encoded = 0

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; a lone surrogate counts as the replacement character."""
        self.encoded += 1
        encode = _load(self.name).encode_ordinary
        ids: list[int] = []
        for stretch, _ in stretches(text):
            try:
                ids += encode(stretch)
            except UnicodeEncodeError:
                ids += encode(stretch.encode("utf-8", "replace").decode())
        return ids

    def decode(self, ids: list[int]) -> bytes:
        """Return the bytes of some ids."""
        return _load(self.name).decode_bytes(ids)


def open_tokenizer(chosen: str | None, model: str | None) -> Tokenizer:
    """Return what counts tokens: as chosen, a vocabulary or an extension, else what is known of the model."""
    if chosen is None or chosen in VOCABULARIES:
        return Vocabulary(chosen or describe_model(model).vocabulary)
    from carrel.extensions import find, open_extension  # noqa: PLC0415 - few have one

    return open_extension(find("tokenizers", chosen, known=VOCABULARIES), model or "")


class _Splintr(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...
    def decode_bytes(self, tokens: list[int]) -> bytes: ...


@cache
def _load(name: str) -> _Splintr:
    """Load a vocabulary once per process: it is immutable, and costs about 70 ms."""
    from splintr import Tokenizer as Splintr  # noqa: PLC0415 - an unchanged workspace needs no tokenizer

    return Splintr.from_pretrained(name)
