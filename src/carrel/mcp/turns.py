"""The two tools that are the host's: the context before an answer, and the record after it."""

from functools import partial
from hashlib import sha256
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from carrel import plainjson
from carrel.context.budget import Budget
from carrel.context.report import SCHEMA_VERSION
from carrel.mcp.seat import Seat
from carrel.memory.trust import MCP
from carrel.sessions.turn import OthersInstructions, said
from carrel.tools.registry import BadArguments, Tool
from carrel.workspace.scope import Scope

MOST_MESSAGES = 200
LONGEST_QUERY = 100_000
_CHARACTERS = 4  # of a token, where a layout counts characters
_KEPT = ("role", "content", "message_id", "name", "tool_calls", "tool_call_id", "timestamp")
"""What a client may say of a message; not who sent it, nor from where."""


class ContextGet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which context to assemble."""

    query: Annotated[
        str,
        Meta(
            description="The message to be answered: what is known about it is recalled.",
            max_length=LONGEST_QUERY,
        ),
    ] = ""
    max_tokens: Annotated[
        int | None,
        Meta(
            description="Room for the files of the workspace; the least important are left out first.",
            extra_json_schema={"minimum": 0},
        ),
    ] = None


class TurnRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was said."""

    messages: Annotated[
        list[dict[str, Any]],
        Meta(
            description="What was said since the last record, in order, mostly one message of the user's and "
            'one of yours: {"role": "user|assistant|tool|system", "content": text or parts, "message_id"?, '
            '"tool_calls"?, "tool_call_id"?, "name"?, "timestamp"?}.',
            min_length=1,
            max_length=MOST_MESSAGES,
        ),
    ]


def host_tools(seat: Seat, session: str | None) -> tuple[Tool, ...]:
    """Return the tools that no agent has of itself, in a session if one is named."""
    return (
        Tool(
            name="context_get",
            description="Assemble what this agent should read before it answers: persona, rules, memory, "
            "knowledge, history of the session, and what is recalled for a message. Changes nothing.",
            parameters=ContextGet,
            run=partial(_context, seat, session),
            aliases={"message": "query", "q": "query"},
        ),
        Tool(
            name="turn_record",
            description="Write down what was said in a session, for good. The same call twice records it "
            "once. Call it after each answer.",
            parameters=TurnRecord,
            run=partial(_record, seat, session),
            writes=True,
        ),
    )


def context_of(seat: Seat, session: str | None, query: str | None, budget: Budget | None) -> dict[str, Any]:
    """Return the messages and the report of a call, as `carrel context show --json` does."""
    assembly = seat.workspace.assemble(session, query, seat.scope, budget)
    return {
        "schema_version": SCHEMA_VERSION,
        "messages": [message.to_json() for message in assembly.messages],
        "report": assembly.report.to_json(),
    }


def _context(seat: Seat, session: str | None, asked: ContextGet) -> dict[str, Any]:
    return context_of(seat, session, asked.query or None, _budget(seat, asked.max_tokens))


def _budget(seat: Seat, tokens: int | None) -> Budget | None:
    if tokens is None:
        return None
    return Budget(total=tokens * _CHARACTERS if seat.workspace.layout.unit == "characters" else tokens)


def _record(seat: Seat, session: str | None, asked: TurnRecord) -> dict[str, Any]:
    """Record messages as what a client says, which is nobody's hand but its own."""
    if session is None:
        raise BadArguments("turn_record", "`session` is missing", hint="Give the conversation a name.")
    if seat.scope is not Scope.MAIN and any(each.get("role") == "system" for each in asked.messages):
        raise OthersInstructions
    given = [{key: each[key] for key in _KEPT if key in each} for each in asked.messages]
    for each in given:
        said(each)  # none is recorded where one cannot be
    named = _named(session, given)
    recording = seat.workspace.record(session, named, scope=seat.scope, source=MCP)
    seat.workspace.searching.follow(session)  # beside, so that the next search need not wait for it
    return {
        "session": session,
        "messages": [
            {"message_id": each.message_id, "is_new": each.is_new, "differs": each.differs}
            for each in recording.messages
        ],
        "turn_ended": recording.is_ended,
        "warnings": to_builtins(recording.findings),
    }


def _named(session: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages that all have an id: one without is known by the whole call that it stands in."""
    call = sha256(plainjson.dumps([session, messages])).hexdigest()
    return [
        each if each.get("message_id") else {**each, "message_id": f"mcp-{call[:24]}-{place}"}
        for place, each in enumerate(messages, 1)
    ]
