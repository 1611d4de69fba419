"""Promises that a fresh pair of eyes once found broken."""

import json

import pytest

from carrel import Budget, CarrelError, Workspace
from carrel.context.budget import BadBudget


def test_session_logs_of_a_squad_are_the_owners(cli, desk):
    desk.put({".squad-config.json": "{}", "logs/sessions/kate/s1.log.jsonl": "LEAK"})
    outcome = cli(
        "-C", desk, "--scope", "shared", "files", "cat", "logs/sessions/kate/s1.log.jsonl", "--json"
    )
    assert outcome.code == 6
    assert outcome.error["code"] == "hidden_by_scope"
    assert "logs" not in cli("-C", desk, "--scope", "shared", "files", "tree").text


def test_moving_a_link_does_not_publish_what_it_leads_to(cli, desk):
    desk.put({"AGENTS.md": "Be brief.", "USER.md": "LEAK"})
    (desk / "alias.md").symlink_to("USER.md")
    outcome = cli("-C", desk, "files", "mv", "alias.md", "renamed.md", "--json")
    assert outcome.error["code"] == "is_link"
    assert "LEAK" not in cli("-C", desk, "--scope", "shared", "context", "show").text


def test_init_adds_what_a_workspace_of_its_own_kind_lacks(cli, tmp_path):
    assert cli("init", tmp_path / "a", "--layout", "nexo").code == 0
    (tmp_path / "a" / "SOUL.md").unlink()
    assert cli("init", tmp_path / "a", "--json").document["created"] == ["SOUL.md"]


def test_init_does_not_turn_a_workspace_into_another_kind(cli, tmp_path):
    cli("init", tmp_path / "a", "--layout", "nexo")
    before = sorted(path.name for path in (tmp_path / "a").iterdir())
    outcome = cli("init", tmp_path / "a", "--layout", "astra", "--json")
    assert (outcome.code, outcome.error["code"]) == (5, "layout_differs")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == before


def test_init_in_a_squad_makes_what_its_manifest_says(cli, desk):
    desk.put({".squad-config.json": json.dumps({"config": {"agents": [{"id": "kate"}]}})})
    created = cli("init", desk, "--json").document["created"]
    assert "agents/kate/memory.md" in created
    assert not any("planner" in path for path in created)


@pytest.mark.parametrize("path", [".git/config", ".carrel/state/x"])
def test_the_library_refuses_what_the_command_line_refuses(cli, desk, path):
    desk.put({"AGENTS.md": "Be brief."})
    with Workspace.open(desk) as workspace:
        for change in (
            lambda: workspace.write(path, "x", expect=None),
            lambda: workspace.append(path, "x\n"),
        ):
            with pytest.raises(CarrelError) as caught:
                change()
            assert caught.value.code == "reserved"
    assert not (desk / path).exists()


def test_lists_of_the_library_keep_to_the_scope(cli, desk):
    desk.put(
        {"AGENTS.md": "Be brief.", "knowledge/a.md": "x", "knowledge/b.md": "<!-- scope: private -->\nx"}
    )
    with Workspace.open(desk) as workspace:
        assert workspace.list_knowledge() == ["knowledge/a.md", "knowledge/b.md"]
        assert workspace.list_knowledge(scope="shared") == ["knowledge/a.md"]
        assert [entry.path for entry in workspace.list("knowledge", scope="shared")] == ["knowledge/a.md"]


def test_a_directory_of_several_agents_is_looked_over_without_naming_one(cli, tmp_path):
    cli("init", tmp_path / "s", "--layout", "squad")
    for words in (["health"], ["files", "tree"], ["skills", "list"]):
        assert cli("-C", tmp_path / "s", *words).code == 0


def test_the_owner_sees_what_a_scope_hides_when_comparing(cli, desk):
    desk.put({"AGENTS.md": "Be brief.", "USER.md": "Luis."})
    rows = cli("-C", desk, "context", "diff", "--scopes", "--json").document["sections"]
    user = next(row for row in rows if row["name"] == "USER.md")
    assert (user["before"]["state"], user["after"]["state"], user["change"]) == (
        "included",
        "hidden",
        "removed",
    )
    assert cli("-C", desk, "context", "diff", "--scopes", "--total", "10").code == 2


def test_every_effective_value_is_shown_with_its_origin(cli, desk):
    desk.put({"SOUL.md": "Kind."})
    shown = {row["key"]: row for row in cli("-C", desk, "config", "show", "--json").document["settings"]}
    assert (shown["layout"]["value"], shown["layout"]["origin"]) == ("carrel", "this directory")
    assert (shown["budgets.total"]["value"], shown["budgets.total"]["origin"]) == (150_000, "layout carrel")
    assert shown["model.context_window"]["value"] == 128_000


@pytest.mark.parametrize("limits", [{"file": -1}, {"total": 1.5}, {"memory": True}])
def test_a_budget_that_is_no_number_is_refused(limits):
    with pytest.raises(BadBudget):
        Budget(**limits)


def test_a_frozen_session_reads_its_files_again_when_asked_to(cli, desk):
    desk.put({"AGENTS.md": "Be brief.", "MEMORY.md": "Old."})
    with Workspace.open(desk) as workspace:
        assert "Old." in workspace.prepare("s1").to_text()
        desk.put({"MEMORY.md": "New."})
        assert "Old." in workspace.prepare("s1").to_text()
        assert "New." in workspace.prepare("s1", reload=True).to_text()
        assert "New." in workspace.prepare("s1").to_text()


def test_health_misses_the_folder_of_an_agent_and_restore_brings_it_back(cli, tmp_path):
    cli("init", tmp_path / "s", "--layout", "squad")
    (tmp_path / "s" / "agents" / "reviewer" / "memory.md").unlink()
    (tmp_path / "s" / "agents" / "reviewer").rmdir()
    health = cli("-C", tmp_path / "s", "health", "--json").document
    assert health["structure_valid"] is False
    assert [f["path"] for f in health["findings"]] == ["agents/reviewer"]
    assert "restore" in health["findings"][0]["hint"]
    assert cli("restore", tmp_path / "s", "--json").document["created"] == ["agents/reviewer/memory.md"]
    assert cli("-C", tmp_path / "s", "health", "--json").document["structure_valid"] is True
