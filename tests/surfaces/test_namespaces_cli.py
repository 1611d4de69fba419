"""`carrel namespaces`: what agents learnt beyond one workspace, from the shell."""

import json
import os

import pytest

from carrel import Workspace
from carrel.cli.namespaces import namespaces

TITLE = "Agent Experience: Kate"
ROW = {"key", "title", "enabled", "agent", "profile", "workspace", "facts", "size", "problem"}


@pytest.fixture
def run(cli, sample):
    def command(*words):
        return cli("-C", sample, "namespaces", *words)

    return command


@pytest.fixture
def ok(run):
    def document(*words):
        outcome = run(*words, "--json")
        assert outcome.code == 0, outcome.text + outcome.warnings
        assert outcome.document["schema_version"] == 1
        return outcome.document

    return document


@pytest.fixture
def learnt(cli, sample):
    """Let an agent of a workspace learn something that travels with it; return the file."""

    def add(text="Knows Rust.", desk=sample, *words):
        folder = cli.home / "data/namespaces"
        before = set(folder.glob("*"))
        outcome = cli("-C", desk, *words, "memory", "add", text, "--layer", "experience", "--json")
        assert outcome.code == 0, outcome.text
        made = set(folder.glob("*")) - before
        return made.pop() if made else None

    return add


def test_without_any_there_is_an_empty_list_and_no_folder_is_made_for_it(run, ok, cli):
    assert ok("list") == {"schema_version": 1, "namespaces": []}
    assert "No namespaces yet" in run("list").warnings
    assert not (cli.home / "data/namespaces").exists()


def test_the_first_thing_that_is_learnt_makes_one_for_its_agent_alone(run, ok, learnt, sample):
    path = learnt()
    (row,) = ok("list")["namespaces"]
    assert set(row) == ROW
    assert (row["key"], row["title"], row["enabled"], row["agent"], row["facts"]) == (
        path.stem, TITLE, False, "kate", 1,
    )  # fmt: skip
    assert (row["workspace"], row["profile"], row["problem"]) == (str(sample.path), None, None)
    assert row["size"] == path.stat().st_size
    shown = run("list").text
    assert "disabled" in shown
    assert TITLE in shown
    assert path.parent.stat().st_mode & 0o077 == 0


def test_one_is_found_by_key_and_by_title_in_any_case(ok, learnt):
    path = learnt()
    for name in (path.stem, path.name, TITLE, TITLE.lower(), f"  {TITLE}  "):
        assert ok("enable", name)["enabled"] is True
        assert ok("disable", name)["enabled"] is False


def test_switching_it_changes_nothing_but_the_switch(ok, learnt):
    path = learnt()
    path.write_bytes(path.read_bytes() + b"\r\n- by hand  \n\n\n")
    before = path.read_bytes()
    ok("enable", TITLE)
    assert path.read_bytes() == before.replace(b"enabled: false", b"enabled: true")
    ok("enable", TITLE)
    ok("disable", TITLE)
    assert path.read_bytes() == before


def test_an_agent_reads_its_own_always_and_others_once_it_is_enabled(cli, desk, learnt):
    desk.put(
        {
            "carrel.yaml": "layout: squad\nagents: [{id: kate, displayName: Kate}, {id: milo, displayName: Milo}]\n"
        }
    )
    learnt("Kate knows lions.", desk, "--agent", "kate")

    def shown(agent, *words):
        return cli("-C", desk, "--agent", agent, *words, "context", "show").text

    assert "## Agent Memory\n\n### Experience\n- Kate knows lions." in shown("kate")
    assert "lions" not in shown("milo")
    assert cli("-C", desk, "namespaces", "enable", TITLE).code == 0
    assert f"[Supplementary Context]\n\n### {TITLE}\n- Kate knows lions." in shown("milo")
    assert "Supplementary" not in shown("kate")
    assert "lions" not in shown("milo", "--scope", "shared")
    assert cli("-C", desk, "namespaces", "disable", TITLE).code == 0
    assert "lions" not in shown("milo")


def test_agents_of_one_profile_share_one_wherever_they_work(cli, tmp_path, learnt, sample):
    sample.put({"carrel.yaml": "layout: carrel\nagents: [{id: kate, displayName: Kate, profile: writers}]\n"})
    cli("trust", sample)
    path = learnt("Knows Rust.", sample)
    assert path.name == "profile.writers.md"
    other = tmp_path / "other"
    other.mkdir()
    (other / "carrel.yaml").write_text("layout: carrel\nagents: [{id: milo, profile: writers}]\n")
    assert "Knows Rust." not in cli("-C", other, "context", "show").text  # whoever wrote that is a stranger
    cli("trust", other)
    assert "Knows Rust." in cli("-C", other, "context", "show").text
    assert learnt("Knows Go.", other) is None
    assert "- Knows Rust.\n- Knows Go.\n" in path.read_text()


def test_a_title_is_changed_and_the_key_stays(run, ok, learnt):
    path = learnt()
    row = ok("rename", TITLE, 'What "Kate" knows: all')
    assert (row["key"], row["title"]) == (path.stem, 'What "Kate" knows: all')
    assert run("enable", TITLE, "--json").error["code"] == "unknown_namespace"
    assert ok("export", path.stem)["text"] == path.read_text()
    learnt("Knows Go.")
    assert ok("list")["namespaces"][0]["title"] == 'What "Kate" knows: all'
    for title in ("", "   ", "x" * 500):
        assert run("rename", path.stem, title, "--json").error["code"] == "bad_title"
    assert ok("rename", path.stem, "two\nlines\x1b[31m")["title"] == "two lines [31m"


