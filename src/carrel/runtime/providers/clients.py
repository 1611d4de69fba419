"""The providers' own clients, made careful: no retries of their own, and no key where none belongs.

Only `wire` imports this: it costs about a second.
"""

from functools import cache
from ssl import SSLContext
from typing import Any

import anthropic
import httpx2
import openai
from openai.types.chat import ChatCompletionChunk

from carrel import __version__
from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.usage import tidy_chunk, tidy_event, tidy_response

CONNECTING = 10.0

_NO_KEY = "none"
"""What a client is given that insists on a key; it is not sent."""


def open_http(silence: float) -> httpx2.AsyncClient:
    """Return a client that waits so long for the next bytes; it follows no redirects, key in hand."""
    return httpx2.AsyncClient(timeout=httpx2.Timeout(silence, connect=CONNECTING), verify=_certificates())


def headers_for(endpoint: Endpoint) -> dict[str, Any]:
    """Return who asks, and what a client must not take from the environment: it is told to omit that."""
    kept = [] if endpoint.key else ["Authorization"]
    if endpoint.foreign and endpoint.dialect != "anthropic":
        kept += ["OpenAI-Organization", "OpenAI-Project"]
    omit = anthropic.omit if endpoint.dialect == "anthropic" else openai.omit
    return {"User-Agent": f"carrel/{__version__}", **dict.fromkeys(kept, omit)}


@cache
def _certificates() -> SSLContext:
    """Load the certificates once: it costs a tenth of a second."""
    return httpx2.create_ssl_context()


def open_openai(endpoint: Endpoint, http: httpx2.AsyncClient) -> openai.AsyncOpenAI:
    """Return OpenAI's client for an endpoint."""
    return _OpenAI(
        api_key=endpoint.key.reveal() or _NO_KEY,
        base_url=endpoint.base_url or "https://api.openai.com/v1",
        http_client=http,
        timeout=http.timeout,
        max_retries=0,
    )


def open_anthropic(endpoint: Endpoint, http: httpx2.AsyncClient) -> anthropic.AsyncAnthropic:
    """Return Anthropic's client for an endpoint."""
    return _Anthropic(
        api_key=endpoint.key.reveal() or _NO_KEY,
        base_url=endpoint.base_url or "https://api.anthropic.com",
        http_client=http,
        timeout=http.timeout,
        max_retries=0,
    )


class _OpenAI(openai.AsyncOpenAI):
    """Looks at each event before it is taken apart."""

    def _process_response_data(self, *, data: object, cast_to: type[Any], response: httpx2.Response) -> Any:
        if cast_to is ChatCompletionChunk:
            tidy_chunk(data, response.extensions)
        else:
            tidy_response(data)
        return super()._process_response_data(data=data, cast_to=cast_to, response=response)


class _Anthropic(anthropic.AsyncAnthropic):
    """Looks at each event before it is taken apart."""

    def _process_response_data(self, *, data: object, cast_to: type[Any], response: httpx2.Response) -> Any:
        tidy_event(data)
        return super()._process_response_data(data=data, cast_to=cast_to, response=response)
