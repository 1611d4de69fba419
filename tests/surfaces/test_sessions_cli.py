"""`carrel sessions`: what people and programs see, what is acknowledged, and the exit codes."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE

SESSIONS = "agents/main/sessions"
CALL = {"id": "c1", "name": "read_file", "arguments": {"path": "MEMORY.md"}}
TALK = [
    {"role": "user", "content": "Does Ana use a Samsung?", "message_id": "m1", "sender_id": "luis"},
    {"role": "assistant", "content": "Let me look.", "message_id": "m2", "tool_calls": [CALL]},
    {
        "role": "tool",
        "content": "Ana: Samsung",
        "message_id": "m3",
        "tool_call_id": "c1",
        "name": "read_file",
    },
    {"role": "assistant", "content": "Sí, she does.", "message_id": "m4"},
]
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDRA=="}}


@pytest.fixture
def record(cli, desk, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return what gives messages, or bytes, to `sessions record`."""
    desk.put({"carrel.yaml": "layout: carrel\n"})

    def recorded(session: str, given: list[dict[str, Any]] | bytes, *words: str) -> Any:
        data = given if isinstance(given, bytes) else b"".join(json.dumps(m).encode() + b"\n" for m in given)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return cli("-C", desk, *words, "sessions", "record", "--session", session)

    return recorded


@pytest.fixture
def say(cli, desk) -> Callable[..., Any]:
    """Return what runs a verb of `carrel sessions` in the workspace."""
    return lambda *words: cli("-C", desk, "sessions", *words)


def acknowledged(outcome: Any) -> list[str]:
    return [json.loads(line)["message_id"] for line in outcome.text.splitlines()]


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"word {n}", "message_id": f"m{n}"} for n in range(1, count + 1)]


