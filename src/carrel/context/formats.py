"""Providers' formats: an assembly as the request body that a provider's own client takes.

A body holds what Carrel knows, which is the context; limits, temperature and tools are the caller's to add.
Of a settled history no text is lost, moved or joined across messages, so what is the same in two assemblies
is so in two bodies. Any other history is settled first: no history makes a body that is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

from carrel.context.calls import arguments_object, arguments_text, call_ids, tool_name
from carrel.context.render import printable_surrogates
from carrel.context.report import Report, Row
from carrel.context.volatile import VOLATILE
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import settle

Body = dict[str, Any]

BREAKPOINTS = 4
"""How many places for its cache Anthropic accepts in a request."""

ROUND = ("assistant", "tool")
"""What a turn adds behind the new message, round by round."""

OPENING = "(The beginning of this conversation is not shown.)"
"""What the user says first where history begins with a reply, which Anthropic refuses."""


class Assembled(Protocol):
    """What a format needs of an assembly."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, in order."""
        ...

    @property
    def report(self) -> Report:
        """The account of them, which says what is stable."""
        ...


def to_openai(assembly: Assembled, *, model: str | None = None) -> Body:
    """Return the body of OpenAI's chat completions: message by message as it is."""
    messages = settle(assembly.messages).messages
    ids = call_ids(messages)
    return _named(model) | {"messages": [_chat_message(message, ids) for message in messages]}


def to_responses(assembly: Assembled, *, model: str | None = None) -> Body:
    """Return the body of OpenAI's Responses.

    System messages are input items: `instructions` is one string, and would join what has boundaries.
    """
    messages = settle(assembly.messages).messages
    ids = call_ids(messages)
    return _named(model) | {"input": [item for message in messages for item in _input_items(message, ids)]}


def to_anthropic(assembly: Assembled, *, model: str | None = None) -> Body:
    """Return the body of Anthropic's Messages, with a place for the cache at the ends of stable parts.

    Without a query and without history, `messages` is empty and waits for the caller's.
    """
    messages = settle(assembly.messages).messages
    ids = call_ids(messages)
    blocks = [_blocks(message, ids) for message in messages]
    head = len(list(takewhile(lambda message: message.role == "system", messages)))
    stable = _count_settled(assembly, messages)
    rounds = blocks[-1:] if _count_rounds(assembly) else []
    for block in _breakpoints(blocks[:stable], head, rounds):
        block["cache_control"] = {"type": "ephemeral"}
    system = [block for own in blocks[:head] for block in own]
    turns = _merge_turns(messages[head:], blocks[head:])
    return _named(model) | ({"system": system} if system else {}) | {"messages": turns}


def _named(model: str | None) -> Body:
    return {} if model is None else {"model": model}


# --------------------------------------------------------------------------------------------------- OpenAI


def _chat_message(message: Message, ids: Mapping[str, str]) -> Body:
    body: Body = {"role": message.role, "content": _chat_content(message)}
    if message.role == "tool":
        body["tool_call_id"] = ids[message.tool_call_id]
    if message.tool_calls:
        body["tool_calls"] = [
            {
                "id": ids[call.id],
                "type": "function",
                "function": {"name": tool_name(call.name), "arguments": arguments_text(call)},
            }
            for call in message.tool_calls
        ]
    return body


def _chat_content(message: Message) -> str | list[Body] | None:
    if message.tool_calls and not any(message.content):
        return None
    if isinstance(message.content, str) or not message.content:
        return printable_surrogates(message.to_text())
    return [_text("text", part) for part in message.content]


def _input_items(message: Message, ids: Mapping[str, str]) -> Iterator[Body]:
    if message.role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": ids[message.tool_call_id],
            "output": _output(message),
        }
    elif message.role != "assistant":
        yield {"role": message.role, "content": [_text("input_text", part) for part in _parts(message)]}
    elif any(message.content):
        # A list of output_text asks for the reply's id, which is the provider's to give; a string does not.
        yield {"role": "assistant", "content": printable_surrogates(message.to_text())}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": ids[call.id],
            "name": tool_name(call.name),
            "arguments": arguments_text(call),
        }


