"""Figures of what plugs into other programs: `python bench/adapters.py [--json FILE]`.

A hook from its start to its answer, against an empty Python process, in CPU time, which other jobs on the
machine do not blur. Each round measures all of them, one after the other. A turn of a framework's agent with
a workspace, against the same turn without, one after the other, with a model that answers at once.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics
from typing import NamedTuple

from agents import Agent as OpenAIAgent
from agents import RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

import adapters_langchain
import sessions
from carrel import Workspace
from carrel.adapters.openai_agents import CarrelSession
from carrel.adapters.pydantic_ai import CarrelCapability
from figures import Figure, figure, options, run

BAR = 4
ROUNDS = 25
TURNS = 200
WARM_UP = 5
ADDED = 10
A_SESSION = 10
# Real prose that every Python has.
PROSE = "\n".join(topics[name] for name in sorted(topics))
SIZE = 1_200
PARTS = {"page-{:03}.md": 100, "memory/{}.md": 300, "knowledge/n{:03}.md": 300, "notes/n{:03}.md": 299}


def main() -> None:
    run((hooks, turns), options(__doc__).parse_args().json)


def make_workspace(folder: Path) -> Path:
    """A workspace of 1,000 files: documents, days of a journal, knowledge, notes."""
    root = folder / "thousand"
    number = 0
    for pattern, count in PARTS.items():
        for place in range(count):
            day = f"2025-{1 + place // 28:02}-{1 + place % 28:02}"
            path = root / pattern.format(day if "{}" in pattern else place)
            path.parent.mkdir(parents=True, exist_ok=True)
            begin = number * SIZE % (len(PROSE) - SIZE)
            path.write_text(PROSE[begin : begin + SIZE])
            number += 1
    (root / "carrel.yaml").write_text("agents: [{id: main, systemPromptTemplate: You are main.}]\n")
    time.sleep(2.1)  # a file that changed within 2 s is never trusted by its stamp
    return root


def hooks(folder: Path) -> list[Figure]:
    root = make_workspace(folder)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    payload = folder / "payload.json"
    told = {"session_id": "s1", "cwd": str(root), "transcript_path": str(folder / "t.jsonl")}
    payload.write_text(json.dumps(told | {"prompt": "How do class definitions bind the names of arguments?"}))
    (folder / "t.jsonl").write_text("")
    carrel = [str(Path(sys.executable).with_name("carrel"))]
    hook = ["hook", "{}", "--harness", "claude", "--scope", "main"]
    commands = {
        "nothing": [sys.executable, "-c", "pass"],
        "re": [sys.executable, "-c", "import re"],
        "json": [sys.executable, "-c", "import json, re"],
        "session-start": [*carrel, *(word.format("session-start") for word in hook)],
        "prompt": [*carrel, *(word.format("prompt") for word in hook)],
        "stop": [*carrel, *(word.format("stop") for word in hook)],
        "module": [sys.executable, "-m", "carrel", *(word.format("session-start") for word in hook)],
    }
    cold = spent(commands["session-start"], environment, payload)
    said = subprocess.run(
        commands["prompt"], env=environment, stdin=payload.open(), capture_output=True, check=True
    )
    assert b"additionalContext" in said.stdout, said
    times: dict[str, float] = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name] = min(times[name], spent(command, environment, payload))
    shutil.rmtree(root)
    ratio = {name: took / times["nothing"] for name, took in times.items()}
    return [
        figure("python -c pass", times["nothing"] * 1000, "ms"),
        figure("  and import re, as the installed script does", ratio["re"], "x"),
        figure("  and import json", ratio["json"], "x"),
        figure("hook session-start, 1,000 files, warm", ratio["session-start"], "x", BAR),
        figure("hook prompt with recall, 1,000 files, warm", ratio["prompt"], "x", BAR),
        figure("hook session-start by python -m carrel, warm", ratio["module"], "x", BAR),
        figure("hook stop, nothing new in the transcript", ratio["stop"], "x"),
        figure("hook session-start, first time", cold / times["nothing"], "x"),
    ]


def spent(command: list[str], environment: dict[str, str], payload: Path) -> float:
    """The CPU time of a process, in seconds."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(payload), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    process = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, status, used = os.wait4(process, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime


class Held(NamedTuple):
    """What a turn took, and what of it on the processor; in seconds."""

    seconds: float
    worked: float


Hold = Callable[[int], object]
"""Holds the turn of this number."""


def turns(folder: Path) -> list[Figure]:
    """What a workspace adds to a turn of each framework: context and recall before, the record after."""
    root = sessions.make_workspace(folder, "turns")
    frameworks = {
        "Pydantic AI": pydantic_ai_turns,
        "OpenAI Agents SDK": openai_agents_turns,
        "LangChain": adapters_langchain.turns,
    }
    found: list[Figure] = []
    with Workspace.open(root) as workspace:
        found += alone(workspace)
        for name, of in frameworks.items():
            found += added(name, workspace, *of(workspace))
    return found


