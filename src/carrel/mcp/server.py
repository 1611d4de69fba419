"""The server itself: every request of the protocol becomes one function of the core, in a thread."""

from collections.abc import Callable
from typing import Any, TypeVar

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from carrel import __version__, plainjson
from carrel.errors import CarrelError
from carrel.mcp import offered, prompts, resources
from carrel.mcp.answers import INTERNAL, log_failure, problem_of, protocol_error, refusal_of, result_of
from carrel.mcp.seat import Seat, Seated
from carrel.runtime.loop.threads import in_thread
from carrel.tools.registry import UnknownTool
from carrel.workspace.scope import Scope

INSTRUCTIONS = (
    "The workspace and memory of an agent. Before you answer, call context_get with the message. Look things "
    "up with memory_search and session_logs. After you have answered, call turn_record with both messages, "
    "always with the same `session`. What you want to keep goes through memory_write; `state` says whether "
    "it was written or waits for the owner."
)
_T = TypeVar("_T")
_Context = ServerRequestContext[Any, Any]
_STABLE = CacheHint(ttl_ms=60_000, scope="private")
_FLEETING = CacheHint(ttl_ms=0, scope="private")


def build(seated: Seated) -> Server[Any]:
    """Return a server that seats every request anew, so that what is revoked is gone at the next one."""
    serving = _Serving(seated)
    return Server(
        "carrel",
        version=__version__,
        title="Carrel",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": _STABLE,
            "prompts/list": _STABLE,
            "resources/list": _STABLE,
            "resources/templates/list": _STABLE,
            "resources/read": _FLEETING,
            "server/discover": _STABLE,
        },
        on_list_tools=serving.list_tools,
        on_call_tool=serving.call_tool,
        on_list_resources=serving.list_resources,
        on_list_resource_templates=serving.list_patterns,
        on_read_resource=serving.read_resource,
        on_list_prompts=serving.list_prompts,
        on_get_prompt=serving.get_prompt,
    )


class _Serving:
    """Answers requests; one thread works on one request, from its seat."""

    def __init__(self, seated: Seated) -> None:
        self._seated = seated

    async def list_tools(self, context: _Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=await self._do(context, _tools))

    async def call_tool(self, context: _Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            return await self._work(context, lambda seat: _called(seat, params.name, params.arguments or {}))
        except UnknownTool as error:
            raise protocol_error(error) from None
        except CarrelError as error:
            return refusal_of(problem_of(error))
        except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a client
            log_failure(params.name, error)
            return refusal_of(INTERNAL)

    async def list_resources(
        self, context: _Context, _: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        found = await self._do(context, resources.listed)
        return ListResourcesResult(
            resources=[
                Resource(
                    uri=each.uri, name=each.name, description=_plain(each.description), mime_type=each.kind
                )
                for each in found
            ]
        )

    async def list_patterns(
        self, context: _Context, _: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        found = await self._do(context, resources.patterns)
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=each.uri, name=each.name, description=each.description, mime_type=each.kind
                )
                for each in found
            ]
        )

    async def read_resource(self, context: _Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        found = await self._do(context, lambda seat: resources.read(seat, str(params.uri)))
        return ReadResourceResult(
            contents=[_contents(each) for each in found],
            ttl_ms=min(each.fresh for each in found),
            cache_scope="private",
        )

    async def list_prompts(self, context: _Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        found = await self._do(context, prompts.listed)
        return ListPromptsResult(prompts=[_prompt(each) for each in found])

    async def get_prompt(self, context: _Context, params: GetPromptRequestParams) -> GetPromptResult:
        filled = await self._do(context, lambda seat: prompts.fill(seat, params.name, params.arguments or {}))
        return GetPromptResult(messages=[_message(filled.words), *map(_brought, filled.material)])

    async def _do(self, context: _Context, work: Callable[[Seat], _T]) -> _T:
        """Work for a request that is no call of a tool; what fails is an error of the protocol."""
        try:
            return await self._work(context, work)
        except CarrelError as error:
            raise protocol_error(error) from None
        except Exception as error:  # noqa: BLE001 - as above
            log_failure(context.method, error)
            raise MCPError(code=INTERNAL_ERROR, message=INTERNAL["message"], data=INTERNAL) from None

    async def _work(self, context: _Context, work: Callable[[Seat], _T]) -> _T:
        request = context.request

        def attempt() -> _T:
            seat = self._seated(request)
            with seat.guard:
                return work(seat)

        return await in_thread(attempt)


def _called(seat: Seat, name: str, arguments: dict[str, Any]) -> CallToolResult:
    return result_of(offered.call(seat, name, arguments))


def _tools(seat: Seat) -> list[Tool]:
    return [_tool(seat, each) for each in offered.offered(seat).values()]


def _tool(seat: Seat, each: offered.Offered) -> Tool:
    offer = each.offer
    return Tool(
        name=offer.name,
        title=offer.title,
        description=each.description,
        input_schema=each.parameters,
        output_schema=offer.shape,
        annotations=ToolAnnotations(
            title=offer.title,
            read_only_hint=offer.reads_only,
            # Before others than the owner, what is written only ever waits.
            destructive_hint=offer.destroys and seat.scope is Scope.MAIN,
            idempotent_hint=offer.reads_only or offer.repeats,
            open_world_hint=False,
        ),
    )


def _contents(each: resources.Text) -> TextResourceContents:
    return TextResourceContents(uri=each.uri, mime_type=each.kind, text=_plain(each.text))


def _prompt(each: prompts.Prompt) -> Prompt:
    arguments = [
        PromptArgument(name=argument.name, description=argument.about, required=argument.is_required)
        for argument in each.arguments
    ]
    return Prompt(name=each.name, title=each.title, description=each.about, arguments=arguments)


def _message(words: str) -> PromptMessage:
    return PromptMessage(role="user", content=TextContent(type="text", text=_plain(words)))


def _brought(each: resources.Text) -> PromptMessage:
    return PromptMessage(role="user", content=EmbeddedResource(type="resource", resource=_contents(each)))


def _plain(text: str) -> str:
    return plainjson.unicode_only(text)
