"""What an OpenAI-compatible server sends for chat completions: answers to put into the script of a stub."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.stubs.scripted import Answer, StubServer, document, event, streamed

MODEL = "gpt-4o-stub"
DONE = event("[DONE]")


class OpenAIStub(StubServer):
    """A server whose `url` is a base URL for OpenAI's clients."""

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"


def usage(read: Any = 12, written: Any = 5, cached: Any = None) -> dict[str, Any]:
    told: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written}
    if isinstance(read, int) and isinstance(written, int):
        told["total_tokens"] = read + written
    return told | ({"prompt_tokens_details": {"cached_tokens": cached}} if cached is not None else {})


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, told: Any = None) -> bytes:
    """One event; without a delta it holds usage alone, as the last one does."""
    choices = [] if delta is None else [{"index": 0, "delta": dict(delta), "finish_reason": finish}]
    return event(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_790_000_000,
            "model": MODEL,
            "choices": choices,
            "usage": told,
        }
    )


def text(*pieces: Any, told: Any = None, finish: str | None = "stop", framed: bool = True) -> Answer:
    """An answer of text; what is no string among the pieces is a step of its own."""
    said = [chunk({"content": piece}) if isinstance(piece, str) else piece for piece in pieces]
    end = [chunk({}, finish), *([chunk(told=told)] if told is not None else []), DONE]
    return streamed(chunk({"role": "assistant", "content": ""}), *said, *end, framed=framed)


def calls(
    *asked: tuple[str, Any], said: Sequence[str] = (), told: Any = None, ids: Sequence[str] = ()
) -> Answer:
    """An answer that asks for tools: names and arguments, which arrive in two halves each."""
    steps = [chunk({"role": "assistant", "content": None}), *(chunk({"content": piece}) for piece in said)]
    for number, (name, arguments) in enumerate(asked):
        own = ids[number] if ids else f"call_{number + 1}"
        whole = arguments if isinstance(arguments, str) else json.dumps(arguments)
        half = len(whole) // 2
        head = {"index": number, "id": own, "type": "function", "function": {"name": name, "arguments": ""}}
        steps += [
            chunk({"tool_calls": [head]}),
            chunk({"tool_calls": [{"index": number, "function": {"arguments": whole[:half]}}]}),
            chunk({"tool_calls": [{"index": number, "function": {"arguments": whole[half:]}}]}),
        ]
    end = [chunk({}, "tool_calls"), *([chunk(told=told)] if told is not None else []), DONE]
    return streamed(*steps, *end)


def told_event(kind: str, **fields: Any) -> bytes:
    """One event of Responses."""
    return event({"type": kind, "sequence_number": 1, **fields}, kind)


def responded(*output: Any, said: Sequence[str] = (), told: Any = None, status: str = "completed") -> Answer:
    """An answer of Responses: a message in pieces, then calls of functions as (name, arguments)."""
    items: list[Any] = []
    steps = [told_event("response.created", response=_response([], "in_progress", None))]
    if said:
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        part = {"type": "output_text", "text": "", "annotations": []}
        where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        whole = {**part, "text": "".join(said)}
        items.append({**message, "status": "completed", "content": [whole]})
        steps += [
            told_event("response.output_item.added", output_index=0, item=message),
            told_event("response.content_part.added", **where, part=part),
            *(told_event("response.output_text.delta", **where, delta=piece, logprobs=[]) for piece in said),
            told_event("response.output_text.done", **where, text=whole["text"], logprobs=[]),
            told_event("response.output_item.done", output_index=0, item=items[0]),
        ]
    for name, arguments in output:
        number = len(items)
        where = {"item_id": f"fc_{number}", "output_index": number}
        call = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}", "name": name}
        items.append({**call, "arguments": json.dumps(arguments), "status": "completed"})
        steps += [
            told_event("response.output_item.added", output_index=number, item={**call, "arguments": ""}),
            told_event("response.function_call_arguments.delta", **where, delta=json.dumps(arguments)),
            told_event("response.output_item.done", output_index=number, item=items[-1]),
        ]
    end = _response(items, status, told)
    return streamed(*steps, told_event(f"response.{status}", response=end))


def _response(output: Any, status: str, told: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "model": MODEL,
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "usage": told,
    }


def refusal(words: str) -> Answer:
    return streamed(chunk({"refusal": words}), chunk({}, "stop"), DONE)


def error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    return document({"error": _failure(message, kind, code)}, status, headers)


def error_event(message: str, *, kind: str = "server_error", code: str | None = None) -> bytes:
    """An error in the middle of a stream that began well."""
    return event({"error": _failure(message, kind, code)})


def _failure(message: str, kind: str, code: str | None) -> dict[str, Any]:
    return {"message": message, "type": kind, "param": None, "code": code}


UNAUTHORIZED = error(401, "Incorrect API key provided: sk-stub*****.", code="invalid_api_key")
UNKNOWN_MODEL = error(404, "The model `gpt-none` does not exist.", code="model_not_found")
TOO_LONG = error(
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    code="context_length_exceeded",
)
NO_QUOTA = error(
    429, "You exceeded your current quota.", kind="insufficient_quota", code="insufficient_quota"
)
BROKEN = error(500, "The server had an error.", kind="server_error")


def limited(after: str | None = None) -> Answer:
    headers = {} if after is None else {"Retry-After": after}
    return error(429, "Rate limit reached.", kind="tokens", code="rate_limit_exceeded", headers=headers)