def test_an_export_is_the_markdown_itself(run, learnt):
    path = learnt("Knows Rust.")
    assert run("export", TITLE).out == path.read_bytes()


def test_names_that_find_none_or_several_are_told_with_those_there_are(run, cli, tmp_path, learnt, sample):
    missing = run("enable", "Nobody", "--json")
    assert (missing.code, missing.error["code"]) == (3, "unknown_namespace")
    first = learnt()
    other = tmp_path / "other"
    other.mkdir()
    (other / "carrel.yaml").write_text("layout: carrel\nagents: [{id: kate, displayName: Kate}]\n")
    second = learnt("Knows Go.", other)
    ambiguous = run("enable", TITLE, "--json")
    assert (ambiguous.code, ambiguous.error["code"]) == (2, "ambiguous_namespace")
    assert first.stem in ambiguous.error["hint"]
    assert second.stem in ambiguous.error["hint"]
    assert TITLE in run("enable", "Nobody", "--json").error["hint"]
    assert run("enable", first.stem).code == 0


def test_what_was_switched_or_learnt_can_be_taken_back(cli, ok, learnt, sample):
    path = learnt()
    before = path.read_bytes()
    ok("enable", TITLE)
    ok("rename", TITLE, "Another")
    changes = cli("-C", sample, "memory", "history", "--json").document["changes"]
    assert [(each["action"], each["store"]) for each in changes] == [
        ("rename", "namespaces"), ("enable", "namespaces"), ("add", "namespaces"),
    ]  # fmt: skip
    assert cli("-C", sample, "memory", "undo", "2").code == 0
    assert path.read_bytes() == before
    assert cli("-C", sample, "memory", "undo").code == 0
    assert not path.exists()
    assert ok("list")["namespaces"] == []


def test_files_that_people_put_there_are_listed_whatever_they_are(run, ok, cli):
    folder = cli.home / "data/namespaces"
    folder.mkdir(parents=True)
    (folder / "plain.md").write_text("- by hand\n")
    (folder / "bytes.md").write_bytes(b"\xff\xfe\x00")
    (folder / "odd.md").write_text("---\ntitle: [1, 2\nenabled: yes please\n---\n- x\n")
    (folder / "notes.txt").write_text("not one")
    (folder / "folder.md").mkdir()
    (folder / "link.md").symlink_to("/etc/passwd")
    with (folder / "huge.md").open("wb") as file:
        file.truncate(50_000_000)
    rows = {row["key"]: row for row in ok("list")["namespaces"]}
    assert {"plain", "bytes", "odd", "huge"} <= set(rows)
    assert "notes" not in rows
    assert rows["plain"]["enabled"] is rows["odd"]["enabled"] is False
    assert rows["bytes"]["problem"]
    assert rows["huge"]["problem"]
    assert ok("enable", "plain")["enabled"] is True
    assert (folder / "plain.md").read_text() == "---\nenabled: true\n---\n- by hand\n"
    for name in ("bytes", "huge"):
        assert run("export", name, "--json").error["code"] == "unreadable"
        assert run("enable", name, "--json").error["code"] == "unreadable"


def test_an_approval_without_a_named_agent_makes_a_namespace_that_says_whose_it_is(cli, desk, ok):
    desk.put(
        {
            "carrel.yaml": "layout: carrel\nagents: [{id: kate, displayName: Kate}, {id: milo, displayName: Milo}]\n"
        }
    )
    with Workspace.open(desk.path, agent="milo", environ=dict(os.environ)) as workspace:
        workspace.record(
            "s1",
            [
                {"role": "user", "content": "Look.", "message_id": "m1"},
                {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "fetch", "arguments": "{}"}]},
                {"role": "tool", "content": "Rust is fast.", "tool_call_id": "c1", "name": "fetch"},
            ],
        )  # fmt: skip
        told = workspace.tools(session="s1").call(
            "memory_write", {"action": "add", "text": "Rust is fast.", "layer": "experience"}
        )
    assert told["state"] == "waiting"
    assert cli("-C", desk, "memory", "review", "approve", "--all").code == 0
    (path,) = (cli.home / "data/namespaces").iterdir()
    assert 'title: "Agent Experience: Milo"' in path.read_text()
    assert "- Rust is fast.\n" in path.read_text()
    assert "Rust is fast." in cli("-C", desk, "--agent", "milo", "context", "show").text


def test_every_command_has_examples_in_its_help(cli):
    for name in namespaces.commands:
        helped = cli("namespaces", name, "--help")
        assert (helped.code, "Examples:" in helped.text) == (0, True), name


@pytest.mark.parametrize(
    "words", [["list"], ["enable", "x"], ["disable", "x"], ["rename", "x", "y"], ["export", "x"]]
)
def test_namespaces_are_the_owners(cli, run, learnt, sample, words):
    learnt()
    before = sorted((cli.home / "data/namespaces").iterdir())
    refused = cli("-C", sample, "--scope", "shared", "namespaces", *words, "--json")
    assert (refused.code, refused.error["code"]) == (6, "hidden_by_scope")
    assert json.dumps(refused.document).count("Rust") == 0
    assert sorted((cli.home / "data/namespaces").iterdir()) == before
