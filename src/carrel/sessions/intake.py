"""From what was said to what is kept: attachments aside, secrets out, and with an id and a time."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from carrel.sessions.attachments import Attachment, part_off
from carrel.sessions.message import ToolCall
from carrel.sessions.transcript import Content, Entry
from carrel.sessions.turn import MESSAGE_LIMIT, MessageTooLarge, Said
from carrel.workspace.scope import Scope

Word = TypeVar("Word", str, str | None)
Screen = Callable[[Any], tuple[Any, tuple[str, ...]]]
"""Takes secrets out of a value, however nested, and says of which kinds they were."""


def keep_secrets(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Take nothing out: for those who want their transcripts word for word."""
    return value, ()


def take_in(
    given: Said, *, folder: str, screen: Screen, now: str, scope: Scope, source: str
) -> tuple[Entry, tuple[Attachment, ...]]:
    """Return the entry of a message, and the files in `folder` that must be durable before it."""
    _refuse_huge(given)
    content, attachments = part_off(folder, given.content, screen)
    content, redacted = screen(content)
    calls, more = _screened(given.tool_calls, screen)
    entry = Entry(
        timestamp=given.timestamp or now,
        role=given.role,
        content=content,
        message_id=given.message_id or os.urandom(12).hex(),
        source_plugin=_word(given.source or source, screen),
        sender_id=_word(given.sender_id, screen),
        name=_word(given.name, screen),
        tool_calls=calls,
        tool_call_id=given.tool_call_id,
        scope=Scope.SHARED if scope is Scope.SHARED else "",
        finish=given.finish,
        redacted=tuple(dict.fromkeys((*redacted, *more))),
    )
    return entry, attachments


def _word(given: Word, screen: Screen) -> Word:
    """Return a name without secrets; most messages have none, and those that have are short."""
    return screen(given)[0] if given else given


def _screened(calls: tuple[ToolCall, ...], screen: Screen) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    if not calls:
        return calls, ()
    said, redacted = screen([[call.name, call.arguments] for call in calls])
    if not redacted:
        return calls, ()
    own = zip(calls, said, strict=True)
    return tuple(replace(call, name=name, arguments=given) for call, (name, given) in own), redacted


def _refuse_huge(given: Said) -> None:
    size = sum(len(text) for text in _texts(given.content))
    size += sum(len(c.arguments) if isinstance(c.arguments, str) else 0 for c in given.tool_calls)
    if size > MESSAGE_LIMIT:
        raise MessageTooLarge(size)


def _texts(content: Content) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if isinstance(part.get("text"), str)]
