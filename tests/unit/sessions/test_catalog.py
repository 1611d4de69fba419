"""The list of sessions as a file: derived from the logs, and careful with what others put there."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.files.local import LocalFiles
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"
CATALOG = f"{FOLDER}/sessions.json"


class Meddled(EphemeralFiles):
    """A store in which somebody else acts just before the next change of the catalog."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.before: dict[str, Callable[[], object]] = {}

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        if path == CATALOG:
            self.writes += 1
            self.before.pop("write", lambda: None)()
        return super().write(path, data, expect=expect)

    def remove(self, path: str, *, expect: str) -> None:
        if path == CATALOG:
            self.before.pop("remove", lambda: None)()
        super().remove(path, expect=expect)


@pytest.fixture
def files() -> Meddled:
    return Meddled()


def open_sessions(files: FileStore, day: int = 24) -> Sessions:
    places = SessionPlaces(
        files=files,
        own=EphemeralFiles(),
        agent="kate",
        log_pattern=f"{FOLDER}/{{session}}.log.jsonl",
        window_pattern=f"{FOLDER}/{{session}}.jsonl",
        catalog_path=CATALOG,
    )
    return Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, day, 12, tzinfo=UTC)), keep_secrets)


def record(files: FileStore, session: str, text: str = "hello", day: int = 24) -> Sessions:
    sessions = open_sessions(files, day)
    sessions.record(session, [{"role": "user", "content": text}], scope=Scope.MAIN)
    return sessions


def put(files: FileStore, data: bytes) -> None:
    content = files.read(CATALOG)
    files.write(CATALOG, data, expect=content.digest if content else None)


def read(files: FileStore) -> bytes:
    content = files.read(CATALOG)
    assert content is not None
    return content.data


def rows(files: FileStore) -> dict[str, Any]:
    return json.loads(read(files))["sessions"]


def asides(files: FileStore) -> list[bytes]:
    contents = [files.read(entry.path) for entry in files.list(FOLDER) if ".damaged" in entry.path]
    return [content.data for content in contents if content]


def test_a_row_has_id_title_summary_and_the_time_of_the_last_entry(files: Meddled) -> None:
    sessions = record(files, "s", "plan the trip")
    sessions.describe("s", summary="A trip.")
    sessions.settle("s")
    assert json.loads(read(files)) == {
        "version": 1,
        "sessions": {
            "s": {
                "id": "s",
                "title": "Plan the trip",
                "summary": "A trip.",
                "updatedAt": "2026-04-24T12:00:00.000Z",
            }
        },
    }


def test_the_last_used_session_comes_first_and_the_others_stay(files: Meddled) -> None:
    for day, session in ((20, "a"), (22, "b"), (21, "c")):
        record(files, session, day=day).settle(session)
    assert list(rows(files)) == ["b", "c", "a"]
    record(files, "a", day=23).settle("a")
    assert list(rows(files)) == ["a", "b", "c"]


def test_a_title_that_was_given_wins_over_what_was_said_first(files: Meddled) -> None:
    sessions = record(files, "s", "plan the trip")
    sessions.describe("s", title="Bogota \ud800")
    sessions.settle("s")
    assert rows(files)["s"]["title"] == "Bogota \ud800"


def test_a_row_that_is_right_is_not_written_again(files: Meddled) -> None:
    record(files, "s").settle("s")
    assert open_sessions(files).settle("s") == ()
    assert files.writes == 1


