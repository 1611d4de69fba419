"""The session that a conversation is held in: a new id, or what there is of an earlier one."""

import secrets
from collections.abc import Iterator
from contextlib import suppress
from shlex import quote
from typing import Any

from msgspec import Struct, to_builtins

from carrel.app import Workspace
from carrel.cli import output
from carrel.cli.chat.voice import SCHEMA_VERSION, Told
from carrel.cli.options import Shared
from carrel.context.build import agent_name
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.opening import time_zone
from carrel.runtime.delegation import SOURCE as DELEGATED
from carrel.runtime.models import OFFLINE
from carrel.sessions.places import valid_session
from carrel.sessions.transcript import Entry
from carrel.workspace.identity import parse_identity
from carrel.workspace.scope import Scope, parse_scope

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without those that are taken for one another."""
_SUFFIX = 4
_LOOKED_AT = 40
_LAST = 2
_LONGEST_NAME = 40
_LONGEST_LINE = 160
_HONEST = {OFFLINE: "it only quotes"}


class Place(Struct, frozen=True, kw_only=True):
    """Where a conversation is held: whose, in which session, and who is listening."""

    workspace: Workspace
    session: str
    scope: str


class Past(Struct, frozen=True, kw_only=True):
    """What a session holds already, as far as this listener may see it."""

    messages: int = 0
    last: tuple[Entry, ...] = ()
    missing: str = ""
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as an event shows it."""
        last = [{"role": entry.role, "text": entry.to_text()} for entry in self.last]
        findings = to_builtins(self.findings)
        return {"messages": self.messages, "last": last, "missing": self.missing, "findings": findings}


def new_session(workspace: Workspace) -> str:
    """Return an id that no session has: the workspace's day, and four characters."""
    zone = time_zone(workspace.config.settings.time_zone)
    today = workspace.config.clock.now().astimezone(zone).date()
    while True:
        session = f"{today}-{''.join(secrets.choice(_LETTERS) for _ in range(_SUFFIX))}"
        if not workspace.sessions.exists(session):
            return session


def look_back(workspace: Workspace, session: str, scope: str) -> Past | None:
    """Return what there is of a session, none where there is nothing."""
    sessions = workspace.sessions
    if not sessions.exists(valid_session(session)):
        return None
    page = sessions.page(session, first=-_LOOKED_AT, limit=_LOOKED_AT)
    count, entries = page.total, [placed.entry for placed in page.entries]
    if parse_scope(scope) is Scope.SHARED:
        entries = [entry for entry in entries if entry.scope == Scope.SHARED]
        count = count_shared(workspace, session)
    said = [entry for entry in entries if entry.role in ("user", "assistant") and entry.to_text().strip()]
    return Past(
        messages=count,
        last=tuple(said[-_LAST:]),
        missing=_missing(entries[-1]) if entries else "",
        findings=page.findings,
    )


def count_shared(workspace: Workspace, session: str) -> int:
    """Return how many entries of a session others than the owner may see."""
    return sum(placed.entry.scope == Scope.SHARED for placed in workspace.sessions.entries(session))


def opening(place: Place, past: Past | None, speaker: str, model: str) -> Told:
    """Say where one is, and of an earlier session what was said last and what is missing."""
    agent = place.workspace.agent.id
    about = {"session": place.session, "agent": agent, "scope": place.scope, "model": model}
    document = {"schema_version": SCHEMA_VERSION, **about, "is_new": past is None}
    return Told(
        "session",
        {**document, **(past or Past()).to_json()},
        tuple(_opening_lines(place, past, speaker, model)),
        is_quiet=True,
    )


def _opening_lines(place: Place, past: Past | None, speaker: str, model: str) -> Iterator[str]:
    size = "new" if past is None else "1 message" if past.messages == 1 else f"{past.messages:,} messages"
    honest = f": {_HONEST[model]}" if model in _HONEST else ""
    yield f"session {place.session}, {size} · {speaker} · {place.scope} scope · model {model}{honest}"
    if past is None:
        return
    for entry in past.last:
        yield f"  {_who(entry, speaker)}: {_one_line(entry.to_text())}"
    said = (past.missing, *(finding.message for finding in past.findings))
    if missing := " · ".join(output.printable(text) for text in said if text):
        yield missing


def _who(entry: Entry, speaker: str) -> str:
    if entry.role == "assistant":
        return speaker
    return output.printable(entry.sender_id or "an agent") if _is_handed(entry) else "you"


def _is_handed(entry: Entry) -> bool:
    """Tell whether another agent has handed in what it did in the background, which nobody must answer."""
    return entry.role == "user" and entry.source_plugin == DELEGATED


def _missing(last: Entry) -> str:
    """Say what the last turn lacks: an answer, or the end of one."""
    if _is_handed(last):
        return ""
    if last.role != "assistant" or last.tool_calls:
        return "The last turn was interrupted: its answer is missing."
    if last.finish == "cancelled":
        return "The last answer was stopped; what had arrived is kept."
    return "The last answer broke off; what had arrived is kept." if last.finish == "error" else ""


def name_of(workspace: Workspace, scope: str) -> str:
    """Return what the agent is called, on one line."""
    found = None
    with suppress(CarrelError):  # a file that cannot be read names nobody
        text = workspace.read(f"{workspace.layout.home}IDENTITY.md", scope=scope)
        found = parse_identity(text).name if text else None
    name = agent_name(workspace.assembler.ground, found)
    return output.printable(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")


def resuming(shared: Shared, session: str) -> str:
    """Return the command that goes on with a session."""
    words = ["carrel"]
    for option, value in (("-C", shared.directory), ("--lower", shared.lower), ("--agent", shared.agent)):
        words += [option, quote(value)] if value is not None else []
    words += ["--scope", shared.scope] if shared.scope != Scope.MAIN else []
    return output.printable(" ".join([*words, "chat", "--session", quote(session)]))


def _one_line(text: str) -> str:
    flat = output.printable(" ".join(text[: 4 * _LONGEST_LINE].split()))
    return flat if len(flat) <= _LONGEST_LINE else f"{flat[:_LONGEST_LINE]}…"
