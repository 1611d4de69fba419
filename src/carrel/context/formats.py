"""Providers' formats: an assembly as the request body that a provider's own client takes.

A body holds what Carrel knows, which is the context; limits, temperature and tools are the caller's to add.
No text is lost, moved or joined across messages, so what is the same in two assemblies is so in two bodies.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Protocol

from carrel.context.render import printable_surrogates
from carrel.context.report import Report
from carrel.context.volatile import VOLATILE
from carrel.sessions.message import Message

Body = dict[str, Any]

BREAKPOINTS = 4
"""How many places for its cache Anthropic accepts in a request."""

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
    return _named(model) | {"messages": [_chat_message(message) for message in assembly.messages]}


def to_responses(assembly: Assembled, *, model: str | None = None) -> Body:
    """Return the body of OpenAI's Responses.

    System messages are input items: `instructions` is one string, and would join what has boundaries.
    """
    return _named(model) | {"input": [_input_item(message) for message in assembly.messages]}


def to_anthropic(assembly: Assembled, *, model: str | None = None) -> Body:
    """Return the body of Anthropic's Messages, with a place for the cache at the ends of stable parts.

    Without a query and without history, `messages` is empty and waits for the caller's.
    """
    messages = assembly.messages
    blocks = [_text_blocks(message) for message in messages]
    head = len(list(takewhile(lambda message: message.role == "system", messages)))
    for block in _breakpoints(blocks[: _count_stable(assembly)], head):
        block["cache_control"] = {"type": "ephemeral"}
    system = [block for own in blocks[:head] for block in own]
    turns = _merge_turns(messages[head:], blocks[head:])
    return _named(model) | ({"system": system} if system else {}) | {"messages": turns}


def _named(model: str | None) -> Body:
    return {} if model is None else {"model": model}


def _role(message: Message) -> str:
    """A tool's result that does not say which call it answers is refused as one; it is read as the user's."""
    return "user" if message.role == "tool" else message.role


def _chat_message(message: Message) -> Body:
    if isinstance(message.content, str):
        return {"role": _role(message), "content": printable_surrogates(message.content)}
    return {"role": _role(message), "content": [_text("text", part) for part in message.content]}


def _input_item(message: Message) -> Body:
    if message.role == "assistant":
        # A list of output_text asks for the reply's id, which is the provider's to give; a string does not.
        return {"role": "assistant", "content": printable_surrogates(message.to_text())}
    return {"role": _role(message), "content": [_text("input_text", part) for part in _parts(message)]}


def _text_blocks(message: Message) -> list[Body]:
    """Return the blocks that Anthropic accepts: it refuses those without any text."""
    return [_text("text", part) for part in _parts(message) if part.strip()]


def _parts(message: Message) -> tuple[str, ...]:
    return (message.content,) if isinstance(message.content, str) else message.content


def _text(kind: str, text: str) -> Body:
    # What is not Unicode, as in a query typed in another encoding, no client can send.
    return {"type": kind, "text": printable_surrogates(text)}


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


def _breakpoints(stable: Sequence[list[Body]], head: int) -> list[Body]:
    """Return the blocks to cache up to, given those of the stable messages; the first `head` are system's.

    The end of history saves most, then the ends of the last system messages.
    """
    system = [own[-1] for own in stable[:head] if own]
    history = [own[-1] for own in stable[head:] if own]
    return (system + history[-1:])[-BREAKPOINTS:]


def _count_stable(assembly: Assembled) -> int:
    """Return how many leading messages hold nothing volatile; where rows cannot tell, rather too few.

    No message is without a row, so from the first volatile row on there are at most as many messages as rows.
    """
    rows = [row for row in assembly.report.sections if row.sha256 or row.kind == "history"]
    stable = len(list(takewhile(lambda row: row.stable, rows)))
    if stable == len(rows):
        return len(assembly.messages)
    after = len(rows) - stable - _further_rows_of_new(assembly)
    return max(0, len(assembly.messages) - max(1, after))


def _further_rows_of_new(assembly: Assembled) -> int:
    """Return how many rows beside its first the new user message has: there is one for each part of it."""
    new = assembly.report.sections[-1].kind in VOLATILE and assembly.messages[-1].role == "user"
    return len(_parts(assembly.messages[-1])) - 1 if new else 0
