"""Calls of tools as all providers accept them: ids, names and arguments, whatever a model wrote."""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from msgspec import json

from carrel.context.render import printable_surrogates
from carrel.sessions.message import Message, ToolCall

LONGEST_ID = 40
"""What OpenAI's chat takes; Responses and Anthropic take more."""

LONGEST_NAME = 64

DEEPEST = 64
"""How deep arguments may be nested: servers and clients differ in where they give up."""

_TOO_MUCH = "(These arguments cannot be written as JSON.)"
_ACCEPTED = re.compile(r"[a-zA-Z0-9_-]+")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DIGITS = 8
_OBJECT = json.Decoder(dict[str, Any])


def tool_name(name: str) -> str:
    """Return a tool's name as every provider accepts it, the same for the same name wherever it stands."""
    return _accepted(name, LONGEST_NAME)


def call_ids(messages: Iterable[Message]) -> dict[str, str]:
    """Return for each id of a call one that every provider accepts; what comes later changes none before."""
    ids: dict[str, str] = {}
    used: set[str] = set()
    for call in (call for message in messages for call in message.tool_calls):
        own = _accepted(call.id, LONGEST_ID)
        while own in used:  # as `a.b` would be `a_b-…`, and somebody is called that
            own = _accepted(f"{call.id} {own}", LONGEST_ID)
        used.add(own)
        ids[call.id] = own
    return ids


def arguments_text(call: ToolCall) -> str:
    """Return a call's arguments as the text of a JSON object.

    Text that is one is kept letter by letter; any other becomes the only value in one.
    """
    text = _written(call.arguments)
    return text if _decoded(text) is not None else _wrapped(text)


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments as the object that `arguments_text` writes, nothing of it shared."""
    text = _written(call.arguments)
    found = _decoded(text)
    return {"arguments": text} if found is None else found


def to_plain(message: Message) -> str:
    """Return a message as a person reads it: its text, then one line for each call."""
    text = message.to_text()
    if not message.tool_calls:
        return text
    lines = (
        f"[call {_line(call.id)}] {_line(call.name)} {_line(arguments_text(call))}"
        for call in message.tool_calls
    )
    return "\n".join((*([text] if text else []), *lines))


def _accepted(text: str, longest: int) -> str:
    """Return the text if it is accepted, else what is left of it, told apart by a digest of the whole."""
    if len(text) <= longest and _ACCEPTED.fullmatch(text):
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_REFUSED.sub('_', text[: longest - _DIGITS - 1])}-{digest}"


def _written(arguments: dict[str, Any] | str) -> str:
    if isinstance(arguments, str):
        return printable_surrogates(arguments) or "{}"
    try:
        return json.encode(arguments).decode()
    except (TypeError, ValueError, RecursionError):
        return _written_somehow(arguments)


def _written_somehow(arguments: dict[str, Any]) -> str:
    """Write what msgspec refuses: half a surrogate pair, keys of any kind, values that are no data."""
    from json import dumps  # noqa: PLC0415 - hardly ever needed

    try:
        text = dumps(arguments, default=str, skipkeys=True, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return _TOO_MUCH
    return printable_surrogates(text)


def _decoded(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, none where it is another thing or nested too deep."""
    try:
        found = _OBJECT.decode(text)
    except (ValueError, RecursionError):
        return None
    shallow = text.count("{") + text.count("[") <= DEEPEST
    return found if shallow or _is_shallow(found) else None


def _is_shallow(value: Any) -> bool:
    """Tell whether nothing is nested deeper than is accepted, level by level."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inner(outer)]
    return not level


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]


def _wrapped(text: str) -> str:
    return json.encode({"arguments": text}).decode()


def _line(text: str) -> str:
    """Return a text on one line; between the tokens of JSON a space says the same as a line break."""
    return _CONTROL.sub(" ", text)
