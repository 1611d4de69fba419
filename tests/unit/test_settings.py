"""carrel.yaml becomes values, and a mistake in it names its key, its line and the way out."""

import pytest

from carrel.settings import AgentSettings, Settings, leaves, spec_at
from carrel.settings.about import BadSetting
from carrel.settings.parse import build, parse, parse_text


def settings(text: str, *, layout: str | None = None) -> Settings:
    return build(parse_text(text, layout=layout, source="carrel.yaml"))


def mistake(text: str, *, layout: str | None = None) -> BadSetting:
    with pytest.raises(BadSetting) as caught:
        parse_text(text, layout=layout, source="carrel.yaml")
    return caught.value


def test_an_empty_file_gives_the_defaults() -> None:
    assert settings("") == Settings()
    assert Settings().time_zone == "UTC"
    assert Settings().budgets.recall_hits == 20


def test_the_agent_filter_of_astra_is_read_as_its_users_write_it() -> None:
    text = """
agents:
  - id: code-agent
    workspaceFiles:
      includeTags: [code, architecture]
      exclude: [team-members.md]
"""
    (agent,) = settings(text).agents
    assert agent.workspace_files.include_tags == ("code", "architecture")
    assert agent.workspace_files.exclude == ("team-members.md",)


def test_the_agent_of_nexo_is_read_as_its_users_write_it() -> None:
    text = """
agents:
  - id: kate
    workspace: ./data/workspace/kate
    workspace_git:
      enabled: true
    allowed_delegates: [ana]
    transcripts_dir: ./transcripts
"""
    (kate,) = settings(text).agents
    assert kate.workspace == "./data/workspace/kate"
    assert kate.workspace_git.enabled
    assert kate.allowed_delegates == ("ana",)
    assert kate.transcripts_dir == "./transcripts"


def test_the_memory_of_squad_is_read_as_its_users_write_it() -> None:
    text = "agents: [{id: dev, memory_enabled: false, trigger_interval: 3, memory: {maxTokens: 500}}]"
    (agent,) = settings(text).agents
    assert (agent.memory_enabled, agent.trigger_interval, agent.memory.max_tokens) == (False, 3, 500)


def test_a_bare_model_is_its_name() -> None:
    assert settings("model: gpt-4o").model.name == "gpt-4o"


def test_only_what_was_given_is_remembered_as_given() -> None:
    given = parse({"budgets": {"total": 5}, "agents": [{"id": "kate"}]}, layout=None, source="x")
    assert given == {("budgets", "total"): 5, ("agents", "kate", "id"): "kate"}


def test_a_key_without_a_value_counts_as_not_given() -> None:
    assert settings("budgets:\nmodel:\nagents:\ntime_zone:\nuser: {name: }\n") == Settings()


def test_an_id_may_contain_dots() -> None:
    text = "agents: [{id: a, domain: x}, {id: a.b, domain: y}]"
    assert [(agent.id, agent.domain) for agent in settings(text).agents] == [("a", "x"), ("a.b", "y")]


def test_a_budget_of_zero_is_allowed() -> None:
    assert settings("budgets: {total: 0, recall_tokens: 0}").budgets.total == 0


@pytest.mark.parametrize("spelling", ["maxContextTokens", "max_context_tokens"])
def test_max_context_tokens_means_what_its_layout_means_by_it(spelling: str) -> None:
    assert settings(f"{spelling}: 9000", layout="astra").model.context_window == 9000
    assert settings(f"{spelling}: 9000", layout="agentscope").budgets.memory_tokens == 9000
    agent = f"agents: [{{id: kate, {spelling}: 9000}}]"
    assert settings(agent, layout="astra").agents[0].context_window == 9000
    assert settings(agent, layout="agentscope").agents[0].memory_tokens == 9000


def test_the_file_may_name_the_layout_that_gives_max_context_tokens_its_meaning() -> None:
    assert settings("layout: agentscope\nmaxContextTokens: 7").budgets.memory_tokens == 7


@pytest.mark.parametrize("layout", [None, "carrel", "squad"])
def test_max_context_tokens_elsewhere_is_refused_and_both_meanings_are_named(layout: str | None) -> None:
    error = mistake("maxContextTokens: 9000", layout=layout)
    assert "model.context_window" in error.hint
    assert "budgets.memory_tokens" in error.hint


