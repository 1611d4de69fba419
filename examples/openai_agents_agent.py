"""An agent of the OpenAI Agents SDK with a workspace: what it is told in one session it knows in the next.

It runs offline, with a model that only repeats what it is reminded of. Leave `model` out for a real one.
"""
# ruff: noqa: INP001, T201

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from agents import Agent, RunConfig, Runner
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message

from carrel import Workspace
from carrel.adapters.openai_agents import CarrelSession


def repeat(call: ModelCall) -> ModelStep:
    """Say what the workspace has put beside the last message."""
    hits = re.findall(r"<hit [^>]*>(.*?)</hit>", repr(call.input))
    return ModelStep(output=[assistant_message(f"I remember: {hits[0]}" if hits else "Noted.")])


async def main() -> None:
    """Tell a fact in one session, and ask for it in another."""
    with TemporaryDirectory() as folder:
        Workspace.init(Path(folder) / "ada")
        with Workspace.open(Path(folder) / "ada") as workspace:
            for name, message in (
                ("monday", "The walrus sleeps in the boat house."),
                ("tuesday", "Where does the walrus sleep?"),
            ):
                session = CarrelSession(workspace, name, scope="main")
                model = ScriptedModel([ModelStep.respond(repeat)])
                ada = Agent(name="Ada", tools=session.tools(), model=model)
                config = RunConfig(call_model_input_filter=session.with_context, tracing_disabled=True)
                result = await Runner.run(
                    ada, message, session=session, run_config=config, hooks=session.hooks
                )
                print(f"{name}> {message}\n{result.final_output}")


if __name__ == "__main__":
    asyncio.run(main())
