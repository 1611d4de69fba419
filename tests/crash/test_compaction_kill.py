"""kill -9 at every named point of a compaction, and crowds that compact at once: the session goes on, nothing is lost."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from carrel.files.local import LocalFiles
from carrel.runtime.callbacks import Callbacks
from carrel.runtime.compact import STEPS, Compactor
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"
NEEDLE = "We decided to call the ship Zoltan, hull NX-4711."
KEPT = 250
POINTS = [f"{when}:{step}" for step in STEPS for when in ("before", "after")]
WRITTEN = POINTS[POINTS.index("after:log") :]

OPEN = """
import asyncio, os, signal, sys
from pathlib import Path
from carrel.clock import SystemClock
from carrel.errors import CarrelError
from carrel.files.disk import Disk
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.runtime.callbacks import Callbacks
from carrel.runtime.compact import Compactor
from carrel.runtime.model import Reply
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.workspace.scope import Scope

def open_compactor(root, cache, disk=None, step=str):
    files = LocalFiles(root, disk=disk or Disk(), lock_seconds=30)
    places = SessionPlaces(
        files=files, own=EphemeralFiles(), agent="kate", log_pattern="agents/kate/sessions/{session}.log.jsonl",
        window_pattern="agents/kate/sessions/{session}.jsonl", catalog_path="agents/kate/sessions/sessions.json",
    )
    sessions = Sessions(places, Offsets(Path(cache)), SystemClock(), keep_secrets)
    callbacks = Callbacks()
    saved = LocalFiles(root)
    callbacks.on("before_compaction", lambda event: saved.append("saved.md", f"{len(event.messages)}\\n".encode()))
    return Compactor(agent="kate", sessions=sessions, callbacks=callbacks, count=lambda t: len(t) // 4, step=step)

class Model:
    name = "stub"
    async def stream(self, request):
        text = "## Decisions\\n- The ship is called Zoltan, hull NX-4711\\n\\n## Requests\\n- Asked about each boat in the harbour"
        yield text
        yield Reply(text=text)

def turn(name):
    story = "The harbour is calm and the boats are many. " * 9
    return [
        {"role": "user", "content": f"Tell me about boat {name} in the harbour.", "message_id": f"u{name}"},
        {"role": "assistant", "content": story, "message_id": f"a{name}"},
    ]
"""

KILLED = (
    OPEN
    + """
from carrel.testing import FaultyDisk
root, cache, point, how = sys.argv[1:]

def step(name):
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)

disk = FaultyDisk(kill_at=point) if how == "disk" else None
own = open_compactor(root, cache, disk, step)
if how == "model":
    asyncio.run(own.compact_with(Model(), "s", window=1_000))
else:
    own.compact("s", kept=250)
print("done", flush=True)
"""
)

ENDLESS = (
    OPEN
    + """
root, cache, start = sys.argv[1:]
own = open_compactor(root, cache)
print("ready", flush=True)
for number in range(int(start), 100_000):
    own.sessions.record("s", turn(number), scope=Scope.MAIN)
    print(number, flush=True)
    if number % 4 == 3:
        asyncio.run(own.compact_with(Model() if number % 8 == 3 else None, "s", window=2_000))
    else:
        own.sessions.settle("s")
"""
)

RACER = (
    OPEN
    + """
root, cache, who = sys.argv[1:]
own = open_compactor(root, cache)
print("ready", flush=True)
sys.stdin.readline()
for number in range(6):
    own.sessions.record("s", turn(f"{who}.{number}"), scope=Scope.MAIN)
    attempt = asyncio.run(own.compact_with(Model() if who == "0" else None, "s", window=1_000))
    print("compacted" if attempt.compacted else "nothing", *(f.code for f in attempt.findings), flush=True)
