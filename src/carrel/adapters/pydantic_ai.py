"""A workspace as a capability of Pydantic AI: an agent reads it before each call, and records what is said.

    with Workspace.open("my-agent") as workspace:
        agent = Agent("openai:gpt-5", capabilities=[CarrelCapability(workspace, session="s1", scope="main")])
        print(agent.run_sync("What did we decide about the launch?").output)

Each run is one turn of the session.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import WrapRunHandler
from pydantic_ai.messages import (
    BinaryContent,
    FileUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import DeferredToolRequests
from pydantic_core import to_json

from carrel import plainjson
from carrel.adapters.joining import Context, Joined, session_named, words_of
from carrel.adapters.pydantic_toolset import WorkspaceToolset
from carrel.app import Workspace
from carrel.runtime.loop.threads import surely
from carrel.runtime.model import Spend
from carrel.runtime.providers.usage import spend_of
from carrel.sessions.message import Message
from carrel.sessions.message import ToolCall as Call
from carrel.sessions.places import valid_session
from carrel.sessions.transcript import Content
from carrel.sessions.turn import Said
from carrel.tools.registry import ToolSpec
from carrel.workspace.scope import Scope, parse_scope

SOURCE = "pydantic-ai"
_Prompt = str | Sequence[UserContent]


@dataclasses.dataclass
class CarrelCapability(AbstractCapability[Any]):
    """Gives an agent its workspace: context, record and tools; the workspace must stay open.

    Without a session, that of the run's conversation is meant. A run that brings no messages of its own goes
    on with what the session holds.
    """

    workspace: Workspace
    session: str | None = None
    scope: str = Scope.SHARED

    def __post_init__(self) -> None:
        parse_scope(self.scope)
        if self.session is not None:
            valid_session(self.session)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return none: an open workspace cannot be written down."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """Write down what the user said, and return what this run has of the workspace."""
        joined = Joined(
            workspace=self.workspace,
            session=self.session or session_named(ctx.conversation_id or ""),
            scope=self.scope,
            source=SOURCE,
        )
        asked = _asked(ctx)
        begun = await joined.apart(_begin, joined, asked, ctx.run_id or "")
        history = () if _brings_history(ctx.messages) else tuple(_messages(begun.context.history))
        return _Run(joined=joined, begun=begun, asked=asked, history=history, id=self.id)


class _Begun(Struct, frozen=True, kw_only=True):
    """What a run begins with."""

    context: Context
    tools: tuple[ToolSpec, ...]
    recorded: frozenset[str] = frozenset()


@dataclasses.dataclass(kw_only=True)
class _Run(AbstractCapability[Any]):
    """One run: it knows what the model is told at each of its calls, and what of it is recorded."""

    joined: Joined
    begun: _Begun
    asked: _Prompt | None
    history: tuple[ModelMessage, ...]

    def __post_init__(self) -> None:
        self._recorded = set(self.begun.recorded)
        self._said: list[ModelMessage] = []
        self._accounted = 0

    def get_instructions(self) -> list[InstructionPart]:
        """Return what stands before the conversation; the stable part may be cached."""
        context = self.begun.context
        parts = ((context.stable, False), (context.changing, True))
        return [InstructionPart(text, dynamic=is_dynamic) for text, is_dynamic in parts if text]

    def get_toolset(self) -> WorkspaceToolset:
        """Return the workspace's tools."""
        return WorkspaceToolset(self.joined, self.begun.tools)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Record what is new, and tell the model beside the user's message what it reminds of."""
        self._said = ctx.messages  # which grows while the run goes on
        await self._record(ctx)
        told, beside = request_context.messages, self.begun.context.beside
        if beside and self.asked is not None:
            told = _told(told, self.asked, beside)
        return dataclasses.replace(request_context, messages=[*self.history, *told])

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Record the rest of a run, however it ends."""
        try:
            result = await handler()
        except BaseException:
            await surely(self._record(ctx))
            raise
        await surely(self._record(ctx, result))
        return result

    async def _record(self, ctx: RunContext[Any], result: AgentRunResult[Any] | None = None) -> None:
        run, own = ctx.run_id or "", [each for each in self._said if each.run_id == ctx.run_id]
        said = list(_identified(run, (each for message in own for each in _said(message, self.asked))))
        if result is not None and not isinstance(result.output, DeferredToolRequests):
            said += _answer(run, said, result.output)
        new = [each for each in said if each.message_id not in self._recorded]
        if new:
            replies = [each for each in own if isinstance(each, ModelResponse)]
            spend, model = _spent(replies[self._accounted :])
            await self.joined.apart(self.joined.record, new, spend, model)
            self._recorded |= {each.message_id for each in new}
            self._accounted = len(replies)


def _begin(joined: Joined, asked: _Prompt | None, run: str) -> _Begun:
    recorded: frozenset[str] = frozenset()
    text = None
    if asked is not None:
        (said,) = _identified(run, [Said(role="user", content=_content(asked))])
        recorded = frozenset((joined.hear(said.content, said.message_id), said.message_id))
        text = words_of([part for part in _parts(asked) if "text" in part])
    return _Begun(context=joined.context(text), tools=joined.specs(), recorded=recorded)


# ------------------------------------------------------------------------------------------- what is asked


def _asked(ctx: RunContext[Any]) -> _Prompt | None:
    """Return what the user says: as the run was given it, else as the last message of its history does."""
    if ctx.prompt is not None or not ctx.messages:
        return ctx.prompt
    found = [part.content for part in ctx.messages[-1].parts if isinstance(part, UserPromptPart)]
    return found[-1] if found else None


def _brings_history(messages: Sequence[ModelMessage]) -> bool:
    return any(isinstance(message, ModelResponse) for message in messages)


def _told(messages: Sequence[ModelMessage], asked: _Prompt, beside: str) -> list[ModelMessage]:
    """Return the messages with something beside what is asked; those of the history stay as they are."""
    told = list(messages)
    for place in reversed(range(len(told))):
        message = told[place]
        if isinstance(message, ModelRequest) and any(_asks(part, asked) for part in message.parts):
            parts = [_beside(part, beside) if _asks(part, asked) else part for part in message.parts]
            told[place] = dataclasses.replace(message, parts=parts)
            break
    return told


def _asks(part: object, asked: _Prompt) -> bool:
    return isinstance(part, UserPromptPart) and part.content == asked


def _beside(part: Any, beside: str) -> UserPromptPart:
    content = [part.content] if isinstance(part.content, str) else part.content
    return dataclasses.replace(part, content=[*content, beside])


# ------------------------------------------------------------------------------------- from theirs to ours


def _said(message: ModelMessage, asked: _Prompt | None) -> Iterator[Said]:
    """Yield what a message says; thoughts and the framework's own words are not part of a conversation."""
    if isinstance(message, ModelResponse):
        return _replied(message)
    told: list[Said] = []
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            told.append(_result(part))
        elif not isinstance(part, UserPromptPart):
            continue
        elif told and told[-1].role == "tool" and part.content != asked:
            # What a tool returns beside its result stands in the user's place, and is not the user's word.
            told[-1] = replace(told[-1], content=[*_parted(told[-1].content), *_parts(part.content)])
        else:
            told.append(Said(role="user", content=_content(part.content)))
    return iter(told)


