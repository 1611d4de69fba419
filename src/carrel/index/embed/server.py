"""From what a user chose to the server that embeds: address, dialect and key, without a network."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from carrel.addresses import Key, Unusable, parse_address, read_key
from carrel.index.embed import EmbedderChoice
from carrel.index.embed.errors import BadEmbedder, EmbedderMissing

Dialect = Literal["openai", "ollama"]

_LONGEST_NAME = 200
_PATHS: dict[Dialect, str] = {"openai": "/embeddings", "ollama": "/api/embed"}


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
    def headers(self) -> dict[str, str]:
        """What to send so that the server knows who asks; nothing without a key."""
        return {"Authorization": f"Bearer {self.key.reveal()}"} if self.key else {}

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
    try:
        parts = parse_address(choice.base_url.rstrip("/"))
    except Unusable as problem:
        raise BadEmbedder(f"base URL {problem}") from None
    return Server(
        dialect=choice.kind,
        model=model,
        is_secure=parts.scheme == "https",
        host=parts.hostname or "",
        port=parts.port,
        path=parts.path + _PATHS[choice.kind],
        variable=choice.key_variable,
        key=_read_key(choice, environ),
    )


def _read_key(choice: EmbedderChoice, environ: Mapping[str, str]) -> Key:
    if not choice.key_variable:
        return Key("")
    try:
        return read_key(choice.key_variable, environ)
    except Unusable as problem:
        raise EmbedderMissing(
            f"{choice.kind}:{choice.model}",
            f"needs a key in the variable {choice.key_variable}, which {problem}",
            hint=f"Set {choice.key_variable} to your key and sync again.",
        ) from None
