"""Transcripts of harnesses as messages: what was said and done, without what the harness told itself."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from carrel import plainjson

Line = tuple[int, Mapping[str, Any]]
"""A line of a transcript that is an object, and where it begins."""

Spoken = dict[str, Any]

# What harnesses put into a conversation in the person's name.
_INSERTED = (
    "<command-",
    "<local-command-",
    "<environment_context",
    "<user_instructions",
    "<system-reminder",
    "# AGENTS.md instructions",
    "Caveat: The messages below",
)


def lines_of(data: bytes, start: int) -> tuple[list[Line], int]:
    """Return the lines of a piece of a transcript, and how many of them are no objects."""
    found: list[Line] = []
    bad, place = 0, start
    for raw in data.splitlines(keepends=True):
        try:
            value: object = plainjson.loads(raw) if raw.strip() else {}
        except ValueError:
            value = None
        if isinstance(value, dict):
            found.append((place, cast("dict[str, Any]", value)))
        else:
            bad += 1
        place += len(raw)
    return found, bad


def messages_of(harness: str, session: str, lines: Iterable[Line]) -> list[Spoken]:
    """Return what was said, each message with an id that stays the same however often it is read."""
    parts = _claude(lines) if harness == "claude" else _codex(session, lines)
    found: list[Spoken] = []
    turn = ""
    for group, spoken in parts:
        # One reply may stand on several lines: text, then calls of tools.
        if group and group == turn and spoken["role"] == "assistant":
            last = found[-1]
            last["content"] = "\n\n".join(text for text in (last["content"], spoken["content"]) if text)
            last["tool_calls"] = [*last["tool_calls"], *spoken["tool_calls"]]
        else:
            found.append(spoken)
        turn = group if spoken["role"] == "assistant" else ""
    return [each for each in found if each["content"] or each.get("tool_calls")]


def _claude(lines: Iterable[Line]) -> Iterator[tuple[str, Spoken]]:
    for place, line in lines:
        message = line.get("message")
        is_aside = any(line.get(name) for name in ("isMeta", "isSidechain", "isCompactSummary"))
        if line.get("type") not in ("user", "assistant") or is_aside or not isinstance(message, dict):
            continue
        own = cast("dict[str, Any]", message)
        about = _about(line, str(line.get("uuid") or f"line-{place}"))
        if line["type"] == "assistant":
            calls: list[Any] = [
                {"id": _word(part, "id"), "name": _word(part, "name"), "arguments": part.get("input") or {}}
                for part in _parts(own.get("content"))
                if part.get("type") == "tool_use"
            ]
            spoken: Spoken = {
                "role": "assistant",
                "content": _text(own.get("content")),
                "tool_calls": calls,
                **about,
            }
            yield _word(own, "id"), spoken
        else:
            yield from (("", spoken) for spoken in _heard(own.get("content"), about))


def _heard(content: Any, about: Spoken) -> Iterator[Spoken]:
    """Yield what a person said, and what tools returned."""
    for number, part in enumerate(_parts(content)):
        if part.get("type") == "tool_result":
            named = {**about, "message_id": f"{about['message_id']}-{number}"}
            call = _word(part, "tool_use_id")
            yield {"role": "tool", "content": _text(part.get("content")), "tool_call_id": call, **named}
    text = _text(content)
    if text and not text.lstrip().startswith(_INSERTED):
        yield {"role": "user", "content": text, **about}


def _codex(session: str, lines: Iterable[Line]) -> Iterator[tuple[str, Spoken]]:
    for place, line in lines:
        if line.get("type") != "response_item" or not isinstance(line.get("payload"), dict):
            continue
        item = cast("dict[str, Any]", line["payload"])
        about = _about(line, f"{session[:100]}-{place}")
        kind, role = item.get("type"), item.get("role")
        if kind == "message" and role == "assistant":
            text = _text(item.get("content"))
            yield "reply", {"role": "assistant", "content": text, "tool_calls": [], **about}
        elif kind == "message" and role == "user":
            text = _text(item.get("content"))
            if not text.lstrip().startswith(_INSERTED):
                yield "", {"role": "user", "content": text, **about}
        elif kind in ("function_call", "custom_tool_call"):
            given = item.get("arguments", item.get("input"))
            call: Spoken = {
                "id": _word(item, "call_id"),
                "name": _word(item, "name"),
                "arguments": given or {},
            }
            yield "reply", {"role": "assistant", "content": "", "tool_calls": [call], **about}
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text = _text(item.get("output"))
            yield "", {"role": "tool", "content": text, "tool_call_id": _word(item, "call_id"), **about}


def _about(line: Mapping[str, Any], message_id: str) -> Spoken:
    when = line.get("timestamp")
    return {"message_id": message_id[:200], **({"timestamp": when} if isinstance(when, str) and when else {})}


def _parts(content: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, list):
        yield from (part for part in cast("list[Any]", content) if isinstance(part, dict))


def _text(content: Any) -> str:
    """Return the text of a content, whatever a harness makes of it."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _text(cast("dict[str, Any]", content).get("content", ""))
    return "\n\n".join(_word(part, "text") for part in _parts(content) if _word(part, "text"))


def _word(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return value if isinstance(value, str) else ""
