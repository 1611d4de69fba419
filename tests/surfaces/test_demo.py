"""`carrel demo` shows what really happens, ends by itself and leaves nothing; and what the pages show can be run."""

import os
import pty
import re
import select
import signal
import subprocess
from pathlib import Path

import pytest

PATIENCE = 60
"""Seconds after which a test gives up on a process that says nothing; none waits for them."""

PAGES = Path(__file__).parents[2] / "docs/concepts"


@pytest.fixture
def folder(tmp_path):
    """Where the demo may put its temporary directory."""
    made = tmp_path / "tmp"
    made.mkdir()
    return made


def part(text, number):
    """What stands under one heading of the demo."""
    return re.split(r"^\d+\. ", text, flags=re.MULTILINE)[number]


def test_the_demo_holds_a_conversation_is_killed_and_resumes(process, folder):
    outcome = process("demo", env={"TMPDIR": str(folder)}, seconds=PATIENCE)
    assert (outcome.code, outcome.err) == (0, b"")
    talk, bars, killed, opened, answered = (part(outcome.text, number) for number in range(7, 12))
    assert "Ana uses a Samsung" in talk
    assert "launch is on 12 May" in talk
    used = [int(left.replace(",", "")) for left in re.findall(r"([\d,]+) left", bars)]
    assert used[1] < used[0]
    widths = [len(line.strip()) for line in bars.splitlines() if "█" in line]
    assert widths[0] < widths[1]
    assert "signal 9" in killed
    assert "context " not in killed
    assert "user: Please read handbook.md." in opened
    assert "answer is missing" in opened
    assert "launch is on 12 May" in answered
    assert "earlier in this conversation" in answered
    assert b"\x1b" not in outcome.out


def test_the_demo_leaves_nothing_behind(process, folder):
    assert process("demo", env={"TMPDIR": str(folder)}, seconds=PATIENCE).code == 0
    assert list(folder.iterdir()) == []
    assert not process.home.exists()


def test_the_demo_has_colours_at_a_terminal(process, folder):
    parent, child = pty.openpty()
    env = process.environment({"TMPDIR": str(folder), "TERM": "xterm-256color"})
    with subprocess.Popen(
        [process.script, "demo"], env=env, stdout=child, stderr=child, stdin=child
    ) as running:
        os.close(child)
        seen = b""
        while b"Now your own" not in seen:
            assert select.select([parent], [], [], PATIENCE)[0], seen
            seen += os.read(parent, 65_536)
        assert running.wait(PATIENCE) == 0
    os.close(parent)
    assert b"\x1b[1mKate>" in seen


def test_a_demo_that_is_interrupted_leaves_nothing_behind(process, folder):
    env = process.environment({"TMPDIR": str(folder)})
    with subprocess.Popen([process.script, "demo"], env=env, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        while b"Kate>" not in running.stdout.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        running.stdout.read()
    assert running.returncode == 130
    assert list(folder.iterdir()) == []


def test_a_demo_that_cannot_talk_fails_with_a_typed_error(process, folder):
    outcome = process("demo", env={"TMPDIR": str(folder), "CARREL_TZ": "Nowhere/Land"}, seconds=PATIENCE)
    assert outcome.code != 0
    assert b"error[" in outcome.err
    assert b"Traceback" not in outcome.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", range(3))
def test_an_example_of_the_page_on_turns_runs(process, sample, number):
    examples = re.findall(r"```python\n(.*?)```", (PAGES / "turns.md").read_text("utf-8"), re.DOTALL)
    assert len(examples) == 3
    outcome = process(python=("-c", examples[number]), cwd=sample.path, seconds=PATIENCE)
    assert (outcome.code, outcome.err) == (0, b"")
    assert outcome.text
