"""kill -9 at every named point of a dream and of its revert, and crowds that dream at once: each effect is there once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.memory.night import DAY, DREAMED, JOURNAL, NOW, Night

from carrel.memory.dream.dreamer import STEPS

ANA = "Ana uses a Samsung."
BOGOTA = "User's timezone is America/Bogota"
MEMORY = "## People\n\n- Luis is tall.\n"
PROMOTED = f"- {ANA} _(score=0.62, hits=3, days=3)_\n- {BOGOTA} _(score=0.62, hits=3, days=3)_\n"
WRITTEN = f"{MEMORY}\n{DREAMED}\n\n{PROMOTED}"
SPLIT = STEPS.index("reverting")
POINTS = [f"{when}:{step}" for step in STEPS[:SPLIT] for when in ("before", "after")]
BACKWARDS = [f"{when}:{step}" for step in STEPS[SPLIT:] for when in ("before", "after")]

OPEN = """
import os, signal, sys
from datetime import datetime, timedelta
from pathlib import Path
from carrel.app import Workspace
from carrel.dreaming import Dreaming
from carrel.errors import CarrelError
from carrel.records.recalls import RecallEvent

def open_dreaming(root, home, now, step=str):
    environ = {"CARREL_HOME": home, "CARREL_NOW": now}
    workspace = Workspace.open(root, agent="kate", environ=environ)
    pen, sessions = (lambda: workspace.memory.pen), (lambda: workspace.sessions)
    return workspace, Dreaming(workspace, pen=pen, sessions=sessions, step=step)
"""

KILLED = (
    OPEN
    + """
root, home, now, verb, point = sys.argv[1:]

def step(name):
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)

workspace, dreaming = open_dreaming(root, home, now, step)
dreaming.run() if verb == "run" else dreaming.revert()
print("done", flush=True)
"""
)

FAULTY = (
    OPEN
    + """
from carrel.files.local import LocalFiles
from carrel.memory.pen import Pen
from carrel.testing import EphemeralFiles, FaultyDisk
root, home, now, verb, point = sys.argv[1:]
workspace, dreaming = open_dreaming(root, home, now)
files = LocalFiles(Path(root), disk=FaultyDisk(kill_at=point))
stores = {"workspace": files, "namespaces": EphemeralFiles()}
pen = Pen(stores=stores, changes=lambda: workspace.records.changes, clock=workspace.config.clock)
dreaming = Dreaming(workspace, pen=lambda: pen, sessions=lambda: workspace.sessions)
dreaming.run() if verb == "run" else dreaming.revert()
print("done", flush=True)
"""
)

ENDLESS = (
    OPEN
    + """
root, home, first = sys.argv[1:]
begin = datetime.fromisoformat("2026-04-23T03:00:00+00:00")
print("ready", flush=True)
for number in range(int(first), 100_000):
    text, now = f"- Fact number {number} is true.", begin + timedelta(minutes=number)
    workspace, dreaming = open_dreaming(root, home, now.isoformat())
    workspace.append("memory/2026-04-20.md", text + "\\n")
    workspace.records.recalls.add(
        RecallEvent(
            agent="kate", session="s1", at=now - timedelta(days=day), query=f"q{day}", path="memory/2026-04-20.md",
            line=1, tier="journal", rank=1, score=0.5, text=text, who="tool",
        )
        for day in range(3)
    )
    dreaming.run()
    workspace.close()
    print(number, flush=True)
"""
)

RACER = (
    OPEN
    + """
root, home, now = sys.argv[1:]
workspace, dreaming = open_dreaming(root, home, now)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    try:
        print("promoted", len(dreaming.run().dream.promotions), flush=True)
    except CarrelError as error:
        print(error.code, flush=True)
