"""The tools that a client is offered: those of the agent by other names, and the host's own.

One implementation, two skins: a call here is the call that a model makes in a conversation, with the same
checks, the same answer and the same refusals.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from carrel.mcp import shapes
from carrel.mcp.seat import Deed, Seat
from carrel.mcp.turns import host_tools
from carrel.tools.files import InWorkspace, WriteFile
from carrel.tools.registry import BadArguments, Registry, Schema, Tool
from carrel.tools.session_logs import LogHit, LogPage, SessionRow, session_log_tools
from carrel.workspace.scope import Scope

SESSION = "session"

_ABOUT_SESSION: Schema = {
    "type": "string",
    "description": "The conversation that this belongs to: any name, the same in every call.",
}
_OUR_WORDS = {
    "read_file": "file_read",
    "list_files": "file_list",
    "write_file": "file_write",
    "skill_read": "skill_activate",
    "`expect`": "`if_match`",
}
_THEIR_WORDS = re.compile("|".join(rf"(?<![\w/.]){word}(?![\w/])" for word in _OUR_WORDS))


class Offer(Struct, frozen=True, kw_only=True):
    """A tool as clients know it: `source` is the agent's own tool behind it, none where it is the host's."""

    name: str
    title: str
    shape: Schema
    source: str = ""
    reads_only: bool = True
    destroys: bool = False
    repeats: bool = False
    """Whether the same call again changes nothing more."""
    in_session: bool = False


class Offered(Struct, frozen=True):
    """A tool, and how it is offered."""

    offer: Offer
    tool: Tool

    @property
    def parameters(self) -> Schema:
        """The schema of its arguments, in the words of this surface."""
        schema = _in_our_words(self.tool.spec.parameters)
        if self.offer.in_session:
            schema["properties"][SESSION] = deepcopy(_ABOUT_SESSION)
        if self.offer.name == "turn_record":
            schema["required"] = [*schema["required"], SESSION]
        return schema

    @property
    def description(self) -> str:
        """What it does, in the words of this surface."""
        return in_our_words(self.tool.description)


class FileWrite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to write where."""

    path: InWorkspace
    content: Annotated[str, Meta(description="The whole text of the file.")]
    if_match: Annotated[
        str | None,
        Meta(
            description="The `digest` that file_read gave: nothing is written if the file has changed since."
        ),
    ] = None


OFFERS = (
    Offer(name="context_get", title="Assemble context", shape=shapes.CONTEXT, in_session=True),
    Offer(name="file_list", title="List files", shape=shapes.LISTING, source="list_files"),
    Offer(name="file_read", title="Read a file", shape=shapes.FILE, source="read_file"),
    Offer(
        name="file_write",
        title="Write a file",
        shape=shapes.WRITTEN,
        source="write_file",
        reads_only=False,
        destroys=True,
        repeats=True,
        in_session=True,
    ),
    Offer(name="memory_get", title="Read memory", shape=shapes.LINES, source="memory_get"),
    Offer(
        name="memory_search",
        title="Search memory",
        shape=shapes.HITS,
        source="memory_search",
        in_session=True,
    ),
    Offer(
        name="memory_write",
        title="Remember or forget",
        shape=shapes.KEPT,
        source="memory_write",
        reads_only=False,
        destroys=True,
        repeats=True,
        in_session=True,
    ),
    Offer(name="my_stats", title="How the agent is doing", shape=shapes.STATS, source="my_stats"),
    Offer(
        name="session_logs",
        title="Past conversations",
        shape=shapes.LOGS,
        source="session_logs",
        in_session=True,
    ),
    Offer(name="skill_activate", title="Read a skill", shape=shapes.SKILL, source="skill_read"),
    Offer(name="skill_list", title="List skills", shape=shapes.SKILLS, source="skill_list"),
    Offer(
        name="turn_record",
        title="Record a turn",
        shape=shapes.RECORDED,
        reads_only=False,
        repeats=True,
        in_session=True,
    ),
    Offer(name="what_do_i_know", title="What the agent knows", shape=shapes.KNOWN, source="what_do_i_know"),
    Offer(name="who_am_i", title="Who the agent is", shape=shapes.WHO, source="who_am_i"),
)
"""Every tool, sorted by name; which of them a client sees is for its seat to say."""

ON_REQUEST = (
    Offer(
        name="memory",
        title="Memory as files",
        shape=shapes.SAID,
        source="memory",
        reads_only=False,
        destroys=True,
        in_session=True,
    ),
)
"""What an agent has only where its settings name it."""


