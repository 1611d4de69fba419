"""OpenAI's own client, made careful: one attempt, no key where none belongs, no bill that is none."""

from typing import Any

import httpx2
from openai import AsyncOpenAI, omit
from openai.types.chat import ChatCompletionChunk
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.http import AGENT
from carrel.runtime.providers.usage import tidy_chunk, tidy_response


def open_openai(endpoint: Endpoint, http: httpx2.AsyncClient) -> OpenAIChatModel | OpenAIResponsesModel:
    """Return pydantic-ai's model of an endpoint."""
    client = _Client(
        api_key=endpoint.key.reveal() or "none",  # it insists on one, and is told not to send it
        base_url=endpoint.base_url or "https://api.openai.com/v1",
        http_client=http,
        timeout=http.timeout,
        max_retries=0,
    )
    kind = OpenAIResponsesModel if endpoint.dialect == "responses" else OpenAIChatModel
    return kind(endpoint.model, provider=OpenAIProvider(openai_client=client))


def openai_headers(endpoint: Endpoint) -> dict[str, Any]:
    """Return who asks, and what the client must not take from the environment."""
    kept = [] if endpoint.key else ["Authorization"]
    kept += ["OpenAI-Organization", "OpenAI-Project"] if endpoint.foreign else []
    return {**AGENT, **dict.fromkeys(kept, omit)}


class _Client(AsyncOpenAI):
    """Looks at each event before it is taken apart."""

    def _process_response_data(self, *, data: object, cast_to: type[Any], response: httpx2.Response) -> Any:
        if cast_to is ChatCompletionChunk:
            tidy_chunk(data, response.extensions)
        else:
            tidy_response(data)
        return super()._process_response_data(data=data, cast_to=cast_to, response=response)
