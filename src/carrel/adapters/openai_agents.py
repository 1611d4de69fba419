"""A session of a workspace for the OpenAI Agents SDK, which gives an agent its context, memory and tools.

    session = CarrelSession(workspace, "s1", scope="main")
    agent = Agent(name="Ada", tools=session.tools())
    config = RunConfig(call_model_input_filter=session.with_context)
    await Runner.run(agent, "What did we decide?", session=session, run_config=config, hooks=session.hooks)

The workspace must stay open.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Container, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from agents import FunctionTool, ModelResponse, RunHooks, SessionSettings, TResponseInputItem
from agents.run import CallModelData, ModelInputData
from agents.tool_context import ToolContext
from msgspec.structs import replace

from carrel.adapters.joining import Context, Joined
from carrel.adapters.openai_items import Item, items_of, said_of, text_of
from carrel.app import Workspace
from carrel.errors import UsageError
from carrel.runtime.compact import is_all_of
from carrel.runtime.history import SUMMARY
from carrel.runtime.loop.threads import surely
from carrel.runtime.model import Spend
from carrel.runtime.providers.usage import spend_of
from carrel.runtime.removing import remove
from carrel.sessions.placed import Placed
from carrel.sessions.transcript import Content
from carrel.sessions.turn import ATTACHMENT_LIMIT, Said
from carrel.tools.registry import ToolSpec
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

if TYPE_CHECKING:
    from agents.memory import Session

SOURCE = "openai-agents"
_KEPT = 16


class NoSession(UsageError):
    """A tool that serves many sessions was called in a run that names none."""

    code = "no_session"

    def __init__(self) -> None:
        super().__init__(
            "The run names no session of the workspace, so that its tools cannot be called.",
            hint="Give it one: RunConfig(call_model_input_filter=session.with_context).",
        )


class _Accounting(RunHooks[Any]):
    """Tells a session what each call of its runs took."""

    def __init__(self, account: Callable[[Spend | None, str], None]) -> None:
        self._account = account

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:  # noqa: ARG002
        """Take a call into the account."""
        told = response.usage
        cached = told.input_tokens_details.cached_tokens
        model = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", "")
        self._account(
            spend_of(told.input_tokens, cached, told.output_tokens), model if isinstance(model, str) else ""
        )


class _Together(RunHooks[Any]):
    """Tells several hooks of everything that the SDK tells, one after the other."""

    def __init__(self, *hooks: RunHooks[Any]) -> None:
        for name in dir(RunHooks):
            if name.startswith("on_"):
                setattr(self, name, partial(_tell, [getattr(each, name) for each in hooks]))


async def _tell(listeners: Sequence[Callable[..., Awaitable[None]]], *told: Any, **named: Any) -> None:
    for listen in listeners:
        await listen(*told, **named)


class CarrelSession:
    """The history of a session, and what a model is told beside it.

    What others recorded in the session is part of its history, and what a summary stands for is not. An item
    comes back as it was given, but for secrets, which are not recorded. By its `hooks` it hears of tokens.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, workspace: Workspace, session_id: str, *, scope: str = Scope.SHARED) -> None:
        self.session_id = session_id
        self._joined = Joined(workspace=workspace, session=session_id, scope=scope, source=SOURCE)
        self._contexts: OrderedDict[tuple[int, str], Context] = OrderedDict()
        self._spent: tuple[Spend | None, str] = (None, "")
        self.hooks: RunHooks[Any] = _Accounting(self._account)

    def hooks_with(self, own: RunHooks[Any]) -> RunHooks[Any]:
        """Return hooks that tell an application's own and the session, for `Runner.run(hooks=…)`."""
        return _Together(self.hooks, own)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the history, the oldest first, or so many of its last items."""
        items = cast("list[TResponseInputItem]", await self._joined.apart(self._items))
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Write items down for good, all or none; what was asked and not answered is not asked again."""
        await surely(self._joined.apart(self._add, [dict(item) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; none where there is none."""
        return cast("TResponseInputItem | None", await surely(self._joined.apart(self._pop)))

    async def clear_session(self) -> None:
        """Move the session to the workspace's trash; it begins anew with the next item."""
        await surely(self._joined.apart(self._clear))

    async def with_context(self, data: CallModelData[Any]) -> ModelInputData:
        """Give a call its context, for `RunConfig(call_model_input_filter=…)`: the same in each of a run."""
        given = data.model_data
        items = _once([cast("Item", item) for item in given.input])
        asked = next((n for n in reversed(range(len(items))) if items[n].get("role") == "user"), None)
        text = "" if asked is None else text_of(items[asked])
        context = await self._context((0 if asked is None else asked, text))
        if asked is not None and context.beside:
            items[asked] = _with_beside(items[asked], context.beside)
        told = (given.instructions, context.stable, context.changing)
        return ModelInputData(
            input=cast("list[TResponseInputItem]", items),
            instructions="\n\n".join(part for part in told if part) or None,
        )

    def tools(self) -> list[Any]:
        """Return the workspace's tools, for `Agent(tools=…)`.

        In a run of another session of the workspace a call is that one's: who listens there is its to say.
        """
        return [_tool(spec, self._listening) for spec in self._joined.specs()]

    def _listening(self, context: ToolContext[Any]) -> "CarrelSession":
        named = _named_in(context) or self
        return named if named._joined.workspace is self._joined.workspace else self  # noqa: SLF001 - of this class

    async def _call(self, name: str, arguments: str) -> str:
        return await self._joined.apart(self._joined.call, name, arguments)

    async def _context(self, key: tuple[int, str]) -> Context:
        """Return the context of the message at a place; further calls of its run have the same."""
        kept = self._contexts.get(key)
        if kept is None:
            kept = await self._joined.apart(self._joined.context, key[1])
            self._contexts[key] = kept
            if len(self._contexts) > _KEPT:
                self._contexts.popitem(last=False)
        return kept

    def _seen(self) -> tuple[str, tuple[Placed, ...]]:
        sessions, scope = self._joined.workspace.sessions, parse_scope(self._joined.scope)
        compaction, placed = sessions.seen(self.session_id, scope=scope)
        return f"{SUMMARY}\n\n{compaction.summary}" if compaction else "", placed

    def _items(self) -> list[Item]:
        summary, placed = self._seen()
        head: list[Item] = [{"role": "user", "content": summary}] if summary else []
        return head + [item for each in placed for item in items_of(each.entry, self._fetch)]

    def _add(self, items: list[Item]) -> None:
        said = [said_of(item) for item in items]
        if said and said[0].role == "user" and self._was_asked(said[0].content):
            said = said[1:]
        if said:
            (spend, model), self._spent = self._spent, (None, "")
            self._joined.record(self._named(said), spend, model)

    def _was_asked(self, content: Content) -> bool:
        """Tell whether this was just asked; what a tool returned since may have been the run's answer."""
        _, placed = self._seen()
        last = placed[-1].entry if placed else None
        return last is not None and last.role == "user" and self._joined.says(last.content, content)

    def _named(self, said: Sequence[Said]) -> list[Said]:
        """Return messages in which each result of a tool says whose it is, as its call does."""
        calls = {call.id: call.name for each in said for call in each.tool_calls}
        if any(_is_nameless(each, calls) for each in said):
            earlier = (each.entry.tool_calls for each in self._seen()[1])
            calls = {call.id: call.name for made in earlier for call in made} | calls
        return [
            replace(each, name=calls.get(each.tool_call_id, "")) if _is_nameless(each) else each
            for each in said
        ]

    def _account(self, spend: Spend | None, model: str) -> None:
        """Add what a call took to what the next items are recorded with."""
        before, _ = self._spent
        if spend is not None:
            self._spent = (before + spend if before else spend, model)

    def _pop(self) -> Item | None:
        _, placed = self._seen()
        if not placed:
            return None
        entry = placed[-1].entry
        *_, item = items_of(entry, self._fetch)
        sessions = self._joined.workspace.sessions
        # No line is taken out of a log, but another may stand in its place: one that says nothing new.
        summary = sessions.row(self.session_id).summary
        line = {"type": "summary", "timestamp": entry.timestamp, "summary": summary}
        sessions.rewrite(
            self.session_id, lambda own: line if own.get("message_id") == entry.message_id else None
        )
        self._contexts.clear()
        return item

    def _clear(self) -> None:
        workspace = self._joined.workspace
        sessions, scope = workspace.sessions, parse_scope(self._joined.scope)
        if not sessions.exists(self.session_id):
            return
        if not is_all_of(sessions, self.session_id, scope):
            raise HiddenByScope(f"session {self.session_id}")
        remove(sessions, self.session_id, discard=workspace.discard, thaw=workspace.records.thaw)
        self._contexts.clear()

    def _fetch(self, path: str) -> bytes:
        content = self._joined.workspace.sessions.places.files.read(path, limit=ATTACHMENT_LIMIT)
        return content.data if content else b""


def workspace_tools(workspace: Workspace, *, scope: str = Scope.SHARED) -> list[Any]:
    """Return a workspace's tools for an agent that serves many sessions, made once.

    A call is one of the session whose `with_context` the run was given, and may do what that session may.
    """
    joined = Joined(workspace=workspace, session=SOURCE, scope=scope, source=SOURCE)
    return [_tool(spec, _session_of) for spec in joined.specs()]


def _tool(spec: ToolSpec, session_of: Callable[[ToolContext[Any]], CarrelSession]) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        return await session_of(context)._call(spec.name, arguments)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - of this module

    return FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=spec.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # it would make every argument a required one
    )


def _session_of(context: ToolContext[Any]) -> CarrelSession:
    if (session := _named_in(context)) is None:
        raise NoSession
    return session


def _named_in(context: ToolContext[Any]) -> CarrelSession | None:
    """Return the session whose `with_context` a run was given."""
    session = getattr(context.run_config and context.run_config.call_model_input_filter, "__self__", None)
    return session if isinstance(session, CarrelSession) else None


if TYPE_CHECKING:
    _keeps_the_protocol: type[Session] = CarrelSession


def _once(items: list[Item]) -> list[Item]:
    """Return the items without a question that was repeated since nobody had answered it."""
    kept: list[Item] = []
    for item in items:
        is_question = item.get("role") == "user" and bool(kept) and kept[-1].get("role") == "user"
        if not is_question or item.get("content") != kept[-1].get("content"):
            kept.append(item)
    return kept


def _is_nameless(said: Said, known: Container[str] = ()) -> bool:
    return said.role == "tool" and not said.name and said.tool_call_id not in known


def _with_beside(item: Item, beside: str) -> Item:
    content = item.get("content")
    own = [{"type": "input_text", "text": content}] if isinstance(content, str) else [*(content or ())]
    return {**item, "content": [*own, {"type": "input_text", "text": beside}]}
