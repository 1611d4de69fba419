"""The fixtures that pytest finds where Carrel is installed, used as somebody else's tests would."""

import subprocess
import sys

import pytest

from carrel import Workspace
from carrel.testing.assertions import assert_context, assert_no_leak

THEIRS = """
import asyncio

def test_what_the_model_reads(workspace, assert_context):
    workspace.put("USER.md", b"Luis, in Bogota.\\n")
    assembly = assert_context(workspace, holds="Luis, in Bogota.", query="Hello", at_most=2_000)
    assert "2026-01-05" in assembly.to_text()
    assert_context(workspace, scope="shared", lacks="Luis")

def test_nothing_private_is_told(workspace, assert_no_leak):
    workspace.memory.notebook("MEMORY.md").append("Notes", "- The safe is behind the heron.")
    assert_no_leak(workspace, "behind the heron")

def test_a_turn(workspace, offline_model, frozen_clock):
    async def talk():
        return [event async for event in workspace.turn("s1", "My name is Ana.", model=offline_model)]
    assert asyncio.run(talk())
    assert "2026-01-05T12:00" in workspace.read("agents/main/sessions/s1.log.jsonl")
    assert frozen_clock.now().year == 2026
"""


def test_tests_of_others_find_the_fixtures_by_themselves(tmp_path):
    (tmp_path / "test_theirs.py").write_text(THEIRS)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", tmp_path],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "3 passed" in ran.stdout, ran.stdout


def test_a_run_that_uses_none_of_them_loads_nothing(tmp_path):
    (tmp_path / "test_theirs.py").write_text(
        "import sys\ndef test_it():\n    assert 'carrel.app' not in sys.modules\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "1 passed" in ran.stdout, ran.stdout


def test_a_context_that_is_not_as_said_fails_and_tells_why(workspace: Workspace):
    workspace.put("USER.md", b"Luis, in Bogota.\n")
    with pytest.raises(AssertionError, match=r"lacks \['Ana'\](.|\n)*USER\.md: included"):
        assert_context(workspace, holds="Ana")
    with pytest.raises(AssertionError, match=r"holds \['Luis'\]"):
        assert_context(workspace, lacks=["Ana", "Luis"])
    with pytest.raises(AssertionError, match="over 1"):
        assert_context(workspace, at_most=1)


def test_a_leak_is_told_with_every_way_that_leads_to_it(workspace: Workspace):
    workspace.put("knowledge/safe.md", b"The safe is behind the heron.\n")
    with pytest.raises(AssertionError, match=r"a literal search.*the file knowledge/safe\.md"):
        assert_no_leak(workspace, "behind the heron")
