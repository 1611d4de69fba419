"""LangChain's messages as a log has them, and a log's as LangChain has them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic_core import to_json

from carrel.adapters.joining import holds_bytes
from carrel.runtime.model import Spend
from carrel.runtime.providers.usage import spend_of
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.transcript import Content
from carrel.sessions.turn import Said

_TEXT = "text"
_MEDIA = ("image", "image_url", "audio", "video", "file")
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
    """Return a reply or a tool's result as it is recorded: its text, its pictures and files, its calls."""
    message_id = message.id or ""
    if isinstance(message, ToolMessage):
        return Said(
            role="tool",
            content=_told(message),
            message_id=message_id,
            name=message.name or "",
            tool_call_id=message.tool_call_id,
        )
    calls = tuple(_calls(message)) if isinstance(message, AIMessage) else ()
    finish = "tools" if calls else "stop"
    return Said(
        role="assistant",
        content=_told(message),
        message_id=message_id,
        tool_calls=calls,
        finish=finish,
    )


def returned(result: ToolMessage, answer: object) -> Said:
    """Return what a run says that a tool's result ends: an object of some type, or what the tool says."""
    text = str(result.text) if answer is None else to_json(answer, fallback=str).decode()
    return Said(role="assistant", content=text, message_id=f"{result.id}.answer" if result.id else "")


def spent(message: AIMessage) -> tuple[Spend | None, str]:
    """Return what a reply took, as far as its model tells, and which model that is."""
    told = cast("dict[str, Any]", message.usage_metadata or {})
    cached = cast("dict[str, Any]", told.get("input_token_details") or {}).get("cache_read")
    about = message.response_metadata
    model = about.get("model_name") or about.get("model") or ""
    return spend_of(told.get("input_tokens"), cached, told.get("output_tokens")), str(model)


def content_of(message: AnyMessage) -> Content:
    """Return what a user said: a text, or parts where there is more in it than texts."""
    given = message.content
    if isinstance(given, str):
        return given
    parts = [_medium(part) or part for part in _parts(message)]
    is_text = all(part.get("type") == _TEXT for part in parts)
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


def _told(message: BaseMessage) -> Content:
    """Return the text of a message, and pictures and files where it holds any; thoughts are not told."""
    held = [part for part in map(_medium, _parts(message)) if part]
    text = str(message.text)
    return [{"type": _TEXT, _TEXT: text}, *held] if held else text


def _parts(message: BaseMessage) -> list[dict[str, Any]]:
    given = [message.content] if isinstance(message.content, str) else message.content
    return [{"type": _TEXT, _TEXT: part} if isinstance(part, str) else part for part in given]


def _medium(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a picture, a sound or a file as a log takes it; bytes become attachments, links stay links."""
    if part.get("type") not in _MEDIA:
        return None
    held = part.get("image_url")
    link = cast("dict[str, Any]", held).get("url") if isinstance(held, dict) else held or part.get("url")
    data = part.get("base64") or (part.get("data") if part.get("source_type") == "base64" else None)
    if isinstance(data, str):
        link = f"data:{part.get('mime_type') or 'application/octet-stream'};base64,{data}"
    if not isinstance(link, str) or (link.startswith("data:") and not holds_bytes(link)):
        return None
    return {"type": "file" if link.startswith("data:") else part["type"], "url": link}


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
