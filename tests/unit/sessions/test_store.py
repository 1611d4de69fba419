"""An agent's sessions as whoever records, pages, lists and continues them sees them."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import pytest

from carrel.errors import CarrelError
from carrel.files import READ_LIMIT, Content, FileStore, Part, Unreadable
from carrel.files.local import LocalFiles
from carrel.files.overlay import OverlayFiles
from carrel.files.paths import BadId, NameTaken
from carrel.files.tenant import TenantFiles
from carrel.sessions.intake import Screen, keep_secrets
from carrel.sessions.log import Log
from carrel.sessions.message import Message
from carrel.sessions.offsets import Offsets
from carrel.sessions.placed import NewerLog
from carrel.sessions.places import places_of
from carrel.sessions.store import Sessions, UnknownSession
from carrel.sessions.transcript import LINE_LIMIT, Compaction, Entry, Header, encode
from carrel.sessions.turn import MESSAGE_LIMIT, BadMessage, MessageTooLarge, Said
from carrel.settings import AgentSettings
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"
LOG = f"{FOLDER}/s.log.jsonl"
MAIN, SHARED = Scope.MAIN, Scope.SHARED


class Counted(EphemeralFiles):
    """A store that remembers how many bytes were read of which file."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        super().__init__(files)
        self.taken: dict[str, int] = {}

    def part(self, path: str, start: int, size: int) -> Part | None:
        part = super().part(path, start, size)
        self.taken[path] = self.taken.get(path, 0) + (len(part.data) if part else 0)
        return part

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        content = super().read(path, limit=limit)
        self.taken[path] = self.taken.get(path, 0) + (len(content.data) if content else 0)
        return content


def open_sessions(
    files: FileStore,
    *,
    layout: str = "carrel",
    agent: str = "kate",
    own: FileStore | None = None,
    cache: Path | None = None,
    screen: Screen = keep_secrets,
    now: datetime = datetime(2026, 4, 24, 12, tzinfo=UTC),
) -> Sessions:
    places = places_of(load_layout(layout), AgentSettings(id=agent), files, own or EphemeralFiles())
    return Sessions(places, Offsets(cache), FixedClock(now), screen)


@pytest.fixture
def files() -> EphemeralFiles:
    return EphemeralFiles()


def user(text: str, message_id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "message_id": message_id} | more


def ids(sessions: Sessions, session: str = "s") -> list[str]:
    return [placed.entry.message_id for placed in sessions.entries(session)]


def data_of(files: FileStore, path: str = LOG) -> bytes:
    content = files.read(path, limit=1 << 30)
    return content.data if content else b""


# ------------------------------------------------------------------------------------------------ the format


@pytest.mark.parametrize(
    ("layout", "path"),
    [
        ("carrel", "agents/kate/sessions/s.log.jsonl"),
        ("astra", "agents/kate/sessions/s.log.jsonl"),
        ("agentscope", "agents/kate/sessions/s.log.jsonl"),
        ("openclaw", "agents/kate/sessions/s.log.jsonl"),
        ("nexo", "transcripts/s.jsonl"),
        ("squad", "logs/sessions/kate/s.log.jsonl"),
    ],
)
def test_a_session_is_written_in_the_seeds_form_where_the_layout_says(
    files: EphemeralFiles, layout: str, path: str
) -> None:
    own = EphemeralFiles()
    sessions = open_sessions(files, layout=layout, own=own)
    sessions.record(
        "s",
        [user("hello", "m1", sender_id="user123"), Message("assistant", "hello Luis")],
        scope=MAIN,
        source="telegram",
    )
    header, first, second = (json.loads(line) for line in data_of(files, path).splitlines())
    assert header == {
        "type": "session",
        "version": 1,
        "id": "s",
        "timestamp": "2026-04-24T12:00:00.000Z",
        "agent_id": "kate",
        "source_plugin": "telegram",
    }
    assert first == {
        "type": "entry",
        "timestamp": "2026-04-24T12:00:00.000Z",
        "role": "user",
        "content": "hello",
        "message_id": "m1",
        "source_plugin": "telegram",
        "sender_id": "user123",
    }
    assert set(second) == {"type", "timestamp", "role", "content", "message_id", "source_plugin"}
    sessions.close()
    derived = {"nexo", "squad"}
    assert bool(own.list()) == (layout in derived)
    assert len(files.list(path.rpartition("/")[0])) == (1 if layout in derived else 3)


