"""`carrel migrate`: a workspace at another place is the same workspace, whatever interrupts the move."""

import io
import json
import os
import signal
import subprocess
import sys

import pytest
from tests.conftest import snapshot

from carrel.moving import SourceChanged, move

ADDRESS = "pg://acme/studio"


@pytest.fixture
def feed(monkeypatch):
    def given(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    return given


@pytest.fixture
def remote(cli, database):
    cli.set(CARREL_DATABASE_URL=database)
    return cli


@pytest.fixture
def lived_in(cli, feed, tmp_path):
    """A workspace with one of everything that can be moved."""
    root = tmp_path / "desk"
    assert cli("init", root).code == 0
    fill(cli, feed, root)
    return root


def fill(cli, feed, place) -> None:
    for path, text in {
        "notes.md": "The quokka lives on Rottnest.\n",
        "gone.md": "Old.\n",
        "empty.md": "",
    }.items():
        feed(text)
        assert cli("-C", place, "files", "put", path).code == 0
    assert cli("-C", place, "files", "rm", "gone.md").code == 0
    said = [
        {
            "role": "user",
            "content": "I keep a parrot called Otto \ud83e\udd9c. Where does the quokka live?",
            "message_id": "m1",
        },
        {"role": "assistant", "content": "On Rottnest.", "message_id": "m2"},
    ]
    feed("".join(json.dumps(each) + "\n" for each in said))
    assert cli("-C", place, "sessions", "record", "--session", "s1").code == 0
    assert cli("-C", place, "context", "show", "--session", "s1", "--query", "quokka", "--prepare").code == 0
    assert cli("-C", place, "memory", "add", "Ana prefers tea.").code == 0
    assert cli("-C", place, "memory", "add", "Ana prefers coffee.").code == 0
    assert cli("-C", place, "memory", "undo").code == 0
    for learnt in ("Read the log first.", "Retry with jitter."):
        assert cli("-C", place, "memory", "add", learnt, "--layer", "experience").code == 0
    assert cli("-C", place, "keys", "create", "ci").code == 0
    assert cli("-C", place, "sweep").code == 0


def told(cli, place) -> dict[str, object]:
    """What a person and a model would be told of a workspace, wherever it is."""
    asked = {
        "prompt": ("context", "show", "--session", "s1"),
        "session": ("sessions", "show", "s1", "--json"),
        "history": ("memory", "history", "--json"),
        "jobs": ("jobs", "list", "--state", "done", "--json"),
        "keys": ("keys", "list", "--json"),
        "search": ("search", "quokka", "--mode", "lexical", "--json"),
    }
    found: dict[str, object] = {}
    for name, words in asked.items():
        outcome = cli("-C", place, *words)
        assert outcome.code == 0, (name, outcome.warnings)
        found[name] = outcome.text.replace(str(place), "HERE")
    # A namespace is called by its workspace, and says in its head which that is.
    changes = json.loads(str(found["history"]))["changes"]
    hits = json.loads(str(found["search"]))["hits"]
    found["search"] = [(hit["path"], hit["line"], hit["text"]) for hit in hits]
    found["history"] = [each for each in changes if not each["path"].startswith("agent.")]
    found["files"] = {
        node["path"]: cli("-C", place, "files", "cat", node["path"]).out
        for line in cli("-C", place, "files", "tree", "--json").text.splitlines()
        if (node := json.loads(line)).get("kind") == "file"
    }
    return found


def test_a_workspace_is_moved_from_one_directory_to_another(cli, lived_in, tmp_path):
    before, new = snapshot(lived_in), tmp_path / "new"
    moved = cli("-C", lived_in, "migrate", "--to", new, "--json")
    assert moved.code == 0, moved.text
    assert moved.document["rows"]["changes"] >= 3
    assert [row for row in snapshot(lived_in) if b"/.carrel" not in row[0]] == [
        row for row in before if b"/.carrel" not in row[0]
    ]
    assert told(cli, new) == told(cli, lived_in)
    assert cli("-C", new, "memory", "undo").code == 0


def test_a_workspace_is_moved_into_a_database_and_out_again(remote, lived_in, tmp_path):
    before = told(remote, lived_in)
    moved = remote("-C", lived_in, "migrate", "--to", ADDRESS, "--json")
    assert moved.code == 0, moved.text
    assert told(remote, ADDRESS) == before
    assert remote("-C", ADDRESS, "config", "show", "--json").document["trusted"] is True
    back = tmp_path / "back"
    again = remote("-C", ADDRESS, "migrate", "--to", back, "--json").document
    assert again["rows"]["facts"] == moved.document["rows"]["facts"] > 0
    assert told(remote, back) == before
    assert remote("-C", back, "memory", "add", "It goes on.").code == 0
    assert remote("-C", ADDRESS, "memory", "add", "There, too.").code == 0


def test_what_an_agent_learnt_goes_with_it(remote, lived_in):
    assert remote("-C", lived_in, "migrate", "--to", ADDRESS).code == 0
    assert "Retry with jitter." in remote("-C", ADDRESS, "context", "show").text
    assert remote("-C", ADDRESS, "memory", "undo").code == 0
    assert "Retry with jitter." not in remote("-C", ADDRESS, "context", "show").text
    assert "Retry with jitter." in remote("-C", lived_in, "context", "show").text


def test_an_agent_in_a_folder_of_its_own_is_moved_with_its_records(remote, feed, tmp_path):
    root = tmp_path / "desk"
    remote("init", root)
    (root / "carrel.yaml").write_text("agents:\n  - id: ana\n  - id: bob\n    workspace: ./agents/bob/home\n")
    (root / "agents/bob/home").mkdir(parents=True)
    remote("trust", root)
    assert remote("-C", root, "--agent", "bob", "memory", "add", "Bob likes figs.").code == 0
    assert remote("-C", root, "migrate", "--to", ADDRESS).code == 0
    history = remote("-C", ADDRESS, "--agent", "bob", "memory", "history", "--json").document["changes"]
    assert [each["action"] for each in history] == ["add"]
    assert remote("-C", ADDRESS, "--agent", "bob", "memory", "undo").code == 0
    assert "figs" not in remote("-C", ADDRESS, "files", "cat", "agents/bob/home/memory/bob.md").text


def test_a_dry_run_tells_what_there_is_and_makes_nothing(cli, lived_in, tmp_path):
    looked = cli("-C", lived_in, "migrate", "--to", tmp_path / "new", "--dry-run", "--json").document
    assert looked["dry_run"] is True
    assert looked["files"] > 5
    assert looked["rows"]["facts"] >= 2
    assert not (tmp_path / "new").exists()


def test_what_stands_at_the_new_place_is_not_written_over(cli, lived_in, tmp_path):
    new = tmp_path / "new"
    assert cli("init", new).code == 0
    refused = cli("-C", lived_in, "migrate", "--to", new, "--json")
    assert (refused.code, refused.error["code"]) == (5, "target_taken")


def test_a_workspace_is_not_moved_onto_itself(cli, lived_in):
    refused = cli("-C", lived_in, "migrate", "--to", lived_in, "--json")
    assert (refused.code, refused.error["code"]) == (2, "moved_onto_itself")


def test_settings_that_nobody_read_are_not_moved(cli, desk, tmp_path):
    desk.put({"carrel.yaml": "model:\n  base_url: https://stranger.example\n"})
    refused = cli("-C", desk, "migrate", "--to", tmp_path / "new", "--json")
    assert (refused.code, refused.error["code"]) == (6, "move_untrusted")


def test_others_than_the_owner_move_nothing(cli, lived_in, tmp_path):
    assert cli("-C", lived_in, "--scope", "shared", "migrate", "--to", tmp_path / "new").code == 6


@pytest.mark.parametrize("place", ["directory", "database"])
def test_a_move_that_was_killed_goes_on(remote, process, lived_in, tmp_path, place):
    for number in range(40):
        (lived_in / f"page-{number:02}.md").write_text(f"Page {number}.\n" * 50)
    new = str(tmp_path / "new") if place == "directory" else ADDRESS
    command = [sys.executable, "-c", KILLED, str(lived_in), new]
    environ = process.environment({"CARREL_DATABASE_URL": os.environ["CARREL_DATABASE_URL"]})
    codes = [
        subprocess.run([*command, str(step)], env=environ, capture_output=True, check=False).returncode
        for step in (1, 20, 55, 62, 90, 10_000)
    ]
    assert codes == [-signal.SIGKILL] * 5 + [0]
    assert told(remote, new) == told(remote, lived_in)
    assert remote("-C", lived_in, "migrate", "--to", new, "--json").error["code"] == "target_taken"


def test_a_workspace_that_is_written_to_meanwhile_is_not_taken_for_moved(cli, lived_in, tmp_path):
    def meddle(done: int, of: int) -> None:
        if done == 1:
            (lived_in / "notes.md").write_text("Changed.\n")

    with pytest.raises(SourceChanged):
        move(lived_in, tmp_path / "new", environ=os.environ, progress=meddle)
    assert cli("-C", lived_in, "migrate", "--to", tmp_path / "new").code == 0
    assert cli("-C", tmp_path / "new", "files", "cat", "notes.md").text == "Changed.\n"


KILLED = """
import os, signal, sys
from carrel.moving import move
def step(done, of):
    if done >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
move(sys.argv[1], sys.argv[2], environ=os.environ, progress=step)
"""
