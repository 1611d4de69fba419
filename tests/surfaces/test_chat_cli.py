"""`carrel chat` as people and programs use it: at a terminal, through a pipe, stopped, killed, and resumed."""

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.cli.chat.account import unchanged
from carrel.cli.chat.input import Typed, read_message
from carrel.context.report import Row
from carrel.sessions.turn import MESSAGE_LIMIT, MessageTooLarge

PATIENCE = 60
"""Seconds after which a test gives up on a process that says nothing; none waits for them."""

AS_A_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
SLOW = ("--pace", "0.2")
FOR_EVER = ("--pace", "60")


class Terminal:
    """Somebody at a terminal: types, and reads what appears."""

    def __init__(self, process, *words, **env):
        self._screen, child = pty.openpty()
        command = [sys.executable, "-c", AS_A_TERMINAL, str(process.script), *map(str, words)]
        self._running = subprocess.Popen(
            command,
            stdin=child,
            stdout=child,
            stderr=child,
            env=process.environment({"TERM": "dumb", "NO_COLOR": "1", **env}),
            cwd=process.cwd,
            start_new_session=True,
        )
        os.close(child)
        self.seen = b""
        self._read = 0

    def until(self, text):
        """Read on until a text appears, and return everything up to it."""
        while (found := self.seen.find(text.encode(), self._read)) < 0:
            assert select.select([self._screen], [], [], PATIENCE)[0], self.seen.decode()
            self.seen += self._more()
        start, self._read = self._read, found + len(text.encode())
        return self.seen[start : self._read].decode()

    def type(self, text):
        os.write(self._screen, text.encode("utf-8", "surrogateescape"))

    def interrupt(self, answer):
        """Press Ctrl-C at the prompt until it is heard: Python does not notice one between two keys."""
        while True:
            self.type("\x03")
            if answer.encode() in self.seen[self._read :] or self._says_more():
                return self.until(answer)

    def _says_more(self):
        return bool(select.select([self._screen], [], [], 1)[0])

    def say(self, text):
        self.until("you> ")
        self.type(f"{text}\n")

    def leave(self):
        """Press Ctrl-D at the prompt, and return what is said last."""
        self.until("you> ")
        self.type("\x04")
        return self.end()

    def end(self):
        """Return what is said until the process has ended, which it must with success."""
        while select.select([self._screen], [], [], PATIENCE)[0] and (more := self._more(at_end=True)):
            self.seen += more
        assert self._running.wait(PATIENCE) == 0
        return self.seen[self._read :].decode()

    def _more(self, *, at_end=False):
        try:
            more = os.read(self._screen, 65_536)
        except OSError:  # Linux says EIO where others say end of file
            more = b""
        assert more or at_end, self.seen.decode()
        return more

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._running.kill()
        self._running.wait()
        os.close(self._screen)


@pytest.fixture
def talk(cli, monkeypatch):
    """Holds a conversation through a pipe, in this process: what is said goes to standard input."""

    def run(said, *words, **env):
        data = said if isinstance(said, bytes) else said.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        cli.set(**env)
        return cli(*words)

    return run


@pytest.fixture
def events(talk):
    """Holds a conversation through a pipe that succeeds, and returns its events."""

    def run(said, *words, **env):
        outcome = talk(said, *words, "--json", **env)
        assert (outcome.code, outcome.err) == (0, b"")
        return [json.loads(line) for line in outcome.text.splitlines()]

    return run