def test_tool_calls_and_their_results_come_back(files: EphemeralFiles) -> None:
    call = {"id": "c1", "name": "sum", "arguments": {"of": [1, 2], "big": 10**30, "null": None}}
    sessions = open_sessions(files)
    sessions.record(
        "s",
        [
            user("add"),
            {"role": "assistant", "content": None, "tool_calls": [call], "finish": "tools"},
            {"role": "tool", "name": "sum", "tool_call_id": "c1", "content": "3"},
        ],
        scope=MAIN,
    )
    _, asked, answered = (placed.entry for placed in open_sessions(files).page("s").entries)
    assert [each.to_json() for each in asked.tool_calls] == [call]
    assert asked.finish == "tools"
    assert (answered.role, answered.name, answered.tool_call_id) == ("tool", "sum", "c1")


@pytest.mark.parametrize("session", ["stop", "sessions", "0b7e3c9a-5d2f-4a57-9d53-7d7c1a0c0e9b", "S"])
def test_a_session_of_any_name_has_a_header_and_goes_on(files: EphemeralFiles, session: str) -> None:
    open_sessions(files).record(session, [user("a", "1")], scope=MAIN)
    page = open_sessions(files).page(session)
    assert page.header is not None
    assert page.header["id"] == session
    assert page.findings == ()
    assert [row.id for row in open_sessions(files).rows()[0]] == [session]


# ------------------------------------------------------------------------------------------------ once


