"""Forks: a copy up to a message, whole or not at all, that never ends with a call nobody answered."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.errors import CarrelError
from carrel.files.local import LocalFiles
from carrel.files.paths import BadId
from carrel.sessions.fork import (
    Forked,
    NothingToFork,
    SessionExists,
    UnknownMessage,
    fork,
    forks_with_attachments,
    number_at,
)
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.placed import NewerLog
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions, UnknownSession
from carrel.sessions.transcript import Compaction
from carrel.testing import EphemeralFiles, FaultyDisk, FixedClock
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"
NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
ASKED = {"role": "user", "content": "Does Ana use a Samsung?"}
CALLS = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "name": "a"}, {"id": "c2", "name": "b"}],
}
FIRST = {"role": "tool", "content": "yes", "tool_call_id": "c1"}
SECOND = {"role": "tool", "content": "no", "tool_call_id": "c2"}
ANSWER = {"role": "assistant", "content": "She does."}


def opened(files: Any = None) -> Sessions:
    places = SessionPlaces(
        files=EphemeralFiles() if files is None else files,
        own=EphemeralFiles(),
        agent="kate",
        log_pattern=f"{FOLDER}/{{session}}.log.jsonl",
        window_pattern=f"{FOLDER}/{{session}}.jsonl",
        catalog_path=f"{FOLDER}/sessions.json",
    )
    return Sessions(places, Offsets(None), FixedClock(NOW), keep_secrets)


def told(*messages: dict[str, Any], session: str = "s1", sessions: Sessions | None = None) -> Sessions:
    sessions = sessions or opened()
    for number, message in enumerate(messages, 1):
        sessions.record(session, [{"message_id": f"m{number}", **message}], scope=Scope.MAIN, source="tests")
    return sessions


def forked(sessions: Sessions, **how: Any) -> Forked:
    return fork(sessions, "s1", now=NOW, **how)


def ids(sessions: Sessions, session: str) -> list[str]:
    return [placed.entry.message_id for placed in sessions.entries(session)]


def test_a_fork_has_the_entries_of_its_origin_and_says_so() -> None:
    sessions = told(ASKED, ANSWER)
    made = forked(sessions)
    assert made == Forked(session="s1-fork", origin="s1", message_id="m2", entries=2)
    page = sessions.page("s1-fork")
    assert page.header is not None
    assert page.header["forked_from"] == {"session": "s1", "message_id": "m2"}
    assert (page.header["id"], page.header["agent_id"], page.header["source_plugin"]) == (
        "s1-fork",
        "kate",
        "tests",
    )
    assert [placed.entry for placed in page.entries] == [placed.entry for placed in sessions.entries("s1")]
    assert page.findings == ()
    assert sessions.row("s1-fork").title == "Does Ana use a Samsung? (fork)"


def test_both_go_on_by_themselves() -> None:
    sessions = told(ASKED, ANSWER)
    forked(sessions)
    told({"role": "user", "content": "x", "message_id": "only-in-fork"}, session="s1-fork", sessions=sessions)
    told({"role": "user", "content": "x", "message_id": "only-in-s1"}, sessions=sessions)
    assert ids(sessions, "s1-fork") == ["m1", "m2", "only-in-fork"]
    assert ids(sessions, "s1") == ["m1", "m2", "only-in-s1"]


@pytest.mark.parametrize("at", ["m2", 2, "2"])
def test_the_last_message_is_given_by_id_or_number(at: str | int) -> None:
    sessions = told(ASKED, ANSWER, ASKED, ANSWER)
    made = forked(sessions, at=at, to="other")
    assert (made.session, made.message_id, made.entries, made.left_out) == ("other", "m2", 2, 0)
    assert ids(sessions, "other") == ["m1", "m2"]


def test_an_id_wins_over_a_number() -> None:
    sessions = told(ASKED, ANSWER, {**ASKED, "message_id": "1"})
    assert number_at(sessions, "s1", "1") == 3
    assert number_at(sessions, "s1", 1) == 1


@pytest.mark.parametrize("at", ["m9", "", 0, -1, 3, "3", "9" * 400, "٣", "\ud800"])
def test_a_message_that_does_not_exist_is_a_typed_error(at: str | int) -> None:
    sessions = told(ASKED, ANSWER)
    with pytest.raises(UnknownMessage) as error:
        forked(sessions, at=at)
    assert error.value.code == "unknown_message"
    assert not sessions.exists("s1-fork")


def test_a_session_that_does_not_exist_cannot_be_forked() -> None:
    with pytest.raises(UnknownSession):
        forked(opened())
    with pytest.raises(BadId):
        forked(told(ASKED), to="../x")


def test_an_existing_session_is_never_written_over() -> None:
    sessions = told(ASKED, sessions=told(ASKED, ANSWER), session="s2")
    with pytest.raises(SessionExists) as error:
        forked(sessions, to="s2")
    assert error.value.code == "session_exists"
    assert ids(sessions, "s2") == ["m1"]


def test_names_are_made_until_one_is_free() -> None:
    sessions = told(ASKED)
    assert [forked(sessions).session for _ in range(3)] == ["s1-fork", "s1-fork-2", "s1-fork-3"]
    assert fork(sessions, "s1-fork-2", now=NOW).session == "s1-fork-4"
    long = "x" * 128
    told(ASKED, session=long, sessions=sessions)
    assert fork(sessions, long, now=NOW).session == f"{'x' * 110}-fork"


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([ASKED, CALLS, FIRST, SECOND], 4),
        ([ASKED, CALLS, SECOND, FIRST], 4),
        ([ASKED, CALLS, FIRST], 1),
        ([ASKED, CALLS], 1),
        ([ASKED, CALLS, CALLS], 1),
        ([ASKED, CALLS, FIRST, SECOND, CALLS, FIRST], 4),
        ([ASKED, CALLS, ASKED], 3),
    ],
)
def test_a_fork_does_not_end_with_a_call_that_has_no_result(messages: list[Any], kept: int) -> None:
    sessions = told(*messages)
    made = forked(sessions)
    assert (made.entries, made.left_out) == (kept, len(messages) - kept)
    assert made.message_id == f"m{kept}"
    assert ids(sessions, made.session) == [f"m{number}" for number in range(1, kept + 1)]


def test_where_nothing_can_be_continued_nothing_is_made() -> None:
    sessions = told(CALLS)
    with pytest.raises(NothingToFork) as error:
        forked(sessions)
    assert error.value.code == "nothing_to_fork"
    assert not sessions.exists("s1-fork")


def test_a_fork_of_a_compacted_session_shows_the_model_the_same() -> None:
    sessions = told(ASKED, ANSWER)
    sessions.compact("s1", Compaction(summary="They spoke of Ana.", through=1, message_id="m1"))
    sessions.record("s1", [{**ASKED, "message_id": "m3"}], scope=Scope.MAIN)
    forked(sessions, to="whole")
    forked(sessions, at=2, to="before")
    assert sessions.seen("whole", scope=Scope.MAIN) == sessions.seen("s1", scope=Scope.MAIN)
    summary, seen = sessions.seen("before", scope=Scope.MAIN)
    assert summary is None
    assert [placed.entry.message_id for placed in seen] == ["m1", "m2"]


def test_titles_and_damage_stay_behind() -> None:
    one = '{"type":"entry","role":"user","content":"one","message_id":"m1"}\n'
    title = '{"type":"title","title":"Phones"}\n'
    foreign = '{"type":"checkpoint"}\n'
    log = f'{title}{one}{one}{{"type":"entry"\n{foreign}{{"type":"ent'
    sessions = opened(EphemeralFiles({f"{FOLDER}/s1.log.jsonl": log}))
    forked(sessions)
    assert sessions.row("s1-fork").title == "Phones (fork)"
    assert [finding.code for finding in sessions.findings("s1-fork")] == ["foreign_lines"]
    assert ids(sessions, "s1-fork") == ["m1"]


def test_a_log_of_a_newer_carrel_is_not_copied() -> None:
    log = '{"type":"session","version":2,"id":"s1"}\n{"type":"entry","role":"user","content":"one"}\n'
    sessions = opened(EphemeralFiles({f"{FOLDER}/s1.log.jsonl": log}))
    with pytest.raises(NewerLog):
        forked(sessions)
    assert not sessions.exists("s1-fork")


def test_window_and_catalog_know_the_fork() -> None:
    sessions = told(ASKED, ANSWER)
    forked(sessions)
    window = sessions.places.files.read(f"{FOLDER}/s1-fork.jsonl")
    catalog = sessions.places.files.read(f"{FOLDER}/sessions.json")
    assert window is not None
    assert catalog is not None
    assert b"She does." in window.data
    assert b"Does Ana use a Samsung? (fork)" in catalog.data


def test_a_fork_shows_which_attachments_it_needs() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDRA=="}}
    sessions = told(ASKED, {"role": "user", "content": [image]}, ANSWER)
    told(ASKED, session="s2", sessions=sessions)
    forked(sessions, at=1, to="without")
    forked(sessions, to="with")
    fork(sessions, "with", to="of-fork", now=NOW)
    assert sorted(forks_with_attachments(sessions, "s1")) == ["of-fork", "with"]
    assert forks_with_attachments(sessions, "s2") == []
    assert forks_with_attachments(sessions, "with") == []


def test_a_disk_that_fails_leaves_a_whole_fork_or_none(tmp_path: Path) -> None:
    told(ASKED, ANSWER, sessions=opened(LocalFiles(tmp_path)))
    for nth in range(1, 40):
        disk = FaultyDisk(fail_at=nth)
        failing = opened(LocalFiles(tmp_path, disk=disk))
        try:
            fork(failing, "s1", now=NOW, to=f"f{nth}")
        except CarrelError:
            assert disk.fired
        after = opened(LocalFiles(tmp_path))
        if after.exists(f"f{nth}"):
            assert ids(after, f"f{nth}") == ["m1", "m2"]
            assert after.findings(f"f{nth}") == ()
        if not disk.fired:
            break
    assert not disk.fired


KINDS = st.sampled_from([ASKED, ANSWER, CALLS, FIRST, SECOND])


@settings(deadline=None, max_examples=60)
@given(st.lists(KINDS, min_size=1, max_size=12), st.data())
def test_any_fork_is_a_beginning_that_ends_with_no_open_call(
    messages: list[Any], data: st.DataObject
) -> None:
    sessions = told(*messages)
    at = data.draw(st.integers(1, len(messages)))
    try:
        made = forked(sessions, at=at)
    except NothingToFork:
        return
    kept = [placed.entry for placed in sessions.entries(made.session)]
    assert kept == [placed.entry for placed in sessions.entries("s1")][: made.entries]
    assert made.entries + made.left_out == at
    answered = set[str]()
    while kept and kept[-1].role == "tool":
        answered.add(kept.pop().tool_call_id)
    assert not kept or {call.id for call in kept[-1].tool_calls} <= answered
