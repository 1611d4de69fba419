"""`carrel sweep`: what agents left for others is done from the shell, and the session that asked is told."""

import io
import json
import sys

import pytest

ASK = json.dumps({"agent": "researcher", "task": "Find out who Ana is.", "background": True})


@pytest.fixture
def say(cli, sample, monkeypatch):
    """Run a command that reads this from standard input."""

    def run(text, *words):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return cli("-C", sample, *words)

    return run


@pytest.fixture
def asked(cli, say, sample):
    """A session in which a task was left for a subagent."""
    sample.put({"subagents/researcher.md": "---\ndescription: Finds things out\n---\nYou are careful.\n"})
    said = {"role": "user", "content": "Hello", "message_id": "m1"}
    assert say(json.dumps(said) + "\n", "sessions", "record", "--session", "s1").code == 0
    done = cli("-C", sample, "tools", "call", "delegate", "--session", "s1", "--args", ASK, "--json")
    assert done.document["queued"] is True
    return sample


def test_a_sweep_does_what_waits_once_and_tells_the_session_that_asked(cli, asked):
    first = cli("-C", asked, "sweep", "--json").document
    assert (first["done"], first["left"]) == (1, 0)
    assert cli("-C", asked, "sweep", "--json").document["done"] == 0
    handed = cli("-C", asked, "sessions", "show", "s1", "--json").document["entries"][1:]
    assert [(each["role"], each["sender_id"], each["source_plugin"]) for each in handed] == [
        ("user", "researcher", "agent")
    ]
    assert "agent:researcher has done what it was asked" in handed[0]["content"]


def test_what_came_of_it_is_said_in_one_line(cli, asked):
    assert "1 done · 0 given up · 0 to be tried again · 0 left" in cli("-C", asked, "sweep").text


def test_the_queue_is_the_owners(cli, asked):
    refused = cli("-C", asked, "--scope", "shared", "sweep")
    assert refused.code == 6
    assert cli("-C", asked, "sweep", "--json").document["done"] == 1


def test_going_on_with_the_session_does_not_call_an_answer_missing(cli, say, asked):
    cli("-C", asked, "sweep")
    opened = say("", "chat", "--session", "s1", "--json").text.splitlines()[0]
    assert json.loads(opened)["missing"] == ""
