"""`carrel skills` and `carrel agents`: what there is, what it costs, what is wrong, and what only the owner sees."""

import pytest

SKILL = "---\nname: {0}\ndescription: {1}\n---\nBody of {0}.\n"
PRIVATE = "---\nname: CANARY\ndescription: CANARY\nscope: private\nodd: CANARY\n---\nCANARY\n"
KEYS = {"code", "severity", "path", "message", "hint"}


@pytest.fixture
def skilled(desk):
    return desk.put(
        {
            "carrel.yaml": "layout: carrel\nagents:\n  - id: kate\n    displayName: Kate\n    model: gpt-5\n",
            "AGENTS.md": "Be brief.\n",
            "skills/deploy/SKILL.md": SKILL.format("deploy", "Ship it safely"),
            "skills/review/SKILL.md": SKILL.format("review", "Read the change"),
            "subagents/researcher.md": "---\ndescription: Looks things up\ntools: Read\ncolour: red\n---\nName sources.\n",
        }
    )


@pytest.fixture
def secretive(skilled):
    tagged = PRIVATE.replace("scope: private", "tags: [private]")
    dead = "---\nscope: private\nname: [CANARY\n---\nCANARY\n"
    return skilled.put(
        {
            "skills/CANARY/SKILL.md": PRIVATE,
            "skills/CANARY-tag/SKILL.md": tagged,
            "skills/CANARY-dead/SKILL.md": dead,
            "subagents/CANARY.md": PRIVATE,
            "subagents/CANARY-tag.md": tagged,
            "subagents/CANARY-dead.md": dead,
        }
    )


def test_the_list_has_what_each_skill_costs_in_the_prompt_and_on_demand(cli, skilled):
    document = cli("-C", skilled, "skills", "list", "--json").document
    assert [(s["name"], s["description"], s["path"]) for s in document["skills"]] == [
        ("deploy", "Ship it safely", "skills/deploy/SKILL.md"),
        ("review", "Read the change", "skills/review/SKILL.md"),
    ]
    assert all(s["line_tokens"] > 3 and s["body_tokens"] > 3 for s in document["skills"])
    assert document["in_prompt"] is True
    assert document["findings"] == []
    report = cli("-C", skilled, "context", "report", "--json").document
    (row,) = [row for row in report["sections"] if row["kind"] == "skills"]
    assert abs(document["prompt_tokens"] - row["size"]) <= 1


def test_where_the_layout_lists_no_skills_their_lines_cost_nothing(cli, skilled):
    skilled.put({"carrel.yaml": "layout: agentscope\n"})
    document = cli("-C", skilled, "skills", "list", "--json").document
    assert (document["in_prompt"], document["prompt_tokens"]) == (False, 0)
    assert [s["line_tokens"] for s in document["skills"]] == [0, 0]
    assert document["skills"][0]["body_tokens"] > 3


def test_the_text_form_has_a_line_per_skill(cli, skilled):
    outcome = cli("-C", skilled, "skills", "list")
    assert outcome.code == 0
    assert "deploy  Ship it safely" in outcome.text
    assert "for 2 skills" in outcome.text


def test_a_workspace_without_skills_has_an_empty_list(cli, desk):
    desk.put({"carrel.yaml": "layout: carrel\n"})
    assert cli("-C", desk, "skills", "list", "--json").document["skills"] == []
    assert cli("-C", desk, "skills", "lint").code == 0


def test_show_prints_the_body_alone(cli, skilled):
    assert cli("-C", skilled, "skills", "show", "deploy").text == "Body of deploy.\n"
    document = cli("-C", skilled, "skills", "show", "deploy", "--json").document
    assert document["body"] == "Body of deploy."
    assert document["front_matter"] == {"name": "deploy", "description": "Ship it safely"}


