"""`carrel init` and `carrel trust`: nothing is overwritten, and nobody is trusted by accident."""

import json
import shutil

import pytest
from tests.conftest import snapshot

LAYOUTS = ["carrel", "astra", "nexo"]
HOSTILE = """\
layout: carrel
model: {name: gpt-4o}
agents:
  - id: kate
    profile: somebody-else
    workspace: inner
"""


def value(cli, desk, key):
    rows = cli("-C", desk, "config", "show", "--json").document["settings"]
    return next(row for row in rows if row["key"] == key)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_workspace_is_whole_and_explains_itself(cli, tmp_path, layout):
    made = cli("init", tmp_path / "new", "--layout", layout, "--json").document
    assert made["layout"] == layout
    assert made["kept"] == []
    assert all((tmp_path / "new" / path).is_file() for path in made["created"])
    health = cli("-C", tmp_path / "new", "health", "--json").document
    assert health["structure_valid"] is True
    assert [f for f in health["findings"] if f["severity"] != "info"] == []
    report = cli("-C", tmp_path / "new", "context", "report", "--json").document
    assert report["layout"] == layout
    assert report["warnings"] == []
    assert report["tokens"]["used"] > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_second_init_changes_nothing(cli, tmp_path, layout):
    first = cli("init", tmp_path / "new", "--layout", layout, "--json").document
    before = {path: (tmp_path / "new" / path).stat() for path in first["created"]}
    second = cli("init", tmp_path / "new", "--layout", layout, "--json").document
    assert second["created"] == []
    assert second["kept"] == first["created"]
    after = {path: (tmp_path / "new" / path).stat() for path in first["created"]}
    assert {p: (s.st_ino, s.st_mtime_ns) for p, s in before.items()} == {
        p: (s.st_ino, s.st_mtime_ns) for p, s in after.items()
    }


def test_what_exists_is_kept_even_when_it_is_empty_or_odd(cli, desk):
    desk.put({"AGENTS.md": "", "SOUL.md": b"\xff not text", "mine.md": "My own.\n"})
    made = cli("init", desk, "--json").document
    assert {"AGENTS.md", "SOUL.md"} <= set(made["kept"])
    assert (desk / "AGENTS.md").read_bytes() == b""
    assert (desk / "SOUL.md").read_bytes() == b"\xff not text"
    assert (desk / "mine.md").read_text() == "My own.\n"


def test_init_for_a_person_lists_made_and_kept_and_the_next_step(cli, desk):
    desk.put({"AGENTS.md": "Mine.\n"})
    text = cli("init", desk).text
    assert "made  SOUL.md" in text
    assert "kept  AGENTS.md" in text
    assert f"carrel -C {desk.path} context report" in text


def test_init_without_a_directory_means_the_current_one(cli, tmp_path):
    (tmp_path / "here").mkdir()
    assert cli("init", cwd=tmp_path / "here").code == 0
    assert (tmp_path / "here/AGENTS.md").is_file()


def test_init_takes_its_directory_from_the_shared_option_too(cli, tmp_path):
    assert cli("-C", tmp_path / "there", "init").code == 0
    assert (tmp_path / "there/AGENTS.md").is_file()


def test_the_next_step_that_init_prints_works_for_a_name_with_a_space(cli, tmp_path):
    text = cli("init", "my agent", cwd=tmp_path).text
    assert "'my agent'" in text


@pytest.mark.parametrize("twin", ["agents.md", "Soul.MD"])
def test_init_beside_a_twin_of_a_name_keeps_the_twin(cli, desk, twin):
    desk.put({twin: "Mine.\n"})
    outcome = cli("init", desk, "--json")
    assert (desk / twin).read_text() == "Mine.\n"
    if outcome.code:
        assert outcome.error["code"] == "name_taken"
    else:
        assert outcome.document["created"]


def test_a_folder_in_the_place_of_a_file_is_a_typed_error(cli, desk):
    (desk / "AGENTS.md").mkdir()
    outcome = cli("init", desk, "--json")
    assert outcome.error["code"] in ("unreadable", "not_a_file", "stale")
    assert (desk / "AGENTS.md").is_dir()


def test_a_file_in_the_place_of_the_directory_is_a_usage_error(cli, tmp_path):
    (tmp_path / "taken").write_text("x")
    assert cli("init", tmp_path / "taken", "--json").code == 2
    assert cli("init", tmp_path / "taken/below", "--json").code == 2
    assert (tmp_path / "taken").read_text() == "x"


def test_what_init_makes_is_trusted(cli, tmp_path):
    cli("init", tmp_path / "new")
    shown = cli("-C", tmp_path / "new", "config", "show", "--json").document
    assert shown["trusted"] is True


