"""`carrel config show | schema | validate`: every value, where it comes from, and what is wrong with one."""

import re

import pytest

from carrel.settings import camel, leaves

USER_FILE = "config/config.yaml"


def shown(cli, desk):
    document = cli("-C", desk, "config", "show", "--json").document
    return {row["key"]: (row["value"], row["origin"]) for row in document["settings"]}


def user_file(cli, text):
    path = cli.home / USER_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_every_value_in_force_is_shown_with_its_origin(cli, sample):
    rows = shown(cli, sample)
    expected = {".".join(key) for key in leaves() if key[0] != "agents"}
    expected |= {".".join(("agents", "kate", *key[1:])) for key in leaves() if key[0] == "agents"}
    assert set(rows) == expected
    assert rows["layout"] == ("carrel", "carrel.yaml")
    assert rows["agents.kate.display_name"] == ("Kate", "carrel.yaml")
    assert rows["budgets.recall_tokens"] == (8000, "default")


def test_the_strongest_source_wins_and_is_named(cli, sample):
    path = user_file(cli, "time_zone: Asia/Tokyo\nbudgets: {file: 1, total: 2}\n")
    sample.put({"carrel.yaml": "layout: carrel\nbudgets: {total: 3}\ntime_zone: Europe/Rome\n"})
    cli.set(CARREL_TZ="America/Bogota")
    rows = shown(cli, sample)
    assert rows["budgets.file"] == (1, f"user file {path}")
    assert rows["budgets.total"] == (3, "carrel.yaml")
    assert rows["time_zone"] == ("America/Bogota", "environment CARREL_TZ")


def test_the_text_form_says_the_same_as_the_document(cli, sample):
    document = cli("-C", sample, "config", "show", "--json").document
    text = cli("-C", sample, "config", "show").text
    lines = text.splitlines()
    assert len(lines) == len(document["settings"])
    for line, row in zip(lines, document["settings"], strict=True):
        assert line.startswith(row["key"])
        assert line.endswith(f"({row['origin']})")


def test_the_document_tells_version_trust_and_directories(cli, sample):
    document = cli("-C", sample, "config", "show", "--json").document
    assert document["schema_version"] == 1
    assert document["trusted"] is False
    assert document["directories"] == {
        "config": str(cli.home / "config"),
        "cache": str(cli.home / "cache"),
        "data": str(cli.home / "data"),
    }


