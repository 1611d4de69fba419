"""LangChain's messages as a log has them, and a log's as LangChain has them."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from carrel.sessions.message import Message, ToolCall
from carrel.sessions.transcript import Content
from carrel.sessions.turn import Said

_TEXT = "text"
_SOURCE = "lc_source"
"""Where LangChain says that a message is its own making, such as a summary."""


def since_reply(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return what was said since the model spoke last: by the user, by tools, and by nobody else."""
    begin = 1 + max((n for n, each in enumerate(messages) if isinstance(each, AIMessage)), default=-1)
    return [each for each in messages[begin:] if is_users(each) or isinstance(each, ToolMessage)]


def is_users(message: AnyMessage) -> bool:
    """Tell whether a user said this: a summary that LangChain puts in a user's mouth is nobody's word."""
    return isinstance(message, HumanMessage) and _SOURCE not in message.additional_kwargs


def said(message: BaseMessage) -> Said:
    """Return a reply or a tool's result as it is recorded; its text, and its calls."""
    message_id = message.id or ""
    if isinstance(message, ToolMessage):
        return Said(
            role="tool",
            content=str(message.text),
            message_id=message_id,
            name=message.name or "",
            tool_call_id=message.tool_call_id,
        )
    calls = tuple(_calls(message)) if isinstance(message, AIMessage) else ()
    return Said(role="assistant", content=str(message.text), message_id=message_id, tool_calls=calls)


def content_of(message: AnyMessage) -> Content:
    """Return what a user said: a text, or parts where there is more in it than texts."""
    given = message.content
    if isinstance(given, str):
        return given
    parts = [{"type": _TEXT, _TEXT: part} if isinstance(part, str) else part for part in given]
    is_text = all(cast("dict[str, Any]", part).get("type") == _TEXT for part in parts)
    return str(message.text) if is_text else cast("Content", parts)


def as_messages(history: Iterable[Message]) -> list[AnyMessage]:
    """Return a history as a model of LangChain's reads it."""
    return [_message(each) for each in history]


def with_text(message: AnyMessage, text: str) -> AnyMessage:
    """Return a message with one more text behind what it says."""
    given: list[str | dict[str, Any]] = (
        [{"type": _TEXT, _TEXT: message.content}] if isinstance(message.content, str) else [*message.content]
    )
    return message.model_copy(update={"content": [*given, {"type": _TEXT, _TEXT: text}]})


def with_instructions(system: SystemMessage | None, text: str) -> SystemMessage | None:
    """Return the application's instructions, and behind them a text of ours."""
    if not text:
        return system
    if system is None or not system.content:
        return SystemMessage(content=text)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{text}"})
    return cast("SystemMessage", with_text(system, text))


def _calls(message: AIMessage) -> Iterable[ToolCall]:
    for call in message.tool_calls:
        yield ToolCall(id=call["id"] or "", name=call["name"], arguments=call["args"])
    for bad in message.invalid_tool_calls:
        yield ToolCall(id=bad["id"] or "", name=bad["name"] or "", arguments=bad["args"] or "")


def _message(message: Message) -> AnyMessage:
    text = message.to_text()
    if message.role == "user":
        return HumanMessage(content=text)
    if message.role == "system":
        return SystemMessage(content=text)
    if message.role == "tool":
        return ToolMessage(content=text, tool_call_id=message.tool_call_id, name=message.name or None)
    calls = [
        {"type": "tool_call", "id": call.id, "name": call.name, "args": call.parsed() or {}}
        for call in message.tool_calls
    ]
    return AIMessage(content=text, tool_calls=cast("Any", calls))
