"""Every example runs as it stands, with no network and no key."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
GUIDES = EXAMPLES.parent / "docs/guides"
SAID = {
    "langchain_agent.py": (
        "I remember: user: The walrus sleeps in the boat house.",
        "The bicycle of Luis is green.\n",
    ),
    "openai_agents_agent.py": ("boat house",),
    "pydantic_ai_agent.py": ("boat house",),
}


def test_each_of_them_is_tried():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAID)


@pytest.mark.parametrize("name", sorted(SAID))
def test_it_says_what_was_told_in_another_session(tmp_path, name):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        env={**os.environ, "CARREL_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in SAID[name])


# The first block of each guide, with a model that needs no key in the place of a real one, and what that needs.
STUBS = {
    "pydantic-ai.md": (
        '"openai:gpt-5"',
        'FunctionModel(lambda *_: ModelResponse([TextPart("Friday.")]))',
        """
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
""",
    ),
    "openai-agents.md": (
        'name="Ada",',
        'name="Ada", model=ScriptedModel([[assistant_message("Friday.")]]),',
        """
from agents import set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message

set_tracing_disabled(True)
""",
    ),
    "langchain.md": (
        '"openai:gpt-5"',
        'Toolless(responses=["Friday."])',
        """
from langchain_core.language_models import FakeListChatModel

class Toolless(FakeListChatModel):
    def bind_tools(self, *_, **__):
        return self
""",
    ),
}


@pytest.mark.parametrize("guide", sorted(STUBS))
def test_the_first_lines_of_a_guide_connect_an_agent_as_they_are_copied(tmp_path, guide):
    text = (GUIDES / guide).read_text()
    assert "carrel init my-agent" in text.partition("```python")[0]
    block = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]
    lines = [line for line in block.splitlines() if line and not line.startswith(("from", "import"))]
    assert len(lines) <= 5
    real, stub, preamble = STUBS[guide]
    assert block.count(real) == 1
    environment = {**os.environ, "CARREL_HOME": str(tmp_path / "home")}

    def run(*words):
        done = subprocess.run(
            [sys.executable, *words],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-m", "carrel", "init", "my-agent")
    run("-c", preamble + block.replace(real, stub))
    session = "monday" if guide == "langchain.md" else "s1"
    assert "Friday." in run("-m", "carrel", "-C", "my-agent", "sessions", "show", session)