"""
)


def run(script: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def home_of(night: Night) -> str:
    return night.environ["CARREL_HOME"]


def kill(night: Night, verb: str, point: str, *, script: str = KILLED) -> None:
    """Have somebody dream, or take a dream back, who dies at a point."""
    with run(script, night.root, home_of(night), NOW.isoformat(), verb, point) as worker:
        assert worker.stdout is not None
        assert worker.stdout.read() == ""
    assert worker.returncode == -signal.SIGKILL


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """Two lines that are to be promoted."""
    night = Night(tmp_path / "desk", tmp_path / "home")
    night.put({"MEMORY.md": MEMORY, JOURNAL: f"- {ANA}\n- {BOGOTA}\n"})
    night.recall(f"- {ANA}")
    night.recall(f"- {BOGOTA}", line=2)
    return night


def entries(night: Night) -> list[str]:
    """The headings of the diary."""
    return [line for line in (night.read("DREAMS.md") or "").splitlines() if line.startswith("## ")]


def verify_dreamt(night: Night) -> None:
    """Everything is promoted once, in the files and in the records, and stays so."""
    for _ in range(2):
        with night.open() as workspace:
            dreams = workspace.records.dreams.list(agent="kate")[::-1]
            facts = workspace.records.facts.find(path="MEMORY.md", states=("written",))
            changes = workspace.records.changes.list(path="MEMORY.md")
        assert night.read() == WRITTEN
        assert {dream.state for dream in dreams} == {"done"}
        held = [each for dream in dreams for each in dream.promotions]
        assert [(each.text, each.state) for each in held] == [(ANA, "promoted"), (BOGOTA, "promoted")]
        assert [fact.line for fact in facts] == PROMOTED.splitlines()
        assert [(change.state, change.id) for change in changes] == [("done", facts[0].change)]
        assert len(entries(night)) == len(set(entries(night))) == len(dreams)
        night.dream(at=NOW + DAY)


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_named_point_neither_loses_nor_repeats_a_promotion(night: Night, point: str) -> None:
    kill(night, "run", point)
    assert night.read() == (WRITTEN if POINTS.index(point) >= POINTS.index("after:memory") else MEMORY)
    done = night.dream()
    assert [each.id for each in done.finished] == ([1] if point in POINTS[1:-1] else [])
    verify_dreamt(night)


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_between_any_two_calls_to_the_disk_neither_loses_nor_repeats_a_promotion(
    night: Night, when: str, call: str
) -> None:
    kill(night, "run", f"{when}:{call}", script=FAULTY)
    assert night.read() == (WRITTEN if (when, call) == ("after", "rename") else MEMORY)
    night.dream()
    verify_dreamt(night)


def test_what_its_owner_deleted_after_a_kill_is_not_written_again(night: Night) -> None:
    kill(night, "run", "after:memory")
    night.put({"MEMORY.md": MEMORY})
    assert [each.state for each in night.dream().finished] == ["done"]
    assert night.read() == MEMORY
    assert len(entries(night)) == 2


@pytest.mark.parametrize("point", BACKWARDS)
def test_a_kill_at_any_named_point_of_a_revert_takes_everything_back_once(night: Night, point: str) -> None:
    night.dream()
    kill(night, "revert", point)
    before = "before:reverting"
    if point == before:
        assert night.read() == WRITTEN
        night.revert()
    done = night.dream(at=NOW + DAY)
    assert [each.state for each in done.finished] == (
        ["reverted"] if point not in (before, "after:reverted") else []
    )
    assert night.read() == MEMORY
    assert len(entries(night)) == 1
    with night.open() as workspace:
        first = workspace.records.dreams.get(1)
        facts = workspace.records.facts.find(path="MEMORY.md")
    assert (first.state, {each.state for each in first.promotions}) == ("reverted", {"reverted"})
    assert [fact.state for fact in facts] == ["undone", "undone"]
    assert done.dream is not None
    assert done.dream.promotions == ()


def test_twelve_kills_of_one_who_never_wakes_lose_and_repeat_nothing(tmp_path: Path) -> None:
    chance = random.Random(17)
    night = Night(tmp_path / "desk", tmp_path / "home")
    first = 0
    said: list[int] = []
    for _ in range(12):
        with run(ENDLESS, night.root, home_of(night), first) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
            heard = [worker.stdout.readline() for _ in range(chance.randrange(3))]
            time.sleep(chance.uniform(0, 0.15))
            os.kill(worker.pid, signal.SIGKILL)
            # The last line may be torn by the kill, and then it was not said.
            said += [int(line) for line in (*heard, *worker.stdout) if line.endswith("\n")]
        first = max([first, *(number + 1 for number in said)])
    night.dream(at=NOW + 30 * DAY)
    lines = (night.read() or "").splitlines()
    held = Counter(line.partition(" _(")[0] for line in lines if line.startswith("- "))
    assert set(held.values()) == {1}
    assert {f"- Fact number {number} is true." for number in said} <= set(held)
    assert len(entries(night)) == len(set(entries(night)))
    with night.open() as workspace:
        dreams = workspace.records.dreams.list(limit=1_000)
    assert {dream.state for dream in dreams} == {"done"}
    assert len(entries(night)) == len(dreams)


def test_processes_that_dream_at_once_promote_each_memory_once(night: Night) -> None:
    workers = [run(RACER, night.root, home_of(night), NOW.isoformat()) for _ in range(4)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    told = [line for worker in workers for line in worker.communicate(timeout=120)[0].splitlines()]
    assert [worker.returncode for worker in workers] == [0] * 4
    assert set(told) <= {"promoted 2", "promoted 0", "dream_overtaken"}
    assert told.count("promoted 2") == 1
    verify_dreamt(night)
