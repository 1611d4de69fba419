"""What an agent remembers is its owner's: no fact, proposal, change or namespace is told to anybody else."""

import io
import os
import sys

import pytest
from tests.privacy.canaries import REMEMBERED, WORD

from carrel import CarrelError, Workspace

PUBLIC = "Anybody may read about the harbour."


@pytest.fixture
def owned(cli, sample):
    """A workspace that remembers the word in every way there is: fact, event, page, namespace, proposal, change."""
    sample.put({"team.md": PUBLIC})

    def owner(*words):
        outcome = cli("-C", sample, *words)
        assert outcome.code == 0, outcome.warnings

    owner("memory", "add", f"The {WORD} keeps the red ledger.")
    owner("memory", "add", f"The {WORD} was painted.", "--kind", "event")
    owner("memory", "add", f"Ana owns the {WORD}.", "--kind", "entity", "--subject", "Ana")
    owner("memory", "add", f"Feed the {WORD} at six.", "--kind", "procedure", "--subject", f"Feed a {WORD}")
    owner("memory", "add", f"Likes the {WORD}.", "--kind", "user")
    owner("memory", "add", f"Any {WORD} is loud.", "--layer", "experience")
    owner("memory", "append", "MEMORY.md", "People", f"- The {WORD} has a keeper.")
    owner("memory", "replace", "MEMORY.md", f"The {WORD}", "- was here")
    owner("memory", "undo")
    owner("namespaces", "enable", "Agent Experience: Kate")
    with Workspace.open(sample.path, environ=dict(os.environ)) as workspace:
        said = workspace.tools(scope="shared").call("memory_write", {"text": f"The {WORD} is for sale."})
        assert said["state"] == "waiting"
        workspace.record("s1", [{"role": "user", "content": f"Remember that the {WORD} is mine."}])
        workspace.record("s1", [{"role": "assistant", "content": "Good."}])
    return sample


def said_by(outcome):
    """What a command said, without the word where it only repeats what it was asked."""
    text = outcome.text + outcome.warnings
    return text.replace(f"What of the {WORD}?", "")


@pytest.mark.parametrize("words", REMEMBERED, ids=" ".join)
def test_no_command_tells_others_what_is_remembered(cli, owned, words):
    before = cli("-C", owned, "memory", "facts", "--json").document
    outcome = cli("-C", owned, "--scope", "shared", *words)
    assert WORD not in said_by(outcome)
    assert "Experience" not in outcome.text
    assert "Traceback" not in outcome.warnings
    assert "internal" not in outcome.warnings
    if words[0] in ("memory", "namespaces") and words[1] != "search":
        assert outcome.code == 6
    assert cli("-C", owned, "memory", "facts", "--json").document == before


def test_the_owner_finds_all_of_it(cli, owned):
    told = "".join(
        cli("-C", owned, *words).text
        for words in (["context", "show"], ["memory", "facts"], ["memory", "review"], ["namespaces", "list"])
    )
    assert told.count(WORD) > 8
    assert cli("-C", owned, "search", WORD, "--json").document["hits"]


def test_a_conversation_with_others_is_told_nothing(cli, owned, monkeypatch):
    said = f"What do you know of the {WORD}?\nWhat is in memory/kate.md?\nWho is Ana?\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said.encode())))
    outcome = cli("-C", owned, "--scope", "shared", "chat", "--session", "g1")
    text = outcome.text + outcome.warnings
    assert outcome.code == 0
    for secret in ("red ledger", "painted", "owns the", "Feed the", "is loud", "has a keeper", "for sale"):
        assert secret not in text, secret


def test_what_others_propose_is_answered_the_same_whether_it_is_known_or_not(owned, cli):
    with Workspace.open(owned.path, environ=dict(os.environ)) as workspace:
        tools = workspace.tools(scope="shared")
        known = tools.call("memory_write", {"text": f"The {WORD} keeps the red ledger."})
        waiting = tools.call("memory_write", {"text": f"The {WORD} is for sale."})
        fresh = tools.call("memory_write", {"text": "The pier is new."})
    assert known == waiting == fresh


def test_tools_before_others_neither_write_nor_forget_nor_name_a_place(owned, cli):
    before = (owned / "memory/kate.md").read_bytes()
    with Workspace.open(owned.path, environ=dict(os.environ)) as workspace:
        tools = workspace.tools(scope="shared")
        for arguments in (
            {"action": "forget", "text": f"The {WORD} keeps the red ledger."},
            {"action": "replace", "text": "x", "section": "Insights"},
            {"action": "append", "text": "x", "path": "MEMORY.md"},
            {"text": "x", "path": "USER.md"},
            {"text": "x", "layer": "experience"},
        ):
            with pytest.raises(CarrelError) as refused:
                tools.call("memory_write", arguments)
            assert WORD not in refused.value.message + refused.value.hint
    assert (owned / "memory/kate.md").read_bytes() == before


def test_a_session_that_others_joined_is_not_shown_what_was_remembered_in_it(cli, owned):
    assert WORD in cli("-C", owned, "context", "show", "--prepare", "--session", "s1").text
    shown = cli("-C", owned, "--scope", "shared", "context", "show", "--prepare", "--session", "s1")
    assert WORD not in shown.text + shown.warnings
    assert (
        WORD
        not in cli("-C", owned, "--scope", "shared", "context", "report", "--session", "s1", "--json").text
    )
