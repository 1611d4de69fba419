"""From the name of a model to where it is and how it is spoken to, without a network and without clients.

A key is sent only where it belongs: to its provider, to the endpoint beside it in the environment, or to a
base URL for which the variable was named.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal

from msgspec import Struct

from carrel.addresses import Key, Unusable, parse_address, read_key
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
    try:
        return read_key(variable, environ)
    except Unusable as problem:
        raise KeyMissing(name, variable, problem=str(problem)) from None


def _checked(url: str | None, dialect: Dialect) -> str | None:
    if url is None:
        return None
    try:
        parse_address(url)
    except Unusable as problem:
        raise BadEndpoint(str(problem)) from None
    plain = url.rstrip("/")
    # Anthropic's client adds the version itself, OpenAI's does not.
    return plain.removesuffix("/v1") if dialect == "anthropic" else plain
