"""The window file: always what the log says, line by line, and nobody's work is lost on the way."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from carrel.errors import CarrelError
from carrel.files import READ_LIMIT, Content, FileStore
from carrel.files.local import LocalFiles
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction, Entry, Header, encode
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"
LOG, WINDOW = f"{FOLDER}/s.log.jsonl", f"{FOLDER}/s.jsonl"


class Meddled(EphemeralFiles):
    """A store in which somebody else acts just before the next change of a file."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[str] = []
        self.before: dict[str, Callable[[], object]] = {}

    def _meddle(self, change: str) -> None:
        self.changes.append(change)
        if act := self.before.pop(change, None):
            act()

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        self._meddle(f"write {path}")
        return super().write(path, data, expect=expect)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        self._meddle(f"append {path}")
        return super().append(path, data, at=at)

    def remove(self, path: str, *, expect: str) -> None:
        self._meddle(f"remove {path}")
        super().remove(path, expect=expect)


@pytest.fixture
def files() -> Meddled:
    return Meddled()


def open_sessions(files: FileStore) -> Sessions:
    places = SessionPlaces(
        files=files,
        own=EphemeralFiles(),
        agent="kate",
        log_pattern=f"{FOLDER}/{{session}}.log.jsonl",
        window_pattern=f"{FOLDER}/{{session}}.jsonl",
        catalog_path=f"{FOLDER}/sessions.json",
    )
    return Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, 24, 12, tzinfo=UTC)), keep_secrets)


def record(sessions: Sessions, *numbers: int) -> None:
    messages = [
        {"role": "user", "content": f"message {number}", "message_id": f"m{number}"} for number in numbers
    ]
    sessions.record("s", messages, scope=Scope.MAIN)


def read(files: FileStore, path: str) -> bytes | None:
    content = files.read(path, limit=1 << 30)
    return content.data if content else None


def put(files: FileStore, path: str, data: bytes) -> None:
    content = files.read(path)
    files.write(path, data, expect=content.digest if content else None)


def remove(files: FileStore, path: str) -> None:
    content = files.read(path)
    assert content is not None
    files.remove(path, expect=content.digest)


def asides(files: FileStore) -> dict[str, bytes | None]:
    paths = [entry.path for entry in files.list(FOLDER)]
    return {path: read(files, path) for path in paths if ".damaged" in path}


def log_lines(files: FileStore) -> list[bytes]:
    return (read(files, LOG) or b"").splitlines(keepends=True)


# ------------------------------------------------------------------------------------------------ what it holds


def test_the_window_of_a_young_session_is_its_log(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1, 2)
    assert read(files, WINDOW) is None
    assert sessions.settle("s") == ()
    assert read(files, WINDOW) == read(files, LOG)
    record(sessions, 3)
    sessions.settle("s")
    assert read(files, WINDOW) == read(files, LOG)


def test_what_is_new_is_added_and_the_rest_left_alone(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1)
    sessions.settle("s")
    files.changes.clear()
    record(sessions, 2)
    sessions.settle("s")
    assert files.changes[:2] == [f"append {LOG}", f"append {WINDOW}"]
    again = open_sessions(files)
    record(again, 3)
    files.changes.clear()
    again.settle("s")
    assert files.changes[0] == f"append {WINDOW}"
    assert read(files, WINDOW) == read(files, LOG)


def test_a_session_that_did_not_change_is_not_written(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1)
    sessions.settle("s")
    files.changes.clear()
    assert sessions.settle("s") == open_sessions(files).settle("s") == ()
    assert files.changes == []


def test_after_a_compaction_the_window_is_header_summary_and_what_followed(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1, 2, 3)
    sessions.settle("s")
    before = read(files, LOG)
    sessions.compact("s", Compaction(summary="They said hello.", through=2, message_id="m2"))
    assert sessions.settle("s") == ()
    header, _, _, third, compaction = log_lines(files)
    assert b"".join(log_lines(files)[:4]) == before
    assert read(files, WINDOW) == header + compaction + third
    record(sessions, 4)
    sessions.settle("s")
    assert read(files, WINDOW) == header + compaction + third + log_lines(files)[5]
    assert open_sessions(files).settle("s") == ()
    assert asides(files) == {}