def _replied(reply: ModelResponse) -> Iterator[Said]:
    """Yield a reply; what the provider's own tools gave stands before it, as any tool's result does."""
    results = [part for part in reply.parts if isinstance(part, NativeToolReturnPart)]
    if results:
        ids = {part.tool_call_id for part in results}
        own = [part for part in reply.parts if isinstance(part, NativeToolCallPart)]
        calls = tuple(_call(part) for part in own if part.tool_call_id in ids)
        yield Said(role="assistant", tool_calls=calls, finish="tools")
        yield from map(_result, results)
    text = "".join(part.content for part in reply.parts if isinstance(part, TextPart))
    calls = tuple(_call(part) for part in reply.parts if isinstance(part, ToolCallPart))
    if text or calls:
        finish = "cancelled" if reply.state != "complete" else "tools" if calls else "stop"
        yield Said(role="assistant", content=text, tool_calls=calls, finish=finish)


def _spent(replies: Sequence[ModelResponse]) -> tuple[Spend | None, str]:
    """Return what calls took, and the model that was asked last."""
    told = [spend_of(r.usage.input_tokens, r.usage.cache_read_tokens, r.usage.output_tokens) for r in replies]
    known = [spend for spend in told if spend is not None]
    model = replies[-1].model_name if replies else None
    return (sum(known[1:], known[0]) if known else None), model or ""