def test_a_message_id_is_recorded_once_however_often_it_is_said(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    first = sessions.record("s", [user("a", "1"), user("b", "2"), user("a again", "1")], scope=MAIN)
    assert [(each.message_id, each.number, each.is_new) for each in first] == [
        ("1", 1, True),
        ("2", 2, True),
        ("1", 1, False),
    ]
    before = data_of(files)
    (again,) = sessions.record("s", [user("b", "2")], scope=MAIN)
    assert (again.message_id, again.number, again.is_new, again.differs) == ("2", 2, False, False)
    assert open_sessions(files).record("s", [user("a", "1")], scope=SHARED)[0].is_new is False
    assert data_of(files) == before


def test_messages_without_an_id_get_one_each(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    first = sessions.record(
        "s", [user("a"), user("a"), Message("user", "a"), Said(role="user", content="a")], scope=MAIN
    )
    again = sessions.record("s", [user("a")], scope=MAIN)
    given = [each.message_id for each in (*first, *again)]
    assert len(set(given)) == 5
    assert all(given)
    assert ids(open_sessions(files)) == given


def test_threads_that_look_at_a_session_at_once_see_the_same_one(
    files: EphemeralFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Log):
        def __init__(self, *given: Any) -> None:
            sleep(0.05)
            super().__init__(*given)

    open_sessions(files).record("s", [user("first")], scope=MAIN)
    monkeypatch.setattr("carrel.sessions.store.Log", Slow)
    sessions = open_sessions(files)
    with ThreadPoolExecutor(4) as pool:
        marks = list(pool.map(sessions.measure, ["s"] * 8))
    assert len(set(marks)) == 1


def test_sixteen_threads_that_say_the_same_leave_it_once(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    failures: list[BaseException] = []

    def say(who: int) -> None:
        try:
            for number in range(20):
                sessions.record("s", [user("same", f"m{number}"), user("own", f"{who}.{number}")], scope=MAIN)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must see it
            failures.append(error)

    threads = [Thread(target=say, args=(who,)) for who in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    expected = sorted([f"m{n}" for n in range(20)] + [f"{who}.{n}" for who in range(16) for n in range(20)])
    assert sorted(ids(sessions)) == sorted(ids(open_sessions(files))) == expected
    assert data_of(files).count(b'"type":"session"') == 1


def test_more_sessions_than_are_kept_open_go_on_where_they_were(
    tmp_path: Path, files: EphemeralFiles
) -> None:
    sessions = open_sessions(files, cache=tmp_path / "cache.db")
    names = [f"s{number}" for number in range(150)]
    for turn in range(3):
        for name in names:
            added = sessions.record(name, [user("x", f"m{turn}"), user("x", "m0")], scope=MAIN)
            assert [each.is_new for each in added] == [True, False]
            assert len(sessions.seen(name, scope=MAIN)[1]) == turn + 1
    sessions.close()
    again = open_sessions(files, cache=tmp_path / "cache.db")
    assert {row.entries for row in again.rows()[0]} == {3}
    again.close()


@pytest.mark.parametrize("kind", ["local", "overlay", "overlay of what is there", "tenant"])
def test_sessions_live_the_same_life_in_every_store(tmp_path: Path, kind: str) -> None:
    for name in ("upper", "lower"):
        (tmp_path / name).mkdir()
    upper, lower = LocalFiles(tmp_path / "upper"), LocalFiles(tmp_path / "lower")
    if kind == "overlay of what is there":
        open_sessions(lower).record("s", [user("a", "1")], scope=MAIN)
    before = data_of(lower)
    stores: dict[str, FileStore] = {"local": upper, "tenant": TenantFiles(upper, "bob")}
    store = stores.get(kind) or OverlayFiles(upper, lower)
    for number in range(1, 4):
        sessions = open_sessions(store, cache=tmp_path / "cache.db")
        recorded = sessions.record("s", [user("a", "1"), user("b", f"b{number}")], scope=MAIN)
        assert recorded[0].is_new == (number == 1 and kind != "overlay of what is there")
        assert recorded[1].is_new
        assert sessions.settle("s") == ()
        sessions.close()
    again = open_sessions(store, cache=tmp_path / "cache.db")
    assert ids(again) == ["1", "b1", "b2", "b3"]
    assert [row.id for row in again.rows()[0]] == ["s"]
    assert data_of(store, f"{FOLDER}/s.jsonl") == data_of(store)
    assert data_of(lower) == before
    again.close()


# ------------------------------------------------------------------------------------------------ pages


def long_session(files: FileStore, count: int = 3_000) -> list[str]:
    sessions = open_sessions(files)
    names = [f"m{number}" for number in range(1, count + 1)]
    for start in range(0, count, 500):
        sessions.record(
            "s", [user(f"message {name} " * 10, name) for name in names[start : start + 500]], scope=MAIN
        )
    return names


def test_pages_in_both_directions_show_every_entry_exactly_once(files: EphemeralFiles) -> None:
    names = long_session(files)
    sessions = open_sessions(files)
    for size in (7, 50, 499, 5_000):
        forward: list[str] = []
        while page := sessions.page("s", first=len(forward) + 1, limit=size).entries:
            assert [placed.number for placed in page] == list(
                range(len(forward) + 1, len(forward) + len(page) + 1)
            )
            forward += [placed.entry.message_id for placed in page]
        assert forward == names
        backward: list[str] = []
        last = len(names)
        while last > 0:
            first = max(1, last - size + 1)
            page = sessions.page("s", first=first, limit=last - first + 1)
            assert page.total == len(names)
            backward = [placed.entry.message_id for placed in page.entries] + backward
            last = first - 1
        assert backward == names


@pytest.mark.parametrize(
    ("first", "limit", "numbers"),
    [
        (1, 2, [1, 2]), (9, 5, [9, 10]), (11, 5, []), (10**12, 5, []), (-1, 5, [10]), (-3, 2, [8, 9]), (-3, 50, [8, 9, 10]),
        (-10, 1, [1]), (-99, 3, [1, 2, 3]), (0, 5, []), (3, 0, []), (3, -1, []), (1, 10**12, list(range(1, 11))),
    ],
)  # fmt: skip
def test_a_page_begins_at_a_number_or_counts_from_the_end(
    files: EphemeralFiles, first: int, limit: int, numbers: list[int]
) -> None:
    sessions = open_sessions(files)
    sessions.record("s", [user("x") for _ in range(10)], scope=MAIN)
    page = sessions.page("s", first=first, limit=limit)
    assert [placed.number for placed in page.entries] == numbers
    assert page.total == 10


def test_a_new_process_does_not_read_a_long_log_whole(tmp_path: Path) -> None:
    files = Counted()
    names = long_session(files)
    size = len(data_of(files))
    sessions = open_sessions(files, cache=tmp_path / "cache.db")
    sessions.compact("s", Compaction(summary="long ago", through=2_990))
    sessions.close()
    acts: dict[str, Callable[[Sessions], object]] = {
        "the end": lambda fresh: fresh.page("s", first=-20, limit=20),
        "the middle": lambda fresh: fresh.page("s", first=1_500, limit=20),
        "the row": lambda fresh: fresh.row("s"),
        "the window": lambda fresh: fresh.seen("s", scope=MAIN),
        "the number": lambda fresh: fresh.number_of("s", names[1_234]),
        "a message": lambda fresh: fresh.record("s", [user("new", "new")], scope=MAIN),
        "a message again": lambda fresh: fresh.record("s", [user("old", names[3])], scope=MAIN),
    }
    for what, act in acts.items():
        files.taken.clear()
        fresh = open_sessions(files, cache=tmp_path / "cache.db")
        act(fresh)
        fresh.close()
        assert files.taken.get(LOG, 0) < size / 50, what
    assert ids(open_sessions(files)) == [*names, "new"]


def test_a_running_process_reads_only_what_is_new(tmp_path: Path) -> None:
    files = Counted()
    long_session(files, 1_000)
    size = len(data_of(files))
    sessions = open_sessions(files, cache=tmp_path / "cache.db")
    sessions.seen("s", scope=MAIN)
    files.taken.clear()
    for number in range(20):
        sessions.record("s", [user("new", f"new{number}")], scope=MAIN)
        sessions.seen("s", scope=MAIN)
    assert files.taken.get(LOG, 0) < size  # and not twenty times as much
    sessions.close()


# ------------------------------------------------------------------------------------------------ lists


def many(files: FileStore, count: int = 200) -> list[str]:
    start = datetime(2026, 4, 1, tzinfo=UTC)
    names = [f"s{number:03}" for number in range(count)]
    for number, name in enumerate(names):
        sessions = open_sessions(files, now=start + timedelta(hours=number))
        sessions.record(name, [user(f"question {number}"), *[user("and more " * 50)] * 20], scope=MAIN)
    return names[::-1]


def test_a_list_shows_the_last_used_first_page_by_page() -> None:
    files = EphemeralFiles()
    names = many(files, 25)
    sessions = open_sessions(files)
    rows, total = sessions.rows()
    assert ([row.id for row in rows], total) == (names, 25)
    shown: list[str] = []
    for offset in range(0, 30, 7):
        page, total = sessions.rows(limit=7, offset=offset)
        assert total == 25
        shown += [row.id for row in page]
    assert shown == names
    sessions.record(names[-1], [user("again")], scope=MAIN)
    assert sessions.rows(limit=1)[0][0].id == names[-1]


def test_a_page_of_a_list_reads_only_the_sessions_on_it(tmp_path: Path) -> None:
    files = Counted()
    names = many(files)
    files.taken.clear()
    sessions = open_sessions(files, cache=tmp_path / "cache.db")
    rows, total = sessions.rows(limit=10)
    assert ([row.id for row in rows], total) == (names[:10], 200)
    assert set(files.taken) == {f"{FOLDER}/{name}.log.jsonl" for name in names[:10]}
    sessions.rows()
    sessions.close()
    files.taken.clear()
    again = open_sessions(files, cache=tmp_path / "cache.db")
    rows, _ = again.rows()
    assert [row.title for row in rows][:2] == ["Question 199", "Question 198"]
    assert sum(files.taken.values()) < 200 * 2_048  # each log has more than 10,000
    again.close()


def test_a_row_says_what_a_list_needs(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    messages = [
        user("Hi! plan the trip", timestamp="2026-04-20T08:00:00Z"),
        user("thanks", timestamp="2026-04-21T08:00:00Z"),
    ]
    sessions.record("s", messages, scope=MAIN, source="telegram")
    sessions.describe("s", summary="A trip.")
    for each in (sessions, open_sessions(files)):
        row = each.row("s")
        assert (row.id, row.title, row.summary, row.entries) == ("s", "Plan the trip", "A trip.", 2)
        assert (row.updated, row.agent_id, row.source) == ("2026-04-21T08:00:00.000Z", "kate", "telegram")


def test_a_list_without_sessions_is_empty(files: EphemeralFiles) -> None:
    assert open_sessions(files).rows() == ([], 0)
    assert files.list() == []


def test_other_files_of_the_folder_are_no_sessions() -> None:
    names = [
        "s.jsonl",
        "sessions.json",
        "notes.md",
        ".log.jsonl",
        "a b.log.jsonl",
        "deep/t.log.jsonl",
        "x.log.log.jsonl",
    ]
    files = EphemeralFiles({f"{FOLDER}/{name}": b"{}\n" for name in names})
    assert open_sessions(files).rows() == ([], 0)


def test_one_log_that_cannot_be_read_does_not_hide_the_others() -> None:
    class Locked(EphemeralFiles):
        def part(self, path: str, start: int, size: int) -> Part | None:
            if path.endswith("/locked.log.jsonl"):
                raise Unreadable(path, "permission")
            return super().part(path, start, size)

    files = Locked({f"{FOLDER}/locked.log.jsonl": encode(Header(id="locked"))})
    sessions = open_sessions(files)
    sessions.record("s", [user("a")], scope=MAIN)
    assert "s" in [row.id for row in sessions.rows()[0]]
    assert sessions.settle("s") == ()
    with pytest.raises(Unreadable):
        sessions.page("locked")


# ------------------------------------------------------------------------------------------------ agents that share a folder


def test_agents_that_share_a_folder_see_their_own_sessions(files: EphemeralFiles) -> None:
    kate = open_sessions(files, layout="nexo", agent="kate")
    ana = open_sessions(files, layout="nexo", agent="ana")
    kate.record("k", [user("of Kate")], scope=MAIN)
    ana.record("a", [user("of Ana")], scope=MAIN)
    assert [row.id for row in kate.rows()[0]] == ["k"]
    assert [row.id for row in ana.rows()[0]] == ["a"]


def test_an_agent_is_not_given_the_session_of_another(files: EphemeralFiles) -> None:
    open_sessions(files, layout="nexo", agent="kate").record("k", [user("a secret of Kate", "1")], scope=MAIN)
    before = data_of(files, "transcripts/k.jsonl")
    own = EphemeralFiles()
    ana = open_sessions(files, layout="nexo", agent="ana", own=own)
    acts: list[Callable[[], object]] = [
        lambda: ana.settle("k"),
        lambda: ana.page("k"),
        lambda: ana.row("k"),
        lambda: list(ana.entries("k")),
        lambda: ana.seen("k", scope=MAIN),
        lambda: ana.record("k", [user("mine now")], scope=MAIN),
        lambda: ana.describe("k", title="mine now"),
    ]
    for act in acts:
        try:
            shown = act()
        except CarrelError:
            continue
        assert "secret of Kate" not in repr(shown)
    assert data_of(files, "transcripts/k.jsonl") == before
    ana.close()
    assert own.list() == []


def test_a_log_that_does_not_say_whose_it_is_is_listed(files: EphemeralFiles) -> None:
    entry = encode(Entry(role="user", content="hi", message_id="1"))
    logs = {
        "transcripts/bare.jsonl": entry,
        "transcripts/nobody.jsonl": b'{"type":"session","version":1,"id":"nobody"}\n' + entry,
        "transcripts/empty.jsonl": b"",
    }
    sessions = open_sessions(EphemeralFiles(logs), layout="nexo")
    assert sorted(row.id for row in sessions.rows()[0]) == ["bare", "empty", "nobody"]


# ------------------------------------------------------------------------------------------------ ids


BAD = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc/passwd",
    "CON",
    "x.log",
    "sessions.json",
    "s.jsonl",
    "x" * 10_000,
    "schlüssel",
    "a\0b",
    " s",
]


@pytest.mark.parametrize("session", BAD, ids=lambda text: ascii(text)[:20])
def test_a_bad_id_is_refused_before_anything_is_read_or_written(session: str) -> None:
    files = Counted()
    sessions = open_sessions(files)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    acts: list[Callable[[], object]] = [
        lambda: sessions.record(session, [{"role": "user", "content": [image]}], scope=MAIN),
        lambda: sessions.describe(session, title="t"),
        lambda: sessions.compact(session, Compaction(summary="s", through=1)),
        lambda: sessions.settle(session),
        lambda: sessions.exists(session),
        lambda: sessions.row(session),
        lambda: sessions.page(session),
        lambda: sessions.entries(session),
        lambda: sessions.seen(session, scope=MAIN),
        lambda: sessions.number_of(session, "m"),
        lambda: sessions.findings(session),
        lambda: sessions.log_path(session),
        lambda: sessions.forget(session),
    ]
    for act in acts:
        with pytest.raises(BadId):
            act()
    assert files.list() == []
    assert files.taken == {}


def test_two_ids_that_differ_by_case_alone_are_not_both_taken(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    sessions.record("S1", [user("a", "1")], scope=MAIN)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    for message in (user("b"), {"role": "user", "content": [image]}):
        with pytest.raises(NameTaken):
            sessions.record("s1", [message], scope=MAIN)
        with pytest.raises(UnknownSession):
            sessions.page("s1")
    assert ids(sessions, "S1") == ["1"]
    assert [entry.path for entry in files.list(FOLDER)] == [f"{FOLDER}/S1.log.jsonl"]


def test_a_session_that_does_not_exist_is_named(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    acts: list[Callable[[], object]] = [
        lambda: sessions.page("s"),
        lambda: sessions.row("s"),
        lambda: list(sessions.entries("s")),
        lambda: sessions.number_of("s", "m"),
        lambda: sessions.log_path("s"),
        lambda: sessions.compact("s", Compaction(summary="s", through=1)),
    ]
    for act in acts:
        with pytest.raises(UnknownSession) as caught:
            act()
        assert caught.value.code == "unknown_session"
        assert caught.value.hint
    assert not sessions.exists("s")
    assert sessions.seen("s", scope=MAIN) == (None, ())
    assert files.list() == []


# ------------------------------------------------------------------------------------------------ who is listening


def shown(sessions: Sessions, scope: Scope) -> list[str]:
    return [placed.entry.message_id for placed in sessions.seen("s", scope=scope)[1]]


def test_what_was_said_to_the_owner_alone_is_not_shown_to_others(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    sessions.record("s", [user("private", "p1")], scope=MAIN)
    sessions.record("s", [user("public", "g1")], scope=SHARED)
    sessions.record("s", [user("private again", "p2")], scope=MAIN)
    for each in (sessions, open_sessions(files)):
        assert shown(each, MAIN) == ["p1", "g1", "p2"]
        assert shown(each, SHARED) == ["g1"]
        assert shown(each, MAIN) == ["p1", "g1", "p2"]


@pytest.mark.parametrize(
    "scope", [b"", b',"scope":"main"', b',"scope":null', b',"scope":"public"', b',"scope":"SHARED"']
)
def test_an_entry_that_does_not_say_it_was_shared_was_the_owners(scope: bytes) -> None:
    line = b'{"type":"entry","role":"user","content":"x","message_id":"1"' + scope + b"}\n"
    sessions = open_sessions(EphemeralFiles({LOG: encode(Header(id="s")) + line}))
    assert shown(sessions, SHARED) == []
    assert shown(sessions, MAIN) == ["1"]


def test_a_summary_of_private_talk_is_not_shown_to_others(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    sessions.record("s", [user("private", "p1")], scope=MAIN)
    sessions.record("s", [user("public", "g1")], scope=SHARED)
    sessions.compact("s", Compaction(summary="The secret is 42.", through=1))
    for each in (sessions, open_sessions(files)):
        assert each.seen("s", scope=SHARED)[0] is None
        assert shown(each, SHARED) == ["g1"]
        compaction, _ = each.seen("s", scope=MAIN)
        assert compaction is not None
        assert compaction.summary == "The secret is 42."
    sessions.compact("s", Compaction(summary="All public.", through=2, scope=SHARED))
    compaction, placed = open_sessions(files).seen("s", scope=SHARED)
    assert compaction is not None
    assert (compaction.summary, placed) == ("All public.", ())


# ------------------------------------------------------------------------------------------------ titles and compactions


def test_a_session_is_called_by_what_the_user_said_first(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    sessions.record(
        "s", [{"role": "system", "content": "Be kind."}, Message("assistant", "Welcome!")], scope=MAIN
    )
    assert sessions.row("s").title == ""
    sessions.record(
        "s", [user(" \n"), user("Hi,\x1b[31m please\u202e plan\nthe trip"), user("later")], scope=MAIN
    )
    for each in (sessions, open_sessions(files)):
        assert each.row("s").title == "[31m please plan"


def test_the_parts_of_a_first_message_give_a_title_too(files: EphemeralFiles) -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "text", "text": "what is this?"},
    ]
    sessions = open_sessions(files)
    sessions.record("s", [{"role": "user", "content": parts}], scope=MAIN)
    assert sessions.row("s").title
    assert "\n" not in sessions.row("s").title


@pytest.mark.parametrize("title", ["stop", "Ünï 🐙", "a\nb", "\ud800", "x" * 10_000])
def test_a_title_that_is_given_stays(files: EphemeralFiles, title: str) -> None:
    sessions = open_sessions(files)
    sessions.record("s", [user("first", "1")], scope=MAIN)
    sessions.describe("s", title=title, summary=title)
    sessions.record("s", [user("second", "2")], scope=MAIN)
    for each in (sessions, open_sessions(files)):
        assert (each.row("s").title, each.row("s").summary) == (title, title)
        assert ids(each) == ["1", "2"]
        assert each.findings("s") == ()


def test_a_title_that_is_taken_back_gives_way_to_what_was_said(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    sessions.record("s", [user("first")], scope=MAIN)
    sessions.describe("s", title="given")
    sessions.describe("s", title="", summary="")
    for each in (sessions, open_sessions(files)):
        assert each.row("s").title == "First"
        assert each.findings("s") == ()


def test_a_model_sees_the_last_summary_and_what_followed_it(tmp_path: Path, files: EphemeralFiles) -> None:
    sessions = open_sessions(files, cache=tmp_path / "cache.db")
    sessions.record("s", [user("x", f"m{number}") for number in range(1, 7)], scope=MAIN)
    log = data_of(files)
    for through, rest in ((3, ["m4", "m5", "m6"]), (5, ["m6"]), (6, []), (2, ["m3", "m4", "m5", "m6"])):
        sessions.compact(
            "s", Compaction(summary=f"up to {through}", through=through, message_id=f"m{through}")
        )
        for each in (sessions, open_sessions(files), open_sessions(files, cache=tmp_path / "cache.db")):
            compaction, placed = each.seen("s", scope=MAIN)
            assert compaction is not None
            assert compaction.summary == f"up to {through}"
            assert [one.entry.message_id for one in placed] == rest
            assert each.page("s").total == 6
            assert ids(each) == [f"m{number}" for number in range(1, 7)]
    assert data_of(files).startswith(log)
    sessions.close()


def test_a_second_summary_of_the_same_entries_is_the_one_that_counts(files: EphemeralFiles) -> None:
    sessions = open_sessions(files)
    sessions.record("s", [user("x", "1"), user("y", "2")], scope=MAIN)
    for summary in ("first", "second"):
        sessions.compact("s", Compaction(summary=summary, through=1))
        for each in (sessions, open_sessions(files)):
            compaction, placed = each.seen("s", scope=MAIN)
            assert compaction is not None
            assert (compaction.summary, len(placed)) == (summary, 1)


# ------------------------------------------------------------------------------------------------ what is refused


def refused(files: FileStore, message: Any, error: type[CarrelError]) -> None:
    sessions = open_sessions(files)
    sessions.record("s", [user("before", "b")], scope=MAIN)
    before = data_of(files)
    with pytest.raises(error):
        sessions.record("s", [user("with it", "w"), message], scope=MAIN)
    assert data_of(files) == before
    sessions.record("s", [user("after", "a")], scope=MAIN)
    assert ids(sessions) == ids(open_sessions(files)) == ["b", "a"]
    assert open_sessions(files).findings("s") == ()


def test_a_message_beyond_the_limit_is_refused_and_the_session_goes_on(files: EphemeralFiles) -> None:
    refused(files, user("x" * (MESSAGE_LIMIT + 1)), MessageTooLarge)


def test_the_limit_is_for_all_texts_of_a_message_together(files: EphemeralFiles) -> None:
    half = {"type": "text", "text": "x" * (MESSAGE_LIMIT // 2 + 1)}
    refused(files, {"role": "user", "content": [half, half]}, MessageTooLarge)


HUGE = LINE_LIMIT + 1000


@pytest.mark.parametrize(
    "message",
    [
        lambda: user("x" * (MESSAGE_LIMIT - 1)),
        lambda: user("\0" * (LINE_LIMIT // 6)),
        lambda: {
            "role": "assistant",
            "tool_calls": [{"id": "c", "name": "n", "arguments": {"x": "x" * HUGE}}],
        },
        lambda: {"role": "tool", "content": [{"type": "tool_result", "content": ["x" * HUGE]}]},
        lambda: user("hi", sender_id="x" * HUGE),
    ],
    ids=["text", "escapes", "arguments", "part", "sender"],
)
def test_whatever_is_acknowledged_is_served_again(
    files: EphemeralFiles, message: Callable[[], dict[str, Any]]
) -> None:
    """A character takes up to six bytes in a log, a line has a limit too, and not all of it is text."""
    try:
        open_sessions(files).record("s", [message() | {"message_id": "big"}], scope=MAIN)
    except CarrelError as error:
        assert error.code == "message_too_large"  # noqa: PT017 - an answer, too
        assert data_of(files) == b""
    else:
        assert ids(open_sessions(files)) == ["big"]


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "message",
    [
        {"role": "wizard", "content": "x"},
        "text",
        {"role": "user", "content": [{"type": "x", "y": object()}]},
        {"role": "user", "content": [{"type": "x", "y": deep(5_000)}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "name": "n", "arguments": {"x": deep(5_000)}}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "name": "n", "arguments": {"x": {1, 2}.__iter__()}}],
        },
    ],
    ids=["role", "text", "object", "deep", "deep arguments", "iterator"],
)
def test_a_message_that_no_log_can_hold_is_refused_and_the_session_goes_on(
    files: EphemeralFiles, message: Any
) -> None:
    refused(files, message, BadMessage)


def test_a_session_of_a_newer_carrel_is_read_and_not_continued(files: EphemeralFiles) -> None:
    data = encode(Header(id="s", version=2)) + encode(Entry(role="user", content="hi", message_id="1"))
    files.write(LOG, data, expect=None)
    sessions = open_sessions(files)
    assert ids(sessions) == ["1"]
    assert [row.id for row in sessions.rows()[0]] == ["s"]
    acts: list[Callable[[], object]] = [
        lambda: sessions.record("s", [user("x")], scope=MAIN),
        lambda: sessions.describe("s", title="t"),
        lambda: sessions.compact("s", Compaction(summary="s", through=1)),
    ]
    for act in acts:
        with pytest.raises(NewerLog):
            act()
    assert data_of(files) == data


def test_secrets_are_taken_out_before_anything_is_written(files: EphemeralFiles) -> None:
    def screen(value: Any) -> tuple[Any, tuple[str, ...]]:
        text = json.dumps(value)
        return json.loads(text.replace("hunter2", "[REDACTED:PASSWORD]")), (
            "PASSWORD",
        ) if "hunter2" in text else ()

    call = {"id": "c", "name": "login", "arguments": {"password": "hunter2"}}
    odd = {"id": "d", "name": "login-hunter2", "arguments": {}}
    sessions = open_sessions(files, screen=screen)
    recorded = sessions.record(
        "s",
        [
            user("it is hunter2"),
            user("nothing"),
            *({"role": "assistant", "tool_calls": [each]} for each in (call, odd)),
        ],
        scope=MAIN,
    )
    assert [each.redacted for each in recorded] == [("PASSWORD",), (), ("PASSWORD",), ("PASSWORD",)]
    sessions.settle("s")
    for entry in files.list(FOLDER):
        assert b"hunter2" not in data_of(files, entry.path)
    assert sessions.row("s").title == "It is [REDACTED:PASSWORD]"


# ------------------------------------------------------------------------------------------------ what is told


def test_what_is_wrong_with_a_log_is_told_with_every_page(files: EphemeralFiles) -> None:
    good = encode(Entry(role="user", content="x", message_id="1"))
    files.write(
        LOG, encode(Header(id="s")) + good + good + b'noise\n{"type":"later"}\n{"type":"ent', expect=None
    )
    sessions = open_sessions(files)
    page = sessions.page("s")
    assert sorted(finding.code for finding in page.findings) == [
        "damaged_lines",
        "duplicate_entries",
        "foreign_lines",
        "torn_line",
    ]
    assert all(finding.path == LOG and finding.message for finding in page.findings)
    assert page.findings == sessions.findings("s")
    row = sessions.row("s")
    assert (row.entries, row.damaged, row.duplicates, row.foreign) == (1, 1, 1, 1)


def test_a_session_that_another_process_deleted_begins_again(tmp_path: Path, files: EphemeralFiles) -> None:
    mine, other = (open_sessions(files, cache=tmp_path / "cache.db") for _ in range(2))
    mine.record("s", [user("x", "1"), user("y", "2")], scope=MAIN)
    mine.settle("s")
    assert ids(other) == ids(mine) == ["1", "2"]
    for path in (LOG, f"{FOLDER}/s.jsonl"):
        content = files.read(path)
        assert content is not None
        files.remove(path, expect=content.digest)
    other.forget("s")
    assert mine.record("s", [user("y", "2")], scope=MAIN)[0].is_new  # else it would be safe nowhere
    assert ids(mine) == ids(other) == ids(open_sessions(files)) == ["2"]
    assert mine.settle("s") == other.settle("s") == ()
    assert data_of(files, f"{FOLDER}/s.jsonl") == data_of(files)
    mine.close()
    other.close()


def test_a_session_that_is_forgotten_can_begin_again(tmp_path: Path, files: EphemeralFiles) -> None:
    sessions = open_sessions(files, cache=tmp_path / "cache.db")
    sessions.record("s", [user("x", "1"), user("y", "2")], scope=MAIN)
    sessions.seen("s", scope=MAIN)
    sessions.settle("s")
    for entry in files.list(FOLDER):
        content = files.read(entry.path)
        assert content is not None
        if "/s." in entry.path:
            files.remove(entry.path, expect=content.digest)
    sessions.forget("s")
    assert sessions.rows() == ([], 0)
    assert sessions.seen("s", scope=MAIN) == (None, ())
    assert sessions.record("s", [user("z", "2")], scope=MAIN)[0].is_new
    assert ids(sessions) == ids(open_sessions(files)) == ["2"]
    sessions.close()
    assert data_of(files, f"{FOLDER}/s.jsonl") == data_of(files)


def test_what_is_kept_of_many_sessions_is_bounded_and_their_windows_are_right(
    files: EphemeralFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.sessions.store._KNOWN", 2)
    own = EphemeralFiles()
    sessions = open_sessions(files, own=own)
    names = [f"s{n}" for n in range(5)]
    for turn in range(2):
        for name in names:
            sessions.record(name, [user(f"{name} {turn}", f"{name}-{turn}")], scope=MAIN)
            assert sessions.settle(name, in_passing=True) == ()
    kept = [each for each in vars(sessions).values() if isinstance(each, dict) and set(each) & set(names)]
    assert kept
    assert all(len(each) <= 2 for each in kept if each is not vars(sessions)["_unsettled"])
    for name in names:
        window = sessions.places.window(name)
        assert data_of(window.files, window.path) == data_of(files, sessions.places.log(name))
