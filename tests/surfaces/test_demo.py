"""`carrel demo` claims only what happened, ends by itself and leaves nothing; and what the pages show can be run."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.docs.pages import matches

from carrel.cli.demo_screen import wrap

PATIENCE = 120
"""Seconds after which a test gives up on a process that says nothing; none waits for them."""

ROOT = Path(__file__).parents[2]
FACT = "The launch is on 12 May."


@pytest.fixture
def folder(tmp_path):
    """Where the demo may put its temporary directory."""
    made = tmp_path / "tmp"
    made.mkdir()
    return made


def holds_each_claim(steps):
    """What the demo says of itself, held against what it observed."""
    assert [step["holds"] for step in steps] == [True] * 10
    appears, read, talk, learnt, found, killed, recalled, hidden, promoted, undone = (
        step["observed"] for step in steps
    )
    assert {"SOUL.md", "USER.md", "MEMORY.md"} <= set(appears["files"])
    assert sum(read["sections"].values()) == read["used"]
    assert "USER.md" in read["sections"]
    assert "█" in steps[1]["commands"][0]["printed"]
    assert "cached prefix" in steps[1]["commands"][0]["printed"]
    assert {"role": "user", "text": FACT} in talk["messages"]
    assert (learnt["fact"], learnt["session"], learnt["said"]) == (FACT, talk["session"], [FACT])
    assert (found["session"], [found["message"]]) == (learnt["session"], learnt["messages"])
    assert killed["signal"] == signal.SIGKILL
    assert killed["printed_before"].endswith("which ")
    assert [message["role"] for message in killed["messages"]] == ["user"]
    assert killed["fact_is_unchanged"]
    assert FACT in steps[5]["commands"][-1]["printed"]
    assert (recalled["session"] != talk["session"], recalled["told"]) == (True, ["When is the launch?"])
    assert f"“{FACT}” — memory/main.md" in recalled["answer"]
    assert (hidden["main_bytes"] > 0, hidden["shared_bytes"], hidden["shared_hits"]) == (True, 0, 0)
    assert "12 May" not in hidden["shared_context"]
    (promotion,) = promoted["promoted"]
    assert (promotion["text"], promotion["recalls"], promotion["days"]) == (FACT, 3, 3)
    assert promotion["messages"] == learnt["messages"]
    assert "recalls 3 of 3 ✓" in steps[8]["commands"][-1]["printed"]
    assert FACT in promoted["memory"]
    assert promoted["left_out"]
    assert undone["after"] == undone["before"]
    assert FACT not in undone["after"]


def test_each_claim_of_the_demo_holds_and_its_explorer_opens(process, folder):
    env = process.environment({"TMPDIR": str(folder), "CARREL_MODEL": "openai:gpt-5", "MAKELEVEL": ""})
    with subprocess.Popen(
        [process.script, "demo", "--serve", "--json"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.stdout is not None
        story, place = (json.loads(running.stdout.readline()) for _ in range(2))
        token = Path(place["token_file"]).read_text().strip()
        pages = ""
        for name in ("harbour", "ada"):
            request = Request(
                f"{place['url']}/w/{name}/overview", headers={"Authorization": f"Bearer {token}"}
            )
            with urlopen(request) as answer:
                pages += answer.read().decode()
        running.send_signal(signal.SIGINT)
        running.communicate()
    holds_each_claim(story["steps"])
    assert story["explorer"] == "carrel demo --serve"
    for word in ("Harbour Studio", "1 change of memory to approve", "handbook.md", "press.md", FACT):
        assert word in pages
    assert list(folder.iterdir()) == []


def test_a_pipe_gets_plain_text_and_nothing_is_left(process, folder):
    env = {"TMPDIR": str(folder), "MAKELEVEL": "1"}
    outcome = process("demo", env=env, seconds=PATIENCE)
    assert (outcome.code, outcome.err) == (0, b"")
    assert b"\x1b" not in outcome.out
    assert b"\r" not in outcome.out
    steps = re.findall(r"^(\d+) of 10  \S", outcome.text, re.MULTILINE)
    assert steps == [str(number) for number in range(1, 11)]
    assert len(re.findall(r"^✓ ", outcome.text, re.MULTILINE)) == 10
    assert "10 of 10 claims held" in outcome.text
    shown = re.search(
        r"```text\n(\$ carrel -C ada.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert shown is not None
    assert matches(f"…\n{shown[1]}…\n", outcome.text)
    assert "$ SERVE=1 make demo" in outcome.text
    assert list(folder.iterdir()) == []
    assert not process.home.exists()


def seen_at_a_terminal(process, columns, until, **env):
    """What a person sees in a window of so many columns, up to some words; then the demo is stopped."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = process.environment({"TERM": "xterm-256color", **env})
    with subprocess.Popen(
        [process.script, "demo"], env=environ, stdout=child, stderr=child, stdin=child
    ) as running:
        os.close(child)
        seen = b""
        while until not in seen:
            assert select.select([parent], [], [], PATIENCE)[0], seen
            seen += os.read(parent, 65_536)
        running.send_signal(signal.SIGINT)
        while select.select([parent], [], [], PATIENCE)[0]:
            try:
                if not os.read(parent, 65_536):
                    break
            except OSError:
                break  # Linux says EIO where others say end of file
    os.close(parent)
    return seen.decode()


