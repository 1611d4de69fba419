"""The window: a recorded history as a sequence of messages that every provider accepts.

A transcript tells what happened, crashes too; a provider wants each call answered once, right behind it.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from carrel.findings import Finding
from carrel.sessions.message import Message, ToolCall

INTERRUPTED = "(No result was recorded: the turn was interrupted.)"
"""What the model reads where a call has no result."""

MOST_CALLS = 128
"""How many calls OpenAI accepts in one message."""

_SHOWN = 40

Repair = Literal["missing", "moved", "repeated", "unknown", "renamed", "split", "empty", "stray"]

_HARMLESS: tuple[Repair, ...] = ("moved", "renamed", "split", "empty")

_Place = tuple[int, int]
"""Where a call stands: the number of its message, and its own within that."""


class Note(Struct, frozen=True):
    """One thing in which the window differs from what was recorded."""

    code: Repair
    message: str


class Settled(Struct, frozen=True):
    """A history that providers accept, and in what it differs from the recorded one."""

    messages: tuple[Message, ...]
    notes: tuple[Note, ...] = ()

    def findings(self) -> tuple[Finding, ...]:
        """Return the notes for a report, one for each kind of repair however often it was needed."""
        kinds: dict[Repair, list[Note]] = {}
        for note in self.notes:
            kinds.setdefault(note.code, []).append(note)
        return tuple(
            Finding(
                code="history_repaired",
                message=alike[0].message + (f" ({len(alike) - 1:,} more like this.)" if alike[1:] else ""),
                severity="info" if code in _HARMLESS else "warning",
            )
            for code, alike in kinds.items()
        )


def settle(messages: Sequence[Message]) -> Settled:
    """Return a history in which each call has one id and one result, which stands right behind it.

    What is settled stays as it is. Messages that come later change nothing before them, except a result that
    was still missing. A result before its call is not taken for its result: ids are used again.
    """
    if _is_settled(messages):
        return Settled(tuple(messages))
    answers = _match(messages)
    draft = _Draft()
    for number, message in enumerate(messages):
        if message.role == "assistant":
            _add_reply(draft, number, message, answers)
        elif message.role == "tool":
            _add_result(draft, number, message, answers)
        else:
            draft.messages.append(_trimmed(draft, message))
    return Settled(tuple(draft.messages), tuple(draft.notes))


def whole_turns(messages: Sequence[Message]) -> list[slice]:
    """Return the turns, which together are the whole; each but the first begins with the user's message.

    Where a result comes late, turns are taken as one: no cut between two parts a call from its result.
    """
    last_results: dict[int, int] = {}
    for (number, _), (result, _) in _match(messages).results.items():
        last_results[number] = max(result, last_results.get(number, 0))
    begins = [0] if messages else []
    held = 0
    for number, message in enumerate(messages):
        if message.role == "user" and number > held:
            begins.append(number)
        held = max(held, last_results.get(number, 0))
    return [slice(begin, end) for begin, end in pairwise([*begins, len(messages)])]


class _Answers(Struct):
    """Which result belongs to which call."""

    results: dict[_Place, tuple[int, Message]] = {}
    taken: set[int] = set()
    repeated: set[int] = set()
    late: set[int] = set()


class _Draft(Struct):
    """A window in the making; `ids` are those in use, `copies` how often each was told apart."""

    messages: list[Message] = []
    notes: list[Note] = []
    ids: set[str] = set()
    copies: dict[str, int] = {}

    def note(self, code: Repair, message: str) -> None:
        """Say what was changed."""
        self.notes.append(Note(code, message))

    def identify(self, call: ToolCall) -> ToolCall:
        """Return the call with an id that no call before it has."""
        own = first = call.id or "call"
        while own in self.ids:
            self.copies[first] = self.copies.get(first, 1) + 1
            own = f"{first}-{self.copies[first]}"
        self.ids.add(own)
        if own == call.id:
            return call
        why = "is not the first with this id" if call.id else "has no id"
        self.note("renamed", f"The call {_title(call)} {why}; it is sent as {_shown(own)}.")
        return replace(call, id=own)


def _is_settled(messages: Sequence[Message]) -> bool:
    """Tell whether nothing is left to do, as in most histories; this costs a fraction of doing it."""
    ids: set[str] = set()
    due: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.tool_calls or not due or message.tool_call_id != due.pop():
                return False
        elif due or message.tool_call_id:
            return False
        elif message.role != "assistant":
            if message.tool_calls:
                return False
        elif message.tool_calls:
            due = [call.id for call in reversed(message.tool_calls)]
            if not _are_new(due, ids):
                return False
        elif not any(message.content):
            return False
    return not due


def _are_new(own: Sequence[str], ids: set[str]) -> bool:
    """Tell whether these are ids that none has had, and take them in."""
    known = len(ids)
    ids.update(own)
    return len(own) <= MOST_CALLS and all(own) and len(ids) == known + len(own)


def _match(messages: Sequence[Message]) -> _Answers:
    """Find each call's result: the first with its id before another message uses that id again."""
    answers = _Answers()
    waiting: dict[str, deque[_Place]] = {}
    spoken = 0
    for number, message in enumerate(messages):
        if message.role == "tool":
            calls = waiting.get(message.tool_call_id)
            if calls:
                place = calls.popleft()
                answers.results[place] = (number, message)
                answers.taken.add(number)
                if place[0] != spoken:
                    answers.late.add(number)
            elif calls is not None and message.tool_call_id:
                answers.repeated.add(number)
            continue
        spoken = number
        if message.role == "assistant" and message.tool_calls:
            waiting.update(_places(number, message))
    return answers


