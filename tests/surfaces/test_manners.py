"""--quiet, --verbose and --log, before the verb and after it, and NO_COLOR: who hears what of a command."""

import json
import os
import pty
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.surfaces.test_options import places

from carrel.cli import output, progress
from carrel.cli.options import Shared

CANARY = "the canary sings at noon"


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_leaves_nothing_on_standard_error_and_standard_output_as_it_is(cli, sample, option):
    verb = ["index", "status"]
    plain = cli("-C", sample, *verb)
    assert plain.warnings
    for words in places([option], verb):
        quiet = cli("-C", sample, *words)
        assert (quiet.code, quiet.out, quiet.err) == (0, plain.out, b"")


def test_quiet_does_not_keep_errors_from_anybody(cli, sample):
    outcome = cli("-q", "-C", sample, "files", "cat", "nowhere.md")
    assert outcome.code == 3
    assert outcome.warnings.startswith("error[no_such_path]")
    assert "hint" in outcome.warnings
    assert cli("-q", "nonsense").warnings.startswith("error[usage]")


def test_quiet_of_one_command_does_not_reach_the_next(cli, sample):
    cli("-q", "-C", sample, "index", "status")
    assert cli("-C", sample, "index", "status").warnings


def lines_of(path: Path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("option", ["-v", "--verbose"])
def test_verbose_tells_the_steps_and_keeps_them_in_the_users_own_log(cli, sample, option):
    verb = ["search", "Ana"]
    plain = cli("-C", sample, *verb)
    log = cli.home / "data/logs/carrel.jsonl"
    for words in places([option], verb):
        outcome = cli("-C", sample, *words)
        assert outcome.out == plain.out
        assert "search_memory" in outcome.warnings
        assert str(log) in outcome.warnings
    events = lines_of(log)
    assert [event["event"] for event in events] == 3 * ["began", "step", "ended"]
    assert all(event["at"] == "2026-04-24T12:00:00Z" for event in events)
    assert events[1]["step"] == "search_memory"
    assert events[1]["seconds"] >= 0
    assert (events[2]["command"], events[2]["code"], events[2]["error"]) == ("carrel search", 0, "")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_may_be_kept_anywhere_and_then_nothing_is_told(cli, sample, tmp_path):
    log = tmp_path / "here.jsonl"
    outcome = cli("--log", log, "-C", sample, "search", "Ana", "--json")
    assert outcome.document["hits"]
    assert outcome.err == b""
    assert len(lines_of(log)) == 3
    assert not (cli.home / "data/logs").exists()


def test_a_log_tells_findings_and_errors_by_their_codes(cli, desk, tmp_path):
    desk.put({"carrel.yaml": "layout: carrel\nmodel: openai:gpt-5\n"})
    log = tmp_path / "log"
    assert "[untrusted_setting]" in cli("init", desk, "--log", log).warnings
    cli("--log", log, "-C", desk, "files", "cat", "nowhere.md")
    events = lines_of(log)
    assert [event["code"] for event in events if event["event"] == "finding"] == ["untrusted_setting"]
    assert (events[-1]["code"], events[-1]["error"]) == (3, "no_such_path")


def test_no_word_of_what_is_read_said_or_given_reaches_a_log(cli, sample, tmp_path):
    log = tmp_path / "log"
    sample.put({"canary.md": f"# Birds\n\n{CANARY}\n"})
    for words in (
        ["search", CANARY],
        ["memory", "add", f"{CANARY}."],
        ["memory", "append", "canary.md", "Birds", f"- {CANARY}"],
        ["files", "cat", f"{CANARY}.md"],
        ["context", "show", "--query", CANARY],
        ["tools", "call", "write_file", "--args", json.dumps({"path": "x.md", "content": CANARY})],
        ["sessions", "search", CANARY],
        ["memory", "forget", "--query", CANARY, "--yes"],
    ):
        cli("-C", sample, "--log", log, *words)
    assert len(lines_of(log)) > 16
    assert CANARY not in log.read_text()
    assert "canary sings" not in log.read_text()


def test_a_large_log_of_ours_is_put_aside_and_a_file_that_somebody_names_never(cli, sample, tmp_path):
    own, named = cli.home / "data/logs/carrel.jsonl", tmp_path / "here"
    for log in (own, named):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as made:
            made.truncate(9 * 1024 * 1024)
    cli("-C", sample, "-v", "files", "cat", "team.md")
    cli("-C", sample, "--log", named, "files", "cat", "team.md")
    assert own.stat().st_size < named.stat().st_size
    assert [path.name for path in tmp_path.glob("here*")] == ["here"]


@pytest.mark.parametrize("place", ["folder", "folder/below/a-file/log"])
def test_a_log_that_cannot_be_written_is_an_error_before_anything_is_done(cli, sample, tmp_path, place):
    (tmp_path / "folder/below").mkdir(parents=True)
    (tmp_path / "folder/below/a-file").touch()
    before = sample.snapshot()
    outcome = cli("-C", sample, "files", "rm", "team.md", "--log", tmp_path / place, "--json")
    assert outcome.error["code"] == "log_failed"
    assert sample.snapshot() == before


def shown(process, *words, **environment):
    """What a terminal shows of a command."""
    ours, theirs = pty.openpty()
    env = process.environment(environment)
    try:
        subprocess.run(
            [process.script, *words], stdout=theirs, stderr=theirs, stdin=theirs, env=env, check=True
        )
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # the end of a terminal
            pass
        return seen
    finally:
        os.close(ours)


COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
"""Not what wipes a line: a busy machine is told how far it is."""


def test_a_terminal_is_shown_colours_unless_no_color_is_set(process, sample):
    words = ["-C", sample, "health"]
    assert COLOUR.search(shown(process, *words))
    assert not COLOUR.search(shown(process, *words, NO_COLOR="1"))
    assert COLOUR.search(shown(process, *words, NO_COLOR=""))


def told_while(monkeypatch, capsys, is_quiet=False):
    """What a terminal is told of work that takes a while."""
    monkeypatch.setattr("carrel.cli.progress._SECONDS", 0.001)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    told = threading.Event()
    written = output.write

    def write(text, **where):
        written(text, **where)
        told.set()

    monkeypatch.setattr(output, "write", write)
    with progress.waiting(Shared(quiet=is_quiet), "Thinking"):
        if not is_quiet:
            assert told.wait(60)
    return capsys.readouterr().err


def test_who_waits_at_a_terminal_is_told_what_is_being_done_and_the_line_goes_afterwards(monkeypatch, capsys):
    said = told_while(monkeypatch, capsys)
    assert "Thinking … 1 s" in said
    assert said.endswith("\r\x1b[2K")


def test_who_wants_it_quiet_is_not(monkeypatch, capsys):
    assert told_while(monkeypatch, capsys, is_quiet=True) == ""


def test_in_a_pipe_nobody_is_told_how_far_it_is(capsys):
    assert progress.bar(Shared()) is None
    with progress.waiting(Shared(), "Thinking"):
        pass
    assert capsys.readouterr().err == ""
