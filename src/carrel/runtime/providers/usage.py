"""What a provider says that an answer cost, as far as it can be believed.

Servers send strings, negative numbers and nothing at all. What is no count was not told: a turn never fails
over its bill.
"""

from collections.abc import Mapping, MutableMapping
from typing import Any, cast

from carrel.runtime.model import Spend

MOST = 1_000_000_000
"""More tokens than any call has."""

_TOLD = "carrel.usage"


def count(value: object) -> int | None:
    """Return a number of tokens, none where it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MOST and value == int(value) else None


def spend_of(read: object, cached: object, written: object) -> Spend | None:
    """Return what a call cost; a call that read nothing is one whose cost was not told."""
    total, output = count(read), count(written)
    if not total or output is None:
        return None
    return Spend(input=total, cached=min(count(cached) or 0, total), output=output)


def tidy_chunk(data: object, memory: MutableMapping[str, Any]) -> None:
    """Put usage that can be added up in the place of that of a chunk of chat completions.

    Some servers tell the whole so far with every chunk: only what it grew by since is left in each. `memory`
    lasts as long as the answer.
    """
    chunk = _object(data)
    if chunk is None or chunk.get("usage") is None:
        return
    told = _object(chunk["usage"]) or {}
    read, written = count(told.get("prompt_tokens")), count(told.get("completion_tokens"))
    if read is None or written is None:
        chunk["usage"] = None
        return
    details = _object(told.get("prompt_tokens_details")) or {}
    now = (read, written, min(count(details.get("cached_tokens")) or 0, read))
    before = memory.get(_TOLD, (0, 0, 0))
    grown = [max(0, new - old) for new, old in zip(now, before, strict=True)]
    memory[_TOLD] = tuple(old + new for old, new in zip(before, grown, strict=True))
    chunk["usage"] = {
        "prompt_tokens": grown[0],
        "completion_tokens": grown[1],
        "total_tokens": grown[0] + grown[1],
        "prompt_tokens_details": {"cached_tokens": grown[2]},
    }


def tidy_response(data: object) -> None:
    """Put usage that is one in the place of that of an event of Responses, or none."""
    event = _object(data) or {}
    response = _object(event.get("response"))
    if response is None or response.get("usage") is None:
        return
    told = _object(response["usage"]) or {}
    read, written = count(told.get("input_tokens")), count(told.get("output_tokens"))
    details = _object(told.get("input_tokens_details")) or {}
    response["usage"] = None
    if read is not None and written is not None:
        response["usage"] = {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
            "input_tokens_details": {"cached_tokens": min(count(details.get("cached_tokens")) or 0, read)},
            "output_tokens_details": {"reasoning_tokens": 0},
        }


def tidy_event(data: object) -> None:
    """Put usage that is one in the place of that of an event of Anthropic's messages."""
    event = _object(data)
    if event is None:
        return
    message = _object(event.get("message"))
    if event.get("type") == "message_start" and message is not None:
        message["usage"] = _counts(message.get("usage"), ("input_tokens", "output_tokens"))
    elif event.get("type") == "message_delta":
        event["usage"] = _counts(event.get("usage"), ())
        event.setdefault("delta", {})


def _counts(told: object, needed: tuple[str, ...]) -> dict[str, int]:
    """Return the counts among these; where one that is needed is none, they are all worth nothing."""
    usage: Mapping[str, Any] = _object(told) or {}
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = {name: number for name in names if (number := count(usage.get(name))) is not None}
    if any(name not in counts for name in needed):
        return dict.fromkeys(needed, 0)
    return counts


def _object(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
