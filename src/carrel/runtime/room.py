"""A call that fits its window: what does not is left out in a fixed order, and every step is said.

First hits of recall, the last ones first. Then files, down to three quarters of the room, so that a workspace
larger than the window leaves a conversation possible. Then history: it is compacted where that can be done,
and at last the oldest whole turns go, by a quarter of the room at a time, so that the prefix does not move
with every turn. A window that is only assumed cuts no file and refuses nothing.
"""

from collections.abc import Callable, Sequence
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.calls import to_plain
from carrel.context.forecast import COMPACT_PERCENT
from carrel.context.inputs import Inputs
from carrel.context.report import Row
from carrel.errors import UsageError
from carrel.findings import Finding
from carrel.sessions.message import Message
from carrel.sessions.window import settle, whole_turns

MOST_RESERVED = 8_000
"""Tokens that are left for the answer, or a tenth of the window where that is less."""

LEAST_ANSWER = 500
"""Tokens without which an answer is none, or a twentieth of the window where that is less."""

_TRIES = 4
_LEAST_SHARE = 40  # of the room; where files leave less for history, a summary would not fit either
_FILES = frozenset(("document", "documents", "notebook", "journal", "layer", "knowledge", "additional"))

Assemble = Callable[[Inputs, Budget | None], Assembly]
Count = Callable[[str], int]
Shorten = Callable[[int], "Shortened"]
"""Compacts history until what stays word for word has so many tokens."""


class OverWindow(UsageError):
    """A message that no window of this size can take, whatever else is left out."""

    code = "message_over_window"

    def __init__(self, used: int, window: int) -> None:
        super().__init__(
            f"The call needs {used:,} tokens, and the window has {window:,}: nothing more can be left out.",
            hint="Send less at once, put it into a file, or set model.context_window for a larger model.",
        )


class Shortened(Struct, frozen=True, kw_only=True):
    """What became of a history: the first `summarised` messages are a summary. None where it is as it was."""

    history: tuple[Message, ...] | None = None
    summarised: int = 0
    findings: tuple[Finding, ...] = ()


class Fitted(Struct, frozen=True):
    """A call, and the inputs that it was made of in the end."""

    assembly: Assembly
    inputs: Inputs

    @property
    def used(self) -> int:
        """The tokens of its sections."""
        return self.assembly.report.tokens.used

    @property
    def fixed(self) -> int:
        """The tokens of all but history."""
        return _fixed(self.assembly)


class Steps(Struct, frozen=True, kw_only=True):
    """What may be done with history: `shorten` compacts it, `lose` is told of what will not be sent.

    Without `drop` the oldest turns stay, and a call may be over its window.
    """

    shorten: Shorten | None = None
    lose: Callable[[tuple[Message, ...]], object] | None = None
    drop: bool = True