def begun(process, *words):
    """A conversation through a pipe that stays open."""
    return subprocess.Popen(
        [process.script, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=process.environment({}),
        cwd=process.cwd,
    )


def first_pieces(running, said, count):
    """Say something, and return the first pieces of the answer, of which more would come."""
    running.stdin.write(f"{said}\n".encode())
    running.stdin.flush()
    found = []
    while len(found) < count:
        event = json.loads(running.stdout.readline())
        if event["event"] == "piece":
            found.append(event["text"])
    return "".join(found)


def entries(sample, session="s1"):
    log = sample / f"agents/kate/sessions/{session}.log.jsonl"
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return [line for line in lines if line["type"] == "entry"]


def said_by(sample, role, session="s1"):
    return [entry["content"] for entry in entries(sample, session) if entry["role"] == role]


QUESTION = "Which phone does Ana use?"


# Through a pipe


def test_an_answer_quotes_its_source_and_is_alone_on_standard_output(talk, sample):
    done = talk(f"{QUESTION}\n", "-C", sample, "chat", "--session", "s1")
    assert done.code == 0
    assert "Ana uses a Samsung." in done.text
    assert "MEMORY.md" in done.text
    assert b"session s1" not in done.out
    assert b"\x1b" not in done.out + done.err
    assert b"you>" not in done.out + done.err
    assert said_by(sample, "user") == [QUESTION]
    assert said_by(sample, "assistant") == [done.text.removesuffix("\n")]


def test_the_first_line_says_where_one_is_and_what_the_model_is(talk, sample):
    done = talk("", "-C", sample, "--scope", "shared", "chat", "--session", "s1")
    first = done.warnings.splitlines()[0]
    for word in ("s1", "new", "Kate", "shared scope", "offline", "quotes"):
        assert word in first


def test_after_each_answer_one_line_tells_what_it_cost(talk, sample):
    done = talk(f"{QUESTION}\nAnd where is Luis?\n", "-C", sample, "chat")
    costs = [line for line in done.warnings.splitlines() if line.startswith("context ")]
    assert len(costs) == 2
    assert re.fullmatch(r"context [\d.]+ % of [\d,]+ · cached [\d.]+ % · recalled 0", costs[0])
    assert re.fullmatch(r"context .* · recalled 0 · [\d,]+ turns until compaction", costs[1])
    assert "cached 0 %" in costs[0]
    assert "cached 0 %" not in costs[1]


def test_what_was_cached_is_known_to_the_next_process_too(events, sample):
    words = ("-C", sample, "chat", "--session", "s1")
    first, second = (events(f"{QUESTION}\n", *words)[-1]["context"] for _ in range(2))
    assert first["cached"] == 0
    assert second["cached"] > second["used"] / 2


def test_every_line_is_a_message_and_blank_ones_are_none(talk, sample):
    talk(b"one thing\r\n\n   \nanother\nand the last", "-C", sample, "chat", "--session", "s1")
    assert said_by(sample, "user") == ["one thing", "another", "and the last"]


def test_lines_may_be_one_message(talk, sample):
    said = 'one \\\ntwo \\\nthree\n"""\nfour\n\n  five \\\n"""\n"""six"""\n"""seven\neight'
    talk(said, "-C", sample, "chat", "--session", "s1")
    assert said_by(sample, "user") == ["one \ntwo \nthree", "four\n\n  five \\", "six", "seven\neight"]


def test_a_message_may_begin_with_a_slash(talk, sample):
    said = '//etc/hosts holds names\n"""/tmp holds files"""\n'
    assert talk(said, "-C", sample, "chat", "--session", "s1").code == 0
    assert said_by(sample, "user") == ["/etc/hosts holds names", "/tmp holds files"]


def test_bytes_that_are_no_text_are_a_message_too(talk, sample):
    done = talk(b"caf\xe9 \0 and tea\n", "-C", sample, "chat", "--session", "s1")
    assert done.code == 0
    assert said_by(sample, "user") == ["caf\udce9 \0 and tea"]


def test_nothing_said_leaves_nothing(talk, sample):
    done = talk("", "-C", sample, "chat")
    assert (done.code, done.out) == (0, b"")
    assert not (sample / "agents").exists()


def test_closed_standard_input_is_the_end_of_input(process, sample):
    command = f'exec "{process.script}" -C "{sample}" chat <&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=process.environment({}),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


def test_a_new_session_is_named_after_the_day_of_the_workspace(talk, events, sample):
    opened = events("", "-C", sample, "chat")[0]
    assert re.fullmatch(r"2026-04-24-[a-z0-9]{4}", opened["session"])
    done = talk("", "-C", sample, "chat", "--json", CARREL_TZ="Pacific/Kiritimati")
    assert json.loads(done.out)["session"].startswith("2026-04-25-")


def test_events_tell_a_machine_everything(events, sample):
    opened, *told = events("Please read SOUL.md\n", "-C", sample, "chat", "--session", "s1")
    assert opened["schema_version"] == 1
    assert (opened["session"], opened["agent"], opened["scope"]) == ("s1", "kate", "main")
    assert (opened["model"], opened["is_new"], opened["messages"]) == ("offline", True, 0)
    kinds = [event["event"] for event in told]
    call, result, ended = (told[kinds.index(kind)] for kind in ("call", "result", "ended"))
    assert (call["name"], call["arguments"]) == ("read_file", {"path": "SOUL.md"})
    assert (result["id"], result["failed"]) == (call["id"], False)
    assert "Kind, and exact." in result["result"]
    assert ended["text"] == "".join(event["text"] for event in told if event["event"] == "piece")
    assert ended["message_id"] == entries(sample)[-1]["message_id"]
    assert (ended["finish"], ended["rounds"]) == ("stop", 1)
    assert set(ended["usage"]) == {"input", "cached", "output"}
    counted = {"window", "used", "cached", "recalled"}
    assert set(ended["context"]) == counted | {"percent", "turns_to_flush", "turns_to_compact"}


def test_a_call_is_one_quiet_line(talk, sample):
    done = talk("Please read SOUL.md\n", "-C", sample, "chat")
    assert "\n· read_file SOUL.md\n" in done.warnings


def test_warnings_are_told_once(talk, sample):
    sample.put({"team.md": "<!-- priority: soon -->\nTwo people.\n"})
    done = talk("Hello\nHello again\n", "-C", sample, "chat")
    assert done.warnings.count("front_matter") == 1


def test_the_source_is_recorded(talk, sample):
    talk("Hello\n", "-C", sample, "chat", "--session", "s1", "--source", "door")
    assert {entry["source_plugin"] for entry in entries(sample)} == {"door"}


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["--model", "gpt-99"], "unknown_model", 2),
        (["--session", "../x"], "bad_id", 2),
        (["--scope", "everyone"], "unknown_scope", 2),
        (["--agent", "bob"], "unknown_agent", 3),
    ],
    ids=str,
)
def test_a_conversation_that_cannot_be_is_a_typed_error(cli, sample, words, code, exit_code):
    outcome = cli("-C", sample, "chat", *words, "--json")
    assert (outcome.error["code"], outcome.code) == (code, exit_code)