@pytest.mark.parametrize(
    ("text", "line", "nearest"),
    [
        ("layout: carrel\nagnets: []\n", 2, "agents"),
        ("layout: carrel\nbudgets:\n  file: 1\n  totl: 2\n", 4, "budgets.total"),
        ("agents:\n  - id: kate\n    displayNme: Kate\n", 3, "display_name"),
        ("agents:\n  - id: kate\n    workspaceFiles:\n      includeTag: [a]\n", 4, "include_tags"),
    ],
)
def test_an_unknown_key_is_an_error_with_its_line_and_the_nearest_valid_one(cli, desk, text, line, nearest):
    desk.put({"carrel.yaml": text})
    for verb in (["config", "show"], ["config", "validate"], ["context", "report"], ["health"]):
        outcome = cli("-C", desk, *verb, "--json")
        assert outcome.code == 2
        assert outcome.error["code"] == "bad_setting"
        assert f"carrel.yaml, line {line}:" in outcome.error["message"]
        assert nearest in outcome.error["hint"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("budgets: {file: -1}\n", "budgets.file"),
        ("budgets: {total: -150000}\n", "budgets.total"),
        ("budgets: {file: 1.5}\n", "budgets.file"),
        ("budgets: {file: true}\n", "budgets.file"),
        ("budgets: {file: 1e400}\n", "budgets.file"),
        ("budgets: {file: 99999999999999999999}\n", "budgets.file"),
        ("budgets: []\n", "budgets"),
        ("time_zone: Middle/Earth\n", "time_zone"),
        ("time_zone: ../../etc/passwd\n", "time_zone"),
        ("agents: {id: kate}\n", "agents"),
        ("agents: [{}]\n", "agents[0]"),
        ("agents: [{id: ../kate}]\n", "agents[0].id"),
        ("agents: [{id: kate}, {id: Kate}]\n", "agents.Kate"),
        ("agents: [{id: kate, triggerInterval: 0}]\n", "trigger_interval"),
        ("model: {contextWindow: 0}\n", "model.context_window"),
        ("layout: [carrel]\n", "layout"),
        ("- layout\n", "the whole file"),
        ("just text\n", "the whole file"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_key(cli, desk, text, key):
    desk.put({"carrel.yaml": text})
    outcome = cli("-C", desk, "config", "validate", "--json")
    document = outcome.document
    assert outcome.code == 2
    assert document["error"]["code"] == "bad_setting"
    assert key in document["error"]["message"]
    assert "carrel.yaml, line 1" in document["error"]["message"]


def test_both_spellings_of_a_key_are_read(cli, desk):
    desk.put(
        {
            "carrel.yaml": "timeZone: Asia/Tokyo\nagents: [{id: kate, display_name: Kate, triggerInterval: 3}]\n"
        }
    )
    rows = shown(cli, desk)
    assert rows["time_zone"][0] == "Asia/Tokyo"
    assert rows["agents.kate.display_name"][0] == "Kate"
    assert rows["agents.kate.trigger_interval"][0] == 3


def test_the_schema_has_every_key_in_both_spellings(cli):
    schema = cli("config", "schema").document
    assert schema["$schema"].startswith("https://json-schema.org/")
    for key, leaf in leaves().items():
        node = schema
        for name in key:
            node = node.get("items", node)["properties"]
            assert camel(name) in node
            node = node[name]
        assert node["description"], key
        assert leaf.is_required or "default" in node
    assert cli("config", "schema", "--json").document == schema


def test_the_schema_needs_no_workspace(cli, tmp_path):
    assert cli("-C", tmp_path / "nowhere", "config", "schema").code == 0


def test_valid_settings_are_called_valid(cli, sample):
    document = cli("-C", sample, "config", "validate", "--json").document
    assert document == {"schema_version": 1, "valid": True, "findings": []}
    assert "valid" in cli("-C", sample, "config", "validate").text


def test_validate_finds_a_template_that_no_context_could_use(cli, desk):
    desk.put(
        {
            "carrel.yaml": "agents:\n  - id: kate\n    systemPromptTemplate: |\n      Hello\n      {{#if domain}}\n"
        }
    )
    used = cli("-C", desk, "context", "show", "--json")
    assert (used.code, used.error["code"]) == (2, "bad_template")
    assert re.search(r"line \d", used.error["message"])
    assert cli("-C", desk, "config", "validate", "--json").document["error"]["code"] == "bad_template"


def test_an_unknown_variable_is_a_warning_that_names_it(cli, desk):
    desk.put({"carrel.yaml": "agents:\n  - id: kate\n    systemPromptTemplate: Hi {{nmae}}\n"})
    report = cli("-C", desk, "context", "report", "--json").document
    assert [w["code"] for w in report["warnings"]] == ["unknown_variable"]
    assert "nmae" in report["warnings"][0]["message"]


def test_a_user_file_that_is_wrong_is_named_with_its_line(cli, sample):
    path = user_file(cli, "layout: carrel\nbudgts: {}\n")
    outcome = cli("-C", sample, "config", "validate", "--json")
    assert outcome.code == 2
    assert f"{path}, line 2" in outcome.error["message"]


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01", "0001-01-01T00:00+23:00", "\udcff"])
def test_a_moment_that_is_none_is_a_usage_error(cli, sample, moment):
    cli.set(CARREL_NOW=moment)
    outcome = cli("-C", sample, "context", "report", "--json")
    assert outcome.code == 2
    assert "CARREL_NOW" in outcome.error["message"]


@pytest.mark.parametrize(
    ("moment", "zone"),
    [
        ("0001-01-01T00:00:00Z", "America/Bogota"),
        ("9999-12-31T23:59:59Z", "Asia/Tokyo"),
        ("0001-01-01T00:00:00Z", "UTC"),
    ],
)
def test_the_ends_of_time_are_no_traceback(cli, sample, moment, zone):
    cli.set(CARREL_NOW=moment, CARREL_TZ=zone)
    outcome = cli("-C", sample, "context", "report", "--json")
    assert outcome.code == 0 or outcome.error["code"] == "bad_setting"
