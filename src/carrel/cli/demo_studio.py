"""The workspace that the demo serves: weeks of work that are played once more, so that no page is empty."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path

from msgspec import to_builtins

from carrel import plainjson
from carrel.app import Workspace
from carrel.cli.demo_story import AFTERWARDS, FILES, JOURNAL, NOTED, SAID, STEPS, SUMMED_UP, TALKS, Line, step
from carrel.runtime.model import Reply, Request, Spend
from carrel.sessions.message import ToolCall

_CHARACTERS = 4
"""Of one token, for a model that exists only here."""


class _Actor:
    """A model that says its lines, and counts as a provider does that keeps what its last request began with.

    It takes part in the demo alone: whoever chats there speaks with the offline model.
    """

    name = "sample"

    def __init__(self) -> None:
        self.line = Line("", "")
        self._before: tuple[str, ...] = ()

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Say the line; a file that belongs to it is read first."""
        is_read = request.messages[-1].role == "tool"
        calls = (
            (ToolCall(id="call-read", name="read_file", arguments={"path": self.line.reads}),)
            if self.line.reads and not is_read
            else ()
        )
        text = "" if calls else self.line.answer
        if text:
            yield text
        spend = self.count(request, text)
        yield Reply(text=text, tool_calls=calls, spend=spend, finish="tools" if calls else "stop")

    def count(self, request: Request, said: str) -> Spend:
        """Return what a call takes, and keep what it began with."""
        offered = "".join(f"{tool.name}{tool.description}" for tool in request.tools)
        texts = (offered, *(message.to_text() for message in request.messages))
        same = takewhile(lambda pair: pair[0] == pair[1], zip(texts, self._before, strict=False))
        kept, self._before = sum(len(text) for text, _ in same), texts
        return Spend(
            input=sum(map(len, texts)) // _CHARACTERS,
            cached=kept // _CHARACTERS,
            output=1 + len(said) // _CHARACTERS,
        )


NEIGHBOUR = "pilots"
"""The folder beside the workspace in which another agent works."""


def furnish(root: Path, environ: Mapping[str, str], tell: Callable[[int, int], None] | None = None) -> None:
    """Make the workspace in a new directory; it is trusted, and nothing outside of its home is touched."""
    Workspace.init(root, layout="carrel", environ=environ)
    with Workspace.open(root, environ=environ) as workspace:
        now = workspace.config.clock.now()
    for path, text in (*FILES.items(), *_journal(now)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    Workspace.trust(root, environ=environ)
    _elsewhere(root.parent / NEIGHBOUR, environ)
    asyncio.run(_live(root, environ, now, tell or _nobody))


def _nobody(_: int, __: int) -> None:
    """Tell nobody how far it is."""


async def _live(
    root: Path, environ: Mapping[str, str], now: datetime, tell: Callable[[int, int], None]
) -> None:
    """Let the weeks go by, each conversation on its day; what it taught is learnt on its evening."""
    for done, (back, session, lines) in enumerate(TALKS):
        tell(done, len(TALKS) + 1)
        at = now - timedelta(days=back, minutes=40)
        with Workspace.open(root, environ={**environ, "CARREL_NOW": at.isoformat()}) as kate:
            if session == "ports":
                _tell(kate)
            await _talk(kate, session, lines)
            kate.sweep()
    with Workspace.open(
        root, environ={**environ, "CARREL_NOW": (now - timedelta(minutes=12)).isoformat()}
    ) as kate:
        _plan(kate)
        _support(kate)
        await _talk(kate, "ports", AFTERWARDS)
        kate.sweep()
        kate.searching.sync()
    tell(len(TALKS) + 1, len(TALKS) + 1)


async def _talk(kate: Workspace, session: str, lines: Sequence[Line], *, source: str = "chat") -> None:
    actor = _Actor()
    for line in lines:
        actor.line = line
        async for _ in kate.turn(session, line.said, model=actor, source=source):
            pass


def _tell(kate: Workspace) -> None:
    """Tell the agent what it is to know, for this workspace and for wherever it works."""
    kate.memory.add("Invoices go out on the 1st.")
    kate.memory.add("Ask for the goal before writing code.", layer="experience")


def _plan(kate: Workspace) -> None:
    """Record a long conversation and sum it up on the way, so that there is a boundary to see."""
    actor = _Actor()
    for number in range(1, STEPS + 1):
        line = step(number)
        spend = actor.count(Request(messages=kate.assemble("launch-plan").messages), line.answer)
        said = [{"role": "user", "content": line.said}, {"role": "assistant", "content": line.answer}]
        kate.record("launch-plan", said, spend, source="chat")
        if number == SUMMED_UP:
            kate.compact("launch-plan")
    kate.update_session_index("launch-plan", title="The launch plan, berth by berth")


def _support(kate: Workspace) -> None:
    """Let somebody else tell the agent something to remember: it waits for the owner's word."""
    call = {"id": "call-1", "name": "memory_write", "arguments": NOTED}
    kate.record(
        "support",
        [
            {"role": "user", "content": SAID, "sender_id": "port-support"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        ],
        scope="shared",
        source="support",
    )
    result = plainjson.dumps(to_builtins(kate.tools(session="support").call("memory_write", NOTED))).decode()
    kate.record(
        "support",
        [
            {"role": "tool", "content": result, "tool_call_id": "call-1", "name": "memory_write"},
            {"role": "assistant", "content": "I have put it before Luis, who decides."},
        ],
        scope="shared",
        source="support",
    )


def _elsewhere(root: Path, environ: Mapping[str, str]) -> None:
    """Let another agent learn something, in a workspace that has a place for what others learnt.

    Switched on, a namespace of the first workspace is read in this one.
    """
    Workspace.init(root, layout="squad", environ=environ)
    (root / "carrel.yaml").write_text(
        "layout: squad\nworkspace: {name: Pilots}\n"
        "agents:\n  - id: milo\n    displayName: Milo\n    profile: milo\n",
        encoding="utf-8",
    )
    Workspace.trust(root, environ=environ)
    with Workspace.open(root, agent="milo", environ=environ) as milo:
        milo.memory.add("Ports answer fastest before noon.", layer="experience")


def _journal(now: datetime) -> Iterator[tuple[str, str]]:
    for back, text in JOURNAL.items():
        yield f"memory/{(now - timedelta(days=back)).date()}.md", text
