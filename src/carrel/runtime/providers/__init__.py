"""Models of providers, through pydantic-ai: OpenAI, Anthropic, any OpenAI-compatible server, and others.

    model = open_model("anthropic:claude-opus-4-5", environ=environ)

Opening decides what can be decided without a network. The clients are loaded by the first question.
"""

from collections.abc import Mapping

from carrel.runtime.providers.endpoint import find_endpoint
from carrel.runtime.providers.retries import Retries, Timing
from carrel.runtime.providers.speaking import ProviderModel

__all__ = ["ProviderModel", "Retries", "Timing", "open_model"]

SILENCE = 120.0
"""The seconds for which a provider may send nothing at all."""


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    key_variable: str | None = None,
    environ: Mapping[str, str],
    retries: Retries | None = None,
    silence: float = SILENCE,
    timing: Timing | None = None,
) -> ProviderModel:
    """Return the model of this name, ready to be asked; an unknown one, or one without its key, is an error.

    With a base URL it is the model of that server, which speaks as OpenAI does unless the name begins with
    `anthropic:`. Such a server is sent a key only where the variable for it is named.
    """
    endpoint = find_endpoint(name, base_url=base_url, key_variable=key_variable, environ=environ)
    if endpoint.dialect == "other":
        from carrel.runtime.providers.wire import pass_on  # noqa: PLC0415 - only pydantic-ai knows them

        pass_on(endpoint)
    return ProviderModel(
        endpoint=endpoint, retries=retries or Retries(), silence=silence, timing=timing or Timing()
    )
