"""From the name of a model to where it is and how it is spoken to, without a network and without clients.

A key is sent only where it belongs: to its provider, to the endpoint beside it in the environment, or to a
base URL for which the variable was named.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from carrel.runtime.providers.errors import BadEndpoint, KeyMissing, PackageMissing, UnknownModel
from carrel.tokens import describe_model

Dialect = Literal["openai", "responses", "anthropic", "other"]
"""How a provider is spoken to; any other than ours is left to pydantic-ai."""

EXTRA = "carrel[agent]"

_DIALECTS: dict[str, Dialect] = {
    "openai": "openai",
    "openai-chat": "openai",
    "openai-responses": "responses",
    "anthropic": "anthropic",
}
_COMPATIBLE = ("ollama", "vllm", "litellm", "lmstudio")
"""Servers of one's own, which speak as OpenAI does: before a model's name they only say where it is."""

_BARE = {
    "gpt-oss": "",
    "gpt-": "openai",
    "chatgpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
}
_LONGEST_NAME = 200
_LONGEST_KEY = 4_000


class Key:
    """A secret that does not show itself."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Key(…)"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def reveal(self) -> str:
        """Return the secret, for the one place that sends it."""
        return self._text


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a model is: `name` is what people call it, `model` what it is called there.

    `foreign` is a server that somebody named, which gets nothing that was not meant for it.
    """

    name: str
    provider: str
    model: str
    dialect: Dialect
    base_url: str | None = None
    foreign: bool = False
    variable: str = ""
    key: Key


def find_endpoint(
    name: str, *, base_url: str | None, key_variable: str | None, environ: Mapping[str, str]
) -> Endpoint:
    """Return where a model is; what is wrong with that is raised here, before anybody is asked anything."""
    provider, model = _split(name, has_server=base_url is not None)
    dialect = _DIALECTS.get(provider, "other")
    _require(name, dialect)
    if dialect == "other":
        key = _read_key(name, key_variable, environ) if key_variable else Key("")
        return Endpoint(
            name=name, provider=provider, model=model, dialect=dialect, variable=key_variable or "", key=key
        )
    family = "ANTHROPIC" if dialect == "anthropic" else "OPENAI"
    beside = environ.get(f"{family}_BASE_URL", "").strip() or None
    server = base_url if base_url is not None else beside
    variable = key_variable or ("" if base_url is not None else f"{family}_API_KEY")
    needed = bool(key_variable) or server is None
    key = _read_key(name, variable, environ) if needed or environ.get(variable, "").strip() else Key("")
    return Endpoint(
        name=name,
        provider=provider,
        model=model,
        dialect=dialect,
        base_url=_checked(server, dialect),
        foreign=base_url is not None,
        variable=variable,
        key=key,
    )


def _split(name: str, *, has_server: bool) -> tuple[str, str]:
    """Return provider and model; a server of one's own may call its models anything, `qwen3:8b` too."""
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= _LONGEST_NAME:
        raise UnknownModel(name)
    provider, colon, model = name.partition(":")
    if colon and model and (provider in _DIALECTS or (provider in _COMPATIBLE and has_server)):
        return (provider if provider in _DIALECTS else "openai"), model
    if has_server:
        return "openai", name
    if colon and model and provider.replace("-", "").isalnum():
        return provider, model
    return _by_name(name), name


def _by_name(name: str) -> str:
    """Return the provider of a name that says none."""
    matches = [prefix for prefix in _BARE if name.startswith(prefix)]
    provider = _BARE[max(matches, key=len)] if matches else ""
    if not provider or not describe_model(name).known:
        raise UnknownModel(name)
    return provider


def _require(name: str, dialect: Dialect) -> None:
    packages = {"openai": "openai", "responses": "openai", "anthropic": "anthropic"}
    for package in ("pydantic_ai", packages.get(dialect, "pydantic_ai")):
        if find_spec(package) is None:
            raise PackageMissing(name, package.replace("_", "-"), install=EXTRA)


def _read_key(name: str, variable: str, environ: Mapping[str, str]) -> Key:
    text = environ.get(variable, "").strip()
    if not text:
        raise KeyMissing(name, variable)
    # What cannot stand in a header would be quoted by the client's error, key and all.
    if len(text) > _LONGEST_KEY or not text.isascii() or not text.isprintable() or " " in text:
        raise KeyMissing(name, variable, problem="holds what cannot be a key")
    return Key(text)


def _checked(url: str | None, dialect: Dialect) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise BadEndpoint("cannot be read") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadEndpoint("must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise BadEndpoint("holds a user or a password")
    if parts.query or parts.fragment or not url.isprintable() or not url.isascii() or " " in url:
        raise BadEndpoint("holds more than an address")
    plain = url.rstrip("/")
    # Anthropic's client adds the version itself, OpenAI's does not.
    return plain.removesuffix("/v1") if dialect == "anthropic" else plain
