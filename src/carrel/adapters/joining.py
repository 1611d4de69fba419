"""What every adapter for a framework does: an agent that lives there reads and records a session here.

The framework keeps its loop, its model and its other tools. The application says who listens; without a word
it is anyone, and no model is ever asked.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from threading import RLock
from typing import Any, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

from msgspec import Struct

from carrel import plainjson
from carrel.app import Workspace
from carrel.context.assemble import Assembly
from carrel.context.report import Report
from carrel.files.paths import BadId
from carrel.runtime.loop.calls import answer
from carrel.runtime.loop.threads import in_thread
from carrel.runtime.model import Spend
from carrel.runtime.record import Recording
from carrel.sessions.attachments import part_off
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.places import valid_session
from carrel.sessions.transcript import Content
from carrel.sessions.turn import Said, Sayable
from carrel.tools.registry import Registry, ToolSpec
from carrel.workspace.scope import Scope, parse_scope

UNKNOWN = "unknown"
"""The model of a framework that does not tell which it asked; it has no price."""

RESULT_LIMIT = 100_000
"""Characters that a result of a tool may have."""

_T = TypeVar("_T")
_P = ParamSpec("_P")
_GUARDS: "WeakKeyDictionary[Workspace, RLock]" = WeakKeyDictionary()
_GUARDS_LOCK = RLock()


class Context(Struct, frozen=True, kw_only=True):
    """What a model should read before it answers a message, by the places that a framework has for it."""

    stable: str
    """Instructions that the next call of the session begins with as well, byte for byte."""
    changing: str = ""
    """Instructions that the layout makes anew for every call; most layouts have none."""
    history: tuple[Message, ...] = ()
    """What was said before, for a framework that keeps no history of its own."""
    beside: str = ""
    """What goes behind the user's message and is never recorded: what it reminds of, and the day."""
    report: Report


class Joined(Struct, frozen=True, kw_only=True):
    """An agent of a framework in one session of a workspace, which must stay open.

    Each method is plain; inside a loop, `await joined.apart(joined.context, text)` hops to a thread once.
    """

    workspace: Workspace
    session: str
    scope: str = Scope.SHARED
    source: str
    """The framework, as the log names it."""

    def __post_init__(self) -> None:
        valid_session(self.session)
        parse_scope(self.scope)

    async def apart(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do this in a thread, and nothing else on this workspace meanwhile that comes by here."""

        def alone() -> _T:
            with _guard(self.workspace):
                return work(*args, **kwargs)

        return await in_thread(alone)

    def hear(self, content: Content, message_id: str = "") -> str:
        """Write down what the user said, before any model is called, and return its id.

        What was asked last and never answered is the same message again: a retry doubles nothing.
        """
        if asked := self.unanswered(content):
            return asked
        said = Said(role="user", content=content, message_id=message_id)
        return self.record([said]).messages[0].message_id

    def unanswered(self, content: Content) -> str:
        """Return the id of the user's last message if it says the same and has no answer, else nothing."""
        sessions = self.workspace.sessions
        _, placed = sessions.seen(self.session, scope=parse_scope(self.scope))
        for entry in (each.entry for each in reversed(placed)):
            if entry.role == "user":
                return entry.message_id if self.says(entry.content, content) else ""
            if entry.role == "assistant" and not entry.tool_calls and entry.to_text():
                return ""
        return ""

    def says(self, kept: Content, content: Content) -> bool:
        """Tell whether a content of the log is what this one would be there."""
        return _says(kept) == _says(self._kept(content))

    def context(self, message: str | None) -> Context:
        """Return what a call should hold that answers this message, which is recorded already."""
        assembly = self.workspace.prepare(self.session, message or None, self.scope)
        return _placed(assembly, has_message=bool(message))

    def record(self, messages: Sequence[Sayable], spend: Spend | None = None, model: str = "") -> Recording:
        """Write messages down for good, each once by its id; a reply without calls ends the turn.

        `spend` is what the framework says that the model's part in them took.
        """
        recording = self.workspace.record(
            self.session,
            messages,
            spend,
            model=model or UNKNOWN,
            scope=self.scope,
            source=self.source,
        )
        if recording.is_ended:
            self.workspace.searching.follow(self.session)  # beside, so that the next recall need not wait
        return recording

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the workspace's tools as a model is told of them, sorted by name."""
        return self._tools().specs()

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """Call one of them, and return what the model reads: a result, or why there is none."""
        tools = self._tools()
        given = arguments if isinstance(arguments, str) else {**arguments}
        call = ToolCall(id="", name=name, arguments=given)
        known = [tool.name for tool in tools]
        return answer(call, lambda own: _run(tools, own), known=known, limit=RESULT_LIMIT).text

    def _kept(self, content: Content) -> Content:
        """Return a content as a log has it: bytes beside it, secrets out."""
        sessions = self.workspace.sessions
        folder = sessions.places.attachments(self.session)
        parted, _ = part_off(folder, content, lambda text: (sessions.screened(text), ()))
        return sessions.screened(parted)

    def _tools(self) -> Registry:
        # What else the framework's model has read nobody here knows: what it writes of that waits.
        return self.workspace.conversations.tools(self.session, self.scope, unseen=True)


def session_named(name: str) -> str:
    """Return the session that a framework calls so: by another name where that can be no file's."""
    try:
        return valid_session(name)
    except BadId:
        return f"thread-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def words_of(content: Content) -> str | None:
    """Return the text of a message; none where it holds something else as well."""
    if isinstance(content, str):
        return content
    parts = [cast("Mapping[str, Any]", part).get("text") for part in content]
    texts = [part for part in parts if isinstance(part, str)]
    return "\n".join(texts) if len(texts) == len(parts) else None


def holds_bytes(value: str) -> bool:
    """Tell whether a text is a data URL that its bytes alone can give back."""
    head, _, data = value.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64")):
        return False
    try:
        return base64.b64encode(base64.b64decode(data, validate=True)).decode() == data
    except ValueError:
        return False


def _says(content: Content) -> Content:
    """Return what is the same in two messages that say the same: the text, where there is nothing else."""
    words = words_of(content)
    return content if words is None else words


def _run(tools: Registry, call: ToolCall) -> str:
    return plainjson.dumps(plainjson.unicode_only(tools.call(call.name, call.arguments))).decode()


def _placed(assembly: Assembly, *, has_message: bool) -> Context:
    """Sort the messages of a call: those before history are instructions, the new one comes last."""
    said = sum(row.kind == "history" for row in assembly.report.sections)
    end = len(assembly.messages) - has_message
    head, history = assembly.messages[: end - said], assembly.messages[end - said : end]
    stable = min(assembly.stable, len(head))
    new = assembly.messages[-1].content if has_message else ""
    return Context(
        stable=_joined(head[:stable]),
        changing=_joined(head[stable:]),
        history=history,
        beside="" if isinstance(new, str) else "\n".join(new[1:]),
        report=assembly.report,
    )


def _joined(messages: Sequence[Message]) -> str:
    return plainjson.unicode_only("\n\n".join(message.to_text() for message in messages))


def _guard(workspace: Workspace) -> RLock:
    with _GUARDS_LOCK:
        return _GUARDS.setdefault(workspace, RLock())
