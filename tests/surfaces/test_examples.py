"""Every example runs as it stands, with no network and no key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
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
