"""The options every command takes: where they may stand, which workspace and which agent they mean."""

import pytest

from carrel.workspace.layout import LAYOUTS

TWO_AGENTS = {
    "carrel.yaml": "layout: carrel\nagents:\n  - id: kate\n  - id: milo\n",
    "AGENTS.md": "Be brief.\n",
}


def places(options, verb):
    """The same options before the verb, after it, and in between where the verb has two words."""
    yield [*options, *verb]
    yield [*verb, *options]
    if len(verb) > 1:
        yield [verb[0], *options, *verb[1:]]


@pytest.mark.parametrize("verb", [["context", "report"], ["context", "show"], ["health"], ["config", "show"]])
def test_options_count_before_and_after_the_verb(cli, sample, verb):
    options = ["-C", str(sample), "--agent", "kate", "--scope", "main", "--json"]
    outcomes = [cli(*words) for words in places(options, verb)]
    assert {outcome.code for outcome in outcomes} == {0}
    documents = [outcome.document for outcome in outcomes]
    assert all(document == documents[0] for document in documents)


def test_what_stands_after_the_verb_wins(cli, sample):
    outcome = cli(
        "-C", "nowhere", "--scope", "main", "context", "report", "-C", sample, "--scope", "shared", "--json"
    )
    assert outcome.document["scope"] == "shared"


def test_options_of_one_command_do_not_reach_the_next(cli, sample, tmp_path):
    cli("-C", sample, "--scope", "shared", "--json", "context", "report")
    plain = cli("context", "report", "--json", cwd=sample.path)
    assert plain.document["scope"] == "main"


@pytest.mark.parametrize("verb", [["context", "report"], ["context", "show"], ["health"], ["config", "show"]])
@pytest.mark.parametrize("scope", ["owner", "MAIN", "", "main "])
def test_an_unknown_scope_is_a_usage_error_everywhere(cli, sample, verb, scope):
    outcome = cli("-C", sample, "--scope", scope, *verb, "--json")
    assert outcome.code == 2
    assert outcome.error["code"] == "unknown_scope"
    assert "shared" in outcome.error["hint"]


def test_the_scope_of_the_owner_is_the_default(cli, sample):
    assert cli("-C", sample, "context", "report", "--json").document["scope"] == "main"


def test_the_nearest_parent_with_settings_is_meant(cli, sample):
    (sample / "knowledge/deep").mkdir()
    inner = sample / "inner"
    inner.mkdir()
    (inner / "carrel.yaml").write_text("layout: carrel\nagents: [{id: inner}]\n")
    (inner / "below").mkdir()
    assert cli("context", "report", "--json", cwd=sample / "knowledge/deep").document["agent"] == "kate"
    assert cli("context", "report", "--json", cwd=inner / "below").document["agent"] == "inner"


def test_a_hidden_agentscope_workspace_is_found_from_its_project(cli, tmp_path):
    workspace = tmp_path / "project/.agentscope/workspace"
    workspace.mkdir(parents=True)
    (workspace / "AGENTS.md").write_text("Only here.\n")
    assert "Only here." in cli("context", "show", cwd=tmp_path / "project").text


def test_settings_above_win_over_a_hidden_agentscope_workspace(cli, sample):
    (sample / ".agentscope/workspace").mkdir(parents=True)
    assert cli("context", "report", "--json", cwd=sample.path).document["agent"] == "kate"


def test_without_any_sign_the_current_directory_is_meant(cli, desk):
    desk.put({"AGENTS.md": "Just here.\n"})
    assert "Just here." in cli("context", "show", cwd=desk.path).text


def test_without_configured_agents_it_is_main_named_by_its_identity(cli, desk):
    desk.put({"AGENTS.md": "Be brief.\n", "IDENTITY.md": "- **Name:** Milo\n"})
    assert cli("-C", desk, "context", "report", "--json").document["agent"] == "main"
    assert cli("-C", desk, "--agent", "main", "context", "report", "--json").document["agent"] == "main"


def test_the_only_agent_needs_no_name(cli, sample):
    assert cli("-C", sample, "context", "report", "--json").document["agent"] == "kate"


def test_several_agents_must_be_told_apart_and_the_error_lists_them(cli, desk):
    desk.put(TWO_AGENTS)
    outcome = cli("-C", desk, "context", "report", "--json")
    assert outcome.code == 2
    assert outcome.error["code"] == "agent_required"
    assert "kate" in outcome.error["message"]
    assert "milo" in outcome.error["message"]
    assert "--agent" in outcome.error["hint"]
    assert cli("-C", desk, "--agent", "milo", "context", "report", "--json").document["agent"] == "milo"


def test_several_agents_do_not_stop_a_look_at_the_settings(cli, desk):
    desk.put(TWO_AGENTS)
    assert cli("-C", desk, "config", "show", "--json").code == 0
    assert cli("-C", desk, "config", "validate", "--json").code == 0


