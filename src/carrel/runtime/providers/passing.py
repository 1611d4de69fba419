"""Messages for providers that pydantic-ai speaks to in its own way: the least lossy form that it has.

A system message in the middle is sent as the user's, in place: pydantic-ai would move it to the front.
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from carrel.context.calls import arguments_text, call_ids, tool_name
from carrel.context.render import printable_surrogates
from carrel.runtime.model import ToolSpec
from carrel.sessions.message import Message
from carrel.sessions.window import settle


def to_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return a history as pydantic-ai keeps one: requests and responses in turn, each message a part."""
    settled = settle(messages).messages
    ids = call_ids(settled)
    made: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    is_head = True
    for message in settled:
        is_head = is_head and message.role == "system"
        if message.role != "assistant":
            parts.extend(_request_parts(message, ids, is_head=is_head))
            continue
        if parts:
            made.append(ModelRequest(parts=parts))
        parts = []
        made.append(ModelResponse(parts=list(_response_parts(message, ids))))
    return [*made, ModelRequest(parts=parts)] if parts or not made else made


def to_definitions(tools: Iterable[ToolSpec]) -> list[ToolDefinition]:
    """Return the tools as they are described to the model."""
    return [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters, strict=False
        )
        for tool in tools
    ]


def _request_parts(message: Message, ids: Mapping[str, str], *, is_head: bool) -> Iterable[ModelRequestPart]:
    texts = _texts(message)
    if message.role == "tool":
        yield ToolReturnPart(
            tool_name=tool_name(message.name),
            content=printable_surrogates(message.to_text()),
            tool_call_id=ids[message.tool_call_id],
        )
    elif is_head:
        yield from (SystemPromptPart(content=text) for text in texts)
    else:
        yield UserPromptPart(content=texts[0] if len(texts) == 1 else texts)


def _response_parts(message: Message, ids: Mapping[str, str]) -> Iterable[ModelResponsePart]:
    yield from (TextPart(content=text) for text in _texts(message) if text)
    for call in message.tool_calls:
        yield ToolCallPart(
            tool_name=tool_name(call.name), args=arguments_text(call), tool_call_id=ids[call.id]
        )


def _texts(message: Message) -> list[str]:
    parts = (message.content,) if isinstance(message.content, str) else message.content or ("",)
    return [printable_surrogates(part) for part in parts]
