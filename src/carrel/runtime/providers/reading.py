"""Reading an answer while it arrives: pydantic-ai's events as pieces of text, and its end as a reply."""

from typing import Any, cast

from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import StreamedResponse

from carrel.runtime.model import Finish, Reply
from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.errors import ReplyBrokenOff, ReplyGarbled
from carrel.runtime.providers.trouble import Trouble
from carrel.runtime.providers.usage import spend_of
from carrel.sessions.message import ToolCall

MOST_TEXT = 16_000_000
"""How many characters an answer may have in all, with what the model thinks and what its calls say."""

MOST_PARTS = 1_000

_FINISHES: dict[str | None, Finish] = {
    "length": "length",
    "tool_call": "tools",
    "content_filter": "error",
    "error": "error",
}


class Reading:
    """One answer under way; `spoke` says whether any text of it was passed on."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._pieces: list[str] = []
        self._room = MOST_TEXT
        self._parts = 0

    @property
    def spoke(self) -> bool:
        """Whether there is no way back."""
        return bool(self._pieces)

    def take(self, event: object) -> str:
        """Return the text in an event; none in most, which only show that the model is still at it."""
        said = _said(event)
        self._parts += isinstance(event, PartStartEvent)
        self._room -= len(said) or _size_of(event)
        if self._room < 0 or self._parts > MOST_PARTS:
            raise Trouble(lambda _: ReplyGarbled(self._endpoint.name, "more than an answer may have"))
        return self._say(said)

    def end(self, stream: StreamedResponse) -> str:
        """Return what is left to say once the stream is over; one that ends too early is trouble."""
        if not self._is_whole(stream):
            raise Trouble(lambda _: ReplyBrokenOff(self._endpoint.name), again=not self.spoke)
        refusal = (stream.provider_details or {}).get("refusal")
        return self._say(refusal) if isinstance(refusal, str) and not self.spoke else ""

    def reply(self, response: ModelResponse) -> Reply:
        """Return the whole."""
        calls = tuple(_call(part) for part in response.parts if isinstance(part, ToolCallPart))
        usage = response.usage
        finish = _FINISHES.get(response.finish_reason, "stop")
        return Reply(
            text="".join(self._pieces),
            tool_calls=calls,
            spend=spend_of(usage.input_tokens, usage.cache_read_tokens, usage.output_tokens),
            finish="tools" if calls and finish == "stop" else finish,
        )

    def _say(self, text: str) -> str:
        if text:
            self._pieces.append(text)
        return text

    def _is_whole(self, stream: StreamedResponse) -> bool:
        """Tell whether an answer came to its end: its provider says why it ended, or what it cost."""
        if self._endpoint.dialect == "other" and stream.get().state == "complete":
            return True
        told = self._endpoint.dialect == "openai" and stream.usage.output_tokens > 0
        return says_why_it_ended(stream) or told


def says_why_it_ended(stream: StreamedResponse) -> bool:
    """Tell whether a stream has brought the end of its answer: whatever comes behind that does not matter."""
    details = stream.provider_details or {}
    return bool(details.get("finish_reason")) or "refusal" in details


def _said(event: object) -> str:
    """Return what an event has to be passed on."""
    if isinstance(event, PartStartEvent):
        return event.part.content if isinstance(event.part, TextPart) else ""
    if isinstance(event, PartDeltaEvent):
        return event.delta.content_delta if isinstance(event.delta, TextPartDelta) else ""
    return ""


def _size_of(event: object) -> int:
    """Return how much an event adds to what is kept of the answer."""
    part = event.part if isinstance(event, PartStartEvent) else None
    delta = event.delta if isinstance(event, PartDeltaEvent) else None
    if isinstance(part, ThinkingPart):
        return len(part.content)
    if isinstance(delta, ThinkingPartDelta):
        return len(delta.content_delta or "")
    arguments: Any = part.args if isinstance(part, ToolCallPart) else None
    if isinstance(delta, ToolCallPartDelta):
        arguments = delta.args_delta
    return len(arguments if isinstance(arguments, str) else str(arguments or ""))


def _call(part: ToolCallPart) -> ToolCall:
    """Return a call as it was written; clients check no types, so that a name may be a number."""
    written: Any = {} if part.args is None else part.args
    if not isinstance(written, str | dict):
        written = str(written)
    return ToolCall(id=str(part.tool_call_id), name=str(part.tool_name), arguments=cast("Any", written))