def test_an_unknown_model_is_told_which_there_are(cli, sample):
    outcome = cli("-C", sample, "chat", "--model", "gpt-\x1b99")
    assert "offline" in outcome.warnings
    assert "\x1b" not in outcome.warnings


def test_the_first_failing_turn_ends_a_pipe_with_its_code(talk, sample):
    said = b"Hello\n" + b"x" * (MESSAGE_LIMIT + 1) + b"\nnever said\n"
    done = talk(said, "-C", sample, "chat", "--session", "s1")
    assert done.code == 2
    assert b"error[message_too_large]" in done.err
    assert said_by(sample, "user") == ["Hello"]
    last = talk(said, "-C", sample, "chat", "--session", "s2", "--json").out.splitlines()[-1]
    assert json.loads(last)["error"]["code"] == "message_too_large"


def test_a_session_that_cannot_be_written_is_a_typed_error(talk, sample):
    sample.put({"agents": "a file where the sessions should be\n"})
    done = talk("Hello\n", "-C", sample, "chat", "--session", "s1")
    assert done.code in (1, 6)
    assert b"error[" in done.err
    assert b"internal" not in done.err


def test_a_reader_that_goes_away_leaves_a_whole_session(process, sample):
    with begun(process, "-C", sample, "chat", "--session", "s1", "--json", *SLOW) as running:
        first_pieces(running, QUESTION, 1)
        running.stdout.close()
        running.stdin.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (0, b"")
    assert [entry["role"] for entry in entries(sample)] == ["user", "assistant"]
    assert entries(sample)[-1]["finish"] == "cancelled"