def test_init_does_not_trust_the_settings_of_a_stranger(cli, desk):
    desk.put({"carrel.yaml": HOSTILE})
    cli("init", desk)
    assert cli("-C", desk, "config", "show", "--json").document["trusted"] is False
    assert value(cli, desk, "agents.kate.profile")["value"] is None


@pytest.mark.parametrize("verb", [["init"], ["restore"]])
def test_what_is_not_trusted_is_told_with_the_next_step(cli, desk, verb):
    desk.put({"carrel.yaml": HOSTILE})
    made = cli(*verb, desk, "--json").document
    assert made["trusted"] is False
    assert [finding["code"] for finding in made["findings"]] == ["untrusted_setting"]
    assert f"carrel trust {desk}" in made["hint"]
    assert made["created"]
    for_people = cli(*verb, desk)
    assert "agents.kate.profile" in for_people.warnings
    assert f"carrel trust {desk}" in for_people.warnings
    assert cli("-C", desk, "config", "show", "--json").document["known"] is False


def test_init_trusts_settings_of_others_that_need_no_trust(cli, desk):
    desk.put({"carrel.yaml": "layout: carrel\nbudgets: {file: 100}\n"})
    made = cli("init", desk, "--json").document
    assert (made["trusted"], made["hint"], made["findings"]) == (True, "", [])
    assert "carrel.yaml" in made["kept"]


def test_init_keeps_the_trust_that_was_given(cli, desk):
    desk.put({"carrel.yaml": HOSTILE})
    (desk / "inner").mkdir()
    cli("trust", desk)
    assert cli("init", desk, "--json").document["trusted"] is True
    assert value(cli, desk, "agents.kate.profile")["value"] == "somebody-else"


def test_init_does_not_trust_the_members_of_a_stranger_s_squad(cli, desk):
    manifest = {"squadName": "Theirs", "config": {"agents": [{"id": "spy", "profile": "mine"}]}}
    desk.put({".squad-config.json": json.dumps(manifest)})
    assert cli("init", desk, "--layout", "squad", "--json").document["trusted"] is False
    assert value(cli, desk, "agents.spy.profile")["value"] is None


def test_init_does_not_believe_what_a_stranger_s_folder_remembers(cli, desk, tmp_path):
    theirs = tmp_path / "theirs"
    cli("init", theirs)
    cli("-C", theirs, "context", "show", "--prepare", "--session", "s1")
    shutil.copytree(theirs / ".carrel", desk / ".carrel")
    before = snapshot(desk / ".carrel")
    made = cli("init", desk, "--json").document
    assert made["trusted"] is False
    assert [finding["code"] for finding in made["findings"]] == ["foreign_state"]
    cli("-C", desk, "context", "show", "--prepare", "--session", "s1")
    assert snapshot(desk / ".carrel") == before
    cli("trust", desk)
    assert cli("init", desk, "--json").document["trusted"] is True


