"""A provider that reads what it is sent: counts it, refuses what its window does not take, and writes summaries."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tests.stubs import anthropic, openai
from tests.stubs.scripted import Answer, Asked

from carrel.tokens import Vocabulary

MESSAGE_TOKENS = 4
"""What providers count for a message beside its text."""

_VOCABULARY = Vocabulary()
_LABELS = frozenset(("role", "type", "id", "tool_call_id", "tool_use_id", "cache_control"))
_FENCE = re.compile(r"<(conversation-[0-9a-f]+)>\n(.*)\n</\1>", re.DOTALL)
_ENTRY = 130
_ENTRIES = 50


@cache
def tokens(words: str) -> int:
    """The tokens of a text, which comes again in the next request."""
    return len(_VOCABULARY.encode(words))


def size_of(body: Any) -> int:
    """The tokens of a request to either kind of provider: every text and call in it, and its tools."""
    texts = [*_strings(body.get("system", ())), *_strings(body["messages"])]
    tools = json.dumps(body["tools"]) if body.get("tools") else ""
    return sum(map(tokens, texts)) + tokens(tools) + MESSAGE_TOKENS * len(body["messages"])


def is_summary(body: Any) -> bool:
    """Whether the request asks for a summary: no other has its material between two such lines."""
    return _FENCE.search("\n".join(_strings(body["messages"]))) is not None


def summarise(body: Any) -> str:
    """A plain and honest summary: how the user's messages begin, the last of the earlier summary before them."""
    found = _FENCE.search("\n".join(_strings(body["messages"])))
    assert found is not None
    lines = [json.loads(line) for line in found[2].split("\n")]
    entries = [
        each[2:] for line in lines for each in line.get("earlier_summary", "").split("\n") if each[:2] == "- "
    ]
    entries += [" ".join(line["text"].split())[:_ENTRY] for line in lines if line.get("role") == "user"]
    return "\n".join(("## Requests", *(f"- {entry}" for entry in entries[-_ENTRIES:])))


def problem_with(body: Any) -> str:
    """What a provider would refuse about the order of a request's messages; nothing where it would take them."""
    return _anthropic_problem(body["messages"]) if "max_tokens" in body else _openai_problem(body["messages"])


def _openai_problem(messages: list[Any]) -> str:
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"a result without its call: {message}"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            return f"calls without results: {waiting}"
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
        if message["role"] == "assistant" and not message.get("content") and not waiting:
            return "an assistant who says nothing"
    said = [message["role"] for message in messages if message["role"] != "system"]
    return "" if not waiting and said[:1] == ["user"] else f"begins or ends wrong: {said[:1]}, {waiting}"


def _anthropic_problem(messages: list[Any]) -> str:
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        blocks = message["content"]
        if message["role"] != ("user", "assistant")[number % 2]:
            return f"message {number} is the {message['role']}'s"
        if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return f"message {number} says nothing"
        if {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"} != waiting:
            return f"message {number} has not the results of {waiting}"
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return f"calls without results: {waiting}" if waiting else ""


class Clerk:
    """Answers of a provider with a window; `tell` hears the size and the kind of each request.

    A summary that is asked for is written; everything else is left to `reply`, which is given the request and
    the usage to tell.
    """

    def __init__(
        self,
        window: int,
        reply: Callable[[Asked, dict[str, Any]], Answer],
        tell: Callable[[int, str], object] = lambda _size, _kind: None,
        *,
        summarise: Callable[[Any], str] = summarise,
    ) -> None:
        self._window = window
        self._reply = reply
        self._tell = tell
        self._summarise = summarise
        self._before: list[Any] = []

    def __call__(self, asked: Asked) -> Answer:
        size = size_of(asked.body)
        provider = anthropic if "max_tokens" in asked.body else openai
        if size > self._window:
            self._tell(size, "refused")
            return provider.TOO_LONG
        if is_summary(asked.body):
            self._tell(size, "summary")
            return provider.text(self._summarise(asked.body), told=_usage(provider, size, 0))
        self._tell(size, "turn")
        return self._reply(asked, _usage(provider, size, min(size, self._cached(asked.body["messages"]))))

    def _cached(self, messages: list[Any]) -> int:
        """The tokens of the messages with which the last request began too."""
        before, self._before = self._before, messages
        same = 0
        for old, new in zip(before, messages, strict=False):
            if old != new:
                break
            same += sum(map(tokens, _strings(new))) + MESSAGE_TOKENS
        return same


def _usage(provider: Any, size: int, cached: int) -> dict[str, Any]:
    """What a request of this size costs, as its provider tells it."""
    if provider is anthropic:
        return anthropic.usage(size - cached, cached=cached)
    return openai.usage(size, 100, cached)


def _strings(value: Any) -> Iterator[str]:
    """Every text in a part of a request; what only labels it is left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in _LABELS:
                yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
