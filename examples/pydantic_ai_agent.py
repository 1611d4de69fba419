"""An agent of Pydantic AI with a workspace of its own: what it is told in one session it knows in the next.

It runs offline, with a model that only repeats what it is reminded of. Put "openai:gpt-5" in its place.
"""
# ruff: noqa: INP001, T201

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from carrel import Workspace
from carrel.adapters.pydantic_ai import CarrelCapability


def repeat(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Say what the workspace has put beside the last message."""
    hits = re.findall(r"<hit [^>]*>(.*?)</hit>", repr(messages[-1]))
    return ModelResponse([TextPart(f"I remember: {hits[0]}" if hits else "Noted.")])


def main() -> None:
    """Tell a fact in one session, and ask for it in another."""
    with TemporaryDirectory() as folder:
        Workspace.init(Path(folder) / "ada")
        with Workspace.open(Path(folder) / "ada") as workspace:
            for session, message in (
                ("monday", "The walrus sleeps in the boat house."),
                ("tuesday", "Where does the walrus sleep?"),
            ):
                ada = Agent(
                    FunctionModel(repeat),
                    capabilities=[CarrelCapability(workspace, session=session, scope="main")],
                )
                print(f"{session}> {message}\n{ada.run_sync(message).output}")


if __name__ == "__main__":
    main()