def room_in(window: int, beside: int = 0) -> int:
    """Return how many tokens the sections of a call may have, so that tools and an answer still fit."""
    return window - min(MOST_RESERVED, window // 10) - beside


def kept_of(assembly: Assembly, beside: int, room: int | None = None) -> int | None:
    """Return how much of history is to stay word for word; none where it need not be compacted.

    Nor is it where that would have to be done again soon: history must be twice what stays.
    """
    window, used = assembly.report.tokens.window, _used(assembly)
    room = room_in(window, beside) if room is None else room
    if used <= room and (used + beside) * 100 < window * COMPACT_PERCENT:
        return None
    fixed = _fixed(assembly)
    kept = min(room // 4, (room - fixed) // 2)
    return kept if kept >= room // _LEAST_SHARE and used - fixed > 2 * kept else None


def fit_call(
    assemble: Assemble,
    inputs: Inputs,
    budget: Budget | None,
    count: Count,
    *,
    steps: Steps | None = None,
    room: int | None = None,
) -> Fitted:
    """Return the call, made to fit where it does not; one that cannot comes back over its window.

    `room` says how much it may have where a provider has refused what the window would take.
    """
    assembly, steps = assemble(inputs, budget), steps or Steps()
    room = room_in(assembly.report.tokens.window, inputs.beside) if room is None else room
    findings: list[Finding] = []
    if _used(assembly) > room and inputs.recall:
        inputs, found = _trim_recall(inputs, _used(assembly) - room, count)
        assembly, findings = assemble(inputs, budget), [found]
    if _used(assembly) > room and assembly.report.tokens.known:
        assembly, budget, trimmed = _trim_files(assemble, inputs, budget, assembly, max(0, room) * 3 // 4)
        findings += trimmed
    if steps.shorten and (kept := kept_of(assembly, inputs.beside, room)) is not None:
        shorter = steps.shorten(kept)
        findings += shorter.findings
        if shorter.history is not None:
            inputs = replace(inputs, history=shorter.history, summarised=shorter.summarised)
            assembly = assemble(inputs, budget)
    if steps.drop and _used(assembly) > room and inputs.history:
        inputs, dropped = _drop_turns(inputs, room - _fixed(assembly), room // 4, count, steps)
        findings += dropped
        foretold, assembly = assembly.report.forecast, assemble(inputs, budget)
        # What was dropped is not gone: history is as full as it was.
        assembly = replace(assembly, report=replace(assembly.report, forecast=foretold))
    return Fitted(assembly.with_warnings(findings) if findings else assembly, inputs)


def refuse_over(assembly: Assembly, beside: int) -> None:
    """Raise where a call does not fit a window that is known."""
    tokens = assembly.report.tokens
    if tokens.known and tokens.used + beside > tokens.window - min(LEAST_ANSWER, tokens.window // 20):
        raise OverWindow(tokens.used + beside, tokens.window)


def _used(assembly: Assembly) -> int:
    return assembly.report.tokens.used


def _fixed(assembly: Assembly) -> int:
    """Return what everything but history takes."""
    return sum(row.tokens for row in assembly.report.sections if row.kind != "history")


def _trim_recall(inputs: Inputs, over: int, count: Count) -> tuple[Inputs, Finding]:
    kept = list(inputs.recall)
    while kept and over > 0:
        over -= count(kept.pop().text)
    left_out = len(inputs.recall) - len(kept)
    message = f"{left_out} of {len(inputs.recall)} recalled hits were left out: the window is full."
    gone = (*inputs.recall[len(kept) :], *inputs.left_out)
    return replace(inputs, recall=tuple(kept), left_out=gone), Finding(code="recall_trimmed", message=message)


def _trim_files(
    assemble: Assemble, inputs: Inputs, budget: Budget | None, assembly: Assembly, most: int
) -> tuple[Assembly, Budget | None, list[Finding]]:
    """Give files less room until they take no more than `most` or it makes no difference.

    First all together, so that those of low priority go; then each, since some are always sent.
    """
    before = _files(assembly)
    for shrunk in (_less_in_all, _less_for_each):
        for _ in range(_TRIES):
            if (taken := _files(assembly)) <= most:
                break
            smaller = shrunk(budget or Budget(), _file_rows(assembly), most / taken * 0.99)
            again = assemble(inputs, smaller)
            if _files(again) >= taken:
                break
            assembly, budget = again, smaller
    after = _files(assembly)
    if after == before:
        return assembly, budget, []
    message = f"The files have {before:,} tokens, more than the window leaves them; {after:,} are sent."
    hint = "Lower their priority or their number, or set model.context_window for a larger model."
    return assembly, budget, [Finding(code="files_trimmed", message=message, hint=hint)]


def _less_in_all(budget: Budget, rows: Sequence[Row], share: float) -> Budget:
    return replace(budget, total=int(sum(row.size for row in rows) * share))


def _less_for_each(budget: Budget, rows: Sequence[Row], share: float) -> Budget:
    """Return a limit for one file by which all have so much less: the largest give way, the small stay."""
    sizes = sorted(row.size for row in rows)
    left = int(sum(sizes) * share)
    for number, size in enumerate(sizes):
        limit = left // (len(sizes) - number)
        if size > limit:
            return replace(budget, file=limit)
        left -= size
    return budget


def _file_rows(assembly: Assembly) -> list[Row]:
    return [row for row in assembly.report.sections if row.kind in _FILES and row.sha256]


def _files(assembly: Assembly) -> int:
    return sum(row.tokens for row in _file_rows(assembly))


def _drop_turns(
    inputs: Inputs, room: int, step: int, count: Count, steps: Steps
) -> tuple[Inputs, list[Finding]]:
    """Leave out the oldest turns; whoever wants to keep what is in them is told first.

    A summary of what went before them goes only where it leaves no room for the rest.
    """
    summary, turns = inputs.history[: inputs.summarised], inputs.history[inputs.summarised :]
    held = sum(count(to_plain(message)) for message in summary)
    if held > room:
        summary, held = (), 0
    kept = turns[_cut(turns, room - held, step, count) :]
    dropped = (*inputs.history[: inputs.summarised - len(summary)], *turns[: len(turns) - len(kept)])
    if not dropped:
        return inputs, []
    if steps.lose is not None:
        steps.lose(dropped)
    return replace(inputs, history=(*summary, *kept), summarised=len(summary)), [_left_out(dropped, kept)]


def _cut(history: Sequence[Message], room: int, step: int, count: Count) -> int:
    """Return where history is to begin so that the rest fits, at a turn, in steps that seldom move."""
    turns = whole_turns(history)
    # As they will be sent: a call without a result gets one.
    sizes = [sum(count(to_plain(each)) for each in settle(history[turn]).messages) for turn in turns]
    over = sum(sizes) - max(room, 0)
    if over <= 0:
        return 0
    wanted, gone = ceil(over / max(step, 1)) * max(step, 1), 0
    for turn, size in zip(turns, sizes, strict=True):
        # Beyond what is needed, the last turn that fits by itself stays.
        if gone >= wanted or (gone >= over and turn is turns[-1]):
            return turn.start
        gone += size
    return len(history)


def _left_out(dropped: Sequence[Message], kept: Sequence[Message]) -> Finding:
    message = (
        f"The {len(dropped)} oldest messages are not sent: the window is full. {len(kept)} are; "
        "all of them are in the session's log."
    )
    return Finding(code="history_dropped", message=message, hint="`carrel sessions compact` summarises them.")