def _places(number: int, message: Message) -> dict[str, deque[_Place]]:
    places: dict[str, deque[_Place]] = {}
    for position, call in enumerate(message.tool_calls):
        places.setdefault(call.id, deque()).append((number, position))
    return places


def _add_reply(draft: _Draft, number: int, message: Message, answers: _Answers) -> None:
    """Add a reply with the results of its calls behind it."""
    message = _trimmed(draft, message)
    if not message.tool_calls:
        if any(message.content):
            draft.messages.append(message)
        else:
            draft.note("empty", "A reply without text and calls is left out.")
        return
    if len(message.tool_calls) > MOST_CALLS:
        many = len(message.tool_calls)
        draft.note("split", f"A reply with {many:,} calls is sent as several of at most {MOST_CALLS}.")
    for begin in range(0, len(message.tool_calls), MOST_CALLS):
        asked = message.tool_calls[begin : begin + MOST_CALLS]
        calls = tuple(draft.identify(call) for call in asked)
        same = len(calls) == len(message.tool_calls) and calls == message.tool_calls
        content = "" if begin else message.content
        draft.messages.append(message if same else replace(message, content=content, tool_calls=calls))
        results = (answers.results.get((number, begin + n)) for n in range(len(calls)))
        draft.messages.extend(_results(draft, calls, results, answers))


def _results(
    draft: _Draft,
    calls: Sequence[ToolCall],
    results: Iterator[tuple[int, Message] | None],
    answers: _Answers,
) -> Iterator[Message]:
    for call, found in zip(calls, results, strict=True):
        if found is None:
            draft.note("missing", f"The call {_title(call)} has no recorded result.")
            yield Message("tool", INTERRUPTED, name=call.name, tool_call_id=call.id)
            continue
        number, result = found
        if number in answers.late:
            draft.note("moved", f"The result of {_title(call)} came late; it is sent behind its call.")
        result = _trimmed(draft, result)
        yield result if result.tool_call_id == call.id else replace(result, tool_call_id=call.id)


def _add_result(draft: _Draft, number: int, message: Message, answers: _Answers) -> None:
    """Add a result that has no place behind a call; the others have been added there."""
    if number in answers.taken:
        return
    if number in answers.repeated:
        draft.note("repeated", f"A further result for {_shown(message.tool_call_id)} is left out.")
        return
    name = _shown(message.name) if message.name else "a tool"
    draft.note("unknown", f"A result of {name} does not follow its call; it is sent as the user's text.")
    content = _trimmed(draft, message).content
    draft.messages.append(Message("user", _introduced(name, content)))


def _introduced(name: str, content: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Say of a text what it is, so that it does not pass for the user's own words."""
    said = f"(A result of {name}, whose call is not shown:)\n"
    return said + content if isinstance(content, str) else (said + "".join(content[:1]), *content[1:])


def _trimmed(draft: _Draft, message: Message) -> Message:
    """Return a message without what its role cannot have: only a reply calls, only a result answers."""
    calls = message.tool_calls if message.role == "assistant" else ()
    answers = message.tool_call_id if message.role == "tool" else ""
    if len(calls) == len(message.tool_calls) and answers == message.tool_call_id:
        return message
    what = "the id of a call" if calls == message.tool_calls else f"{len(message.tool_calls):,} calls"
    draft.note("stray", f"A message of role {message.role} cannot hold {what}, which is left out.")
    return replace(message, tool_calls=calls, tool_call_id=answers)


def _title(call: ToolCall) -> str:
    return f"{_shown(call.id)} of {_shown(call.name)}"


def _shown(text: str) -> str:
    """Return the beginning of an id or a name, fit for a sentence: it may be anything that a model wrote."""
    begin = "".join(c if c.isprintable() and c not in "()" else "?" for c in text[:_SHOWN])
    return begin + "…" * (len(text) > _SHOWN) if begin else "(none)"