@contextmanager
def running(process, desk, *words: str, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    command = [str(process.script), "-C", str(desk), "sessions", *words]
    with subprocess.Popen(command, env=process.environment({}), cwd=process.cwd, **given) as started:
        try:
            yield started
        finally:
            started.kill()


def log_of(desk, session: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (desk / f"{SESSIONS}/{session}.log.jsonl").read_text().splitlines()]


def test_each_line_is_acknowledged_when_it_is_durable_and_before_the_next_is_given(process, desk) -> None:
    desk.put({"carrel.yaml": "layout: carrel\n"})
    with running(process, desk, "record", "--session", "s1") as started:
        assert started.stdin
        assert started.stdout
        for number in range(1, 4):
            line = {"role": "user", "content": f"word {number}", "message_id": f"m{number}"}
            started.stdin.write(json.dumps(line).encode() + b"\n")
            started.stdin.flush()
            assert json.loads(started.stdout.readline()) == {"message_id": f"m{number}"}
            assert log_of(desk, "s1")[-1]["content"] == f"word {number}"
        started.send_signal(signal.SIGKILL)
        started.wait(PATIENCE)
    done = process("-C", desk, "sessions", "show", "s1", "--json").document
    assert [entry["message_id"] for entry in done["entries"]] == ["m1", "m2", "m3"]
    assert done["findings"] == []


def test_a_message_without_an_id_gets_one(record, say) -> None:
    (made,) = acknowledged(record("s1", [{"role": "user", "content": "Hello"}]))
    assert len(made) >= 16
    assert say("show", "s1", "--json").document["entries"][0]["message_id"] == made


def test_the_same_message_twice_changes_nothing(record, say) -> None:
    assert acknowledged(record("s1", [*TALK, TALK[0]])) == ["m1", "m2", "m3", "m4", "m1"]
    assert acknowledged(record("s1", TALK)) == ["m1", "m2", "m3", "m4"]
    assert say("show", "s1", "--json").document["total"] == 4


def test_blank_lines_and_windows_newlines_are_no_problem(record, say) -> None:
    data = b'\xef\xbb\xbf{"role":"user","content":"one"}\r\n\r\n  \n{"role":"user","content":"two"}'
    done = record("s1", data)
    assert (done.code, len(acknowledged(done))) == (0, 2)
    assert [e["content"] for e in say("show", "s1", "--json").document["entries"]] == ["one", "two"]


def test_nothing_given_makes_no_session(record, say) -> None:
    outcome = record("s1", b"\n\n")
    assert (outcome.code, outcome.out) == (0, b"")
    assert outcome.warnings == "Nothing was recorded: standard input held no message.\n"
    assert say("list", "--json").document["sessions"] == []


@pytest.mark.parametrize(
    "line",
    [
        b"not JSON", b'"text"', b"[]", b"null", b"{}", b'{"role":"king","content":"x"}', b'{"role":"user","content":3}',
        b'{"role":"user","content":"x","message_id":""}', b'{"role":"user","content":"x","timestamp":"soon"}',
        b'{"role":"user","content":"\xff"}', b"\0\0\0", b'{"role":"user","content":"x","tool_calls":"x"}',
        b'{"role":"user","content":[{"type":"entry"}]}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_those_before_it_are_kept(record, say, line: bytes) -> None:
    first, last = b'{"role":"user","content":"a","message_id":"m1"}', b'{"role":"user","content":"z"}'
    done = record("s1", b"\n".join((first, b"", line, last)), "--json")
    ack, said = (json.loads(each) for each in done.text.splitlines())
    assert done.code == 2
    assert ack == {"message_id": "m1"}
    assert said["error"]["code"] == "bad_message"
    assert said["error"]["message"].startswith("Line 3: ")
    assert say("show", "s1", "--json").document["total"] == 1


def test_a_line_longer_than_any_message_is_refused_before_it_ends(process, desk) -> None:
    desk.put({"carrel.yaml": "layout: carrel\n"})

    def pour(stream: Any) -> None:
        for _ in range(400):
            stream.write(b"x" * 1_000_000)

    with running(process, desk, "record", "--session", "s1", "--json", bufsize=0) as started:
        assert started.stdin
        assert started.stdout
        started.stdin.write(b'{"role":"user","content":"one","message_id":"m1"}\n')
        with pytest.raises(BrokenPipeError):  # it does not wait for the end of what never ends
            pour(started.stdin)
        *_, last = started.stdout.read().splitlines()
        assert started.wait(PATIENCE) == 2
    error = json.loads(last)["error"]
    assert error["code"] == "line_too_long"
    assert error["message"].startswith("Line 2: ")


def test_an_id_that_could_not_be_a_file_is_refused_before_anything_is_read(cli, desk, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # who reads from it fails
    desk.put({"carrel.yaml": "layout: carrel\n"})
    before = desk.snapshot()
    for session in ("../x", "", "a/b", "x.log", ".hidden", "con", "x" * 200):
        done = cli("-C", desk, "--json", "sessions", "record", "--session", session)
        assert (done.code, done.error["code"]) == (2, "bad_id"), session
        assert cli("-C", desk, "--json", "sessions", "show", session).error["code"] == "bad_id"
    assert desk.snapshot() == before


def test_shared_scope_may_record_and_nothing_else(cli, desk, record) -> None:
    assert record("s1", TALK[:1]).code == 0
    assert (
        record("s1", [{"role": "user", "content": "hi", "message_id": "m9"}], "--scope", "shared").code == 0
    )
    assert [line.get("scope") for line in log_of(desk, "s1")[1:]] == [None, "shared"]
    before = desk.snapshot()
    for words in (
        ["list"], ["show", "s1"], ["show", "nope"], ["tail", "s1"], ["search", "samsung"], ["fork", "s1"],
        ["export", "s1"], ["delete", "s1", "--yes"],
    ):  # fmt: skip
        done = cli("-C", desk, "--scope", "shared", "--json", "sessions", *words)
        assert (done.code, done.error["code"]) == (6, "hidden_by_scope"), words
        assert b"Samsung" not in done.out + done.err
    assert desk.snapshot() == before


def test_where_messages_come_from_may_be_said_once(record, desk, say, cli, monkeypatch) -> None:
    data = b'{"role":"user","content":"a"}\n{"role":"user","content":"b","source":"mail"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    done = cli("-C", desk, "sessions", "record", "--session", "s1", "--source", "telegram")
    assert done.code == 0
    entries = say("show", "s1", "--json").document["entries"]
    assert [entry["source_plugin"] for entry in entries] == ["telegram", "mail"]
    assert say("list", "--json").document["sessions"][0]["source"] == "telegram"


def test_standard_input_that_is_closed_is_no_traceback(process, desk) -> None:
    desk.put({"carrel.yaml": "layout: carrel\n"})
    command = f'exec "{process.script}" -C "{desk}" sessions record --session s1 <&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=process.environment({}),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


def test_a_list_shows_the_last_used_first_and_can_be_paged(record, say, desk) -> None:
    for number in range(5):
        record(f"s{number}", [{**TALK[0], "content": f"Talk {number}"}])
        os.utime(desk / f"{SESSIONS}/s{number}.log.jsonl", (number, number))
    document = say("list", "--json").document
    assert [row["id"] for row in document["sessions"]] == ["s4", "s3", "s2", "s1", "s0"]
    assert (document["total"], document["offset"]) == (5, 0)
    assert document["sessions"][0] == {
        "id": "s4", "title": "Talk 4", "summary": "", "updatedAt": "2026-04-24T12:00:00.000Z",
        "createdAt": "2026-04-24T12:00:00.000Z", "entries": 1, "source": "", "agent": "main", "damaged": 0,
    }  # fmt: skip
    page = say("list", "--json", "--limit", "2", "--offset", "3").document
    assert ([row["id"] for row in page["sessions"]], page["total"]) == (["s1", "s0"], 5)
    drawn = say("list", "--limit", "2")
    assert [line.split() for line in drawn.text.splitlines()] == [
        ["updated", "entries", "session", "title"],
        ["just", "now", "1", "s4", "Talk", "4"],
        ["just", "now", "1", "s3", "Talk", "3"],
    ]
    assert "2 of 5; --offset 2 shows more" in drawn.warnings
    assert say("list", "--limit", "0").code == 2


def test_a_list_says_how_long_ago_and_which_are_damaged(record, say, desk) -> None:
    times = {
        "a": "2026-04-24T11:58:30Z",
        "b": "2026-04-24T10:30:00Z",
        "c": "2026-04-23T11:00:00Z",
        "d": "2025-01-02T11:00:00Z",
    }
    for name, moment in times.items():
        record(name, [{**TALK[0], "timestamp": moment}])
    with (desk / f"{SESSIONS}/a.log.jsonl").open("ab") as log:
        log.write(b'{"type":"entry","role"\n')
    lines = {line.split("Does")[0].split()[-1]: line for line in say("list").text.splitlines()[1:]}
    assert lines["a"].split()[:5] == ["1", "minute", "ago", "1", "!"]
    assert lines["b"].split()[:3] == ["1", "hour", "ago"]
    assert lines["c"].split()[:3] == ["1", "day", "ago"]
    assert lines["d"].split()[:2] == ["2025-01-02", "1"]


def test_no_session_is_no_error(cli, desk) -> None:
    desk.put({"carrel.yaml": "layout: carrel\n"})
    done = cli("-C", desk, "sessions", "list")
    assert (done.code, done.out, done.warnings) == (0, b"", "No session yet.\n")


def test_pages_in_both_directions_reach_every_entry_once(record, say) -> None:
    record("s1", numbered(23))

    def walk(option: str, key: str, start: int | None) -> list[int]:
        seen, at = list[int](), start
        while at is not None:
            document = say("show", "s1", "--json", "--limit", "5", option, str(at)).document
            numbers = [entry["number"] for entry in document["entries"]]
            seen = seen + numbers if key == "next" else numbers + seen
            at = document[key]
        return seen

    assert walk("--first", "next", 1) == list(range(1, 24))
    assert walk("--before", "previous", 24) == list(range(1, 24))
    assert walk("--before", "previous", 1_000) == list(range(1, 24))
    document = say("show", "s1", "--json", "--before", "9", "--limit", "5").document
    assert (document["next"], document["previous"], document["total"]) == (9, 4, 23)
    assert say("show", "s1", "--json", "--before", "1").document["entries"] == []


def test_a_page_may_begin_with_a_message(record, say) -> None:
    record("s1", numbered(10))
    document = say("show", "s1", "--json", "--message-id", "m4", "--limit", "2").document
    assert [entry["message_id"] for entry in document["entries"]] == ["m4", "m5"]
    assert (document["previous"], document["next"]) == (4, 6)
    done = say("show", "s1", "--json", "--message-id", "nope")
    assert (done.code, done.error["code"]) == (3, "unknown_message")
    assert say("show", "s1", "--first", "1", "--before", "3").code == 2


def test_a_document_has_all_that_was_recorded(record, say) -> None:
    record("s1", TALK)
    document = say("show", "s1", "--json").document
    assert (document["session"], document["title"], document["schema_version"]) == (
        "s1",
        "Does Ana use a Samsung?",
        1,
    )
    assert document["header"]["agent_id"] == "main"
    first, second, third, _ = document["entries"]
    assert first == {
        "number": 1, "timestamp": "2026-04-24T12:00:00.000Z", "role": "user", "content": "Does Ana use a Samsung?",
        "message_id": "m1", "source_plugin": "", "sender_id": "luis",
    }  # fmt: skip
    assert second["tool_calls"] == [CALL]
    assert third["tool_call_id"] == "c1"


def test_people_read_who_said_what_and_when(record, say) -> None:
    record("s1", TALK)
    text = say("show", "s1").text
    assert text.startswith(
        "Does Ana use a Samsung? · 4 entries\n\n#1  user  luis  2026-04-24 12:00:00 UTC  m1\nDoes"
    )
    assert '→ read_file {"path":"MEMORY.md"}\n' in text
    assert "#3  tool  read_file  2026-04-24 12:00:00 UTC  m3\nAna: Samsung\n" in text


def test_damage_is_told_and_every_whole_entry_is_shown(record, say, desk) -> None:
    record("s1", TALK)
    log = desk / f"{SESSIONS}/s1.log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(
        b"".join((*lines[:2], lines[1], b'{"type":"entry","role"\n', *lines[2:], b'{"type":"ent'))
    )
    done = say("show", "s1", "--json")
    assert [entry["message_id"] for entry in done.document["entries"]] == ["m1", "m2", "m3", "m4"]
    codes = {finding["code"] for finding in done.document["findings"]}
    assert codes == {"damaged_lines", "duplicate_entries", "torn_line"}
    for verb in (["show", "s1"], ["tail", "s1"], ["export", "s1"], ["export", "s1", "--format", "jsonl"]):
        done = say(*verb)
        assert done.code == 0
        assert "1 damaged lines" in done.warnings, verb
        assert "[torn_line]" in done.warnings, verb


@pytest.mark.parametrize("verb", ["show", "tail", "fork", "export", "delete"])
def test_a_session_that_does_not_exist_is_not_found(record, say, verb: str) -> None:
    record("s1", TALK)
    done = say(verb, "s2", "--json")
    assert (done.code, done.error["code"]) == (3, "unknown_session")
    assert "carrel sessions list" in done.error["hint"]


def test_nothing_that_was_said_moves_the_cursor(record, say) -> None:
    bad = "a\x1b[2J\x07\x9b\r\u202eb\0c\ud800"
    record("s1", [{"role": "user", "content": bad, "sender_id": bad, "message_id": "m1", "name": bad}])
    for verb in (
        ["list"],
        ["show", "s1"],
        ["tail", "s1"],
        ["search", "a"],
        ["export", "s1"],
        ["export", "s1", "--format", "html"],
    ):
        done = say(*verb)
        assert done.code == 0
        shown = (done.out + done.err).decode()
        assert not set("\x1b\x07\x9b\r\u202e\0") & set(shown), verb


def test_the_end_of_a_session_is_printed(record, say) -> None:
    record("s1", numbered(30))
    lines = say("tail", "s1", "-n", "3", "--json").text.splitlines()
    assert [json.loads(line)["number"] for line in lines] == [28, 29, 30]
    assert len(say("tail", "s1", "--json").text.splitlines()) == 20
    assert say("tail", "s1", "-n", "0").out == b""
    assert "#30  user" in say("tail", "s1", "-n", "1").text


def test_a_tail_follows_what_others_record_and_ends_quietly(process, desk, record) -> None:
    record("s1", TALK[:1])
    with running(process, desk, "tail", "s1", "--follow", "--json", stdin=subprocess.DEVNULL) as started:
        assert started.stdout
        assert started.stderr
        assert json.loads(started.stdout.readline())["message_id"] == "m1"
        record("s1", TALK)
        assert [json.loads(started.stdout.readline())["number"] for _ in range(3)] == [2, 3, 4]
        started.send_signal(signal.SIGINT)
        assert started.wait(PATIENCE) == 0
        assert (started.stdout.read(), started.stderr.read()) == (b"", b"")


def test_what_was_said_is_found_with_its_place(record, say) -> None:
    record("s1", TALK)
    record("s2", [{"role": "user", "content": "x" * 400 + " a SAMSUNG " + "y" * 400, "message_id": "far"}])
    document = say("search", "samsung", "--json").document
    assert [(hit["session"], hit["number"]) for hit in document["hits"]] == [("s1", 3), ("s2", 1), ("s1", 1)]
    hit = document["hits"][1]
    assert [hit["text"][start:end] for start, end in hit["ranges"]] == ["SAMSUNG"]
    assert (hit["message_id"], hit["role"], hit["is_whole"]) == ("far", "user", False)
    assert len(hit["text"]) <= 200
    drawn = say("search", "ANA", "samsung").text
    assert "s1 #1  user  2026-04-24 12:00:00 UTC\n  Does Ana use a Samsung?\n" in drawn


def test_a_search_can_be_narrowed(record, say) -> None:
    days = ["2026-04-01T22:30:00Z", "2026-04-02T12:00:00Z", "2026-04-03T00:00:00Z"]
    record("s1", [{"role": "user", "content": "word", "message_id": d, "timestamp": d} for d in days])
    record("s2", [{"role": "assistant", "content": "word", "message_id": "other", "timestamp": days[0]}])

    def found(*words: str) -> list[str]:
        return [hit["message_id"] for hit in say("search", "word", "--json", *words).document["hits"]]

    assert found("--session", "s1") == days[::-1]
    assert found("--role", "assistant") == ["other"]
    assert found("--since", "2026-04-02", "--until", "2026-04-02") == [days[1]]
    assert set(found("--since", "2026-04-02T00:00:00+02:00", "--until", "2026-04-02T12:00")) == {
        days[0],
        "other",
    }
    assert found("--limit", "1") == [days[2]]
    assert say("search", "word", "--since", "yesterday").code == 2
    assert say("search", "word", "--role", "king").code == 2
    assert say("search", "word", "--session", "nope").code == 3


def test_a_day_is_a_day_of_the_workspace(record, say, desk) -> None:
    desk.put({"carrel.yaml": "layout: carrel\ntime_zone: America/Bogota\n"})
    record("s1", [{"role": "user", "content": "word", "timestamp": "2026-04-02T03:00:00Z"}])
    assert say("search", "word", "--until", "2026-04-01", "--json").document["hits"] != []
    assert say("search", "word", "--since", "2026-04-02", "--json").document["hits"] == []


def test_an_empty_query_is_a_wrong_call_and_no_match_is_none(record, say) -> None:
    record("s1", TALK)
    done = say("search", " ", "--json")
    assert (done.code, done.error["code"]) == (2, "empty_query")
    assert say("search").code == 2
    nothing = say("search", "nokia")
    assert (nothing.code, nothing.out, nothing.warnings) == (0, b"", "Nothing was found.\n")
    assert [hit["number"] for hit in say("search", '"use a samsung"', "--json").document["hits"]] == [1]


def test_a_fork_goes_its_own_way(record, say, desk) -> None:
    record("s1", TALK)
    done = say("fork", "s1", "--at", "m1", "--to", "other")
    assert (done.code, done.text, done.err) == (0, "other\n", b"")
    assert log_of(desk, "other")[0]["forked_from"] == {"session": "s1", "message_id": "m1"}
    record("other", [{"role": "user", "content": "And Luis?"}])
    assert say("show", "other", "--json").document["total"] == 2
    assert say("show", "s1", "--json").document["total"] == 4
    titles = {row["id"]: row["title"] for row in say("list", "--json").document["sessions"]}
    assert titles["other"] == "Does Ana use a Samsung? (fork)"
    taken = say("fork", "s1", "--to", "other", "--json")
    assert (taken.code, taken.error["code"]) == (5, "session_exists")


def test_a_fork_says_what_it_left_out(record, say) -> None:
    record("s1", TALK)
    done = say("fork", "s1", "--at", "2", "--json")
    assert done.document == {
        "schema_version": 1, "session": "s1-fork", "forked_from": {"session": "s1", "message_id": "m1"},
        "entries": 1, "left_out": 1, "findings": [],
    }  # fmt: skip
    assert "1 at the end left out: a call of a tool has no result" in done.warnings


def test_an_export_is_printed_or_saved_as_a_new_file(record, say, desk, tmp_path: Path) -> None:
    record("s1", TALK)
    page = say("export", "s1")
    assert page.text.startswith("# Does Ana use a Samsung?\n")
    target = tmp_path / "s1.html"
    assert say("export", "s1", "--format", "html", "--to", str(target)) == (0, b"", b"")
    assert target.read_bytes() == say("export", "s1", "--format", "html").out
    assert target.stat().st_mode & 0o077 == 0
    taken = say("export", "s1", "--to", str(target), "--json")
    assert (taken.code, taken.error["code"]) == (5, "file_taken")
    assert target.read_text().startswith("<!doctype html>")
    assert say("export", "s1", "--to", str(tmp_path / "none" / "x.md")).code == 2
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["s1.html"]


def test_an_export_still_goes_where_the_older_option_says(record, say, tmp_path: Path) -> None:
    record("s1", TALK)
    assert say("export", "s1", "--output", str(tmp_path / "s1.md")) == (0, b"", b"")
    assert (tmp_path / "s1.md").read_bytes() == say("export", "s1").out
    assert "--output" not in say("export", "--help").text


def test_an_export_for_machines_is_the_log(record, say, desk, tmp_path: Path) -> None:
    record("s1", TALK)
    log = (desk / f"{SESSIONS}/s1.log.jsonl").read_bytes()
    assert say("export", "s1", "--format", "jsonl").out == log
    assert say("export", "s1", "--json").out == log
    document = say("export", "s1", "--format", "md", "--json").document
    assert document["text"] == say("export", "s1").text
    target = str(tmp_path / "x.md")
    saved = say("export", "s1", "--json", "--to", target).document
    assert (saved["path"], saved["format"], saved["bytes"]) == (target, "md", Path(target).stat().st_size)


def test_an_export_into_a_link_or_a_full_place_leaves_nothing(record, say, tmp_path: Path) -> None:
    record("s1", TALK)
    (tmp_path / "link.md").symlink_to(tmp_path / "nowhere.md")
    assert say("export", "s1", "--to", str(tmp_path / "link.md")).code == 5
    assert not (tmp_path / "nowhere.md").exists()
    done = say("export", "s1", "--to", "/proc/x.md", "--json")
    assert done.code == 1
    assert done.error["code"] in ("read_only", "disk_failed")


@pytest.mark.parametrize("layout", ["carrel", "nexo", "squad", "openclaw"])
def test_a_deleted_session_is_in_the_trash_and_nowhere_else(record, say, desk, layout: str) -> None:
    desk.put({"carrel.yaml": f"layout: {layout}\n"})
    record("s1", [*TALK, {"role": "user", "content": [PICTURE]}])
    record("s2", TALK)
    before = {path: path.read_bytes() for path in desk.path.rglob("s1*") if path.is_file()}
    before |= {path: path.read_bytes() for path in desk.path.rglob("s1.files/*")}
    done = say("delete", "s1", "--json")
    assert done.code == 0
    kept = {desk / each["path"]: Path(each["kept"]).read_bytes() for each in done.document["kept"]}
    assert kept == before
    assert not [path for path in before if path.exists()]
    assert [row["id"] for row in say("list", "--json").document["sessions"]] == ["s2"]
    assert say("show", "s1").code == 3
    assert say("delete", "s1").code == 3
    again = record("s1", TALK[:1])
    assert (again.code, say("show", "s1", "--json").document["total"]) == (0, 1)


def test_a_deleted_session_leaves_the_catalog_and_is_frozen_no_more(record, say, desk, cli) -> None:
    record("s1", TALK)
    assert cli("-C", desk, "context", "show", "--session", "s1", "--prepare").code == 0
    catalog = desk / f"{SESSIONS}/sessions.json"
    assert "s1" in json.loads(catalog.read_text())["sessions"]
    done = say("delete", "s1")
    assert (done.code, done.text.count("removed "), done.text.count("kept as ")) == (0, 2, 2)
    assert json.loads(catalog.read_text())["sessions"] == {}


def test_attachments_that_a_fork_needs_stay(record, say, desk) -> None:
    record("s1", [{"role": "user", "content": [{"type": "text", "text": "Look"}, PICTURE]}])
    assert say("fork", "s1").code == 0
    done = say("delete", "s1", "--json")
    assert done.document["needed_by"] == ["s1-fork"]
    content = say("show", "s1-fork", "--json").document["entries"][0]["content"]
    assert (desk / content[1]["path"]).read_bytes() == b"ABCD"


def test_a_deletion_that_was_broken_off_can_be_repeated(record, say, desk) -> None:
    record("s1", [{"role": "user", "content": [PICTURE]}])
    (desk / f"{SESSIONS}/s1.log.jsonl").unlink()
    done = say("delete", "s1", "--json")
    assert [Path(each["path"]).parent.name for each in done.document["kept"]] == ["s1.files"]
    assert not [path for path in (desk / f"{SESSIONS}/s1.files").iterdir() if path.is_file()]
    assert say("delete", "s1").code == 3


@pytest.mark.parametrize(("answer", "is_gone"), [("y", True), ("n", False), ("", False)])
def test_on_a_terminal_a_deletion_is_asked_about(process, desk, record, answer: str, is_gone: bool) -> None:
    record("s1", TALK)
    parent, child = pty.openpty()
    try:
        os.write(parent, f"{answer}\n".encode())
        with running(process, desk, "delete", "s1", stdin=child, stdout=child, stderr=child) as started:
            assert started.wait(PATIENCE) == (0 if is_gone else 1)
        said = os.read(parent, 65_536).decode()
    finally:
        os.close(child)
        os.close(parent)
    assert "Move s1 (Does Ana use a Samsung?, 4 entries) to the trash?" in said
    assert (desk / f"{SESSIONS}/s1.log.jsonl").exists() is not is_gone


def test_on_a_terminal_yes_needs_no_answer(process, desk, record) -> None:
    record("s1", TALK)
    parent, child = pty.openpty()
    try:
        with running(process, desk, "delete", "s1", "--yes", stdin=child) as started:
            assert started.wait(PATIENCE) == 0
    finally:
        os.close(child)
        os.close(parent)
    assert not (desk / f"{SESSIONS}/s1.log.jsonl").exists()


READING = [["list"], ["show", "s1"], ["tail", "s1"], ["search", "samsung"], ["export", "s1"]]


@pytest.mark.parametrize("words", READING, ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_reading_leaves_no_trace_in_a_workspace_nobody_trusts(record, say, desk, words, form) -> None:
    record("s1", TALK)
    (desk / f"{SESSIONS}/s1.jsonl").unlink()
    before = desk.snapshot()
    done = say(*words, *form)
    assert (done.code, done.err) == (0, b"")
    assert desk.snapshot() == before


def test_with_several_agents_one_must_be_named(cli, desk) -> None:
    desk.put({"carrel.yaml": "layout: carrel\nagents:\n  - id: kate\n  - id: luis\n"})
    done = cli("-C", desk, "sessions", "list", "--json")
    assert (done.code, done.error["code"]) == (2, "agent_required")
    assert cli("-C", desk, "sessions", "list", "--agent", "kate", "--json").document["total"] == 0


def test_agents_do_not_see_each_other_s_sessions_even_in_one_folder(cli, desk, monkeypatch) -> None:
    desk.put({"carrel.yaml": "layout: nexo\nagents:\n  - id: kate\n  - id: luis\n"})
    for agent in ("kate", "luis"):
        data = json.dumps({"role": "user", "content": f"word of {agent}"}).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert cli("-C", desk, "--agent", agent, "sessions", "record", "--session", f"of-{agent}").code == 0
    for agent in ("kate", "luis"):
        rows = cli("-C", desk, "--agent", agent, "sessions", "list", "--json").document["sessions"]
        assert [row["id"] for row in rows] == [f"of-{agent}"]
        hits = cli("-C", desk, "--agent", agent, "sessions", "search", "word", "--json").document["hits"]
        assert [hit["text"] for hit in hits] == [f"word of {agent}"]
