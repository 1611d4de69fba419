"""LangChain's middleware over a workspace: what an agent reads before it answers, and what is recorded of it.

agent = create_agent(model, middleware=[CarrelMiddleware(workspace, scope="main")])
agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "s1"}})
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.config import get_config
from langgraph.runtime import Runtime

from carrel.adapters.joining import Context, Joined, session_named
from carrel.adapters.langchain.messages import (
    as_messages,
    content_of,
    is_users,
    returned,
    said,
    since_reply,
    spent,
    with_instructions,
    with_text,
)
from carrel.app import Workspace
from carrel.errors import UsageError
from carrel.tools.registry import ToolSpec
from carrel.workspace.scope import Scope

SOURCE = "langchain"

_MOST_OPEN = 256
"""Turns whose context is kept while their tools run; of more, the oldest is assembled again."""


class NoThread(UsageError):
    """An agent was run without a thread, so that nobody knows which session this is."""

    code = "no_thread"

    def __init__(self) -> None:
        super().__init__(
            "The run names no thread, and so no session.",
            hint='Give it one: agent.invoke(..., {"configurable": {"thread_id": "s1"}}).',
        )


class CarrelMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Lets an agent read and record a workspace, which must stay open; a thread is a session.

    Instructions go behind the application's own, so that the prefix stays the same; what a message reminds
    of goes behind that message, for this call only. A thread without a history gets the session's.
    """

    def __init__(self, workspace: Workspace, *, scope: str = Scope.SHARED) -> None:
        super().__init__()
        self._workspace = workspace
        self._scope = scope
        self._open: OrderedDict[tuple[str, str], Context] = OrderedDict()
        self.tools: Sequence[BaseTool] = [self._tool(spec) for spec in self._joined(SOURCE).specs()]

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002 - theirs
        """Record what the user said, whoever else may end the run before a model hears it."""
        self._record_new(self._joined(), state["messages"])

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Do the same beside the loop."""
        joined = self._joined()
        await joined.apart(self._record_new, joined, state["messages"])

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Record what is new, add what the model should read, and record what it says."""
        joined = self._joined()
        response = handler(self._prepared(joined, request))
        self._heard(joined, request, response)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Do the same beside the loop."""
        joined = self._joined()
        response = await handler(await joined.apart(self._prepared, joined, request))
        await joined.apart(self._heard, joined, request, response)
        return response

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002 - theirs
        """Record results of tools that no model was shown, and what the run returns because of them."""
        self._ended(self._joined(), state)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Do the same beside the loop."""
        joined = self._joined()
        await joined.apart(self._ended, joined, state)

    def _joined(self, session: str | None = None) -> Joined:
        session = session or _session()
        return Joined(workspace=self._workspace, session=session, scope=self._scope, source=SOURCE)

    def _tool(self, spec: ToolSpec) -> BaseTool:
        """Return a tool of the workspace as LangChain has them; the session is that of the run."""

        def call(**arguments: Any) -> str:
            return self._joined().call(spec.name, arguments)

        async def acall(**arguments: Any) -> str:
            joined = self._joined()
            return await joined.apart(joined.call, spec.name, arguments)

        return StructuredTool.from_function(
            call, acall, name=spec.name, description=spec.description, args_schema=spec.parameters
        )

    def _prepared(self, joined: Joined, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Return a request with the workspace in it; what the user said is durable by then."""
        self._record_new(joined, request.state["messages"])
        question = _question(request.messages)
        context = self._context(joined, question)
        text = "\n\n".join(filter(None, (context.stable, context.changing)))
        return request.override(
            system_message=with_instructions(request.system_message, text),
            messages=_with_context(request.messages, question, context) if question else request.messages,
        )

    def _context(self, joined: Joined, question: AnyMessage | None) -> Context:
        """Return what goes with a question: the same for as long as its tools run."""
        key = _key(joined, question)
        context = self._open.pop(key, None) or joined.context(str(question.text) if question else None)
        self._open[key] = context
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return context

    def _heard(self, joined: Joined, request: ModelRequest[Any], response: ModelResponse[Any]) -> None:
        """Record what the model said; with its last word a turn is over.

        What else is in a response has no id yet, and is recorded from the state.
        """
        replies = [message for message in response.result if isinstance(message, AIMessage)]
        for message in replies:
            joined.record([said(message)], *spent(message))
        if not any(message.tool_calls for message in replies):
            self._open.pop(_key(joined, _question(request.messages)), None)

    def _ended(self, joined: Joined, state: AgentState[Any]) -> None:
        messages = state["messages"]
        self._record_new(joined, messages)
        if messages and isinstance(last := messages[-1], ToolMessage):
            joined.record([returned(last, state.get("structured_response"))])
            self._open.pop(_key(joined, _question(messages)), None)

    def _record_new(self, joined: Joined, messages: Sequence[AnyMessage]) -> None:
        for message in since_reply(messages):
            if isinstance(message, HumanMessage):
                joined.hear(content_of(message), message.id or "")
            else:
                joined.record([said(message)])


def _question(messages: Sequence[AnyMessage]) -> AnyMessage | None:
    return next((each for each in reversed(messages) if is_users(each)), None)


def _with_context(messages: Sequence[AnyMessage], question: AnyMessage, context: Context) -> list[AnyMessage]:
    """Return what the model reads: before the question what was said, behind it what it reminds of."""
    place = max(number for number, each in enumerate(messages) if each is question)
    before = messages[:place]
    if all(is_users(each) or isinstance(each, SystemMessage) for each in before):
        # Nobody else keeps a history, and what stands there of the user's is in ours.
        others = [each for each in before if isinstance(each, SystemMessage)]
        before = [*others, *as_messages(context.history)]
    new = with_text(question, context.beside) if context.beside else question
    return [*before, new, *messages[place + 1 :]]


def _key(joined: Joined, question: AnyMessage | None) -> tuple[str, str]:
    return joined.session, (question.id if question else None) or ""


def _session() -> str:
    """Return the session of the run: its thread, by another name where that can be no file's."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # nothing runs
        thread = None
    if thread is None:
        raise NoThread
    return session_named(str(thread))