def test_a_terminal_gets_colours_and_no_line_is_wider_than_it(process, folder):
    seen = seen_at_a_terminal(process, 60, b"3 of 10", TMPDIR=str(folder))
    assert "\x1b[1mWhat the model would read" in seen
    assert "\x1b[34m█" in seen  # the colours of the product's own bar
    lines = re.sub(r"\x1b\[[0-9;]*m", "", seen).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert max(map(len, lines)) <= 60
    assert list(folder.iterdir()) == []


def test_no_color_is_respected_at_a_terminal(process, folder):
    assert "\x1b" not in seen_at_a_terminal(process, 80, b"3 of 10", TMPDIR=str(folder), NO_COLOR="1")


def test_a_line_is_wrapped_below_its_own_text_and_keeps_its_colour():
    line = "- \x1b[2mone two three\x1b[0m four"
    assert list(wrap(line, 12)) == ["- \x1b[2mone two \x1b[0m", "  \x1b[2mthree\x1b[0m four"]
    assert list(wrap("  a" + "b" * 20, 10)) == ["  a" + "b" * 20]


def test_a_demo_that_is_interrupted_leaves_nothing_behind(process, folder):
    env = process.environment({"TMPDIR": str(folder)})
    with subprocess.Popen([process.script, "demo"], env=env, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        while b"chat --session" not in running.stdout.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        running.stdout.read()
    assert running.returncode == 130
    assert list(folder.iterdir()) == []


def test_a_demo_that_cannot_show_what_it_tells_fails_with_a_typed_error(process, folder, tmp_path):
    broken = tmp_path / "sitecustomize.py"  # for what the demo starts, and not for the demo itself
    broken.write_text("import sys\nif sys.flags.safe_path:\n    sys.exit('the machine is out of order')\n")
    outcome = process("demo", env={"TMPDIR": str(folder), "PYTHONPATH": str(tmp_path)}, seconds=PATIENCE)
    assert outcome.code == 1
    assert b"error[demo_failed]" in outcome.err
    assert b"out of order" in outcome.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", range(3))
def test_an_example_of_the_page_on_turns_runs(process, sample, number):
    examples = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/concepts/turns.md").read_text("utf-8"), re.DOTALL
    )
    assert len(examples) == 3
    outcome = process(python=("-c", examples[number]), cwd=sample.path, seconds=PATIENCE)
    assert (outcome.code, outcome.err) == (0, b"")
    assert outcome.text