@pytest.mark.parametrize(
    "text",
    [
        "time_zone: UTC\ntimeZone: UTC",
        "layout: astra\nmodel: {context_window: 5}\nmaxContextTokens: 5",
        "agents: [{id: kate, displayName: K, display_name: K}]",
    ],
)
def test_one_setting_in_two_spellings_is_refused(text: str) -> None:
    assert "given twice" in mistake(text).message


@pytest.mark.parametrize(
    ("text", "key", "line", "hint"),
    [
        ("budgets:\n  totl: 5\n", "budgets.totl", 2, "budgets.total"),
        ("user: {nam: x}", "user.nam", 1, "user.name"),
        ("agents:\n  - id: kate\n    displayNam: K\n", "agents.kate.displayNam", 3, "display_name"),
        ("display_name: K", "display_name", 1, "agents[].display_name"),
        ("zzz: 1", "zzz", 1, "budgets"),
        ("agents: [{id: a, memory: {tokens: 1}}]", "agents.a.memory.tokens", 1, "max_tokens"),
    ],
)
def test_an_unknown_key_is_named_in_full_with_the_nearest_one(
    text: str, key: str, line: int, hint: str
) -> None:
    error = mistake(text)
    assert (error.code, error.key, error.line) == ("bad_setting", key, line)
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("budgets: {total: -1}", "budgets.total", "must be 0 to"),
        ("budgets: {total: 1.5}", "budgets.total", "whole number, not 1.5"),
        ("budgets: {total: true}", "budgets.total", "whole number, not true"),
        ("budgets: {total: lots}", "budgets.total", "not 'lots'"),
        ("budgets: 5", "budgets", "table"),
        ("model: {context_window: 0}", "model.context_window", "must be 1 to"),
        ("user: {id: 007}", "user.id", "text, not a number"),
        ("layout: ''", "layout", "must match"),
        ("time_zone: Mars/Olympus", "time_zone", "unknown"),
        ("time_zone: America", "time_zone", "unknown"),
        ("time_zone: ../../etc/passwd", "time_zone", "unknown"),
        ("overlay: {fallthrough: never}", "overlay.fallthrough", "absent or empty"),
        ("agents: {id: a}", "agents", "list"),
        ("agents: [kate]", "agents[0]", "no id"),
        ("agents: [{id: a}, {domain: x}]", "agents[1]", "no id"),
        ("agents: [{id: ../x}]", "agents[0].id", "must match"),
        ("agents: [{id: a}, {id: b}, {id: a}]", "agents.a", "twice"),
        ("agents: [{id: kate}, {id: Kate}]", "agents.Kate", "twice"),
        ("agents: [{id: a, memory_enabled: yes}]", "agents.a.memory_enabled", "true or false"),
        ("agents: [{id: a, allowed_tools: x}]", "agents.a.allowed_tools", "list of texts"),
        ("agents: [{id: a, allowed_tools: [1]}]", "agents.a.allowed_tools", "list of texts"),
        ('agents: [{id: a, workspace: "x\\0y"}]', "agents.a.workspace", "character"),
        ("- a list", "the whole file", "table"),
    ],
)
def test_a_wrong_value_is_named_and_explained(text: str, key: str, words: str) -> None:
    error = mistake(text)
    assert error.key == key
    assert words in error.message
    assert error.message.startswith("carrel.yaml, line 1: ")


def test_a_message_never_repeats_control_characters_or_long_texts() -> None:
    error = mistake('"a\\u001b[31m' + "b" * 500 + '": 1\n')
    assert "\x1b" not in error.message
    assert len(error.message) < 200


def test_an_agent_needs_no_more_than_its_id() -> None:
    agent = AgentSettings(id="main")
    assert agent.memory_enabled
    assert agent.system_prompt_template == ""


def test_settings_are_values() -> None:
    text = "user: {name: Luis}\nagents: [{id: kate, memory: {max_tokens: 1}}]"
    assert settings(text) == settings(text) != Settings()
    assert hash(settings(text)) == hash(settings(text))
    with pytest.raises(AttributeError):
        Settings().time_zone = "Asia/Tokyo"


def test_a_given_key_leads_to_its_description_past_the_id() -> None:
    assert spec_at(("agents", "model", "workspace_git", "enabled")).about.sensitive
    assert spec_at(("agents", "workspace", "domain")) == leaves()["agents", "domain"]
    assert spec_at(("budgets", "recall_hits")).default == 20
