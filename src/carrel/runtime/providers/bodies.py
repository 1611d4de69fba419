"""A request as the body that a provider takes: the formats of an assembly, with the tools beside it.

The body is ours and not pydantic-ai's, which would join texts of one message and move system messages to the
front. So what is sent is what `Assembly.to_openai` and its like show.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from msgspec import Struct

from carrel.context.formats import BREAKPOINTS, ROUND, Body, to_anthropic, to_openai, to_responses
from carrel.context.report import Prefix, Report, Row, Tokens
from carrel.runtime.model import Request, ToolSpec
from carrel.runtime.providers.endpoint import Dialect
from carrel.sessions.message import Message

_CACHED = {"type": "ephemeral"}


def body_of(request: Request, dialect: Dialect) -> Body:
    """Return what a request adds to the model's name and the way it answers."""
    asked = _Asked.of(request)
    if dialect == "anthropic":
        return _anthropic(to_anthropic(asked), request)
    if dialect == "responses":
        return to_responses(asked) | _tools([_responses_tool(tool) for tool in request.tools], request)
    return to_openai(asked) | _tools([_chat_tool(tool) for tool in request.tools], request)


class _Asked(Struct, frozen=True):
    """A request as the formats look at an assembly: a row for each message tells what is stable."""

    messages: tuple[Message, ...]
    report: Report

    @classmethod
    def of(cls, request: Request) -> "_Asked":
        rows = tuple(_rows(request))
        nothing = Tokens(window=0, used=0, exact=False)
        report = Report(
            layout="",
            agent="",
            session=None,
            scope="",
            model=None,
            tokens=nothing,
            unit="",
            prefix=Prefix(sha256="", tokens=0),
            sections=rows,
            hidden=0,
            recall=(),
            warnings=(),
        )
        return cls(request.messages, report)


def _rows(request: Request) -> Iterator[Row]:
    """Yield a row for each message before the rounds of this turn, one for each part where it is the last."""
    messages = request.messages
    rounds = len(list(takewhile(lambda message: message.role in ROUND, reversed(messages))))
    before = messages[: len(messages) - rounds]
    if request.stable >= len(before):
        yield from (_row(stable=True) for _ in messages)
        return
    for number, message in enumerate(before):
        last = number == len(before) - 1 and message.role == "user" and not isinstance(message.content, str)
        parts = max(1, len(message.content)) if last else 1
        yield from (_row(stable=number < request.stable) for _ in range(parts))


def _row(*, stable: bool) -> Row:
    return Row(
        name="",
        kind="history" if stable else "query",
        raw_tokens=0,
        tokens=0,
        size=0,
        limit=None,
        state="included",
        reason=None,
        stable=stable,
        sha256="-",
    )


def _tools(tools: list[Body], request: Request) -> Body:
    if not tools:
        return {}
    return {"tools": tools} if request.may_call else {"tools": tools, "tool_choice": "none"}


def _chat_tool(tool: ToolSpec) -> Body:
    return {"type": "function", "function": tool.to_json()}


def _responses_tool(tool: ToolSpec) -> Body:
    # Where nothing is said, Responses takes a schema for a strict one and refuses optional arguments.
    return {"type": "function", **tool.to_json(), "strict": False}


def _anthropic(body: Body, request: Request) -> Body:
    tools = [_anthropic_tool(tool) for tool in request.tools]
    if tools and _count_breakpoints(body) < BREAKPOINTS:
        tools[-1]["cache_control"] = _CACHED
    if tools:
        return body | {"tools": tools} | ({} if request.may_call else {"tool_choice": {"type": "none"}})
    # Anthropic refuses calls in a history without any tools: those are named, and none may be called.
    named = dict.fromkeys(
        block["name"] for turn in body["messages"] for block in turn["content"] if block["type"] == "tool_use"
    )
    if not named:
        return body
    past = [{"name": name, "description": "", "input_schema": {"type": "object"}} for name in named]
    return body | {"tools": past, "tool_choice": {"type": "none"}}


def _anthropic_tool(tool: ToolSpec) -> Body:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _count_breakpoints(body: Body) -> int:
    system: list[Body] = body.get("system", [])
    blocks: list[Any] = [*system, *(block for turn in body["messages"] for block in turn["content"])]
    return sum("cache_control" in block for block in blocks)
