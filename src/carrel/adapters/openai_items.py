"""An item of OpenAI's Responses as a message of a transcript, and back again without a loss.

A person and a search read the texts; what else the item has stands beside the first of them, with holes where
the texts and the bytes were.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

from carrel import plainjson
from carrel.adapters.joining import holds_bytes
from carrel.sessions.message import Role, ToolCall
from carrel.sessions.transcript import Entry
from carrel.sessions.turn import Said

Item = dict[str, Any]
Path = list[str | int]
Fetch = Callable[[str], bytes]
"""Returns the bytes of an attachment by its path."""

_CALLS = ("function_call", "custom_tool_call")
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_PLAIN: tuple[Role, ...] = ("user", "assistant", "system")
_READ = ("text", "refusal", "output")
"""Under which keys an item has what a person reads."""


def said_of(item: Mapping[str, Any]) -> Said:
    """Return the message that an item is."""
    kind = item.get("type") or "message"
    if set(item) == {"role", "content"} and item["role"] in _PLAIN and isinstance(item["content"], str):
        return Said(role=item["role"], content=item["content"])
    if kind in _CALLS:
        return _call(dict(item), _ARGUMENTS[kind])
    if kind == "reasoning":  # thoughts are kept, and nobody reads them
        return Said(role="assistant", content=[_rest(dict(item))], finish="tools")
    content = _parted(dict(item))
    if kind == "message":
        return Said(role=cast("Role", _role_of(item)), content=content)
    # What is left are results: of the framework's tools, and of the provider's own.
    if kind in _RESULTS:
        return Said(role="tool", content=content, tool_call_id=str(item.get("call_id", "")))
    return Said(role="tool", content=content, name=kind)


def items_of(entry: Entry, fetch: Fetch) -> Iterator[Item]:
    """Yield the items that an entry is; one that came another way becomes what it would be here.

    Whoever can speak in a session can give parts that look like ours: no item counts that says more than its
    speaker may.
    """
    held = entry.content[0] if isinstance(entry.content, list) and entry.content else None
    if isinstance(held, dict) and "item" in held:
        with suppress(LookupError, TypeError, AttributeError, ValueError):
            item = _restored(entry, cast("list[Item]", entry.content), fetch)
            if _role_of(item) == entry.role:
                yield item
                return
    if entry.role == "tool":
        yield {"type": "function_call_output", "call_id": entry.tool_call_id, "output": entry.to_text()}
        return
    if not entry.tool_calls or entry.to_text():
        yield {"role": entry.role, "content": entry.to_text()}
    for call in entry.tool_calls:
        made = call.arguments if isinstance(call.arguments, str) else plainjson.dumps(call.arguments).decode()
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": made}


def _role_of(item: Mapping[str, Any]) -> str | None:
    """Return who says an item."""
    kind = item.get("type") or "message"
    if kind == "message":
        return "system" if item.get("role") == "developer" else item.get("role")
    return "assistant" if kind in (*_CALLS, "reasoning") else "tool"


def text_of(item: Mapping[str, Any]) -> str:
    """Return what an item of the user's says."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = cast("Sequence[Mapping[str, Any]]", content or ())
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _call(item: Item, key: str) -> Said:
    arguments = item.pop(key, "")
    made = ToolCall(id=str(item.get("call_id", "")), name=str(item.get("name", "")), arguments=arguments)
    return Said(role="assistant", content=[_rest(item)], tool_calls=(made,), finish="tools")


def _rest(item: Item) -> Item:
    """Return an item as a part that says nothing."""
    return {"type": "text", "text": "", "item": item}


def _parted(item: Item) -> list[Any]:
    """Return an item as parts: its texts, its bytes, and beside the first text the rest of it."""
    parts: list[Item] = []
    holes: list[Item] = []
    for path, value, kind in list(_found(item, [])):
        head, comma, _ = value.partition(",") if kind == "file" else ("", "", "")
        parts.append({"type": "file", "url": value} if kind == "file" else {"type": "text", "text": value})
        holes.append({"path": path} | ({"head": head + comma} if comma else {}))
    rest = item
    for hole in holes:
        rest = _filled(rest, hole["path"], "")
    if not parts or parts[0]["type"] != "text":
        parts.insert(0, {"type": "text", "text": ""})
        holes.insert(0, {"path": []})
    return [parts[0] | {"item": rest, "at": holes}, *parts[1:]]


def _restored(entry: Entry, parts: Sequence[Item], fetch: Fetch) -> Item:
    item: Any = parts[0]["item"]
    for hole, part in zip(parts[0].get("at", ()), parts, strict=False):
        if hole["path"]:
            item = _filled(item, hole["path"], _value(part, hole, fetch))
    if entry.tool_calls and (key := _ARGUMENTS.get(item.get("type", ""))):
        item = {**item, key: entry.tool_calls[0].arguments}
    return item


def _value(part: Item, hole: Item, fetch: Fetch) -> str:
    if part.get("type") != "attachment":
        return str(part.get("text", ""))
    return str(hole.get("head", "")) + base64.b64encode(fetch(part["path"])).decode()


def _found(value: Any, path: Path) -> Iterator[tuple[Path, str, Literal["text", "file"]]]:
    """Yield where an item holds a text that is read, or bytes."""
    if isinstance(value, str):
        if holds_bytes(value):
            yield path, value, "file"
        elif path and path[-1] in (*_READ, "content") and value:
            yield path, value, "text"
    elif isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            yield from _found(inner, [*path, key])
    elif isinstance(value, list):
        for place, inner in enumerate(cast("list[Any]", value)):
            yield from _found(inner, [*path, place])


def _filled(value: Any, path: Path, new: str) -> Any:
    """Return a value with another one at a path; nothing that is given is changed."""
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = _filled(copied[path[0]], path[1:], new)
    return copied