def _call(part: ToolCallPart | NativeToolCallPart) -> Call:
    arguments = part.args if isinstance(part.args, str) else {**(part.args or {})}
    return Call(id=part.tool_call_id, name=part.tool_name, arguments=arguments)


def _result(part: ToolReturnPart | NativeToolReturnPart) -> Said:
    text, files = part.model_response_str(), _parts(part.files)
    return Said(
        role="tool",
        content=[*_parted(text), *files] if files else text,
        name=part.tool_name,
        tool_call_id=part.tool_call_id,
    )


def _answer(run: str, said: Sequence[Said], output: Any) -> list[Said]:
    """Return the answer of a run whose last reply is none, as where it is an object of some type."""
    if said and said[-1].role == "assistant" and not said[-1].tool_calls:
        return []
    text = output if isinstance(output, str) else to_json(output, fallback=str).decode()
    return [*_identified(f"{run}.answer", [Said(role="assistant", content=text)])]


def _identified(run: str, said: Iterator[Said] | Sequence[Said]) -> Iterator[Said]:
    """Give each message an id by what it says in its run, so that none is recorded twice."""
    counts: dict[str, int] = {}
    for each in said:
        told = [each.role, each.content, [call.to_json() for call in each.tool_calls], each.tool_call_id]
        name = f"{run}.{sha256(plainjson.dumps(told)).hexdigest()[:16]}"
        counts[name] = number = counts.get(name, 0) + 1
        yield replace(each, message_id=name if number == 1 else f"{name}.{number}")


def _parted(content: Content) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _content(prompt: _Prompt) -> Content:
    return prompt if isinstance(prompt, str) else _parts(prompt)


def _parts(prompt: _Prompt) -> list[dict[str, Any]]:
    """Return a prompt as parts; bytes become attachments when they are recorded, links stay links."""
    found: list[dict[str, Any]] = []
    for item in [prompt] if isinstance(prompt, str) else prompt:
        if isinstance(item, (str, TextContent)):
            found.append({"type": "text", "text": item if isinstance(item, str) else item.content})
        elif isinstance(item, BinaryContent):
            found.append({"type": "file", "url": item.data_uri})
        elif isinstance(item, FileUrl):
            found.append({"type": item.kind, "url": item.url})
    return found


# ------------------------------------------------------------------------------------- from ours to theirs


def _messages(history: Sequence[Message]) -> Iterator[ModelMessage]:
    for message in history:
        if message.role == "assistant":
            text = [TextPart(message.to_text())] if message.content else []
            calls = [ToolCallPart(c.name, c.arguments, tool_call_id=c.id) for c in message.tool_calls]
            yield ModelResponse(parts=[*text, *calls])
        elif message.role == "tool":
            result = ToolReturnPart(message.name, message.to_text(), tool_call_id=message.tool_call_id)
            yield ModelRequest(parts=[result])
        else:
            yield ModelRequest(parts=[UserPromptPart(message.to_text())])