own.sessions.close()
"""
)


def open_sessions(root: Path, cache: Path | None = None) -> Sessions:
    places = SessionPlaces(
        files=LocalFiles(root),
        own=EphemeralFiles(),
        agent="kate",
        log_pattern=f"{FOLDER}/{{session}}.log.jsonl",
        window_pattern=f"{FOLDER}/{{session}}.jsonl",
        catalog_path=f"{FOLDER}/sessions.json",
    )
    return Sessions(places, Offsets(cache), FixedClock(datetime(2026, 4, 24, tzinfo=UTC)), keep_secrets)


def turn(name: object) -> list[dict[str, Any]]:
    story = "The harbour is calm and the boats are many. " * 9
    return [
        {"role": "user", "content": f"Tell me about boat {name} in the harbour.", "message_id": f"u{name}"},
        {"role": "assistant", "content": story, "message_id": f"a{name}"},
    ]


def begin(root: Path, cache: Path, turns: int) -> bytes:
    """Make a session whose first message must never be forgotten, and return its log."""
    root.mkdir()
    sessions = open_sessions(root, cache)
    said = {"role": "user", "content": NEEDLE, "message_id": "needle"}
    sessions.record("s", [said, *(each for n in range(turns) for each in turn(n))], scope=Scope.MAIN)
    sessions.settle("s")
    sessions.close()
    return (root / f"{FOLDER}/s.log.jsonl").read_bytes()


def run(script: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def lines_of(root: Path) -> list[dict[str, Any]]:
    """Look at the log with nothing but the standard library; a line that is not whole fails here."""
    text = (root / f"{FOLDER}/s.log.jsonl").read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def entries_of(root: Path) -> list[str]:
    return [line["message_id"] for line in lines_of(root) if line["type"] == "entry"]


def verify_window(root: Path) -> None:
    """The window file is the header, the last summary, and the entries after it, as they stand in the log."""
    log = (root / f"{FOLDER}/s.log.jsonl").read_bytes().splitlines(keepends=True)
    window = (root / f"{FOLDER}/s.jsonl").read_bytes().splitlines(keepends=True)
    compacted = [line for line in log if line.startswith(b'{"type":"compaction"')]
    entries = [line for line in log if line.startswith(b'{"type":"entry"')]
    through = json.loads(compacted[-1])["through"] if compacted else 0
    assert window == [log[0], *compacted[-1:], *entries[through:]]


def verify_goes_on(root: Path, cache: Path, before: bytes, *, is_compacted: bool) -> None:
    """Open the session anew, go on with it, and compact it again: all is there, and the first message is known."""
    log = (root / f"{FOLDER}/s.log.jsonl").read_bytes()
    assert log.startswith(before)
    assert len(log) > len(before) if is_compacted else log == before
    everything = entries_of(root)
    for path in (None, cache):
        sessions = open_sessions(root, path)
        summary, placed = sessions.seen("s", scope=Scope.MAIN)
        assert (summary is not None) == is_compacted
        assert [each.entry.message_id for each in placed] == everything[summary.through if summary else 0 :]
        assert summary is None or "NX-4711" in summary.summary
        assert sessions.findings("s") == ()
        assert sessions.settle("s") == ()
        sessions.close()
    verify_window(root)
    sessions = open_sessions(root, cache)
    sessions.record("s", [each for n in range(100, 106) for each in turn(n)], scope=Scope.MAIN)
    own = Compactor(agent="kate", sessions=sessions, callbacks=Callbacks(), count=lambda text: len(text) // 4)
    done = own.compact("s", kept=KEPT)
    sessions.close()
    assert "NX-4711" in done.summary
    assert done.through == len(everything) + 8
    assert entries_of(root) == [
        *everything,
        *(each["message_id"] for n in range(100, 106) for each in turn(n)),
    ]
    verify_window(root)


@pytest.mark.parametrize("how", ["rules", "model"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_named_point_leaves_a_session_that_goes_on(
    tmp_path: Path, point: str, how: str
) -> None:
    root, cache = tmp_path / "desk", tmp_path / "cache.db"
    before = begin(root, cache, 10)
    with run(KILLED, root, cache, point, how) as worker:
        assert worker.stdout is not None
        assert worker.stdout.read() == ""
    assert worker.returncode == -signal.SIGKILL
    is_saved = (root / "saved.md").exists()
    assert is_saved == (POINTS.index(point) >= POINTS.index("after:flush"))
    verify_goes_on(root, cache, before, is_compacted=point in WRITTEN)


@pytest.mark.parametrize("call", ["write", "fdatasync", "fsync", "rename"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_between_any_two_calls_to_the_disk_leaves_a_session_that_goes_on(
    tmp_path: Path, when: str, call: str
) -> None:
    """The line is written and synced, then the window is replaced, then the catalog."""
    root, cache = tmp_path / "desk", tmp_path / "cache.db"
    before = begin(root, cache, 10)
    with run(KILLED, root, cache, f"{when}:{call}", "disk") as worker:
        assert worker.stdout is not None
        assert worker.stdout.read() == ""
    assert worker.returncode == -signal.SIGKILL
    assert (root / "saved.md").exists()
    verify_goes_on(root, cache, before, is_compacted=(when, call) != ("before", "write"))


def test_fifteen_kills_of_one_who_talks_and_compacts_lose_nothing_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    root, cache = tmp_path / "desk", tmp_path / "cache.db"
    begin(root, cache, 0)
    start = 0
    for _ in range(15):
        with run(ENDLESS, root, cache, start) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
            heard = [worker.stdout.readline() for _ in range(chance.randrange(1, 9))]
            time.sleep(chance.uniform(0, 0.05))
            os.kill(worker.pid, signal.SIGKILL)
            # The last line may be torn by the kill, and then it was not said.
            said = [int(line) for line in (*heard, *worker.stdout) if line.endswith("\n")]
        start = max([start - 1, *said]) + 1
    assert start > 30
    found = entries_of(root)
    expected = ["needle", *(each["message_id"] for number in range(start) for each in turn(number))]
    assert found[: len(expected)] == expected
    assert len(found) == len(set(found)) <= len(expected) + 2
    assert len([line for line in lines_of(root) if line["type"] == "compaction"]) > 3
    sessions = open_sessions(root, cache)
    summary, placed = sessions.seen("s", scope=Scope.MAIN)
    assert summary is not None
    assert "NX-4711" in summary.summary
    assert [each.entry.message_id for each in placed] == found[summary.through :]
    assert sessions.settle("s") == ()
    sessions.close()
    verify_window(root)


def test_processes_that_compact_one_session_at_once_do_no_damage_and_forget_nothing(tmp_path: Path) -> None:
    root, cache = tmp_path / "desk", tmp_path / "cache.db"
    begin(root, cache, 10)
    workers = [run(RACER, root, cache, who) for who in range(4)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=120)[0].splitlines() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4
    told = [word for lines in said for line in lines for word in line.split()]
    assert told.count("compacted") > 3
    assert set(told) <= {"compacted", "nothing", "compaction_overtaken"}
    found = entries_of(root)
    own = [each["message_id"] for n in range(10) for each in turn(n)]
    more = [each["message_id"] for who in range(4) for n in range(6) for each in turn(f"{who}.{n}")]
    assert sorted(found) == sorted(["needle", *own, *more])
    sessions = open_sessions(root)
    summary, placed = sessions.seen("s", scope=Scope.MAIN)
    assert summary is not None
    assert "NX-4711" in summary.summary
    assert [each.entry.message_id for each in placed] == found[summary.through :]
    assert sessions.findings("s") == ()
    assert sessions.settle("s") == ()
    verify_window(root)
