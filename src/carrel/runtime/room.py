"""A call that fits its window: what does not is left out in a fixed order, and every step is said.

First hits of recall, the last ones first. Then files, down to three quarters of the room, so that a workspace
larger than the window leaves a conversation possible. Then the oldest whole turns, by a quarter of the room at
a time, so that the prefix does not move with every turn. What still does not fit cannot be sent.
"""

from collections.abc import Callable, Sequence
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.calls import to_plain
from carrel.context.inputs import Inputs
from carrel.context.report import Row
from carrel.errors import UsageError
from carrel.findings import Finding
from carrel.sessions.message import Message
from carrel.sessions.window import whole_turns

MOST_RESERVED = 8_000
"""Tokens that are left for the answer, or a tenth of the window where that is less."""

_TRIES = 4
_FILES = frozenset(("document", "documents", "notebook", "journal", "layer", "knowledge", "additional"))

Assemble = Callable[[Inputs, Budget | None], Assembly]
Count = Callable[[str], int]


class OverWindow(UsageError):
    """A message that no window of this size can take, whatever else is left out."""

    code = "message_over_window"

    def __init__(self, used: int, window: int) -> None:
        super().__init__(
            f"The call needs {used:,} tokens, and the window has {window:,}: nothing more can be left out.",
            hint="Send less at once, put it into a file, or set model.context_window for a larger model.",
        )


class Fitted(Struct, frozen=True, kw_only=True):
    """A call as it can be sent; `dropped` are the messages that the model no longer sees."""

    assembly: Assembly
    dropped: tuple[Message, ...] = ()


def room_in(window: int) -> int:
    """Return how many tokens a call may have, so that an answer still fits."""
    return window - min(MOST_RESERVED, window // 10)


def fit_call(
    assemble: Assemble, inputs: Inputs, budget: Budget | None, count: Count, *, room: int | None = None
) -> Fitted:
    """Return the call, made to fit where it does not; one that cannot is returned as it is, over its window."""
    assembly = assemble(inputs, budget)
    room = room_in(assembly.report.tokens.window) if room is None else room
    findings: list[Finding] = []
    if _used(assembly) > room and inputs.recall:
        inputs, finding = _trim_recall(inputs, _used(assembly) - room, count)
        findings.append(finding)
        assembly = assemble(inputs, budget)
    if _used(assembly) > room:
        assembly, budget, finding = _trim_files(assemble, inputs, budget, assembly, room * 3 // 4)
        findings += finding
    dropped: tuple[Message, ...] = ()
    if _used(assembly) > room and inputs.history:
        fixed = _used(assembly) - _history(assembly)
        cut = _cut(inputs.history, room - fixed, room // 4, count)
        dropped, inputs = inputs.history[:cut], replace(inputs, history=inputs.history[cut:])
        findings.append(_left_out(dropped, inputs.history))
        assembly = assemble(inputs, budget)
    return Fitted(assembly=assembly.with_warnings(findings) if findings else assembly, dropped=dropped)


def refuse_over(assembly: Assembly) -> None:
    """Raise where a call does not fit its window."""
    tokens = assembly.report.tokens
    if tokens.used > tokens.window:
        raise OverWindow(tokens.used, tokens.window)


def _used(assembly: Assembly) -> int:
    return assembly.report.tokens.used


def _history(assembly: Assembly) -> int:
    return sum(row.tokens for row in assembly.report.sections if row.kind == "history")


def _trim_recall(inputs: Inputs, over: int, count: Count) -> tuple[Inputs, Finding]:
    kept = list(inputs.recall)
    while kept and over > 0:
        over -= count(kept.pop().text)
    left_out = len(inputs.recall) - len(kept)
    message = f"{left_out} of {len(inputs.recall)} recalled hits were left out: the window is full."
    return replace(inputs, recall=tuple(kept)), Finding(code="recall_trimmed", message=message)


def _trim_files(
    assemble: Assemble, inputs: Inputs, budget: Budget | None, assembly: Assembly, most: int
) -> tuple[Assembly, Budget | None, list[Finding]]:
    """Give all files together less room, until they take no more than `most` or it makes no difference."""
    before = _files(assembly)
    for _ in range(_TRIES):
        taken = _files(assembly)
        if taken <= most:
            break
        size = sum(row.size for row in _file_rows(assembly))
        smaller = replace(budget or Budget(), total=int(size * most / taken * 0.99))
        shrunk = assemble(inputs, smaller)
        if _files(shrunk) >= taken:
            break
        assembly, budget = shrunk, smaller
    after = _files(assembly)
    if after == before:
        return assembly, budget, []
    message = f"The files have {before:,} tokens, more than the window leaves them; {after:,} are sent."
    return assembly, budget, [Finding(code="files_trimmed", message=message)]


def _file_rows(assembly: Assembly) -> list[Row]:
    return [row for row in assembly.report.sections if row.kind in _FILES and row.sha256]


def _files(assembly: Assembly) -> int:
    return sum(row.tokens for row in _file_rows(assembly))


def _cut(history: Sequence[Message], room: int, step: int, count: Count) -> int:
    """Return where history is to begin so that the rest fits, at a turn, in steps that seldom move."""
    turns = whole_turns(history)
    sizes = [sum(count(to_plain(message)) for message in history[turn]) for turn in turns]
    over = sum(sizes) - max(room, 0)
    wanted = ceil(over / max(step, 1)) * max(step, 1)
    gone = 0
    for number, size in enumerate(sizes):
        if gone >= wanted or number == len(sizes) - 1:
            # The last turn goes only if it does not fit by itself.
            is_last = number == len(sizes) - 1
            return turns[number].stop if is_last and size > room else turns[number].start
        gone += size
    return 0


def _left_out(dropped: Sequence[Message], kept: Sequence[Message]) -> Finding:
    message = (
        f"The {len(dropped)} oldest messages are not sent: the window is full. {len(kept)} are; "
        "all of them are in the session's log."
    )
    return Finding(code="history_dropped", message=message, hint="`carrel sessions compact` summarises them.")
