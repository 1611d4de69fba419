"""One connection to a provider, through pydantic-ai: a request out, pieces and a reply in.

Only a model that is asked something imports this: it costs a second or more.
"""

import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from carrel.clock import Clock
from carrel.errors import CarrelError
from carrel.runtime.model import Reply, Request
from carrel.runtime.providers import errors
from carrel.runtime.providers.bodies import body_of
from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.failures import explain
from carrel.runtime.providers.http import open_http
from carrel.runtime.providers.passing import to_definitions, to_messages
from carrel.runtime.providers.reading import Reading, says_why_it_ended
from carrel.runtime.providers.trouble import Trouble

_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]{2,60})`")


class Connection:
    """A model at its provider, for one event loop; owns the HTTP client. It can answer many at a time."""

    def __init__(self, endpoint: Endpoint, *, silence: float) -> None:
        self._endpoint = endpoint
        self._silence = silence
        self._http = open_http(silence)
        self._headers: dict[str, Any] = {}
        self._model = self._build()

    async def answer(self, request: Request, clock: Clock) -> AsyncGenerator[str | Reply, None]:
        """Yield the pieces of an answer, empty ones where it only lives on, and the reply.

        What fails is Trouble, without the client's own error, which holds the request, and the key with it.
        """
        reading, stream = Reading(self._endpoint), None
        try:
            async with self._ask(request) as stream:
                async for event in stream:
                    yield reading.take(event)
        except (CarrelError, Trouble):
            raise
        except Exception as error:  # noqa: BLE001 - what clients make of garbage can be anything
            if stream is None or not says_why_it_ended(stream):
                raise explain(error, self._endpoint, clock, spoke=reading.spoke) from None
        yield reading.end(stream)
        yield reading.reply(stream.get())

    async def close(self) -> None:
        """Close what is open; answers under way break off."""
        await self._http.aclose()
        provider = self._model.provider
        if self._endpoint.dialect == "other" and provider is not None:
            async with provider:  # leaving a provider is what closes a client of its own
                pass

    def _ask(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        endpoint = self._endpoint
        if endpoint.dialect == "other":
            settings = ModelSettings(timeout=self._silence)
            if request.tools and not request.may_call:
                settings["tool_choice"] = "none"
            parameters = ModelRequestParameters(function_tools=to_definitions(request.tools))
            return self._model.request_stream(to_messages(request.messages), settings, parameters)
        body: dict[str, Any] = body_of(request, endpoint.dialect)
        if endpoint.dialect == "responses":
            body["store"] = False  # what is said is kept in the workspace, and nowhere else
        settings = ModelSettings(extra_body=body, extra_headers=self._headers)
        # The body takes the place of what pydantic-ai would make of its own messages.
        nothing = ModelRequest(parts=[UserPromptPart(content="")])
        return self._model.request_stream([nothing], settings, ModelRequestParameters())

    def _build(self) -> Model:
        endpoint = self._endpoint
        if endpoint.dialect == "other":
            return pass_on(endpoint)
        if endpoint.dialect == "anthropic":
            from carrel.runtime.providers import anthropic  # noqa: PLC0415 - who asks another need not pay

            self._headers = anthropic.anthropic_headers(endpoint)
            return anthropic.open_anthropic(endpoint, self._http)
        from carrel.runtime.providers import openai  # noqa: PLC0415 - as above

        self._headers = openai.openai_headers(endpoint)
        return openai.open_openai(endpoint, self._http)


def pass_on(endpoint: Endpoint) -> Model:
    """Return a model that pydantic-ai speaks to in its own way; what is missing is an error, at once."""
    try:
        return infer_model(
            f"{endpoint.provider}:{endpoint.model}", provider_factory=lambda _: _open_provider(endpoint)
        )
    except (ValueError, AttributeError):
        raise errors.UnknownModel(endpoint.name) from None
    except ImportError as error:
        package = error.name or endpoint.provider
        extra = f"pydantic-ai-slim[{endpoint.provider}]"
        raise errors.PackageMissing(endpoint.name, package, install=extra) from None
    except (UserError, TypeError) as error:
        raise _lacking(endpoint, str(error)) from None


def _open_provider(endpoint: Endpoint) -> Provider[Any]:
    kind: Any = infer_provider_class(endpoint.provider)
    provider: Provider[Any] = kind(api_key=endpoint.key.reveal()) if endpoint.key else kind()
    if hasattr(provider.client, "max_retries"):
        provider.client.max_retries = 0  # two who try again would try many times
    return provider


def _lacking(endpoint: Endpoint, problem: str) -> CarrelError:
    """Say which variable a provider misses, where that can be told."""
    named = _VARIABLE.search(problem)
    if named is not None:
        return errors.KeyMissing(endpoint.name, named[1])
    hint = f"The provider {errors.short(endpoint.provider)} needs more than a name: give it a base URL."
    return errors.UnknownModel(endpoint.name, hint=hint)
