"""Callbacks: what an application wants to know of a turn, and in which order it is told.

They run by priority, the lowest first, and at the same priority as they were registered. One that fails
before or after a turn is reported and the turn goes on; one that fails before a compaction stops it, since
what it wanted to save would be lost.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Literal, TypeVar, overload

from msgspec import Struct

from carrel.errors import CarrelError, Unavailable, UsageError
from carrel.findings import Finding
from carrel.runtime.model import Reply
from carrel.sessions.message import Message
from carrel.workspace.scope import Scope

Moment = Literal["before_turn", "after_turn", "before_compaction"]
MOMENTS: tuple[Moment, ...] = ("before_turn", "after_turn", "before_compaction")
_NAME_LENGTH = 120


class TurnBegins(Struct, frozen=True, kw_only=True):
    """A turn whose message is recorded and whose context is not assembled yet."""

    agent: str
    session: str
    scope: Scope
    message: Message


class TurnEnded(Struct, frozen=True, kw_only=True):
    """A turn whose last reply is recorded; `finish` says how it ended."""

    agent: str
    session: str
    scope: Scope
    message: Message
    reply: Reply
    finish: str


class CompactionBegins(Struct, frozen=True, kw_only=True):
    """A session of which these messages are about to become a summary."""

    agent: str
    session: str
    scope: Scope
    messages: tuple[Message, ...]


Occasion = TurnBegins | TurnEnded | CompactionBegins
_Told = TypeVar("_Told", TurnBegins, TurnEnded, CompactionBegins)


class BadCallback(UsageError):
    """A callback was registered that could never run."""

    code = "bad_callback"

    def __init__(self, moment: str, why: str) -> None:
        super().__init__(
            f"The callback for {moment[:_NAME_LENGTH]!r} {why}.",
            hint=f"Give a plain function and one of {', '.join(MOMENTS)}.",
        )


class CompactionStopped(Unavailable):
    """A callback failed before a compaction; history stays as it was."""

    code = "compaction_stopped"

    def __init__(self, function: str, error: Exception) -> None:
        is_told = isinstance(error, CarrelError)  # what others say in their errors may be anything
        problem = f": {error.message.removesuffix('.')}" if is_told else f" with {type(error).__name__}"
        hint = error.hint if is_told else "Repair the callback, or take it out."
        super().__init__(
            f"The before_compaction callback {function} failed{problem}; nothing was compacted.",
            hint=f"{hint} The session is whole.",
        )
        self.function = function


class _Registered(Struct, frozen=True):
    priority: int
    function: Callable[[Any], object]


class Callbacks:
    """The functions that want to be told, by moment; they are plain functions and run one after the other."""

    def __init__(self) -> None:
        self._registered: dict[Moment, tuple[_Registered, ...]] = dict.fromkeys(MOMENTS, ())
        self._lock = Lock()

    @overload
    def on(
        self, moment: Literal["before_turn"], function: Callable[[TurnBegins], object], *, priority: int = 100
    ) -> None: ...
    @overload
    def on(
        self, moment: Literal["after_turn"], function: Callable[[TurnEnded], object], *, priority: int = 100
    ) -> None: ...
    @overload
    def on(
        self,
        moment: Literal["before_compaction"],
        function: Callable[[CompactionBegins], object],
        *,
        priority: int = 100,
    ) -> None: ...
    def on(self, moment: Moment, function: Callable[[Any], object], *, priority: int = 100) -> None:
        """Tell a function at a moment from now on; a run that has begun is not changed by it."""
        if moment not in MOMENTS:
            raise BadCallback(str(moment), "names no moment of a turn")
        if not callable(function):
            raise BadCallback(moment, "cannot be called")
        if _is_async(function):
            raise BadCallback(moment, "is asynchronous, and callbacks run in a thread")
        with self._lock:
            own = (*self._registered[moment], _Registered(priority, function))
            self._registered[moment] = tuple(sorted(own, key=lambda entry: entry.priority))

    def listens(self, moment: Moment) -> bool:
        """Tell whether anybody wants to be told at a moment."""
        return bool(self._registered[moment])

    def before_turn(self, event: TurnBegins) -> tuple[Finding, ...]:
        """Tell of a turn that begins; what failed is returned, and stops nothing."""
        return self._tell("before_turn", event)

    def after_turn(self, event: TurnEnded) -> tuple[Finding, ...]:
        """Tell of a turn that ended; what failed is returned, and stops nothing."""
        return self._tell("after_turn", event)

    def before_compaction(self, event: CompactionBegins) -> None:
        """Tell of a compaction; the first failure stops it, and the callbacks after it."""
        for entry in self._registered["before_compaction"]:
            try:
                entry.function(event)
            except Exception as error:
                raise CompactionStopped(name_of(entry.function), error) from error

    def _tell(self, moment: Moment, event: _Told) -> tuple[Finding, ...]:
        found: list[Finding] = []
        for entry in self._registered[moment]:
            try:
                entry.function(event)
            except Exception as error:  # noqa: BLE001 - whatever an application's own code raises
                found.append(_failed(moment, entry.function, error))
        return tuple(found)


def name_of(function: Callable[..., object]) -> str:
    """Return what a function is called, on one line; an object is called by its class."""
    named = function if isinstance(getattr(function, "__qualname__", None), str) else type(function)
    name = f"{getattr(named, '__module__', '')}.{named.__qualname__}"
    return "".join(c if c.isprintable() else "?" for c in name[:_NAME_LENGTH])


def _failed(moment: Moment, function: Callable[[Any], object], error: Exception) -> Finding:
    # The error's own words may repeat what the user wrote; its class does not.
    return Finding(
        code="callback_failed",
        message=f"The {moment} callback {name_of(function)} failed with {type(error).__name__}.",
        hint="Repair the callback, or take it out; the turn went on without it.",
    )


def _is_async(function: Callable[..., object]) -> bool:
    import inspect  # noqa: PLC0415 - slow to load, and only registering needs it

    forms = (function, getattr(type(function), "__call__", None))  # noqa: B004 - what a call would run
    return any(inspect.iscoroutinefunction(form) or inspect.isasyncgenfunction(form) for form in forms)