# Commands


def test_commands_answer_in_a_pipe(talk, sample):
    done = talk(f"{QUESTION}\n/context\n/MEMORY people\n/sessions\n/help\n", "-C", sample, "chat")
    shown = done.text
    assert done.code == 0
    assert "cached prefix" in shown
    assert "People\n  - Ana uses a Samsung." in shown
    assert f"  {QUESTION}" in shown
    for name in ("/context", "/memory", "/sessions", "/compact", "/forget", "/help", "/quit"):
        assert f"\n{name} " in shown


def test_commands_answer_a_machine_too(events, sample):
    said = f"{QUESTION}\n/context\n/memory\n/sessions\n/forget\n/help\n"
    told = {event["event"]: event for event in events(said, "-C", sample, "chat", "--session", "s1")}
    assert told["context"]["report"]["session"] == "s1"
    assert told["memory"]["sections"] == [{"heading": "People", "bullets": ["Ana uses a Samsung."]}]
    assert [row["id"] for row in told["sessions"]["sessions"]] == ["s1"]
    assert "/quit" in told["help"]["commands"]
    assert "forgotten" in told


def test_memory_that_says_nothing_is_told_so(talk, sample):
    done = talk("/memory of nothing\n", "-C", sample, "chat")
    assert "nothing" in done.text


def test_an_unknown_command_is_told_which_there_are(talk, sample):
    done = talk("/frobnicate now\n", "-C", sample, "chat")
    assert done.code == 2
    assert b"error[unknown_command]" in done.err
    assert b"/frobnicate" in done.err
    assert b"/sessions" in done.err
    assert b"//" in done.err


def test_quitting_ends_with_success_and_says_nothing_more(talk, sample):
    done = talk("/quit\nnever said\n", "-C", sample, "chat", "--session", "s1")
    assert done.code == 0
    assert not (sample / "agents").exists()


def test_forgetting_reads_memory_again_and_keeps_what_was_said(talk, sample):
    words = ("-C", sample, "chat", "--session", "s1")
    sample.put(
        {"carrel.yaml": "agents: [{id: kate}]\nbudgets: {recall_tokens: 0}\n"}
    )  # else the new line is recalled
    talk(f"{QUESTION}\n", *words)
    sample.put({"MEMORY.md": "## People\n\n- Ana uses a Nokia now.\n"})
    assert b"Nokia" not in talk(f"{QUESTION}\n", *words).out
    assert b"Nokia" in talk(f"/forget\n{QUESTION}\n", *words).out
    assert len(said_by(sample, "user")) == 3


def test_compacting_lets_a_summary_stand_for_what_was_said(talk, events, sample):
    story = "We decided to ship on Friday. " + "The harbour is calm and the boats are many. " * 150
    words = ("-C", sample, "chat", "--session", "s1")
    talk("".join(f"{number} {story}\n" for number in range(5)), *words)
    told = events(f"/context\n/compact\n/context\n{QUESTION}\n", *words)
    reports = [event["report"]["tokens"]["used"] for event in told if event["event"] == "context"]
    compacted = next(event for event in told if event["event"] == "compacted")
    assert compacted["tokens_after"] < compacted["tokens_before"]
    assert reports[1] < reports[0]
    assert len(said_by(sample, "user")) == 6


