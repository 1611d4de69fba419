"""kill -9 at every named point of forgetting: it is finished by the next, and each effect is there once."""

import signal
import subprocess
import sys

import pytest
from tests.unit.memory.oblivion import NOTEBOOK, SAID, SAMSUNG, TEA, Oblivion, forgetting_of

from carrel.memory.forget.forgetter import STEPS

POINTS = [f"{when}:{step}" for step in STEPS for when in ("before", "after")]
OF_PURGE = ("logs", "records", "leftovers", "scrub")
KEPT = "- Bo lives in Rome.\n"

KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.unit.memory.oblivion import Oblivion
_, _, root, home, fact, point, purge = sys.argv

def step(name):
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)

Oblivion(Path(root), Path(home)).forget(fact, purge=purge == "purge", step=step)
"""


@pytest.fixture
def told(tmp_path):
    desk = Oblivion(tmp_path / "work", tmp_path / "home")
    desk.say({"role": "user", "content": SAID, "message_id": "m1"}, {"role": "assistant", "content": "Ok."})
    desk.put({"MEMORY.md": f"- {SAMSUNG}\n{KEPT}", "memory/2026-04-20.md": f"- 09:00 [note] {SAMSUNG}\n"})
    fact = desk.learn(SAMSUNG)
    desk.learn(TEA)
    return desk, fact


def kill(desk, fact, point, *, purge, root):
    home = desk.environ["CARREL_HOME"]
    words = [str(root), str(desk.root), home, fact.id, point, "purge" if purge else ""]
    done = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("point", POINTS)
def test_whenever_it_is_killed_the_purge_is_finished_once(told, point, request):
    desk, fact = told
    kill(desk, fact, point, purge=True, root=request.config.rootpath)
    with desk.open() as workspace:
        forgetting = forgetting_of(workspace)
        was_planned = point != "before:plan"
        assert forgetting.finish() == (1 if was_planned and point != "after:settle" else 0)
        assert forgetting.finish() == 0
    if not was_planned:
        assert SAMSUNG in desk.read(NOTEBOOK)
        desk.forget(fact.id, purge=True)
    assert b"samsung" not in desk.everything().lower()
    assert desk.read(NOTEBOOK) == f"## Insights\n\n- {TEA}\n"
    assert desk.read("MEMORY.md") == KEPT
    with desk.open() as workspace:
        records = workspace.records
        assert records.facts.get(fact.id).text == "[FORGOTTEN]"
        assert len(records.audit.events(action="forgot")) == 1
        said = [placed.entry.content for placed in workspace.sessions.page("s1").entries]
        assert said == ["[FORGOTTEN] Also I drink green tea.", "Ok."]
        changes = [change for change in records.changes.list() if change.action == "forget"]
        assert sorted(change.path for change in changes) == ["MEMORY.md", "memory/2026-04-20.md", NOTEBOOK]
        assert {change.state for change in changes} == {"done"}
    assert not list(desk.root.rglob("*.damaged*"))


@pytest.mark.parametrize("point", [point for point in POINTS if point.split(":")[1] not in OF_PURGE])
def test_whenever_it_is_killed_the_next_forgetting_finishes_it(told, point, request):
    desk, fact = told
    kill(desk, fact, point, purge=False, root=request.config.rootpath)
    done = desk.forget(fact.id)
    assert done.finished == (0 if point in ("before:plan", "after:settle") else 1)
    assert SAMSUNG not in desk.read(NOTEBOOK) + desk.read("MEMORY.md") + desk.read("memory/2026-04-20.md")
    with desk.open() as workspace:
        assert workspace.records.facts.get(fact.id).state == "forgotten"
        assert SAID in {placed.entry.content for placed in workspace.sessions.page("s1").entries}
        assert workspace.memory.add(SAMSUNG).written
    assert desk.read(NOTEBOOK).count(SAMSUNG) == 1