def test_wrong_settings_are_told_before_anything_is_made(cli, desk):
    desk.put({"carrel.yaml": "layout: carrel\nagnets: []\n"})
    before = desk.snapshot()
    outcome = cli("init", desk, "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "bad_setting")
    assert desk.snapshot() == before


def test_the_next_step_of_a_squad_names_an_agent(cli, tmp_path):
    text = cli("init", "--layout", "squad", "my squad", cwd=tmp_path).text
    assert "carrel -C 'my squad' --agent planner context report" in text
    words = ["-C", "my squad", "--agent", "planner", "context", "report"]
    assert cli(*words, cwd=tmp_path).code == 0


def test_restore_brings_back_what_a_manifest_says(cli, tmp_path):
    cli("init", "--layout", "squad", tmp_path / "squad")
    shutil.rmtree(tmp_path / "squad/agents")
    (tmp_path / "squad/agents/planner").mkdir(parents=True)
    (tmp_path / "squad/agents/planner/memory.md").write_text("Mine.\n")
    made = cli("restore", tmp_path / "squad", "--json").document
    assert (made["schema_version"], made["layout"], made["trusted"]) == (1, "squad", True)
    assert "agents/developer/memory.md" in made["created"]
    assert "agents/planner/memory.md" in made["kept"]
    assert (tmp_path / "squad/agents/planner/memory.md").read_text() == "Mine.\n"
    assert "kept  agents/planner/memory.md" in cli("restore", tmp_path / "squad").text


def test_restore_brings_back_what_settings_say(cli, tmp_path):
    cli("init", "--layout", "nexo", tmp_path / "kate")
    (tmp_path / "kate/SOUL.md").unlink()
    assert cli("restore", tmp_path / "kate", "--json").document["created"] == ["SOUL.md"]
    assert cli("restore", cwd=tmp_path / "kate").code == 0


def test_restore_of_what_has_no_manifest_is_not_found(cli, desk):
    outcome = cli("restore", desk, "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "no_manifest")
    assert list(desk.path.iterdir()) == []


def test_restore_from_a_damaged_manifest_changes_nothing(cli, desk):
    desk.put({".squad-config.json": "{"})
    before = desk.snapshot()
    outcome = cli("restore", desk, "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "bad_manifest")
    assert desk.snapshot() == before


def test_sensitive_settings_of_a_stranger_are_ignored_and_named(cli, desk):
    desk.put({"carrel.yaml": HOSTILE, "AGENTS.md": "Be brief.\n"})
    shown = cli("-C", desk, "config", "show", "--json").document
    assert shown["trusted"] is False
    assert value(cli, desk, "agents.kate.profile") == {
        "key": "agents.kate.profile",
        "value": None,
        "origin": "default",
    }
    finding = next(f for f in shown["findings"] if f["code"] == "untrusted_setting")
    assert "agents.kate.profile" in finding["message"]
    assert "carrel trust" in finding["hint"]
    health = cli("-C", desk, "health", "--json").document
    assert "untrusted_setting" in {f["code"] for f in health["findings"]}


def test_a_stranger_may_name_a_model_to_count_for_but_not_to_call(cli, desk):
    desk.put({"carrel.yaml": HOSTILE})
    assert value(cli, desk, "model.name")["value"] == "gpt-4o"
    findings = cli("-C", desk, "config", "show", "--json").document["findings"]
    assert "used only to count tokens" in findings[0]["message"]


def test_trust_lets_sensitive_settings_count(cli, desk):
    desk.put({"carrel.yaml": HOSTILE})
    (desk / "inner").mkdir()
    trusted = cli("trust", desk, "--json")
    assert trusted.document == {"schema_version": 1, "directory": str(desk.path), "trusted": True}
    assert value(cli, desk, "agents.kate.profile")["value"] == "somebody-else"


def test_an_ordinary_edit_keeps_the_trust_and_a_sensitive_one_ends_it(cli, desk):
    desk.put({"carrel.yaml": HOSTILE})
    (desk / "inner").mkdir()
    cli("trust", desk)
    desk.put({"carrel.yaml": HOSTILE + "budgets: {file: 100}\n"})
    assert cli("-C", desk, "config", "show", "--json").document["trusted"] is True
    desk.put({"carrel.yaml": HOSTILE.replace("somebody-else", "third")})
    shown = cli("-C", desk, "config", "show", "--json").document
    assert shown["trusted"] is False
    assert "changed since it was trusted" in shown["findings"][0]["message"]


def test_trust_is_kept_outside_the_workspace(cli, desk):
    desk.put({"carrel.yaml": HOSTILE})
    before = desk.snapshot()
    cli("trust", desk)
    assert desk.snapshot() == before
    assert (cli.home / "data/trust.json").is_file()


def test_trust_of_one_directory_is_not_trust_of_its_neighbour(cli, desk, tmp_path):
    desk.put({"carrel.yaml": HOSTILE})
    cli("trust", desk)
    neighbour = tmp_path / "desk-evil"
    neighbour.mkdir()
    (neighbour / "carrel.yaml").write_text(HOSTILE)
    assert cli("-C", neighbour, "config", "show", "--json").document["trusted"] is False


def test_trust_of_nothing_is_not_found(cli, tmp_path):
    outcome = cli("trust", tmp_path / "nowhere", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "root_missing")


def test_trust_of_settings_that_are_wrong_is_refused_with_the_line(cli, desk):
    desk.put({"carrel.yaml": "layout: carrel\nagnets: []\n"})
    outcome = cli("trust", desk, "--json")
    assert outcome.code == 2
    assert "line 2" in outcome.error["message"]


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"version": 1}', '{"version": 1, "workspaces": {"/": 3}}', "\0\0"]
)
def test_a_damaged_list_of_trust_trusts_nobody_and_says_so(cli, desk, damage):
    desk.put({"carrel.yaml": HOSTILE})
    cli("trust", desk)
    (cli.home / "data/trust.json").write_text(damage)
    shown = cli("-C", desk, "config", "show", "--json").document
    assert shown["trusted"] is False
    assert shown["findings"]


def test_a_trusted_workspace_keeps_its_cache_inside_and_out_of_git(cli, sample):
    cli("trust", sample)
    cli("-C", sample, "context", "report")
    assert (sample / ".carrel/cache").is_dir()
    assert (sample / ".carrel/.gitignore").read_text().split() == ["*"]


@pytest.mark.parametrize("name", ["pg:/acme/x", "PG://acme/x", "C:\\\\x", "http:/x"])
def test_what_is_nearly_an_address_is_not_made_a_directory(cli, tmp_path, name):
    assert cli("init", name, "--json", cwd=tmp_path).error["code"] == "bad_address"
    assert not any(":" in path.name for path in tmp_path.iterdir())
    assert cli("init", f"./{name}", cwd=tmp_path).code == 0  # said so, it is a directory