def test_a_session_too_short_to_compact_says_so(talk, sample):
    done = talk("Hello\n/compact\n", "-C", sample, "chat", "--session", "s1")
    assert done.code == 3
    assert b"nothing_to_compact" in done.err


# Who is listening


def test_a_session_of_the_owner_is_not_shown_to_others(talk, sample):
    talk("CANARY is my word\n", "-C", sample, "chat", "--session", "s1")
    shared = ("-C", sample, "--scope", "shared", "chat", "--session", "s1")
    done = talk("What is my word?\n/context\n/sessions\n", *shared)
    assert done.code == 0
    assert b"0 messages" in done.err
    assert b"CANARY is" not in done.out + done.err
    again = talk("", *shared)
    count = sum(entry.get("scope") == "shared" for entry in entries(sample))
    assert f"{count} messages" in again.warnings
    assert b"What is my word?" in again.err
    assert b"CANARY" not in again.err


def test_others_learn_of_no_session_but_their_own(talk, sample):
    talk("Hello\n", "-C", sample, "chat", "--session", "secret-plans")
    shared = ("-C", sample, "--scope", "shared", "chat", "--session", "s1")
    assert b"secret-plans" not in talk("Hi\n/sessions\n", *shared).out
    assert b"secret-plans" in talk("/sessions\n", "-C", sample, "chat").out


def test_others_are_refused_the_owners_memory(talk, sample):
    done = talk("/memory\n", "-C", sample, "--scope", "shared", "chat")
    assert done.code == 6
    assert b"Samsung" not in done.out + done.err


# Stopped, killed, resumed


def test_an_earlier_session_says_how_much_there_is_and_what_was_said_last(talk, sample):
    words = ("-C", sample, "chat", "--session", "s1")
    talk("first thing\nsecond thing\nWho are you?\n", *words)
    seen = talk("", *words).err.decode()
    assert f"{len(entries(sample))} messages" in seen
    assert "you: Who are you?" in seen
    assert "Kate: " in seen
    assert "second thing" not in seen


def test_a_killed_answer_is_missed_and_the_session_goes_on(process, talk, events, sample):
    words = ("-C", sample, "chat", "--session", "s1")
    talk("Remember that the launch is on 12 May.\n", *words)
    with begun(process, *words, "--json", *SLOW) as running:
        first_pieces(running, QUESTION, 2)
        running.kill()
    assert running.returncode == -signal.SIGKILL
    assert said_by(sample, "user")[-1] == QUESTION
    opened, *told = events("When is the launch?\n", *words)
    assert opened["messages"] == 3
    assert opened["last"][-1] == {"role": "user", "text": QUESTION}
    assert "missing" in opened["missing"]
    assert "12 May" in told[-1]["text"]
    assert said_by(sample, "user")[-2:] == [QUESTION, "When is the launch?"]
    assert talk("", *words).err.decode().count("missing") == 0


def test_a_torn_line_is_told_in_the_opening(talk, events, sample):
    words = ("-C", sample, "chat", "--session", "s1")
    talk(f"{QUESTION}\n", *words)
    with (sample / "agents/kate/sessions/s1.log.jsonl").open("ab") as log:
        log.write(b'{"type":"entry","role":"us')
    opened = events("", *words)[0]
    assert [finding["code"] for finding in opened["findings"]] == ["torn_line"]
    assert b"s1.log.jsonl" in talk("", *words).err


def test_an_interrupt_ends_a_pipe_and_keeps_what_had_arrived(process, sample):
    with begun(process, "-C", sample, "chat", "--session", "s1", "--json", *SLOW) as running:
        shown = first_pieces(running, QUESTION, 2)
        running.send_signal(signal.SIGINT)
        rest = [json.loads(line) for line in running.stdout.read().splitlines()]
    assert running.returncode == 130
    assert rest[-1] == {"event": "stopped"}
    last = entries(sample)[-1]
    assert (last["role"], last["finish"]) == ("assistant", "cancelled")
    assert last["content"].startswith(shown)


