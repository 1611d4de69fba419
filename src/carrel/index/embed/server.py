"""From what a user chose to the server that embeds: address, dialect and key, without a network."""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from carrel.index.embed import EmbedderChoice
from carrel.index.embed.errors import BadEmbedder, EmbedderMissing

Dialect = Literal["openai", "ollama"]

_LONGEST_NAME = 200
_LONGEST_KEY = 4_000
_PATHS: dict[Dialect, str] = {"openai": "/embeddings", "ollama": "/api/embed"}


class Key:
    """A secret that does not show itself."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Key(…)"

    def headers(self) -> dict[str, str]:
        """Return what to send so that the server knows who asks; nothing without a key."""
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}


class Server(Struct, frozen=True, kw_only=True):
    """Where a model is, and how it is spoken to; `path` is where questions go."""

    dialect: Dialect
    model: str
    is_secure: bool
    host: str
    port: int | None
    path: str
    variable: str
    key: Key

    @property
    def name(self) -> str:
        """The name of the embedder: the same model on another machine makes the same vectors."""
        return f"{self.dialect}:{self.model}"


def find_server(choice: EmbedderChoice, environ: Mapping[str, str]) -> Server:
    """Return the server of a choice; what is wrong with that is raised before anybody is asked anything."""
    if choice.kind not in ("openai", "ollama"):
        raise BadEmbedder("kind is none that has a server")
    model = choice.model
    if not model.isprintable() or model != model.strip() or not 0 < len(model) <= _LONGEST_NAME:
        raise BadEmbedder("model is missing, or no name")
    url = choice.base_url.rstrip("/")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadEmbedder("base URL cannot be read") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadEmbedder("base URL must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise BadEmbedder("base URL holds a user or a password")
    if parts.query or parts.fragment or not url.isprintable() or not url.isascii() or " " in url:
        raise BadEmbedder("base URL holds more than an address")
    return Server(
        dialect=choice.kind,
        model=model,
        is_secure=parts.scheme == "https",
        host=parts.hostname,
        port=port,
        path=parts.path + _PATHS[choice.kind],
        variable=choice.key_variable,
        key=_read_key(choice, environ),
    )


def _read_key(choice: EmbedderChoice, environ: Mapping[str, str]) -> Key:
    if not choice.key_variable:
        return Key("")
    text = environ.get(choice.key_variable, "").strip()
    # What cannot stand in a header would be quoted by an error on the way, key and all.
    if not text or len(text) > _LONGEST_KEY or not text.isascii() or not text.isprintable() or " " in text:
        problem = "holds what cannot be a key" if text else "is not set"
        raise EmbedderMissing(
            f"{choice.kind}:{choice.model}",
            f"needs a key in the variable {choice.key_variable}, which {problem}",
            hint=f"Set {choice.key_variable} to your key and sync again.",
        )
    return Key(text)