@pytest.mark.parametrize("name", ["deplyo", "../../AGENTS.md", "", "\x1b[2J", "x" * 5000])
def test_an_unknown_skill_is_not_found_and_the_nearest_is_named(cli, skilled, name):
    outcome = cli("-C", skilled, "skills", "show", name, "--json")
    assert outcome.code == 3
    assert outcome.error["code"] == "unknown_skill"
    assert ("deploy" in outcome.error["hint"]) is (name == "deplyo")


def test_lint_passes_good_skills_and_ends_with_4_on_an_error(cli, skilled):
    assert cli("-C", skilled, "skills", "lint").code == 0
    skilled.put(
        {
            "skills/Bad/SKILL.md": SKILL.format("worse", "x"),
            "skills/warn/SKILL.md": SKILL.format("warn", "x\nv: 1"),
        }
    )
    outcome = cli("-C", skilled, "skills", "lint", "--json")
    assert outcome.code == 4
    document = outcome.document
    assert (document["passed"], document["errors"], document["warnings"]) == (False, 1, 1)
    assert all(set(finding) == KEYS for finding in document["findings"])
    assert cli("-C", skilled, "skills", "lint", "warn").code == 0
    assert cli("-C", skilled, "skills", "lint", "Bad").code == 4
    assert cli("-C", skilled, "skills", "lint", "none", "--json").code == 3


def test_the_prompt_and_its_report_say_what_became_of_bad_skills(cli, skilled):
    skilled.put(
        {
            "skills/again/SKILL.md": SKILL.format("review", "First by folder"),
            "skills/bomb/SKILL.md": "---\na: &a [x]\nb: [*a, *a]\n---\nBody\n",
            "skills/colon/SKILL.md": SKILL.format("colon", "Use when: late"),
        }
    )
    shown = cli("-C", skilled, "context", "show").text
    assert (
        "- review: First by folder\n- bomb\n- colon: Use when: late\n- deploy: Ship it safely\n</skills>"
        in shown
    )
    warnings = cli("-C", skilled, "context", "report", "--json").document["warnings"]
    assert {"skill_duplicate", "front_matter"} <= {warning["code"] for warning in warnings}


def test_health_lists_each_finding_of_skills_and_subagents_once(cli, skilled):
    skilled.put({"skills/plain/SKILL.md": "x", "skills/bytes/SKILL.md": b"\xff", "subagents/plain.md": "x"})
    health = cli("-C", skilled, "health", "--json").document
    about = [
        (f["code"], f["path"]) for f in health["findings"] if (f["path"] or "").startswith(("skills", "sub"))
    ]
    assert sorted(about) == [
        ("skill_front_matter", "skills/plain/SKILL.md"),
        ("subagent_front_matter", "subagents/plain.md"),
        ("unreadable", "skills/bytes/SKILL.md"),
    ]
    assert health["structure_valid"] is True


def test_a_thousand_skills_are_listed_and_linted(cli, desk):
    desk.put({"carrel.yaml": "layout: carrel\n"})
    desk.put({f"skills/s{i:03}/SKILL.md": SKILL.format(f"s{i:03}", "x") for i in range(1000)})
    assert len(cli("-C", desk, "skills", "list", "--json").document["skills"]) == 1000
    assert cli("-C", desk, "skills", "lint").code == 0


def test_the_list_of_agents_has_both_kinds_and_where_they_are_declared(cli, skilled):
    document = cli("-C", skilled, "agents", "list", "--json").document
    kate, researcher = document["agents"]
    assert (kate["id"], kate["kind"], kate["name"], kate["declared"]) == (
        "kate",
        "agent",
        "Kate",
        "carrel.yaml",
    )
    assert (researcher["id"], researcher["kind"]) == ("researcher", "subagent")
    assert researcher["description"] == "Looks things up"
    assert researcher["declared"] == "subagents/researcher.md"
    assert researcher["tokens"] > 1
    assert "researcher" in cli("-C", skilled, "agents", "list").text


