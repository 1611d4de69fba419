"""The calls of a reply: made answerable, run one by one, each failure a result that the model can read."""

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct, json
from msgspec.structs import replace

from carrel.context.render import printable_surrogates
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.sessions.message import Message, ToolCall

NO_MORE = "[No more tools can be called in this turn. Answer with what is here.]"
STOPPED = "Stopped before it ended; what it had begun may still be done."
OUT_OF_TIME = "Stopped: the turn ran out of time. What it had begun may still be done."
NOT_RUN = "Not run: the rounds of tools of this turn are used up."
BROKEN_OFF = "Not run: the reply that asked for it broke off."
ID_LENGTH = 200
_SHOWN = 80


class Settled(Struct, frozen=True, kw_only=True):
    """The calls of a reply as they will be answered; `note` is what the model must be told of them."""

    calls: tuple[ToolCall, ...]
    note: str = ""
    findings: tuple[Finding, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """What a call gave."""

    text: str
    failed: bool = False
    findings: tuple[Finding, ...] = ()


def settle(calls: Sequence[ToolCall], taken: Collection[str], limit: int) -> Settled:
    """Give every call an id of its own, and leave out those beyond the limit.

    `taken` are the ids that stand in the conversation already.
    """
    used = set(taken)
    kept: list[ToolCall] = []
    findings: list[Finding] = []
    for call in calls[:limit]:
        own = call.id
        if not own.strip() or own in used or len(own) > ID_LENGTH:
            own = _free_id(used)
            findings.append(_renamed(call, own))
        used.add(own)
        kept.append(replace(call, id=own))
    left_out = len(calls) - len(kept)
    note = f"[{left_out} more calls were left out: a reply may have {limit}.]" if left_out else ""
    if left_out:
        findings.append(_left_out(left_out, limit))
    return Settled(calls=tuple(kept), note=note, findings=tuple(findings))


def answer(call: ToolCall, run: Callable[[ToolCall], str], *, known: Collection[str], limit: int) -> Answer:
    """Run one call and return what it gave; nothing that a call does is raised."""
    if call.name not in known:
        names = ", ".join(sorted(known)) or "none"
        return _refuse("unknown_tool", f"There is no tool {show(call.name)}.", f"The tools are: {names}.")
    try:
        return Answer(text=bound(run(call), limit))
    except CarrelError as error:
        return _refuse(error.code, error.message, error.hint)
    except BaseException as error:  # noqa: BLE001 - in a thread of its own nothing else would hear of it
        # Its words may hold what the model should not read, its class does not.
        message = f"{call.name} failed with {type(error).__name__}."
        found = Finding(code="tool_failed", message=message, hint="The tool is broken; tell its author.")
        return Answer(text=explain("tool_failed", message), failed=True, findings=(found,))


def result_of(call: ToolCall, text: str) -> Message:
    """Return the message that answers a call."""
    return Message("tool", text, name=call.name, tool_call_id=call.id)


def explain(code: str, message: str, hint: str = "") -> str:
    """Return a failure in the shape that every surface has for it."""
    words = {"code": code, "message": printable_surrogates(message), "hint": printable_surrogates(hint)}
    return json.encode({"error": words}).decode()


def bound(text: str, limit: int) -> str:
    """Return a result that fits; one that was cut says how much of it is missing."""
    if len(text) <= limit:
        return text
    mark = f"\n[Cut: {{:,}} of {len(text):,} characters were left out. Ask for less, or for a later part.]"
    room = max(0, limit - len(mark) - len(f"{len(text):,}"))
    return text[:room] + mark.format(len(text) - room)


def show(name: str) -> str:
    """Return what a model wrote, short and on one line."""
    short = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return repr("".join(c if c.isprintable() else "?" for c in short))


def _refuse(code: str, message: str, hint: str) -> Answer:
    return Answer(text=explain(code, message, hint), failed=True)


def _free_id(used: Collection[str]) -> str:
    number = 1
    while f"call_{number}" in used:
        number += 1
    return f"call_{number}"


def _renamed(call: ToolCall, own: str) -> Finding:
    return Finding(
        code="bad_tool_call",
        message=f"The model gave its call of {show(call.name)} no id of its own; it is {own}.",
        hint="Nothing is lost; the model's adapter should send ids.",
    )


def _left_out(count: int, limit: int) -> Finding:
    return Finding(
        code="bad_tool_call",
        message=f"The model asked for {count} more calls than the {limit} that a reply may have.",
        hint="They were not run, and the model was told.",
    )
