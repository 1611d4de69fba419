"""Sessions that are brought in: logs of other workspaces, and transcripts of coding agents."""

from collections.abc import Mapping
from typing import Any, cast

from carrel import plainjson
from carrel.adapters.harness.transcripts import lines_of, messages_of
from carrel.errors import CarrelError
from carrel.sessions.places import behind
from carrel.sessions.turn import said

HARNESS = "claude"
"""By this name the hooks record sessions of Claude Code: one that is brought in is the same session."""

_LOOKED_AT = 20


def session_of(name: str) -> str:
    """Return the session of a transcript; a name that can be none is BadId."""
    return behind(HARNESS, name)


def messages_in(data: bytes, session: str) -> tuple[tuple[Mapping[str, Any], ...], int]:
    """Return what was said in a transcript, and how many of its lines could not be read."""
    lines, bad = lines_of(data, 0)
    spoken = messages_of(HARNESS, session, lines)
    fit = tuple(each for each in spoken if _fits(each))
    return fit, bad + len(spoken) - len(fit)


def is_transcript(data: bytes) -> bool:
    """Tell whether the first lines of a file are those of a transcript."""
    lines, _ = lines_of(b"\n".join(data.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]), 0)
    return any("type" in line and ("message" in line or "sessionId" in line) for _, line in lines)


def owned_log(data: bytes, agent: str) -> bytes:
    """Return a log whose head says that it is this agent's; all other lines stay as they are.

    A last line that was torn while it was written is no line yet.
    """
    whole, newline, last = data.rpartition(b"\n")
    if last:
        data = data + b"\n" if object_in(last) else whole + newline
    first, newline, rest = data.partition(b"\n")
    head = object_in(first)
    if head.get("type") != "session" or head.get("agent_id") == agent:
        return data
    return plainjson.dumps(head | {"agent_id": agent}) + newline + rest


def is_log(data: bytes) -> bool:
    """Tell whether bytes are the log of a session, by its first lines."""
    first = data.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
    return any(object_in(line).get("type") in ("session", "entry") for line in first)


def entries_in(data: bytes) -> int:
    """Return how many messages a log holds."""
    return sum(object_in(line).get("type") == "entry" for line in data.split(b"\n"))


def object_in(line: bytes) -> dict[str, Any]:
    """Return the object that a line of JSON is, an empty one where it is none."""
    try:
        value: object = plainjson.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _fits(message: Mapping[str, Any]) -> bool:
    try:
        said(message)
    except CarrelError:
        return False
    return True