def test_an_interrupt_that_a_shell_ignores_stops_nothing(process, sample):
    command = f'trap \'\' INT; exec "{process.script}" -C "{sample}" chat --session s1 --json --pace 0.01'
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=process.environment({}),
        cwd=process.cwd,
    ) as running:
        first_pieces(running, QUESTION, 1)
        running.send_signal(signal.SIGINT)
        running.stdin.close()
        last = json.loads(running.stdout.read().splitlines()[-1])
    assert (running.returncode, last["event"], last["finish"]) == (0, "ended", "stop")


# At a terminal


def test_a_conversation_at_a_terminal(process, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1") as terminal:
        terminal.say(QUESTION)
        answer = terminal.until("recalled 0")
        assert "\r\nKate> " in answer
        assert "Ana uses a Samsung." in answer
        assert "context " in answer
        last = terminal.leave()
    assert f"carrel -C {sample} chat --session s1" in last


def test_leaving_without_a_word_keeps_nothing(process, sample):
    with Terminal(process, "-C", sample, "chat") as terminal:
        assert "nothing is kept" in terminal.leave()
    assert not (sample / "agents").exists()


def test_ctrl_c_stops_the_answer_and_not_the_session(process, talk, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1", *SLOW) as terminal:
        terminal.say(QUESTION)
        terminal.until("Kate> I ")
        terminal.type("\x03\x03")
        terminal.until("(stopped)")
        terminal.say("/quit")
        terminal.end()
    last = entries(sample)[-1]
    assert (last["role"], last["finish"]) == ("assistant", "cancelled")
    assert last["content"].startswith("I ")
    assert b"stopped" in talk("", "-C", sample, "chat", "--session", "s1").err


def test_ctrl_c_before_the_first_piece_keeps_the_message(process, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1", *FOR_EVER) as terminal:
        terminal.say("Please read SOUL.md")
        terminal.until("read_file SOUL.md")
        terminal.type("\x03")
        terminal.until("(stopped)")
        terminal.leave()
    assert said_by(sample, "user") == ["Please read SOUL.md"]


def test_after_a_stopped_answer_the_next_one_is_whole(process, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1", *SLOW) as terminal:
        terminal.say("Who are you?")
        terminal.until("Kate> I ")
        terminal.type("\x03")
        terminal.until("(stopped)")
        terminal.say(QUESTION)
        assert "Kate> I am the offline model" in terminal.until("recalled 0")
        terminal.leave()
    endings = [entry.get("finish") for entry in entries(sample) if entry["role"] == "assistant"]
    assert endings[-2:] == ["cancelled", None]


def test_ctrl_c_at_an_empty_prompt_says_how_to_leave(process, sample):
    with Terminal(process, "-C", sample, "chat") as terminal:
        terminal.until("you> ")
        assert "/quit or Ctrl-D" in terminal.interrupt("leaves)")
        terminal.leave()


def test_ctrl_c_drops_what_was_typed(process, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1") as terminal:
        terminal.until("you> ")
        terminal.type("never said")
        terminal.until("never said")
        terminal.interrupt("\n")
        terminal.say("begun \\")
        terminal.until("...> ")
        terminal.interrupt("leaves)")
        terminal.say("said")
        terminal.until("recalled 0")
        terminal.leave()
    assert said_by(sample, "user") == ["said"]


def test_several_lines_are_typed_as_one_message(process, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1") as terminal:
        terminal.say("one \\")
        terminal.until("...> ")
        terminal.type("two\n")
        terminal.until("recalled ")
        terminal.say('"""')
        terminal.until("...> ")
        terminal.type("three\n")
        terminal.until("...> ")
        terminal.type('four"""\n')
        terminal.until("recalled ")
        terminal.leave()
    assert said_by(sample, "user") == ["one \ntwo", "three\nfour"]


def test_commands_work_at_a_terminal_and_a_wrong_one_ends_nothing(process, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1") as terminal:
        terminal.say("/context")
        assert "tokens used" in terminal.until("context report --session s1")
        terminal.say("/frobnicate")
        assert "unknown_command" in terminal.until("hint: ")
        terminal.say("/help")
        terminal.until("/quit ")
        terminal.say("/quit")
        terminal.end()


def test_a_failing_turn_ends_no_conversation(process, sample):
    with Terminal(process, "-C", sample, "chat", "--session", "s1") as terminal:
        terminal.say("Hello")
        terminal.until("recalled 0")
        log = sample / "agents/kate/sessions/s1.log.jsonl"
        kept = log.rename(log.with_suffix(".aside"))
        log.mkdir()
        terminal.say("This cannot be kept")
        assert "internal" not in terminal.until("hint: ")
        log.rmdir()
        kept.rename(log)
        terminal.say("This can")
        terminal.until("recalled 0")
        terminal.leave()
    assert said_by(sample, "user") == ["Hello", "This can"]


def test_a_terminal_obeys_nothing_that_is_quoted(process, sample):
    sample.put({"MEMORY.md": "## People\n\n- Ana uses a \x1b]0;owned\x07\x1b[2JSamsung\u202e.\n"})
    with Terminal(process, "-C", sample, "chat", "--session", "s1") as terminal:
        terminal.say(QUESTION)
        terminal.until("recalled 0")
        terminal.say("/memory")
        terminal.until("Samsung")
        terminal.leave()
    assert b"\x1b" not in terminal.seen
    assert b"\x07" not in terminal.seen
    assert "\u202e" not in terminal.seen.decode()


def test_a_terminal_gets_colours_unless_told_not_to(process, sample):
    with Terminal(process, "-C", sample, "chat", NO_COLOR="", TERM="xterm-256color") as terminal:
        terminal.say(QUESTION)
        assert "\x1b[1mKate> " in terminal.until("recalled 0")
        terminal.leave()


# Input and account as values


class Given:
    def __init__(self, *lines):
        self._lines = list(lines)

    def next(self, *, more=False):
        del more
        return self._lines.pop(0) if self._lines else None


plain_lines = st.text(st.characters(exclude_characters='\n\r"\\'))


@given(st.lists(plain_lines))
def test_plain_lines_are_messages_as_they_are(lines):
    given_lines = Given(*lines)
    assert [read_message(given_lines) for _ in lines] == [Typed(line) for line in lines]
    assert read_message(given_lines) is None


@given(st.lists(plain_lines.filter(str.strip), min_size=1))
def test_what_is_quoted_is_kept_word_for_word(lines):
    quoted = Given('"""', *lines, '"""', "next")
    assert read_message(quoted) == Typed("\n".join(lines), is_quoted=True)
    assert read_message(quoted) == Typed("next")


def test_a_message_without_end_is_refused_and_not_kept_in_memory():
    class Endless:
        lines = 0

        def next(self, *, more=False):
            del more
            self.lines += 1
            return "x" * 1_000_000 + "\\"

    endless = Endless()
    with pytest.raises(MessageTooLarge):
        read_message(endless)
    assert endless.lines < MESSAGE_LIMIT // 1_000_000 + 2


def row(name, tokens, *, sent=True):
    return Row(
        name=name, kind="document", raw_tokens=tokens, tokens=tokens, size=0, limit=None,
        state="included" if sent else "excluded", reason=None, stable=True, sha256=name if sent else None,
    )  # fmt: skip


def test_what_both_calls_begin_with_is_cached():
    first = [row("soul", 5), row("left out", 0, sent=False), row("memory", 7), row("hello", 2)]
    second = [row("soul", 5), row("memory", 7), row("new", 3), row("hello", 2)]
    assert unchanged(first, second) == 12
    assert unchanged(first, first) == 14
    assert unchanged([], first) == 0
    assert unchanged(second[1:], second) == 0