@pytest.mark.parametrize("name", ["nobody", "", "../kate", "KATE", "\udcff"])
def test_an_unknown_agent_is_not_found_and_the_hint_lists_those_there_are(cli, sample, name):
    outcome = cli("-C", sample, "--agent", name, "context", "report", "--json")
    assert outcome.code == 3
    assert outcome.error["code"] == "unknown_agent"
    assert "kate" in outcome.error["hint"]


@pytest.mark.parametrize("layout", ["zettel", "agentscope/../carrel", "Carrel", ""])
def test_an_unknown_layout_is_a_usage_error_that_lists_those_there_are(cli, tmp_path, layout):
    outcome = cli("init", tmp_path / "new", "--layout", layout, "--json")
    assert outcome.code == 2
    assert outcome.error["code"] == "unknown_layout"
    assert ", ".join(LAYOUTS) in outcome.error["hint"]
    assert not (tmp_path / "new").exists()


def test_an_unknown_layout_in_settings_or_environment_is_a_usage_error(cli, desk):
    desk.put({"carrel.yaml": "layout: zettel\n"})
    assert cli("-C", desk, "context", "report", "--json").error["code"] == "unknown_layout"
    desk.put({"carrel.yaml": "layout: carrel\n"})
    cli.set(CARREL_LAYOUT="zettel")
    assert cli("-C", desk, "context", "report", "--json").error["code"] == "unknown_layout"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("contxt", "`carrel context`"),
        ("serch", "`carrel search`"),
        ("undo", "`carrel memory undo`"),
        ("facts", "`carrel memory facts`"),
        ("report", "`carrel context report`"),
    ],
)
def test_a_misspelt_verb_is_told_with_what_may_be_meant(cli, typed, meant):
    outcome = cli(typed, "x")
    assert outcome.code == 2
    assert outcome.warnings.startswith(f"error[usage]: No such command '{typed}'. Did you mean ")
    assert meant in outcome.warnings


def test_a_verb_like_no_other_is_told_alone(cli):
    assert cli("xyzzy", "--json").error["message"] == "No such command 'xyzzy'."


@pytest.mark.parametrize(
    "verb", [["context", "report"], ["health"], ["memory", "add", "Ana uses a Fairphone."]]
)
def test_who_stands_where_no_agent_is_is_told_and_quiet_leaves_it_out(cli, tmp_path, verb):
    desk = tmp_path / "downloads"
    desk.mkdir()
    (desk / "bill.pdf").write_bytes(b"")
    outcome = cli(*verb, cwd=desk)
    assert outcome.code == 0
    assert "[bare_directory] `carrel init` makes it one; -C names another." in outcome.warnings


def test_where_an_agent_is_nobody_is_told_that_there_is_none(cli, tmp_path, sample):
    assert "bare_directory" not in cli("context", "report", cwd=sample.path).warnings
    desk = tmp_path / "bare"
    desk.mkdir()
    assert "bare_directory" not in cli("-C", desk, "context", "report").warnings, "who names it means it"
    assert "bare_directory" in cli("context", "report", cwd=desk).warnings
    (desk / "AGENTS.md").write_text("Be brief.\n")
    assert "bare_directory" not in cli("context", "report", cwd=desk).warnings


@pytest.mark.parametrize(
    "verb",
    [
        ["export", "--to", "given.zip"],
        ["export", "--format", "json"],
        ["export", "--to", "given.zip", "--dry-run"],
        ["backup", "create", "--to", "kept.zip"],
        ["migrate", "--to", "moved"],
        ["agents", "list"],
        ["agents", "show", "kate"],
        ["integrate", "claude", "install"],
    ],
    ids=" ".join,
)
def test_an_agent_that_is_not_there_is_refused_also_by_what_is_about_all(cli, sample, tmp_path, verb):
    sample.put(TWO_AGENTS)
    outcome = cli("-C", sample, "--agent", "nobody", *verb, "--json", cwd=tmp_path)
    assert (outcome.code, outcome.error["code"]) == (3, "unknown_agent")
    assert not any((tmp_path / name).exists() for name in ("given.zip", "kept.zip", "moved", ".claude"))
    assert cli("-C", sample, "--agent", "milo", *verb, "--json", cwd=tmp_path).code == 0


def test_hooks_of_a_project_are_not_put_in_for_an_agent_that_its_workspace_lacks(cli, sample):
    sample.put(TWO_AGENTS)
    outcome = cli("--agent", "nobody", "integrate", "claude", "install", "--json", cwd=sample.path)
    assert (outcome.code, outcome.error["code"]) == (3, "unknown_agent")
    assert not (sample / ".claude").exists()