def added(name: str, workspace: Workspace, bare: Hold, joined: Hold) -> list[Figure]:
    """Hold each turn without a workspace, with one, and by hand: what any way to use a workspace would do."""
    rounds = []
    for number in range(WARM_UP + TURNS):
        rounds.append([])
        for hold in (bare, joined, partial(by_hand, workspace, name.split(maxsplit=1)[0])):
            rounds[-1].append(held(hold, number))
            workspace.searching.wait()  # a person takes longer to read the answer than this
    bares, whole, hands = zip(*rounds[WARM_UP:], strict=True)
    more = [each.seconds - alone.seconds for each, alone in zip(whole, bares, strict=True)]
    worked = [each.worked - alone.worked for each, alone in zip(whole, bares, strict=True)]
    own = [each - hand.worked for each, hand in zip(worked, hands, strict=True)]
    return [
        figure(f"a turn of {name} with a model that answers at once", median(e.seconds for e in bares), "ms"),
        figure("  what a workspace adds to it, on the processor", median(worked), "ms", ADDED),
        figure("    of it the adapter, with the tools it offers", median(own), "ms"),
        figure("    and prepare and record, called by hand", median(e.worked for e in hands), "ms"),
        figure("  by the clock, the disk and other work on the machine included", median(more), "ms"),
    ]


def alone(workspace: Workspace) -> list[Figure]:
    """What each part of a turn takes on the processor, and what is done beside it when it is over."""
    rounds = []
    for number in range(WARM_UP + TURNS // 2):
        hold = Hand(workspace, f"alone-{number // A_SESSION}", question(number))
        parts = (hold.hear, hold.prepare, hold.answer, hold.follow)
        rounds.append([held(lambda _, part=part: part(), number).worked for part in parts])
    heard, prepared, answered, followed = zip(*rounds[WARM_UP:], strict=True)
    return [
        figure("prepare of a turn, on the processor", median(prepared), "ms"),
        figure("record of what the user says", median(heard), "ms"),
        figure("record of the answer, which ends the turn", median(answered), "ms"),
        figure("indexing both, beside, when the turn is over", median(followed), "ms"),
    ]


class Hand(NamedTuple):
    """A turn, as one holds it who has no framework."""

    workspace: Workspace
    session: str
    message: str

    def hear(self) -> None:
        self.workspace.record(self.session, [{"role": "user", "content": self.message}])

    def prepare(self) -> None:
        self.workspace.prepare(self.session, self.message)

    def answer(self) -> None:
        self.workspace.record(self.session, [{"role": "assistant", "content": "Very well."}])

    def follow(self) -> None:
        self.workspace.searching.follow(self.session)
        self.workspace.searching.wait()


def by_hand(workspace: Workspace, name: str, number: int) -> None:
    hold = Hand(workspace, f"{name}-by-hand-{number // A_SESSION}", question(number))
    hold.hear()
    hold.prepare()
    hold.answer()
    workspace.searching.follow(hold.session)


def median(seconds) -> float:
    return statistics.median(seconds) * 1000


def held(hold: Hold, number: int) -> Held:
    begin, worked = time.perf_counter(), time.process_time()
    hold(number)
    return Held(time.perf_counter() - begin, time.process_time() - worked)


def question(number: int) -> str:
    begin = number * 997 % (len(sessions.PROSE) - 300)
    return f"Question {number}: what about this? {sessions.PROSE[begin : begin + 200]}"


LOOP = asyncio.Runner()


def waiting(turn: Callable[[int], Awaitable[object]]) -> Hold:
    async def hold(number: int) -> None:
        await turn(number)

    return lambda number: LOOP.run(hold(number))


def pydantic_ai_turns(workspace: Workspace) -> tuple[Hold, Hold]:
    def answer(*_):
        return ModelResponse([TextPart("Very well.")])

    bare = Agent(FunctionModel(answer), instructions="You are Ada.")
    joined = Agent(
        FunctionModel(answer),
        instructions="You are Ada.",
        capabilities=[CarrelCapability(workspace, scope="main")],
    )

    def turn(agent: Agent, number: int) -> Awaitable[object]:
        return agent.run(question(number), conversation_id=f"pydantic-{number // A_SESSION}")

    return waiting(partial(turn, bare)), waiting(partial(turn, joined))


def openai_agents_turns(workspace: Workspace) -> tuple[Hold, Hold]:
    def agent(number: int, tools=()) -> OpenAIAgent:
        words = [assistant_message("Very well.", item_id=f"msg_{number}")]
        return OpenAIAgent(
            name="Ada", instructions="You are Ada.", model=ScriptedModel([words]), tools=[*tools]
        )

    def bare(number: int) -> Awaitable[object]:
        return Runner.run(agent(number), question(number), run_config=RunConfig(tracing_disabled=True))

    def joined(number: int) -> Awaitable[object]:
        session = CarrelSession(workspace, f"openai-{number // A_SESSION}", scope="main")
        config = RunConfig(call_model_input_filter=session.with_context, tracing_disabled=True)
        return Runner.run(
            agent(number, session.tools()), question(number), session=session, run_config=config
        )

    return waiting(bare), waiting(joined)


if __name__ == "__main__":
    main()
