"""How the calls of a session grew: what was fixed, what was said before, and what each turn added."""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from carrel.context.report import Report
from carrel.http.explorer.pictures.stack import Turn
from carrel.sessions.placed import Placed

FIXED, BEFORE, ADDED = "Files, memory and prompt, as now", "Said before", "This turn"
TURNS = 30
"""Turns that are told of, the newest that the model still sees word for word."""

_MESSAGES = 600

_CHARACTERS = 4
"""Of one token, where nobody counts: the figures of single turns are estimates."""


def growth(report: Report, seen: Sequence[Placed], address: str) -> tuple[Turn, ...]:
    """Return the turns that the model still sees, oldest first, with what the call of each held.

    What is fixed is as it is now; what was said before the first of them is the rest of the history.
    """
    turns = list(_turns(seen[-_MESSAGES:]))[-TURNS:]
    sizes = [sum(_size(placed) for placed in turn) for turn in turns]
    history = sum(row.tokens for row in report.sections if row.kind in ("history", "summary"))
    fixed = max(0, report.tokens.used - history)
    before = max(0, history - sum(sizes))
    told: list[Turn] = []
    for turn, size in zip(turns, sizes, strict=True):
        uses = ((FIXED, fixed), (BEFORE, before), (ADDED, size))
        link = f"{address}?m={quote(turn[0].entry.message_id)}#m-{quote(turn[0].entry.message_id)}"
        told.append(Turn(name=str(turn[0].number), uses=uses, exact=False, link=link))
        before += size
    return tuple(told)


def _turns(seen: Sequence[Placed]) -> Iterator[list[Placed]]:
    turn: list[Placed] = []
    for placed in seen:
        if placed.entry.role == "user" and turn:
            yield turn
            turn = []
        turn.append(placed)
    if turn:
        yield turn


def _size(placed: Placed) -> int:
    entry = placed.entry
    characters = len(entry.to_text()) + sum(len(str(call.arguments)) for call in entry.tool_calls)
    return 1 + characters // _CHARACTERS
