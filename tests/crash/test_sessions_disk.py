"""Every call to the disk fails once while a session is recorded: a typed error, and a session as it was."""

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from carrel.errors import CarrelError, Unavailable
from carrel.files.disk import Disk
from carrel.files.local import LocalFiles
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction
from carrel.testing import EphemeralFiles, FaultyDisk, FixedClock, VolatileDisk
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"
LOG, WINDOW = f"{FOLDER}/s.log.jsonl", f"{FOLDER}/s.jsonl"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


class Hasty(Disk):
    """A disk that does not wait: what is tried here is that calls fail, not that the power does."""

    def fsync(self, fd: int) -> None:
        pass

    def fdatasync(self, fd: int) -> None:
        pass


class Failing(FaultyDisk, Hasty):
    """One that fails on purpose, and does not wait either."""


def open_sessions(root: Path, disk: Disk | None = None) -> Sessions:
    places = SessionPlaces(
        files=LocalFiles(root, disk=disk or Hasty()),
        own=EphemeralFiles(),
        agent="kate",
        log_pattern=f"{FOLDER}/{{session}}.log.jsonl",
        window_pattern=f"{FOLDER}/{{session}}.jsonl",
        catalog_path=f"{FOLDER}/sessions.json",
    )
    return Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, 24, tzinfo=UTC)), keep_secrets)


def say(message_id: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts) or f"message {message_id}", "message_id": message_id}


def ids(sessions: Sessions) -> list[str]:
    return [each.entry.message_id for each in sessions.entries("s")] if sessions.exists("s") else []


def whole_lines(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / LOG).read_text().splitlines()]


def nothing(root: Path) -> None:
    root.mkdir()


def two_entries(root: Path) -> None:
    root.mkdir()
    sessions = open_sessions(root)
    sessions.record("s", [say("1"), say("2")], scope=Scope.MAIN)
    sessions.settle("s")


def torn_tail(root: Path) -> None:
    two_entries(root)
    with (root / LOG).open("ab") as file:
        file.write(b'{"type":"entry","role":"us')


