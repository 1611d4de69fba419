"""Where a session's files are in each of the six layouts, and which ids may name one."""

import pytest

from carrel.errors import CarrelError
from carrel.files.paths import BadId
from carrel.sessions.places import SessionPlaces, places_of, valid_session
from carrel.settings import AgentSettings
from carrel.testing import EphemeralFiles
from carrel.workspace.layout import load_layout


def places(layout: str = "carrel", agent: str = "kate", transcripts_dir: str | None = None) -> SessionPlaces:
    settings = AgentSettings(id=agent, transcripts_dir=transcripts_dir)
    return places_of(load_layout(layout), settings, EphemeralFiles(), EphemeralFiles())


@pytest.mark.parametrize("layout", ["carrel", "astra", "agentscope", "openclaw"])
def test_four_layouts_keep_a_session_in_three_files_of_the_agents_folder(layout: str) -> None:
    found = places(layout)
    assert found.log("s1") == "agents/kate/sessions/s1.log.jsonl"
    assert found.window("s1").path == "agents/kate/sessions/s1.jsonl"
    assert found.catalog().path == "agents/kate/sessions/sessions.json"
    assert found.window("s1").files is found.catalog().files is found.files
    assert found.attachments("s1") == "agents/kate/sessions/s1.files"


@pytest.mark.parametrize(
    ("layout", "log"), [("nexo", "transcripts/s1.jsonl"), ("squad", "logs/sessions/kate/s1.log.jsonl")]
)
def test_two_layouts_keep_the_log_alone_and_leave_the_rest_to_our_cache(layout: str, log: str) -> None:
    found = places(layout)
    assert found.log("s1") == log
    assert found.window("s1").files is found.catalog().files is found.own
    assert found.window("s1").path != found.catalog().path
    other = places(layout, "ana")
    assert other.window("s1").path != found.window("s1").path
    assert other.catalog().path != found.catalog().path


@pytest.mark.parametrize("layout", ["carrel", "astra", "agentscope", "openclaw", "nexo", "squad"])
def test_a_listing_knows_the_sessions_from_whatever_else_is_there(layout: str) -> None:
    found = places(layout)
    assert found.session_of(found.log("s1")) == "s1"
    assert found.session_of(found.log("0b7e-11.x_Y")) == "0b7e-11.x_Y"
    for path in (
        found.log("s1").removesuffix("l"),
        found.log("s1") + ".damaged-20260424T120000-01234567",
        f"{found.folder}/.jsonl",
        f"{found.folder}/..jsonl",
        f"{found.folder}/deeper/s1.log.jsonl",
        f"{found.folder}/s 1.log.jsonl",
        f"{found.folder}/sessions.json",
        "elsewhere/s1.log.jsonl",
    ):
        assert found.session_of(path) is None, path


def test_a_window_is_no_log_and_a_log_no_window() -> None:
    found = places()
    assert found.session_of(found.window("s1").path) is None
    files = [found.log("s1"), found.window("s1").path, found.catalog().path, found.attachments("s1")]
    assert len(set(files)) == len(files)


BAD = [
    "", ".", "..", "../x", "x/..", "a/b", "/a", "a\\b", "CON", "con", "nul.txt", "COM1", "x.log", "X.LOG", "sessions.json",
    "x.jsonl", "x.json", "x.files", "x.damaged", "x" * 129, "x" * 10_000, "é", "鍵", "a b", " a", "a ", "a.", "-a", ".a", "_a",
    "a\0", "a\n", "\n", "a\r", "a:b", "a*", "~", "%2e%2e", "a%2fb", "a\u202eb", "\ud800", "{0}", "{session}", "a{agent}",
]  # fmt: skip


@pytest.mark.parametrize("session", BAD, ids=lambda text: ascii(text)[:20])
def test_an_id_that_could_name_another_file_is_refused(session: str) -> None:
    found = places()
    for ask in (found.log, found.window, found.attachments, valid_session):
        with pytest.raises(BadId) as caught:
            ask(session)
        assert caught.value.code == "bad_id"
        assert len(caught.value.message) < 1000


@pytest.mark.parametrize(
    "session",
    ["a", "S1", "0b7e3c9a-5d2f-4a57-9d53-7d7c1a0c0e9b", "2026-04-24", "a.b", "stop", "sessions", "x" * 128],
)
def test_an_ordinary_id_is_taken_as_it_is(session: str) -> None:
    assert valid_session(session) == session
    assert places().log(session) == f"agents/kate/sessions/{session}.log.jsonl"


@pytest.mark.parametrize("agent", ["", "..", "../x", "a/b", "CON", "é", "a b", "{session}", "x" * 10_000])
def test_an_agent_whose_id_could_name_another_folder_is_refused(agent: str) -> None:
    with pytest.raises(BadId):
        places(agent=agent)


def test_an_agents_own_folder_for_transcripts_wins_over_the_layouts() -> None:
    found = places("nexo", transcripts_dir="./data/transcripts/kate/")
    assert found.log("s1") == "data/transcripts/kate/s1.jsonl"
    assert found.folder == "data/transcripts/kate"
    assert found.session_of("data/transcripts/kate/s1.jsonl") == "s1"
    assert found.session_of("transcripts/s1.jsonl") is None


@pytest.mark.parametrize("folder", ["../other", "/etc", "a/../..", "~/x", "C:\\x", "a\0b", "."])
def test_a_folder_for_transcripts_outside_is_refused(folder: str) -> None:
    with pytest.raises(CarrelError) as caught:
        places("nexo", transcripts_dir=folder)
    assert caught.value.code == "bad_path"


@pytest.mark.parametrize("folder", ["data/{x}", "data/{", "data/{0}", "a{session}", "{agent.__class__}", "}"])
def test_braces_in_the_name_of_a_folder_are_only_braces_or_refused(folder: str) -> None:
    try:
        found = places("nexo", transcripts_dir=folder)
    except CarrelError as error:
        assert error.hint  # noqa: PT017 - either answer will do
    else:
        assert found.log("s1") == f"{folder}/s1.jsonl"
        assert found.session_of(f"{folder}/s1.jsonl") == "s1"


@pytest.mark.parametrize(
    ("layout", "agent", "is_own"),
    [
        ("carrel", "kate", True),
        ("squad", "kate", True),
        ("nexo", "kate", False),
        ("nexo", "transcripts", False),
    ],
)
def test_a_folder_is_an_agents_own_when_the_layout_says_so(layout: str, agent: str, *, is_own: bool) -> None:
    assert places(layout, agent).is_own_folder == is_own
