"""Anthropic's own client, made careful: one attempt, no key where none belongs, no bill that is none."""

from typing import Any

import httpx2
from anthropic import AsyncAnthropic, omit
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.http import AGENT
from carrel.runtime.providers.usage import tidy_event


def open_anthropic(endpoint: Endpoint, http: httpx2.AsyncClient) -> AnthropicModel:
    """Return pydantic-ai's model of an endpoint."""
    client = _Client(
        api_key=endpoint.key.reveal() or "none",  # without one it looks for others, on the disk too
        base_url=endpoint.base_url or "https://api.anthropic.com",
        http_client=http,
        timeout=http.timeout,
        max_retries=0,
    )
    return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client))


def anthropic_headers(endpoint: Endpoint) -> dict[str, Any]:
    """Return who asks, and what the client must not send."""
    return {**AGENT, **({} if endpoint.key else {"Authorization": omit})}


class _Client(AsyncAnthropic):
    """Looks at each event before it is taken apart."""

    def _process_response_data(self, *, data: object, cast_to: type[Any], response: httpx2.Response) -> Any:
        tidy_event(data)
        return super()._process_response_data(data=data, cast_to=cast_to, response=response)
