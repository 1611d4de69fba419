"""Figures of what plugs into other programs: `python bench/adapters.py [--json FILE]`.

A hook from its start to its end, against an empty Python process. A turn of a framework's agent with a
workspace, against the same turn without, one after the other, with a model that answers at once: one that
keeps no copy of what it is told, since that would count against whoever tells it more.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agents import Agent as OpenAIAgent
from agents import Model as OpenAIModel
from agents import ModelResponse as OpenAIResponse
from agents import RunConfig, Runner, Usage
from agents.testing import assistant_message
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models import Model

import adapters_hooks
import adapters_langchain
import sessions
from carrel import Workspace
from carrel.adapters.openai_agents import CarrelSession, workspace_tools
from carrel.adapters.pydantic_ai import CarrelCapability
from figures import Figure, figure, options, run

TURNS = 200
WARM_UP = 5
ADDED = 10
A_SESSION = 10


def main() -> None:
    run((adapters_hooks.hooks, turns), options(__doc__).parse_args().json)


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
        figure("    of it the adapter, with the tools it offers", median(own), "ms", ADDED),
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


class Silent(Model):
    """A model of Pydantic AI that answers at once."""

    model_name = system = "silent"

    async def request(self, *_: Any) -> ModelResponse:
        return ModelResponse([TextPart("Very well.")])


def pydantic_ai_turns(workspace: Workspace) -> tuple[Hold, Hold]:
    bare = Agent(Silent(), instructions="You are Ada.")
    joined = Agent(
        Silent(), instructions="You are Ada.", capabilities=[CarrelCapability(workspace, scope="main")]
    )

    def turn(agent: Agent, number: int) -> Awaitable[object]:
        return agent.run(question(number), conversation_id=f"pydantic-{number // A_SESSION}")

    return waiting(partial(turn, bare)), waiting(partial(turn, joined))


class Quiet(OpenAIModel):
    """A model of the OpenAI Agents SDK that answers at once, each time by another id, as providers do."""

    told = 0

    async def get_response(self, *_: Any, **__: Any) -> OpenAIResponse:
        self.told += 1
        words = assistant_message("Very well.", item_id=f"msg_{self.told}")
        return OpenAIResponse([words], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def openai_agents_turns(workspace: Workspace) -> tuple[Hold, Hold]:
    alone = OpenAIAgent(name="Ada", instructions="You are Ada.", model=Quiet())
    agent = alone.clone(model=Quiet(), tools=workspace_tools(workspace, scope="main"))

    def bare(number: int) -> Awaitable[object]:
        return Runner.run(alone, question(number), run_config=RunConfig(tracing_disabled=True))

    def joined(number: int) -> Awaitable[object]:
        session = CarrelSession(workspace, f"openai-{number // A_SESSION}", scope="main")
        config = RunConfig(call_model_input_filter=session.with_context, tracing_disabled=True)
        return Runner.run(agent, question(number), session=session, run_config=config)

    return waiting(bare), waiting(joined)


if __name__ == "__main__":
    main()