def test_the_second_compaction_replaces_the_first(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1, 2)
    sessions.compact("s", Compaction(summary="first", through=1))
    sessions.settle("s")
    record(sessions, 3, 4)
    sessions.compact("s", Compaction(summary="second", through=3))
    sessions.settle("s")
    lines = log_lines(files)
    assert read(files, WINDOW) == lines[0] + lines[6] + lines[5]
    assert len(lines) == 7


def test_a_better_summary_of_the_same_entries_replaces_the_first(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1, 2)
    sessions.compact("s", Compaction(summary="first", through=1))
    sessions.settle("s")
    assert sessions.seen("s", scope=Scope.MAIN)[0].summary == "first"  # type: ignore[union-attr]
    sessions.compact("s", Compaction(summary="second", through=1))
    sessions.settle("s")
    assert b"second" in (read(files, WINDOW) or b"")
    assert b"first" not in (read(files, WINDOW) or b"")
    assert sessions.seen("s", scope=Scope.MAIN)[0].summary == "second"  # type: ignore[union-attr]


def test_a_log_with_damage_has_a_window_without(files: Meddled) -> None:
    good = encode(Entry(role="user", content="hi", message_id="m1"))
    put(files, LOG, encode(Header(id="s")) + b"noise\n" + good[:30] + good + b'{"type":"later"}\n' + b"torn")
    sessions = open_sessions(files)
    sessions.settle("s")
    assert read(files, WINDOW) == encode(Header(id="s")) + good
    record(sessions, 2)
    sessions.settle("s")
    assert (read(files, WINDOW) or b"").startswith(encode(Header(id="s")) + good)
    assert open_sessions(files).settle("s") == ()


def test_a_window_follows_a_log_that_was_replaced(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1, 2, 3)
    sessions.settle("s")
    other = encode(Header(id="s")) + encode(Entry(role="user", content="from a backup", message_id="b1"))
    put(files, LOG, other)
    sessions.settle("s")
    assert read(files, WINDOW) == other


def test_a_session_without_a_log_gets_no_window(files: Meddled) -> None:
    assert open_sessions(files).settle("s") == ()
    assert files.changes == []


# ------------------------------------------------------------------------------------------------ what became of it


def test_a_missing_window_is_made_without_a_word(files: Meddled) -> None:
    sessions = open_sessions(files)
    record(sessions, 1, 2)
    sessions.settle("s")
    for each in (open_sessions(files), sessions):  # a new process, and the one that made it
        remove(files, WINDOW)
        assert each.settle("s") == ()
        assert read(files, WINDOW) == read(files, LOG)


