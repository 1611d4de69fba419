"""A workspace on disk as an application opens it, with several agents in it, and what its logs hold."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.unit.runtime.scripted import call

from carrel.app import Workspace
from carrel.runtime.loop import Ended, Event, Limits
from carrel.runtime.model import Model, Reply
from carrel.runtime.sweep import Swept
from carrel.sessions.message import Message
from carrel.testing import ScriptedModel

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
KATES = "agents/kate/sessions"


class House:
    """A directory that is opened anew for each thing that is done in it, as other processes would."""

    def __init__(self, root: Path, home: Path):
        self.root = root
        self.environ = {"CARREL_HOME": str(home)}
        root.mkdir()

    def put(self, files: Mapping[str, str]) -> "House":
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self

    def trust(self) -> "House":
        Workspace.trust(self.root, environ=self.environ)
        return self

    def open(self, agent: str = "kate", *, at: datetime = NOW) -> Workspace:
        environ = {**self.environ, "CARREL_NOW": at.isoformat()}
        return Workspace.open(self.root, agent=agent, environ=environ)

    def say(
        self,
        model: Model | None,
        text: str = "Hi.",
        *,
        session: str = "s1",
        scope: str = "main",
        limits: Limits | None = None,
        at: datetime = NOW,
    ) -> list[Event]:
        """Hold one turn with Kate and return its events."""
        with self.open(at=at) as workspace:
            return hold(workspace, model, text, session=session, scope=scope, limits=limits)

    def sweep(self, model: Model | None = None, *, at: datetime = NOW) -> Swept:
        """Do what waits, as a worker of its own."""
        with self.open(at=at) as workspace:
            return workspace.sweep(model=model)

    def log(self, path: str = KATES) -> list[dict[str, Any]]:
        """The lines of the only log in a folder."""
        (found,) = self.root.glob(f"{path}/*.log.jsonl")
        return [json.loads(line) for line in found.read_text().splitlines()]


def hold(
    workspace: Workspace,
    model: Model | None,
    text: str = "Hi.",
    *,
    session: str = "s1",
    scope: str = "main",
    limits: Limits | None = None,
) -> list[Event]:
    """Hold one turn and return its events."""

    async def run() -> list[Event]:
        events = workspace.turn(session, text, model=model, scope=scope, limits=limits)
        return [event async for event in events]

    return asyncio.run(run())


def codes(events: list[Event]) -> list[str]:
    """What was said about a turn that ended."""
    assert isinstance(events[-1], Ended)
    return [finding.code for finding in events[-1].findings]


def says(text: str) -> tuple[Reply]:
    return (Reply(text=text),)


def prompt(model: ScriptedModel, number: int = -1) -> str:
    """All that a model was given to read in one call."""
    return "\n".join(message.to_text() for message in model.requests[number].messages)


def spoken(lines: list[dict[str, Any]]) -> list[Message]:
    """A log as a conversation."""
    return [
        Message(
            line["role"],
            line["content"],
            tool_calls=tuple(
                call(each["name"], each["id"], **each["arguments"]) for each in line.get("tool_calls", ())
            ),
            tool_call_id=line.get("tool_call_id", ""),
        )
        for line in lines
        if line["type"] == "entry"
    ]


def results(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the tools of a session gave."""
    return [json.loads(line["content"].partition("\n\n[")[0]) for line in lines if line.get("role") == "tool"]


def errors(lines: list[dict[str, Any]]) -> list[str]:
    """The codes of the results that are errors."""
    return [each["error"]["code"] for each in results(lines) if "error" in each]