def test_several_agents_are_listed_and_shown_without_naming_one(cli, skilled):
    skilled.put({"carrel.yaml": "layout: carrel\nagents:\n  - id: ann\n  - id: kate\n"})
    rows = cli("-C", skilled, "agents", "list", "--json").document["agents"]
    assert [row["id"] for row in rows] == ["ann", "kate", "researcher"]
    assert cli("-C", skilled, "agents", "show", "kate").code == 0


def test_without_agents_there_is_the_one_called_main(cli, desk):
    (row,) = cli("-C", desk, "agents", "list", "--json").document["agents"]
    assert (row["id"], row["declared"]) == ("main", "default")
    assert cli("-C", desk, "agents", "show", "main").code == 0


def test_an_agent_is_shown_with_all_settings_in_force_and_their_origins(cli, skilled):
    skilled.put(
        {
            "carrel.yaml": "layout: carrel\nbudgets: {memoryTokens: 77}\nagents:\n  - id: kate\n    domain: law\n"
        }
    )
    document = cli("-C", skilled, "agents", "show", "kate", "--json").document
    rows = {row["key"]: (row["value"], row["origin"]) for row in document["settings"]}
    assert document["kind"] == "agent"
    assert rows["domain"] == ("law", "carrel.yaml")
    assert rows["memory_tokens"] == (77, "budgets.memory_tokens, carrel.yaml")
    assert rows["trigger_interval"] == (5, "default")
    assert "workspace_files.exclude" in rows
    assert "domain" in cli("-C", skilled, "agents", "show", "kate").text


def test_a_subagent_is_shown_as_declared(cli, skilled):
    document = cli("-C", skilled, "agents", "show", "researcher", "--json").document
    assert document["kind"] == "subagent"
    assert document["prompt"] == "Name sources."
    assert document["settings"]["tools"] == ["Read"]
    assert document["extra"] == {"colour": "red"}
    assert cli("-C", skilled, "agents", "show", "researcher").text.endswith("\nName sources.\n")


def test_an_unknown_agent_is_not_found_and_the_nearest_is_named(cli, skilled):
    outcome = cli("-C", skilled, "agents", "show", "reseacher", "--json")
    assert outcome.code == 3
    assert "researcher" in outcome.error["hint"]


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize(
    "words",
    [
        ["skills", "list"],
        ["skills", "lint"],
        ["agents", "list"],
        ["skills", "show", "canar"],
        ["agents", "show", "canar"],
    ],
    ids=" ".join,
)
def test_what_is_private_appears_on_no_shared_surface(cli, secretive, words, form):
    shared = cli("-C", secretive, "--scope", "shared", *words, *form)
    assert b"CANARY" not in shared.out + shared.err
    mine = cli("-C", secretive, *words, *form)
    assert b"CANARY" in mine.out + mine.err


@pytest.mark.parametrize("words", [["skills", "show"], ["skills", "lint"], ["agents", "show"]], ids=" ".join)
@pytest.mark.parametrize("name", ["CANARY", "CANARY-tag", "CANARY-dead"])
def test_a_private_name_is_answered_in_shared_scope_like_one_that_does_not_exist(cli, secretive, words, name):
    hidden = cli("-C", secretive, "--scope", "shared", *words, name, "--json")
    absent = cli("-C", secretive, "--scope", "shared", *words, "x" * len(name), "--json")
    assert hidden.code == absent.code == 3
    assert hidden.error["hint"] == absent.error["hint"]


def test_reading_them_changes_nothing(cli, secretive):
    before = secretive.snapshot()
    for words in (["skills", "list"], ["skills", "lint"], ["skills", "show", "deploy"], ["agents", "list"]):
        cli("-C", secretive, *words)
    assert secretive.snapshot() == before


@pytest.mark.parametrize(
    "words",
    [
        ["skills", "list"],
        ["skills", "lint"],
        ["skills", "show", "deploy"],
        ["agents", "list"],
        ["agents", "show", "kate"],
    ],
    ids=" ".join,
)
def test_an_unknown_scope_is_refused(cli, skilled, words):
    assert cli("-C", skilled, "--scope", "owner", *words, "--json").error["code"] == "unknown_scope"
