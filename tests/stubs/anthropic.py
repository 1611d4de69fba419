"""What an Anthropic-compatible server sends for messages: answers to put into the script of a stub."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.stubs.scripted import Answer, StubServer, document, event, streamed

MODEL = "claude-stub"
PING = event({"type": "ping"}, "ping")


class AnthropicStub(StubServer):
    """A server whose `url` is a base URL for Anthropic's clients."""

    @property
    def url(self) -> str:
        return self.origin


def named(kind: str, **fields: Any) -> bytes:
    """One event, which has its type as its name too."""
    return event({"type": kind, **fields}, kind)


def usage(read: Any = 12, *, cached: Any = None, stored: Any = None, written: Any = 1) -> dict[str, Any]:
    """What the beginning of an answer tells: `read` is without what was `cached` or is now `stored`."""
    told = {"input_tokens": read, "output_tokens": written}
    more = {"cache_read_input_tokens": cached, "cache_creation_input_tokens": stored}
    return told | {key: value for key, value in more.items() if value is not None}


def start(told: Any = None) -> bytes:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    if told is not None:
        message["usage"] = told
    return named("message_start", message=message)


def open_text(index: int = 0) -> bytes:
    return named("content_block_start", index=index, content_block={"type": "text", "text": ""})


def piece(words: str, index: int = 0) -> bytes:
    return named("content_block_delta", index=index, delta={"type": "text_delta", "text": words})


def shut(index: int = 0) -> bytes:
    return named("content_block_stop", index=index)


def end(finish: str | None = "end_turn", written: Any = 5) -> list[bytes]:
    told = {} if written is None else {"usage": {"output_tokens": written}}
    delta = named("message_delta", delta={"stop_reason": finish, "stop_sequence": None}, **told)
    return [delta, named("message_stop")]


def text(
    *pieces: Any,
    told: Any = None,
    written: Any = 5,
    finish: str | None = "end_turn",
    framed: bool = True,
) -> Answer:
    """An answer of text; what is no string among the pieces is a step of its own."""
    said = [piece(step) if isinstance(step, str) else step for step in pieces]
    told = usage() if told is None else told
    return streamed(start(told), open_text(), PING, *said, shut(), *end(finish, written), framed=framed)


def calls(
    *asked: tuple[str, Any], said: Sequence[str] = (), told: Any = None, ids: Sequence[str] = ()
) -> Answer:
    """An answer that asks for tools: names and arguments, which arrive in two halves each."""
    steps = [start(usage() if told is None else told)]
    if said:
        steps += [open_text(), *(piece(words) for words in said), shut()]
    for number, (name, arguments) in enumerate(asked):
        index = number + bool(said)
        own = ids[number] if ids else f"toolu_{number + 1}"
        whole = arguments if isinstance(arguments, str) else json.dumps(arguments)
        half = len(whole) // 2
        block = {"type": "tool_use", "id": own, "name": name, "input": {}}
        steps.append(named("content_block_start", index=index, content_block=block))
        for part in ("", whole[:half], whole[half:]):
            delta = {"type": "input_json_delta", "partial_json": part}
            steps.append(named("content_block_delta", index=index, delta=delta))
        steps.append(shut(index))
    return streamed(*steps, *end("tool_use"))


def error(status: int, message: str, *, kind: str, headers: Mapping[str, str] | None = None) -> Answer:
    return document({"type": "error", "error": {"type": kind, "message": message}}, status, headers)


def error_event(message: str, *, kind: str = "overloaded_error") -> bytes:
    """An error in the middle of a stream that began well."""
    return named("error", error={"type": kind, "message": message})


UNAUTHORIZED = error(401, "invalid x-api-key", kind="authentication_error")
UNKNOWN_MODEL = error(404, "model: claude-none", kind="not_found_error")
TOO_LONG = error(400, "prompt is too long: 210000 tokens > 200000 maximum", kind="invalid_request_error")
TOO_LARGE = error(413, "Request exceeds the maximum size", kind="request_too_large")
NO_QUOTA = error(400, "Your credit balance is too low to access the API.", kind="invalid_request_error")
BROKEN = error(500, "Internal server error", kind="api_error")
OVERLOADED = error(529, "Overloaded", kind="overloaded_error")


def limited(after: str | None = None) -> Answer:
    headers = {} if after is None else {"Retry-After": after}
    return error(429, "This request would exceed your rate limit.", kind="rate_limit_error", headers=headers)
