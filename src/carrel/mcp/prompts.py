"""Prompts: what a person may start a conversation with; what they bring along stands apart from the words.

What was remembered or said is material. It comes as a resource of its own, never within the instruction.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from msgspec import Struct

from carrel import plainjson
from carrel.errors import NotFound
from carrel.files import show
from carrel.mcp import offered, resources
from carrel.mcp.resources import SCHEME, Text
from carrel.mcp.seat import Seat
from carrel.memory import journal
from carrel.opening import time_zone
from carrel.tools.access import NoSuchFile
from carrel.tools.registry import BadArguments
from carrel.workspace.scope import HiddenByScope, Scope

LONGEST = 20_000
_HITS = 10
_ENTRIES = 40


class UnknownPrompt(NotFound):
    """There is no prompt of this name for this client."""

    code = "unknown_prompt"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no prompt '{show(name[:100])}'.", hint="prompts/list shows what there is."
        )


class Argument(Struct, frozen=True, kw_only=True):
    """One thing that a prompt asks for."""

    name: str
    about: str
    is_required: bool = True


class Filled(Struct, frozen=True, kw_only=True):
    """An instruction, and what it speaks of."""

    words: str
    material: tuple[Text, ...] = ()


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt by its name; `owners` is about what only the owner sees, `writes` needs a tool that does."""

    name: str
    title: str
    about: str
    fill: Callable[[Seat, Mapping[str, str]], Filled]
    arguments: tuple[Argument, ...] = ()
    owners: bool = False
    writes: bool = False


def listed(seat: Seat) -> list[Prompt]:
    """Return the prompts for a client, sorted by name."""
    return [
        prompt
        for prompt in PROMPTS
        if not (prompt.owners and seat.scope is not Scope.MAIN) and not (prompt.writes and not seat.may_write)
    ]


def fill(seat: Seat, name: str, given: Mapping[str, str]) -> Filled:
    """Return a prompt with what it asks for filled in."""
    prompt = next((each for each in listed(seat) if each.name == name), None)
    if prompt is None:
        raise UnknownPrompt(name)
    known = {argument.name for argument in prompt.arguments}
    for argument in prompt.arguments:
        if argument.is_required and not given.get(argument.name, "").strip():
            raise BadArguments(name, f"`{argument.name}` is missing", hint=argument.about)
    for key, value in given.items():
        if key not in known:
            raise BadArguments(name, f"`{show(key[:60])}` is not an argument of it")
        if len(value) > LONGEST:
            raise BadArguments(name, f"`{key}` is longer than {LONGEST:,} characters")
    return prompt.fill(seat, given)


def _continue(seat: Seat, given: Mapping[str, str]) -> Filled:
    session = seat.session(given["session"])
    asked = {"action": "recent", "session": session, "session_id": session}
    said = offered.call(seat, "session_logs", {**asked, "limit": _ENTRIES, "max_chars": 2_000})
    if not said["ok"]:
        raise resources.NoSuchResource(f"{SCHEME}sessions/{session}")
    return Filled(
        words="Let us go on where this conversation ended. Say in two sentences where we were and what is "
        "open, then go on with that. Record what we say in the same session.",
        material=(_material(f"{SCHEME}sessions/{session}", said),),
    )


def _recall(seat: Seat, given: Mapping[str, str]) -> Filled:
    found = offered.call(seat, "memory_search", {"query": given["topic"], "limit": _HITS})
    return Filled(
        words=f"What do you know about this: {given['topic']}\nAnswer from what was found, name the file and "
        "line of each statement, and say what is missing. memory_get reads more around a place.",
        material=(_material(f"{SCHEME}search", found),),
    )


def _remember(seat: Seat, given: Mapping[str, str]) -> Filled:
    del seat
    return Filled(
        words="Keep this in memory with memory_write, as one plain statement for each thing worth knowing, "
        f"and tell what became of each: written, known, waiting or refused.\n\n{given['text']}"
    )


def _review(seat: Seat, given: Mapping[str, str]) -> Filled:
    del given
    known = tuple(resources.read(seat, f"{SCHEME}memory/{seat.workspace.agent.id}"))
    return Filled(
        words="Look through what is remembered. List what contradicts itself, what is out of date, what is "
        "said twice and what nobody needs, each with its file and section, and propose the change. Change "
        "nothing yet.",
        material=known,
    )


def _daily(seat: Seat, given: Mapping[str, str]) -> Filled:
    workspace = seat.workspace
    zone = time_zone(workspace.config.settings.time_zone)
    today = workspace.config.clock.now().astimezone(zone).date()
    try:
        day = date.fromisoformat(given["day"]) if given.get("day") else today
    except ValueError:
        raise BadArguments("daily_summary", "`day` must be a day, YYYY-MM-DD") from None
    path = journal.day_path(workspace.layout, day)
    try:
        text = resources.whole_file(seat, path)
    except (NoSuchFile, HiddenByScope):
        text = ""
    return Filled(
        words=f"Summarise {day.isoformat()} from its journal: what was done, what was decided, what is open. "
        "session_logs has the conversations themselves.",
        material=(Text(uri=f"{SCHEME}files/{path}", text=text, kind="text/markdown"),),
    )


def _explain(seat: Seat, given: Mapping[str, str]) -> Filled:
    report = seat.workspace.assemble(None, given.get("query") or None, seat.scope).report
    return Filled(
        words="Explain this report of the context to its owner: how full the window is and with what, what "
        "was cut, left out or unreadable and why, and which change would help most.",
        material=(_material(f"{SCHEME}context/current", report.to_json()),),
    )


def _material(uri: str, value: Any) -> Text:
    return Text(uri=uri, text=plainjson.dumps(value).decode())


PROMPTS = (
    Prompt(
        name="continue_session",
        title="Go on with a conversation",
        about="Take up a recorded conversation where it ended.",
        arguments=(Argument(name="session", about="The session's id."),),
        fill=_continue,
    ),
    Prompt(
        name="daily_summary",
        title="Summarise a day",
        about="Summarise a day from its journal.",
        arguments=(Argument(name="day", about="YYYY-MM-DD; else today.", is_required=False),),
        fill=_daily,
        owners=True,
    ),
    Prompt(
        name="explain_context",
        title="Explain the context",
        about="Explain what the model reads, what it costs, and what was left out.",
        arguments=(Argument(name="query", about="A message to be answered.", is_required=False),),
        fill=_explain,
    ),
    Prompt(
        name="recall",
        title="Recall",
        about="Answer from what is remembered, with sources.",
        arguments=(Argument(name="topic", about="What to look for."),),
        fill=_recall,
    ),
    Prompt(
        name="remember_this",
        title="Remember this",
        about="Keep something in memory.",
        arguments=(Argument(name="text", about="What to keep."),),
        fill=_remember,
        writes=True,
    ),
    Prompt(
        name="review_memory",
        title="Review memory",
        about="Find what in memory is wrong, old or said twice.",
        fill=_review,
        owners=True,
    ),
)
"""Every prompt, sorted by name."""
