"""An agent looks into its own transcripts."""

from collections.abc import Sequence

import pytest

from carrel.tools.registry import BadArguments, Registry
from carrel.tools.session_logs import LoggedEntry, LogHit, LogPage, SessionRow, session_log_tools

HEADER = {"agent_id": "kate", "timestamp": "2026-04-24T12:00:00Z", "source_plugin": "telegram", "version": 1}


class FakeLogs:
    """Sessions in a dict, the newest last; an entry is found when all words are in it."""

    def __init__(self, sessions: dict[str, list[str]], current: str | None = None) -> None:
        self.said = sessions
        self.current = current

    def _entries(self, session: str) -> list[LoggedEntry]:
        return [
            LoggedEntry(
                number=number,
                timestamp=f"2026-04-24T12:{number % 60:02}:00Z",
                role="user" if number % 2 else "assistant",
                content=content,
                message_id=f"{session}-{number}",
                source_plugin="telegram",
                sender_id="user123" if number % 2 else None,
            )
            for number, content in enumerate(self.said[session], 1)
        ]

    def sessions(self, *, limit: int, offset: int) -> tuple[Sequence[SessionRow], int]:
        rows = [
            SessionRow(
                id=session,
                title=f"About {session}",
                agent_id="kate",
                source_plugin="telegram",
                entries=len(self.said[session]),
                first_timestamp="2026-04-24T12:01:00Z",
                last_timestamp="2026-04-24T12:09:00Z",
            )
            for session in reversed(self.said)
        ]
        return rows[offset : offset + limit], len(rows)

    def page(self, session: str, *, first: int, limit: int) -> LogPage | None:
        if session not in self.said:
            return None
        entries = self._entries(session)
        return LogPage(header=HEADER, total=len(entries), entries=entries[first - 1 : first - 1 + limit])

    def search(self, words: str, *, limit: int) -> Sequence[LogHit]:
        found = [
            LogHit(session=session, entry=entry)
            for session in reversed(self.said)
            for entry in reversed(self._entries(session))
            if all(word in entry.content.lower() for word in words.lower().split())
        ]
        return found[:limit]


def ask(logs, **arguments):
    return Registry(session_log_tools(logs)).call("session_logs", arguments)


def refused(logs, **arguments):
    with pytest.raises(BadArguments) as caught:
        ask(logs, **arguments)
    return caught.value


TALK = FakeLogs({"old": ["hello", "hello Luis"], "new": [f"line {n}" for n in range(1, 121)]}, current="new")


def test_without_transcripts_there_is_no_such_tool():
    assert session_log_tools(None) == ()


def test_sessions_are_listed_the_newest_first():
    assert ask(TALK, action="list_sessions") == {
        "ok": True,
        "count": 2,
        "sessions": [
            {
                "session_id": "new",
                "title": "About new",
                "agent_id": "kate",
                "source_plugin": "telegram",
                "entry_count": 120,
                "first_timestamp": "2026-04-24T12:01:00Z",
                "last_timestamp": "2026-04-24T12:09:00Z",
            },
            {
                "session_id": "old",
                "title": "About old",
                "agent_id": "kate",
                "source_plugin": "telegram",
                "entry_count": 2,
                "first_timestamp": "2026-04-24T12:01:00Z",
                "last_timestamp": "2026-04-24T12:09:00Z",
            },
        ],
        "more": None,
    }


def test_a_long_list_of_sessions_goes_on_where_it_stopped():
    logs = FakeLogs({f"s{n:03}": [] for n in range(600)})
    first = ask(logs, action="list_sessions")
    assert (first["count"], first["more"]) == (50, 51)
    assert ask(logs, action="list_sessions", limit=10**9)["count"] == 500
    last = ask(logs, action="list_sessions", offset=551)
    assert (last["count"], last["more"]) == (50, None)
    assert last["sessions"][-1]["session_id"] == "s000"


def test_a_session_is_read_from_its_beginning():
    page = ask(TALK, action="read_session", session_id="new")
    entries = page.pop("entries")
    assert page == {
        "ok": True,
        "session_id": "new",
        "header": HEADER,
        "total_entries": 120,
        "returned": 50,
        "offset": 1,
        "truncated": True,
        "more": 51,
    }
    assert entries[0] == {
        "number": 1,
        "timestamp": "2026-04-24T12:01:00Z",
        "role": "user",
        "source_plugin": "telegram",
        "message_id": "new-1",
        "sender_id": "user123",
        "content": "line 1",
        "truncated": False,
    }


def test_every_entry_can_be_reached():
    page = ask(TALK, action="read_session", session_id="new", offset=101)
    assert [entry["number"] for entry in page["entries"]] == list(range(101, 121))
    assert (page["more"], page["truncated"]) == (None, True)
    whole = ask(TALK, action="read_session", session_id="old")
    assert (whole["more"], whole["truncated"]) == (None, False)


def test_a_place_behind_the_end_holds_nothing():
    page = ask(TALK, action="read_session", session_id="old", offset=10**40)
    assert (page["returned"], page["more"], page["truncated"]) == (0, None, True)