def _output(message: Message) -> str | list[Body]:
    if isinstance(message.content, str):
        return printable_surrogates(message.content)
    return [_text("input_text", part) for part in _parts(message)]


def _parts(message: Message) -> tuple[str, ...]:
    return (message.content,) if isinstance(message.content, str) else message.content or ("",)


def _text(kind: str, text: str) -> Body:
    # What is not Unicode, as in a query typed in another encoding, no client can send.
    return {"type": kind, "text": printable_surrogates(text)}


# ------------------------------------------------------------------------------------------------ Anthropic


def _blocks(message: Message, ids: Mapping[str, str]) -> list[Body]:
    """Return the blocks that Anthropic accepts: it refuses texts that say nothing."""
    texts = [_text("text", part) for part in _parts(message) if part.strip()]
    if message.role != "tool":
        return [*texts, *(_tool_use(call, ids) for call in message.tool_calls)]
    result: Body = {"type": "tool_result", "tool_use_id": ids[message.tool_call_id]}
    return [result | {"content": texts} if texts else result]


def _tool_use(call: ToolCall, ids: Mapping[str, str]) -> Body:
    return {
        "type": "tool_use",
        "id": ids[call.id],
        "name": tool_name(call.name),
        "input": arguments_object(call),
    }


def _merge_turns(messages: Sequence[Message], blocks: Sequence[list[Body]]) -> list[Body]:
    """Return turns that alternate and begin with the user's.

    Only the newest models take a system message among them: one in history is sent as the user's, in place.
    """
    turns: list[Body] = []
    for message, own in zip(messages, blocks, strict=True):
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += own
        elif own:
            turns.append({"role": role, "content": [*own]})
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [_text("text", OPENING)]})
    return turns


def _breakpoints(stable: Sequence[list[Body]], head: int, rounds: Sequence[list[Body]]) -> list[Body]:
    """Return the blocks to cache up to, given those of the stable messages; the first `head` are system's.

    The end of the rounds saves most, which the next round of the turn begins with, then the end of history,
    then the ends of the last system messages.
    """
    system = [own[-1] for own in stable[:head] if own]
    history = [own[-1] for own in stable[head:] if own]
    ends = [own[-1] for own in rounds if own]
    return (system + history[-1:] + ends)[-BREAKPOINTS:]


def _count_rounds(assembly: Assembled) -> int:
    """Return how many calls and results of this turn stand behind the new message, which has the last row."""
    if not assembly.report.sections or assembly.report.sections[-1].kind not in VOLATILE:
        return 0
    return len(list(takewhile(lambda message: message.role in ROUND, reversed(assembly.messages))))


def _count_settled(assembly: Assembled, settled: Sequence[Message]) -> int:
    """Return how many leading messages of the settled ones are stable: what the stable ones settle to."""
    stable = count_stable(assembly)
    if settled == assembly.messages:
        return stable
    begun = settle(assembly.messages[:stable]).messages
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(begun, settled, strict=False))))


def count_stable(assembly: Assembled) -> int:
    """Return how many leading messages hold nothing volatile; where rows cannot tell, rather too few.

    Up to the new message none is without a row, so from the first volatile row on there are at most as many
    messages as rows.
    """
    rows = [row for row in assembly.report.sections if row.sha256 or row.kind == "history"]
    stable = len(list(takewhile(lambda row: row.stable, rows)))
    if stable == len(rows):
        return len(assembly.messages)
    messages = assembly.messages[: len(assembly.messages) - _count_rounds(assembly)]
    after = len(rows) - stable - _further_rows_of_new(messages, rows)
    return max(0, len(messages) - max(1, after))


def _further_rows_of_new(messages: Sequence[Message], rows: Sequence[Row]) -> int:
    """Return how many rows beside its first the new user message has: there is one for each part of it."""
    new = messages and rows[-1].kind in VOLATILE and messages[-1].role == "user"
    return len(_parts(messages[-1])) - 1 if new else 0