def offered(seat: Seat, session: str | None = None) -> dict[str, Offered]:
    """Return the tools that a client may call from its seat, by name, in the order of their names."""
    tools = {tool.name: tool for tool in (*_agents_own(seat, session), *host_tools(seat, session))}
    every = sorted((*OFFERS, *ON_REQUEST), key=lambda offer: offer.name)
    found = ((offer, tools.get(offer.source or offer.name)) for offer in every)
    return {
        offer.name: Offered(offer, _as_offered(offer, tool))
        for offer, tool in found
        if tool is not None and (seat.may_write or not tool.writes)
    }


def call(seat: Seat, name: str, arguments: Mapping[str, Any]) -> Any:
    """Call a tool by its name here; `session` says in which conversation, where a tool asks for that."""
    offer = next((offer for offer in (*OFFERS, *ON_REQUEST) if offer.name == name), None)
    session, rest = _parted(seat, name, arguments) if offer and offer.in_session else (None, arguments)
    found = offered(seat, session)
    if name not in found:
        Registry(each.tool for each in found.values()).get(name)  # which says what there is
    tool = found[name].tool
    result = tool.call(rest)
    if tool.writes:
        seat.note(_deed(name, session, rest, result))
    return result


def in_our_words(text: str) -> str:
    """Return a text that speaks of the agent's tools as one that speaks of those offered here."""
    return _THEIR_WORDS.sub(lambda found: _OUR_WORDS[found[0]], text)


def _in_our_words(value: Any) -> Any:
    if isinstance(value, str):
        return in_our_words(value)
    if isinstance(value, dict):
        return {key: _in_our_words(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return [_in_our_words(item) for item in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def _agents_own(seat: Seat, session: str | None) -> Iterator[Tool]:
    """Yield the agent's own tools; what a model elsewhere writes with them is not its owner's hand."""
    own = seat.workspace.conversations.tools(session, seat.scope, unseen=True)
    yield from own
    if "session_logs" not in own:  # it comes with the first session, and a list should not change by that
        yield from Registry(session_log_tools(_NoLogs(session))).allowed(seat.workspace.agent.allowed_tools)


def _as_offered(offer: Offer, tool: Tool) -> Tool:
    if offer.name == "skill_list":
        return replace(tool, run=partial(_skills, tool))
    if offer.name == "memory":
        return replace(tool, run=partial(_said, tool))
    if offer.name == "file_write":
        return replace(
            tool,
            name=offer.name,
            description="Create a file, or replace one whose `digest` from file_read is given as `if_match`.",
            parameters=FileWrite,
            run=partial(_write, tool),
            aliases={"expect": "if_match", "digest": "if_match", "text": "content"},
        )
    return replace(tool, name=offer.name)


def _skills(tool: Tool, asked: Struct) -> dict[str, Any]:
    return {"skills": tool.run(asked)}


def _said(tool: Tool, asked: Struct) -> dict[str, Any]:
    return {"text": tool.run(asked)}


def _write(tool: Tool, asked: FileWrite) -> dict[str, Any]:
    return tool.run(WriteFile(path=asked.path, content=asked.content, expect=asked.if_match))


def _parted(seat: Seat, name: str, arguments: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the session that arguments name, and the others."""
    rest = {key: value for key, value in arguments.items() if key != SESSION}
    given = arguments.get(SESSION) or None
    is_of_one = name == "session_logs" and isinstance(rest.get("session_id"), str) and rest["session_id"]
    if given is None and is_of_one and seat.scope is Scope.SHARED:
        given = rest["session_id"]
    if given is None:
        return None, rest
    if not isinstance(given, str):
        raise BadArguments(name, "`session` must be text")
    if is_of_one:
        rest["session_id"] = seat.session(rest["session_id"])
    return seat.session(given), rest


def _deed(name: str, session: str | None, given: Mapping[str, Any], result: Any) -> Deed:
    """Return what is kept of a change: where and how it ended, and none of its words."""
    told = {key: result[key] for key in ("digest", "state", "why", "proposal", "id") if result.get(key)}
    if name == "turn_record":
        told = {"messages": [each["message_id"] for each in result["messages"] if each["is_new"]]}
    replaced = {"replaced": given["if_match"]} if given.get("if_match") else {}
    return Deed(
        action=f"mcp_{name}",
        target=str(result.get("path", "")),
        session=session or "",
        detail={**told, **replaced},
    )


class _NoLogs(Struct, frozen=True):
    """The transcripts of an agent that nobody has spoken with."""

    current: str | None

    def sessions(self, *, limit: int, offset: int) -> tuple[Sequence[SessionRow], int]:
        del limit, offset
        return (), 0

    def page(self, session: str, *, first: int, limit: int) -> LogPage | None:
        del session, first, limit

    def search(self, words: str, *, limit: int) -> Sequence[LogHit]:
        del words, limit
        return ()