@pytest.mark.parametrize("action", ["read_session", "recent"])
def test_a_session_that_is_not_there_is_an_answer(action):
    answer = ask(TALK, action=action, session_id="nobody")
    assert answer == {"ok": False, "error": "session_not_found", "session_id": "nobody"}


def test_recent_means_the_current_session_and_its_last_entries():
    answer = ask(TALK, action="recent")
    assert answer["session_id"] == "new"
    assert (answer["count"], answer["total_entries"]) == (50, 120)
    assert [entry["number"] for entry in answer["entries"]] == list(range(71, 121))
    assert answer["more"] == 71


def test_recent_goes_back_as_far_as_one_likes():
    answer = ask(TALK, action="recent", limit=100, before=71)
    assert [entry["number"] for entry in answer["entries"]] == list(range(1, 71))
    assert answer["more"] is None
    assert ask(TALK, action="recent", before=1)["entries"] == []


def test_recent_of_another_session_names_it():
    answer = ask(TALK, action="recent", session_id="old", limit=1)
    assert [entry["content"] for entry in answer["entries"]] == ["hello Luis"]


def test_a_session_of_which_nothing_is_recorded_yet_has_no_entries():
    answer = ask(FakeLogs({}, current="fresh"), action="recent")
    assert (answer["ok"], answer["count"], answer["entries"]) == (True, 0, [])


def test_recent_without_any_session_is_refused():
    assert "no current session" in refused(FakeLogs({}), action="recent").message


@pytest.mark.parametrize(
    ("asked", "length"), [(None, 200), (20, 20), (1, 20), (-5, 20), (4000, 4000), (10**9, 4000)]
)
def test_content_is_cut_by_characters_with_the_mark_inside_the_limit(asked, length):
    logs = FakeLogs({"s": ["é" * 10_000, "short"]}, current="s")
    long, short = ask(logs, action="recent", max_chars=asked)["entries"]
    assert long["content"] == "é" * (length - 1) + "…"
    assert (long["truncated"], short["truncated"]) == (True, False)


def test_a_search_finds_words_in_any_order_and_says_where():
    logs = FakeLogs({"a": ["the order was refunded"], "b": ["refunded? no order", "other"]})
    answer = ask(logs, action="search", query=" Refunded order ")
    assert (answer["ok"], answer["query"], answer["count"], answer["truncated"]) == (
        True,
        "Refunded order",
        2,
        False,
    )
    assert answer["hits"][0] == {
        "session_id": "b",
        "number": 1,
        "message_id": "b-1",
        "timestamp": "2026-04-24T12:01:00Z",
        "role": "user",
        "source_plugin": "telegram",
        "preview": "refunded? no order",
    }


def test_a_preview_is_of_the_place_that_was_found():
    text = "x" * 3000 + " the ORDER came " + "y" * 3000
    (hit,) = ask(FakeLogs({"a": [text]}), action="search", query="order", max_chars=40)["hits"]
    assert len(hit["preview"]) == 40
    assert "ORDER came" in hit["preview"]
    assert hit["preview"][0] == hit["preview"][-1] == "…"


def test_a_preview_finds_words_whatever_their_accents():
    from carrel.tools.excerpt import around, words_of  # noqa: PLC0415 - the fake below searches plainly

    text = "ß" * 500 + " José pidió una CAFETERÍA " + "z" * 500
    preview = around(text, words_of("cafeteria"), 60)
    assert "CAFETERÍA" in preview
    assert len(preview) <= 60


def test_more_hits_than_asked_for_are_not_left_out_silently():
    answer = ask(TALK, action="search", query="line", limit=7)
    assert (answer["count"], answer["truncated"]) == (7, True)


@pytest.mark.parametrize("query", [None, "", "   ", "?!"])
def test_a_search_needs_words(query):
    assert "`query`" in refused(TALK, action="search", query=query).message


def test_a_query_has_an_upper_limit():
    assert "length <= 1000" in refused(TALK, action="search", query="x" * 1001).message


def test_an_unknown_action_is_answered_with_the_four_there_are():
    message = refused(TALK, action="delete").message
    assert "list_sessions, read_session, recent, search" in message
    assert "`action` is missing" in refused(TALK).message


@pytest.mark.parametrize("session", ["../x", "a/b", "..", ".hidden", "x" * 500, "a\0b", "\ud800"])
@pytest.mark.parametrize("action", ["read_session", "recent"])
def test_an_id_that_cannot_be_one_is_refused_before_anything_is_looked_up(action, session):
    assert "`session_id`" in refused(FakeLogs({}), action=action, session_id=session).message


def test_reading_needs_a_session():
    assert "`session_id` is missing" in refused(TALK, action="read_session").message


def test_a_limit_that_is_no_number_is_refused():
    assert "`limit` must be a whole number" in refused(TALK, action="recent", limit="many").message
    assert ask(TALK, action="recent", limit=0)["count"] == 1