STATES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "a new session": (nothing, []),
    "one that goes on": (two_entries, ["1", "2"]),
    "one with a torn tail": (torn_tail, ["1", "2"]),
}
TURNS: dict[str, list[dict[str, Any]]] = {
    "a message": [say("3")],
    "a turn": [say("3"), say("4"), say("5")],
    "an attachment": [say("3", {"type": "text", "text": "See:"}, IMAGE)],
}
FAULTS: dict[str, dict[str, Any]] = {
    "EIO": {"error": errno.EIO},
    "ENOSPC": {"error": errno.ENOSPC},
    "short write": {"short": True},
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("state", STATES)
def test_a_disk_that_fails_at_any_call_costs_nothing_but_a_repetition(
    tmp_path: Path, state: str, turn: str, fault: str
) -> None:
    build, before = STATES[state]
    after = [*before, *(message["message_id"] for message in TURNS[turn])]
    number, disk = 0, Failing()
    for number in range(1, 60):
        root = tmp_path / str(number)
        build(root)
        disk = Failing(fail_at=number, **FAULTS[fault])
        sessions = open_sessions(root, disk)
        error = attempt(lambda sessions=sessions: sessions.record("s", TURNS[turn], scope=Scope.MAIN))
        found = ids(open_sessions(root))
        assert found == ids(sessions)
        assert found in ([before, after] if error else [after])
        # The same process goes on, and so does another: whoever repeats adds what is missing, once.
        again = sessions if number % 2 else open_sessions(root)
        again.record("s", TURNS[turn], scope=Scope.MAIN)
        assert ids(again) == ids(open_sessions(root)) == after
        if state != "one with a torn tail":
            assert [line.get("message_id") for line in whole_lines(root) if line["type"] == "entry"] == after
            assert open_sessions(root).findings("s") == ()
        if number > len(disk.calls):
            break
    assert number > 2
    assert not disk.fired


def attempt(act: Callable[[], object]) -> CarrelError | None:
    """Return the typed error; anything else is a bug and fails the test."""
    try:
        act()
    except Unavailable as error:
        assert error.hint  # noqa: PT017 - the caller tells what to expect
        return error
    return None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_disk_that_fails_while_a_session_settles_leaves_the_log_and_is_made_up_for(
    tmp_path: Path, fault: str
) -> None:
    number, disk = 0, Failing()
    for number in range(1, 100):
        root = tmp_path / str(number)
        two_entries(root)
        recorder = open_sessions(root)
        recorder.record("s", [say("3")], scope=Scope.MAIN)
        recorder.compact("s", Compaction(summary="so far", through=2))
        log = (root / LOG).read_bytes()
        (root / FOLDER / "sessions.json").write_bytes(b"noise")
        disk = Failing(fail_at=number, **FAULTS[fault])
        attempt(lambda root=root, disk=disk: open_sessions(root, disk).settle("s"))
        assert (root / LOG).read_bytes() == log
        sessions = open_sessions(root)
        sessions.settle("s")
        lines = log.splitlines(keepends=True)
        assert (root / WINDOW).read_bytes() == lines[0] + lines[4] + lines[3]
        assert list(json.loads((root / FOLDER / "sessions.json").read_bytes())["sessions"]) == ["s"]
        kept = [path.read_bytes() for path in (root / FOLDER).iterdir() if ".damaged" in path.name]
        assert kept == [b"noise"]
        if number > len(disk.calls):
            break
    assert number > 5
    assert not disk.fired


def test_a_disk_that_fails_for_good_half_way_leaves_a_line_that_the_next_process_passes_over(
    tmp_path: Path,
) -> None:
    class Dying(Failing):
        def truncate(self, fd: int, size: int) -> None:  # noqa: ARG002  the disk's own signature
            raise OSError(errno.EIO, "gone")

    root = tmp_path / "desk"
    two_entries(root)
    fired = 0
    for number in range(1, 30):
        disk = Dying(fail_at=number, short=True)
        sessions = open_sessions(root, disk)
        error = attempt(
            lambda sessions=sessions, n=number: sessions.record("s", [say(f"x{n}")], scope=Scope.MAIN)
        )
        fired += error is not None
        open_sessions(root).record("s", [say(f"x{number}")], scope=Scope.MAIN)
        assert ids(open_sessions(root)) == ["1", "2", *(f"x{n}" for n in range(1, number + 1))]
        if number > len(disk.calls):
            break
    assert fired
    assert [finding.code for finding in open_sessions(root).findings("s")] == ["damaged_lines"]


def test_what_was_acknowledged_survives_a_power_cut_and_so_do_its_attachments(tmp_path: Path) -> None:
    root = tmp_path / "desk"
    root.mkdir()
    disk = VolatileDisk(root)
    sessions = open_sessions(root, disk)
    said: list[str] = []
    for number, parts in enumerate([(), (IMAGE,), (), (IMAGE, IMAGE), ()]):
        sessions.record("s", [say(f"{number}.{n}", *parts) for n in range(2)], scope=Scope.MAIN)
        said += [f"{number}.{n}" for n in range(2)]
        if number % 2:
            sessions.settle("s")
        after = tmp_path / f"after{number}"
        disk.power_cut(after)
        again = open_sessions(after)
        assert ids(again) == said
        assert again.findings("s") == ()
        for placed in again.entries("s"):
            for part in placed.entry.content if isinstance(placed.entry.content, list) else []:
                assert (after / part["path"]).stat().st_size == part["bytes"]
        again.record("s", [say("next")], scope=Scope.MAIN)
        again.settle("s")
        assert (after / WINDOW).read_bytes() == (after / LOG).read_bytes()


LIMITED = """
import resource, signal, sys
from pathlib import Path
from carrel.clock import SystemClock
from carrel.errors import CarrelError
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.workspace.scope import Scope
root, cache, limit = sys.argv[1:]
places = SessionPlaces(
    files=LocalFiles(root), own=EphemeralFiles(), agent="kate", log_pattern="agents/kate/sessions/{session}.log.jsonl"
)
sessions = Sessions(places, Offsets(Path(cache)), SystemClock(), keep_secrets)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
said = []
try:
    for number in range(100000):
        batch = [{"role": "user", "content": "x" * 50, "message_id": f"{number}.{n}"} for n in range(20)]
        sessions.record("s", batch, scope=Scope.MAIN)
        said += [each["message_id"] for each in batch]
except CarrelError as error:
    print(error.code)
print(len(said), [each.entry.message_id for each in sessions.entries("s")] == said)
print([each.is_new for each in sessions.record("s", [{"role": "user", "content": "x", "message_id": "0.0"}], scope=Scope.MAIN)])
"""


@pytest.mark.parametrize("limit", [100_000, 400_000])
def test_a_full_disk_is_named_and_everything_acknowledged_is_served(tmp_path: Path, limit: int) -> None:
    """A limit on the size of files is the kernel's own way to stop a write; the cache meets it too."""
    root = tmp_path / "desk"
    root.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(root), str(tmp_path / "cache.db"), str(limit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    code, served, again = done.stdout.splitlines()
    assert code == "disk_full"
    assert served.endswith(" True")
    assert again == "[False]"
    found = ids(open_sessions(root))
    assert len(found) == len(set(found)) == int(served.split()[0]) > 100
    assert whole_lines(root)