def test_a_missing_catalog_is_made_of_all_logs_without_a_word(files: Meddled) -> None:
    for session in ("a", "b", "c"):
        record(files, session, f"about {session}").settle(session)
    content = files.read(CATALOG)
    assert content is not None
    files.remove(CATALOG, expect=content.digest)
    assert open_sessions(files).settle("b") == ()
    assert {key: row["title"] for key, row in rows(files).items()} == {
        "a": "About a",
        "b": "About b",
        "c": "About c",
    }
    assert asides(files) == []


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"noise", bytes(range(256)), b"\0" * 4096, b"[]", b"null", b"5", b'"x"', b'{"sessions":[]}', b'{"sessions":null}',
        b'{"version":1,"sessions":{"a":5}}', b'{"version":1,"sessions":{"a":{"title":5}}}', b'{"version":1,"sessions":{"a":[]}}',
        b'{"version":1,"sessions":{"a":{}}', b"[" * 100_000, b'{"sessions":' * 50_000, b"\xef\xbb\xbf\xff",
    ],
    ids=lambda data: str(data[:20]),
)  # fmt: skip
def test_a_damaged_catalog_is_kept_aside_and_made_of_all_logs_and_said(files: Meddled, data: bytes) -> None:
    for session in ("a", "b"):
        record(files, session).settle(session)
    put(files, data)
    sessions = open_sessions(files)
    (finding,) = sessions.settle("a")
    assert (finding.code, finding.path) == ("rebuilt", CATALOG)
    assert ".damaged" in finding.hint
    assert asides(files) == [data]
    assert sorted(rows(files)) == ["a", "b"]
    assert sessions.settle("a") == ()


@pytest.mark.parametrize(
    "data",
    [
        b'{"agent:main:main":{"sessionId":"0b7e","updatedAt":1714000000000,"model":"x"}}',
        b'{"a":{"id":"a","summary":"of another program","updatedAt":"2026-01-01"}}',
        b'{"version":1}',
        b"{}",
    ],
)
def test_a_list_in_another_form_is_not_lost_and_ours_is_complete(files: Meddled, data: bytes) -> None:
    """Such a file may be another program's only list: OpenClaw keeps its own under the same name."""
    for session in ("a", "b"):
        record(files, session).settle(session)
    put(files, data)
    open_sessions(files).settle("a")
    assert sorted(rows(files)) == ["a", "b"]
    assert asides(files) == [data] or len(data) < 20


def test_a_catalog_of_a_newer_carrel_is_left_as_it_is(files: Meddled) -> None:
    data = b'{"version":2,"sessions":{"q":{"id":"q","title":"t","pinned":true}},"folders":[]}'
    put(files, data)
    sessions = record(files, "s")
    sessions.close()
    assert read(files) == data
    assert open_sessions(files).page("s").total == 1


def test_rows_of_sessions_that_are_gone_go_when_they_are_forgotten(files: Meddled) -> None:
    for session in ("a", "b"):
        record(files, session).settle(session)
    sessions = open_sessions(files)
    sessions.forget("a")
    assert list(rows(files)) == ["b"]


def test_two_processes_that_change_two_rows_at_once_lose_neither(files: Meddled) -> None:
    record(files, "a").settle("a")
    first, second = record(files, "b"), record(files, "c")
    files.before["write"] = lambda: second.settle("c")
    assert first.settle("b") == ()
    assert sorted(rows(files)) == ["a", "b", "c"]


@pytest.mark.parametrize("moment", ["write", "remove"])
def test_two_processes_that_find_the_same_damage_both_go_on(files: Meddled, moment: str) -> None:
    first, second = record(files, "a"), record(files, "b")
    put(files, b"noise")
    files.before[moment] = lambda: second.settle("b")
    first.settle("a")
    assert sorted(rows(files)) == ["a", "b"]
    assert asides(files) == [b"noise"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_a_catalog_that_is_no_file_is_named_and_recording_goes_on(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    files = LocalFiles(tmp_path)
    sessions = record(files, "s")
    make(tmp_path / CATALOG)
    with pytest.raises(CarrelError) as caught:
        sessions.settle("s")
    assert CATALOG in caught.value.message
    sessions.record("s", [{"role": "user", "content": "on"}], scope=Scope.MAIN)
    sessions.close()
    assert open_sessions(files).page("s").total == 2


def test_a_catalog_of_absurd_size_does_not_stop_a_session(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    sessions = record(files, "s")
    with (tmp_path / CATALOG).open("wb") as file:
        file.truncate(80 * 1024 * 1024)
    try:
        sessions.settle("s")
    except CarrelError as error:
        assert (error.code, error.hint != "") == ("unreadable", True)  # noqa: PT017 - made anew would do as well
    else:
        assert list(rows(files)) == ["s"]
    assert sessions.page("s").total == 1