DAMAGE = {
    "empty": b"",
    "noise": bytes(range(256)),
    "NULs": b"\0" * 4096,
    "torn": encode(Header(id="s")) + b'{"type":"entry","ro',
    "cut in a line": encode(Header(id="s"))[:-9],
    "plain text": b"notes of mine\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("is_new", [True, False], ids=["new process", "same process"])
def test_a_damaged_window_is_kept_aside_and_made_anew_and_said(
    files: Meddled, damage: str, *, is_new: bool
) -> None:
    sessions = open_sessions(files)
    record(sessions, 1, 2)
    sessions.settle("s")
    put(files, WINDOW, DAMAGE[damage])
    if is_new:
        sessions = open_sessions(files)
    record(sessions, 3)
    (finding,) = sessions.settle("s")
    assert (finding.code, finding.path) == ("rebuilt", WINDOW)
    ((aside, kept),) = asides(files).items()
    assert aside in finding.hint
    assert kept == DAMAGE[damage]
    assert read(files, WINDOW) == read(files, LOG)
    assert sessions.settle("s") == ()
    assert sessions.rows()[1] == 1  # what is kept aside is no session


OTHERS = {
    "another program's transcript": (
        b'{"type":"session","version":3,"id":"s","cwd":"/home/ana"}\n'
        b'{"type":"message","id":"1","message":{"role":"user","content":"only here"}}\n'
    ),
    "entries that are in no log": (
        encode(Header(id="s")) + encode(Entry(role="user", content="only here", message_id="x1"))
    ),
    "a line that a person changed": (
        encode(Header(id="s")) + encode(Entry(role="user", content="as I want it", message_id="m1"))
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_others_wrote_there_is_not_lost(files: Meddled, other: str) -> None:
    """The file may be the only copy: agents/<id>/sessions/<sid>.jsonl is where OpenClaw keeps its transcripts."""
    put(files, WINDOW, OTHERS[other])
    sessions = open_sessions(files)
    record(sessions, 1)
    (finding,) = sessions.settle("s")
    assert finding.path == WINDOW
    assert list(asides(files).values()) == [OTHERS[other]]
    assert read(files, WINDOW) == read(files, LOG)


def test_an_old_window_of_our_own_is_replaced_without_a_word(files: Meddled) -> None:
    """A process that died between the compaction and the window leaves one that is out of date."""
    sessions = open_sessions(files)
    record(sessions, 1, 2, 3)
    sessions.settle("s")
    sessions.compact("s", Compaction(summary="s", through=2))
    again = open_sessions(files)
    assert again.settle("s") == ()
    again.compact("s", Compaction(summary="t", through=3))
    assert open_sessions(files).settle("s") == ()
    assert asides(files) == {}


HANDMADE = {
    "a header by hand": b'{ "type": "session", "id": "s", "version": 1, "by": "hand" }\r\n',
    "a mark at the start": b"\xef\xbb\xbf" + encode(Header(id="s")),
    "no header": b"",
    "a header that is torn": encode(Header(id="s"))[:20],
}


@pytest.mark.parametrize("head", HANDMADE)
def test_the_old_window_of_a_log_that_others_began_is_known_as_ours(files: Meddled, head: str) -> None:
    spliced = encode(Entry(role="user", content="hi", message_id="b"))
    put(
        files,
        LOG,
        HANDMADE[head] + encode(Entry(role="user", content="hi", message_id="a")) + spliced[:30] + spliced,
    )
    sessions = open_sessions(files)
    record(sessions, 1)
    assert sessions.settle("s") == ()
    assert open_sessions(files).settle("s") == ()
    sessions.compact("s", Compaction(summary="so far", through=1))
    assert open_sessions(files).settle("s") == ()
    sessions.compact("s", Compaction(summary="so far", through=2))
    assert open_sessions(files).settle("s") == ()
    assert asides(files) == {}


def test_two_processes_that_settle_at_once_leave_one_whole_window(files: Meddled) -> None:
    sessions, other = open_sessions(files), open_sessions(files)
    record(sessions, 1)
    sessions.settle("s")
    other.settle("s")

    def meanwhile() -> None:
        record(other, 3)
        other.settle("s")

    record(sessions, 2)
    files.before[f"append {WINDOW}"] = meanwhile
    assert sessions.settle("s") == ()
    assert read(files, WINDOW) == read(files, LOG)
    assert asides(files) == {}


def test_two_processes_that_find_the_same_damage_keep_it_once(files: Meddled) -> None:
    sessions, other = open_sessions(files), open_sessions(files)
    record(sessions, 1)
    put(files, WINDOW, b"noise\n")
    files.before[f"remove {WINDOW}"] = lambda: other.settle("s")
    sessions.settle("s")
    assert read(files, WINDOW) == read(files, LOG)
    assert list(asides(files).values()) == [b"noise\n"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_a_window_that_is_no_file_is_named_and_recording_goes_on(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    files = LocalFiles(tmp_path)
    sessions = open_sessions(files)
    record(sessions, 1)
    make(tmp_path / WINDOW)
    with pytest.raises(CarrelError) as caught:
        sessions.settle("s")
    assert WINDOW in caught.value.message
    assert caught.value.hint
    record(sessions, 2)
    sessions.close()
    assert open_sessions(files).page("s").total == 2


def test_a_window_elsewhere_leaves_no_trace_in_the_workspace() -> None:
    files, own = EphemeralFiles(), EphemeralFiles()
    places = SessionPlaces(files=files, own=own, agent="kate", log_pattern="transcripts/{session}.jsonl")
    sessions = Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, 24, tzinfo=UTC)), keep_secrets)
    record(sessions, 1)
    sessions.close()
    assert [entry.path for entry in files.list("transcripts")] == ["transcripts/s.jsonl"]
    assert [entry.path for entry in files.list()] == ["transcripts"]
    log: Content | None = files.read("transcripts/s.jsonl", limit=READ_LIMIT)
    assert log is not None
    assert read(own, "kate/s.jsonl") == log.data
    assert list(json.loads(read(own, "kate/sessions.json") or b"")["sessions"]) == ["s"]
