"""A long conversation whose process is killed again and again: each planted fact is remembered once, where it belongs."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from carrel import Workspace
from carrel.records.facts import Fact

TURNS = 200
EVERY = 4
"""Every fourth turn says something worth remembering."""

KILLS = 8
BEGIN = datetime(2026, 4, 24, 8, 0, tzinfo=UTC)

SPEAKING = """
import json, os, sys
from carrel import Workspace
from carrel.runtime.model import Reply, Spend

PLANTED = json.loads(os.environ["PLANTED"])

class Picking:
    name = "picking"

    async def stream(self, request):
        facts = []
        for line in request.messages[-1].to_text().split("\\n"):
            said = json.loads(line) if line.startswith('{"id"') else {}
            for text, about in PLANTED.items():
                if text in said.get("text", ""):
                    facts.append({"text": text, "evidence": [said["id"]], **about})
        yield Reply(text=json.dumps({"facts": facts}), spend=Spend(input=1, output=1))

with Workspace.open(sys.argv[1], agent="kate") as workspace:
    for number in range(int(sys.argv[2])):
        text = list(PLANTED)[number // 4] if number % 4 == 0 else f"What about item {number}?"
        workspace.record("s1", [{"role": "user", "content": text, "message_id": f"u{number}"}])
        workspace.record("s1", [{"role": "assistant", "content": f"Good, {number}.", "message_id": f"a{number}"}])
        print(number, flush=True)
        workspace.sweep(model=Picking())
    workspace.sweep(model=Picking())
    workspace.conversations.learning.extract("s1", Picking())
    print("done", flush=True)
"""

KINDS = (
    ("decision", "project", "memory/kate.md"),
    ("preference", "experience", "namespaces"),
    ("user", "experience", "USER.md"),
    ("event", "project", "memory/2026-04-24.md"),
    ("entity", "project", "memory/entities/"),
    ("procedure", "project", "memory/procedures/"),
)


def planted() -> dict[str, dict[str, str]]:
    """What is said in the conversation and worth remembering, with what a model would make of it."""
    facts: dict[str, dict[str, str]] = {}
    for number in range(TURNS // EVERY):
        kind, layer, _ = KINDS[number % len(KINDS)]
        text = f"The berth{number} of harbour{number} was given to captain{number}."
        subject = "user" if kind == "user" else f"Harbour {number}"
        facts[text] = {"kind": kind, "layer": layer, "subject": subject}
    return facts


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARREL_HOME", str(tmp_path / "home"))
    Workspace.init(tmp_path / "ws")
    (tmp_path / "ws" / "carrel.yaml").write_text("layout: carrel\nagents:\n  - id: kate\n")
    Workspace.trust(tmp_path / "ws")
    return tmp_path / "ws"


def spoken(root: Path, run: int, kill_after: int | None) -> bool:
    """Speak on, from the beginning by ids that are known, until a kill; tell whether all was said."""
    from msgspec import json  # noqa: PLC0415 - the child is told in the environment

    environ = os.environ | {
        "PLANTED": json.encode(planted()).decode(),
        "CARREL_NOW": (BEGIN + timedelta(minutes=30 * run)).isoformat(),
    }
    with subprocess.Popen(
        [sys.executable, "-c", SPEAKING, str(root), str(TURNS)],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        for heard, line in enumerate(child.stdout):
            if line.strip() == "done":
                return child.wait() == 0
            if kill_after is not None and heard > kill_after:
                child.send_signal(signal.SIGKILL)
    return False


def facts_of(workspace: Workspace) -> Iterator[Fact]:
    after = ""
    while page := workspace.records.facts.find(after=after):
        yield from page
        after = page[-1].id


@pytest.mark.parametrize("seed", [1, 2])
def test_each_planted_fact_is_remembered_once_whatever_is_killed(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    for run in range(KILLS):
        assert not spoken(root, run, kill_after=(run + 1) * TURNS // (KILLS + 2) + chance.randrange(10))
    assert spoken(root, KILLS, kill_after=None)

    with Workspace.open(root, agent="kate") as workspace:
        facts = {fact.text: fact for fact in facts_of(workspace)}
        files = {p: p.read_text() for p in root.rglob("*.md")}
        files |= {p: p.read_text() for p in (root.parent / "home").rglob("*.md")}
        for number, (text, about) in enumerate(planted().items()):
            place = KINDS[number % len(KINDS)][2]
            holding = [path for path, said in files.items() for line in said.split("\n") if text in line]
            assert len(holding) == 1, (text, holding)
            assert place in str(holding[0])
            assert facts[text].state == "written"
            assert facts[text].layer == about["layer"]
            assert facts[text].evidence == (f"u{number * EVERY}",)
        assert len(facts) == TURNS // EVERY
        assert workspace.records.queue.counts()["failed"] == 0


def test_all_that_was_learnt_can_be_taken_back_byte_for_byte(root: Path) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    assert spoken(root, 0, kill_after=None)
    assert {path: path.read_bytes() for path in root.rglob("*.md")} != before
    with Workspace.open(root, agent="kate") as workspace:
        workspace.memory.undo(1_000)
        assert {path: path.read_bytes() for path in root.rglob("*.md")} == before
        assert {fact.state for fact in facts_of(workspace)} == {"undone"}
