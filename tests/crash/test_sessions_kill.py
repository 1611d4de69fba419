"""kill -9 and crowds of processes over sessions: nothing acknowledged is lost, doubled or torn."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from carrel.files.local import LocalFiles
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"

OPEN = """
import sys, time
from pathlib import Path
from carrel.clock import SystemClock
from carrel.files.disk import Disk
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction
from carrel.workspace.scope import Scope

def open_sessions(root, cache, disk=None):
    files = LocalFiles(root, disk=disk or Disk(), lock_seconds=30)
    places = SessionPlaces(
        files=files, own=EphemeralFiles(), agent="kate", log_pattern="agents/kate/sessions/{session}.log.jsonl",
        window_pattern="agents/kate/sessions/{session}.jsonl", catalog_path="agents/kate/sessions/sessions.json",
    )
    return Sessions(places, Offsets(Path(cache)), SystemClock(), keep_secrets)

def say(number, image=None):
    content = f"message {number}" if image is None else [{"type": "image_url", "image_url": {"url": image}}]
    return {"role": "user", "content": content, "message_id": str(number)}
"""

RECORDER = (
    OPEN
    + """
import base64
root, cache, start = sys.argv[1:]
sessions = open_sessions(root, cache)
print("ready", flush=True)
number = int(start)
while True:
    if number % 5 == 4:  # three at once: all of them or none
        batch = [say(number), say(number + 1), say(number + 2)]
    elif number % 7 == 3:
        batch = [say(number, "data:image/png;base64," + base64.b64encode(str(number).encode() * 999).decode())]
    else:
        batch = [say(number)]
    sessions.record("s", batch, scope=Scope.MAIN)
    number += len(batch)
    print(number, flush=True)
    if number % 11 == 0:
        sessions.describe("s", title=f"title {number}")
    if number % 13 == 0:
        sessions.compact("s", Compaction(summary="so far", through=number // 2))
    if number % 3 == 0:
        sessions.settle("s")
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


def lines_of(root: Path, session: str = "s") -> list[dict[str, Any]]:
    """Look at the log with nothing but the standard library; a line that is not whole fails here."""
    text = (root / f"{FOLDER}/{session}.log.jsonl").read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def ids_of(root: Path, session: str = "s") -> list[str]:
    header, *rest = lines_of(root, session)
    assert header["type"] == "session"
    assert not any(line["type"] == "session" for line in rest)
    return [line["message_id"] for line in rest if line["type"] == "entry"]


def run(script: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def killed(root: Path, cache: Path, start: int, seconds: float) -> int:
    """Let a process record from a number on, kill it, and return up to where it said that it was."""
    with run(RECORDER, root, cache, start) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        time.sleep(seconds)
        os.kill(worker.pid, signal.SIGKILL)
        # The last line may be torn by the kill, and then it was not said.
        said = [int(line) for line in worker.stdout if line.endswith("\n")]
    return max([start, *said])


def test_thirty_kills_lose_double_and_tear_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Each process begins a little before where the last one stopped, as one that repeats what it is unsure of."""
    chance = random.Random(7)
    root, cache = tmp_path / "desk", tmp_path / "cache.db"
    root.mkdir()
    said = 0
    for number in range(30):
        if number % 10 == 9:
            cache.unlink(missing_ok=True)
        said = killed(root, cache, max(0, said - 4), chance.uniform(0, 0.08))
    assert said > 20
    found = ids_of(root)
    assert found == [str(number) for number in range(len(found))]
    assert len(found) >= said
    for line in lines_of(root):
        for part in line["content"] if isinstance(line.get("content"), list) else []:
            assert (root / part["path"]).stat().st_size == part["bytes"]
    for path in (None, cache):
        sessions = open_sessions(root, path)
        assert [placed.entry.message_id for placed in sessions.entries("s")] == found
        assert [finding.code for finding in sessions.settle("s")] == []
        sessions.close()
    verify_window(root)


def verify_window(root: Path, session: str = "s") -> None:
    log = (root / f"{FOLDER}/{session}.log.jsonl").read_bytes().splitlines(keepends=True)
    window = (root / f"{FOLDER}/{session}.jsonl").read_bytes().splitlines(keepends=True)
    assert window[0] == log[0]
    compacted = [line for line in log if line.startswith(b'{"type":"compaction"')]
    entries = [line for line in log if line.startswith(b'{"type":"entry"')]
    through = json.loads(compacted[-1])["through"] if compacted else 0
    assert window[1:] == compacted[-1:] + entries[through:]


KILLED_AT = (
    OPEN
    + """
from carrel.testing import FaultyDisk
root, cache, moment = sys.argv[1:]
sessions = open_sessions(root, cache, FaultyDisk(kill_at=moment))
sessions.record("s", [say(3), say(4)], scope=Scope.MAIN)
print("said", flush=True)
"""
)


@pytest.mark.parametrize("moment", ["before:write", "after:write", "before:fdatasync", "after:fdatasync"])
def test_a_kill_between_any_two_calls_leaves_all_of_a_turn_or_nothing(tmp_path: Path, moment: str) -> None:
    root, cache = tmp_path / "desk", tmp_path / "cache.db"
    root.mkdir()
    sessions = open_sessions(root, cache)
    message = {"role": "user", "content": "x"}
    sessions.record("s", [message | {"message_id": name} for name in ("1", "2")], scope=Scope.MAIN)
    sessions.close()
    with run(KILLED_AT, root, cache, moment) as worker:
        assert worker.stdout is not None
        assert worker.stdout.read() == ""
    assert worker.returncode == -signal.SIGKILL
    expected = ["1", "2"] if moment == "before:write" else ["1", "2", "3", "4"]
    assert ids_of(root) == expected
    again = open_sessions(root, cache)
    added = again.record("s", [message | {"message_id": name} for name in ("3", "4")], scope=Scope.MAIN)
    assert [each.is_new for each in added] == [moment == "before:write"] * 2
    assert ids_of(root) == ["1", "2", "3", "4"]
    again.close()


# ------------------------------------------------------------------------------------------------ crowds


RACER = (
    OPEN
    + """
import random
root, cache, who = sys.argv[1:]
numbers = list(range(50))
random.Random(int(who)).shuffle(numbers)
sessions = open_sessions(root, cache)
print("ready", flush=True)
sys.stdin.readline()
for number in numbers:
    recorded = sessions.record("s", [say(number), say(number)], scope=Scope.MAIN)
    print(number, int(recorded[0].is_new), int(recorded[1].is_new), flush=True)
sessions.close()
"""
)


def together(script: str, count: int, *words: object) -> list[list[str]]:
    """Start processes, let them all go at once, and return what each said."""
    workers = [run(script, *words, who) for who in range(count)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=120)[0].splitlines() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * count
    return said


def test_sixteen_processes_that_say_the_same_fifty_messages_leave_each_once(tmp_path: Path) -> None:
    root, cache = tmp_path / "desk", tmp_path / "cache" / "sessions.db"
    root.mkdir()
    said = together(RACER, 16, root, cache)
    assert sorted(ids_of(root), key=int) == [str(number) for number in range(50)]
    answers = [line.split() for lines in said for line in lines]
    assert len(answers) == 16 * 50
    assert sorted(int(number) for number, first, _ in answers if first == "1") == list(range(50))
    assert not any(second == "1" for _, _, second in answers)
    for path in (None, cache):
        assert served(root, path) == ids_of(root)


def served(root: Path, cache: Path | None) -> Sequence[str]:
    sessions = open_sessions(root, cache)
    found = [placed.entry.message_id for placed in sessions.entries("s")]
    assert sessions.findings("s") == ()
    sessions.close()
    return found


SETTLER = (
    OPEN
    + """
root, cache, who = sys.argv[1:]
sessions = open_sessions(root, cache)
print("ready", flush=True)
sys.stdin.readline()
for number in range(12):
    sessions.record("s", [say(f"{who}.{number}")], scope=Scope.MAIN)
    if number == 5 and who == "0":
        sessions.compact("s", Compaction(summary="so far", through=3))
    sessions.settle("s")
    sessions.record(f"own{who}", [say(number)], scope=Scope.MAIN)
    sessions.settle(f"own{who}")
sessions.close()
"""
)


def test_processes_that_settle_one_session_at_once_leave_window_and_catalog_whole(tmp_path: Path) -> None:
    root, cache = tmp_path / "desk", tmp_path / "cache.db"
    root.mkdir()
    together(SETTLER, 4, root, cache)
    assert sorted(ids_of(root)) == sorted(f"{who}.{number}" for who in range(4) for number in range(12))
    verify_window(root)
    catalog = json.loads((root / f"{FOLDER}/sessions.json").read_bytes())
    assert sorted(catalog["sessions"]) == ["own0", "own1", "own2", "own3", "s"]
    names = {path.name for path in (root / FOLDER).iterdir()}
    assert not [name for name in names if ".damaged" in name or name.startswith(".carrel-tmp-")]
