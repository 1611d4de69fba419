"""Where values come from, and what a stranger's carrel.yaml may not decide."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import platformdirs
import pytest
from msgspec.structs import replace

from carrel.clock import FixedClock, SystemClock
from carrel.config import (
    Config,
    UnreadableConfig,
    UserDirectories,
    distrust,
    dump,
    effective,
    is_trusted,
    load_config,
    local_approvals,
    trust,
    user_directories,
)
from carrel.config.schema import json_schema
from carrel.config.trust import NewerTrustFile
from carrel.errors import CarrelError
from carrel.files import Unreadable
from carrel.plainyaml import BadYaml
from carrel.settings import Settings
from carrel.settings.about import BadSetting
from carrel.settings.parse import parse_text
from carrel.testing import EphemeralFiles

REFERENCE = Path(__file__).parents[2] / "docs/reference/config.md"
HOSTILE = """
model: expensive
agents:
  - id: kate
    display_name: Kate
    model: other
    profile: reviewer
    workspace: /home/luis
    transcripts_dir: /tmp/leak
    workspace_git: {enabled: true}
"""


@pytest.fixture
def home(tmp_path: Path) -> UserDirectories:
    return user_directories({"CARREL_HOME": str(tmp_path / "home")})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


def loaded(root: Path, text: str | None, home: UserDirectories, **sources) -> Config:
    return load_config(local_approvals(root, home), text, **({"environ": {}, "directories": home} | sources))


def user_file(home: UserDirectories, text: str) -> Path:
    home.config.mkdir(parents=True)
    path = home.config / "config.yaml"
    path.write_text(text)
    return path


def codes(config: Config) -> list[str]:
    return [finding.code for finding in config.findings]


def test_without_any_source_everything_is_default(root, home) -> None:
    config = loaded(root, None, home)
    assert config.settings == Settings()
    assert set(config.origins.values()) == {"default"}
    assert not config.trusted
    assert config.findings == ()


def test_reading_leaves_no_trace_in_the_users_directories(root, home) -> None:
    loaded(root, HOSTILE, home)
    assert not home.data.parent.exists()


def test_every_value_tells_its_origin(root, home) -> None:
    path = user_file(home, "user: {name: Luis}\nbudgets: {total: 1}\nagents: [{id: kate, model: mine}]")
    config = loaded(
        root,
        "budgets: {total: 2, file: 3}\nagents: [{id: kate, display_name: Kate}]",
        home,
        environ={"CARREL_TZ": "Asia/Tokyo"},
        flags={"budgets.file": 4, "layout": None},
    )
    rows = {key: (value, origin) for key, value, origin in effective(config)}
    assert rows["user.name"] == ("Luis", f"user file {path}")
    assert rows["budgets.total"] == (2, "carrel.yaml")
    assert rows["budgets.file"] == (4, "flag --budgets-file")
    assert rows["time_zone"] == ("Asia/Tokyo", "environment CARREL_TZ")
    assert rows["layout"] == (None, "default")
    assert rows["agents.kate.display_name"] == ("Kate", "carrel.yaml")
    assert rows["agents.kate.model"] == ("mine", f"user file {path}")
    assert rows["agents.kate.memory.max_tokens"] == (2000, "default")


def test_what_is_shown_can_be_printed_as_json(root, home) -> None:
    shown = json.loads(json.dumps(dump(loaded(root, HOSTILE, home))))
    assert shown["trusted"] is False
    assert {"key": "agents.kate.display_name", "value": "Kate", "origin": "carrel.yaml"} in shown["settings"]
    assert shown["findings"][0]["code"] == "untrusted_setting"


def test_a_flag_may_give_the_model_by_its_short_name(root, home) -> None:
    config = loaded(root, "model: a", home, environ={"CARREL_MODEL": "b"}, flags={"model": "c"})
    assert config.settings.model.name == "c"
    assert config.origins["model.name"] == "flag --model"


def test_a_variable_set_to_nothing_is_not_set(root, home) -> None:
    config = loaded(root, None, home, environ={"CARREL_TZ": "", "CARREL_NOW": "", "CARREL_OS": ""})
    assert config.settings.time_zone == "UTC"
    assert isinstance(config.clock, SystemClock)
    assert config.os_name == os.uname().sysname


def test_a_wrong_variable_or_flag_is_named(root, home) -> None:
    with pytest.raises(BadSetting, match="environment CARREL_TZ: time_zone is unknown"):
        loaded(root, None, home, environ={"CARREL_TZ": "Mars"})
    with pytest.raises(BadSetting, match=r"flag --budgets-total: budgets\.total must be 0"):
        loaded(root, None, home, flags={"budgets.total": -1})


@pytest.mark.parametrize(
    ("sources", "window", "memory"),
    [
        ({"flags": {"layout": "astra"}, "environ": {"CARREL_LAYOUT": "agentscope"}}, 5, 8000),
        ({"environ": {"CARREL_LAYOUT": "agentscope"}}, None, 5),
        ({"detect_layout": lambda: "astra"}, 5, 8000),
        ({"detect_layout": lambda: "agentscope"}, None, 5),
    ],
)
def test_the_layout_in_force_decides_what_max_context_tokens_means(
    root, home, sources, window, memory
) -> None:
    settings = loaded(root, "maxContextTokens: 5", home, **sources).settings
    assert (settings.model.context_window, settings.budgets.memory_tokens) == (window, memory)


def test_the_workspace_file_outranks_the_user_file_and_detection_on_the_layout(root, home) -> None:
    user_file(home, "layout: squad")
    config = loaded(root, "layout: astra", home, detect_layout=lambda: pytest.fail("asked in vain"))
    assert (config.settings.layout, config.origins["layout"]) == ("astra", "carrel.yaml")


def test_a_detected_layout_says_so(root, home) -> None:
    config = loaded(root, None, home, detect_layout=lambda: "nexo")
    assert (config.settings.layout, config.origins["layout"]) == ("nexo", "detected")


def test_a_mistake_names_its_file_and_line(root, home) -> None:
    with pytest.raises(BadSetting, match=r"carrel\.yaml, line 2: budgets\.totl is not a setting"):
        loaded(root, "budgets:\n  totl: 5\n", home)
    path = user_file(home, "a: ]")
    with pytest.raises(BadYaml, match=re.escape(f"user file {path}, line 1")):
        loaded(root, None, home)


def test_a_user_file_that_cannot_be_read_is_a_typed_error(root, home) -> None:
    (home.config / "config.yaml").mkdir(parents=True)
    with pytest.raises(UnreadableConfig, match=r"config\.yaml"):
        loaded(root, None, home)


def test_a_user_file_in_another_encoding_is_a_typed_error_with_its_line(root, home) -> None:
    user_file(home, "").write_bytes(b"user:\n  name: Jos\xe9\n")
    with pytest.raises(BadYaml, match="line 2: not UTF-8"):
        loaded(root, None, home)


def test_a_user_file_may_be_a_link_to_a_dotfiles_repository(root, home, tmp_path) -> None:
    (tmp_path / "dotfiles.yaml").write_text("user: {name: Luis}")
    home.config.mkdir(parents=True)
    (home.config / "config.yaml").symlink_to(tmp_path / "dotfiles.yaml")
    assert loaded(root, None, home).settings.user.name == "Luis"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-04-24T09:00:00Z", datetime(2026, 4, 24, 9, tzinfo=UTC)),
        ("2026-04-24T09:00:00-05:00", datetime(2026, 4, 24, 14, tzinfo=UTC)),
        ("2026-04-24T09:00:00", datetime(2026, 4, 24, 9, tzinfo=UTC)),
        ("2026-04-24", datetime(2026, 4, 24, tzinfo=UTC)),
    ],
)
def test_the_clock_stands_still_at_carrel_now(root, home, text, moment) -> None:
    config = loaded(root, None, home, environ={"CARREL_NOW": text, "CARREL_OS": "Plan 9"})
    assert config.clock == FixedClock(moment)
    assert config.os_name == "Plan 9"


@pytest.mark.parametrize("text", ["now", "2026-13-01", "0001-01-01T00:00:00+14:00", "\x1b[31m"])
def test_a_wrong_carrel_now_is_a_typed_error(root, home, text) -> None:
    with pytest.raises(BadSetting) as caught:
        loaded(root, None, home, environ={"CARREL_NOW": text})
    assert caught.value.key == "CARREL_NOW"
    assert caught.value.message.isprintable()


def test_sensitive_settings_of_a_stranger_are_ignored_visibly(root, home) -> None:
    config = loaded(root, HOSTILE, home)
    (kate,) = config.settings.agents
    assert (kate.workspace, kate.transcripts_dir, kate.profile) == (None, None, None)
    assert not kate.workspace_git.enabled
    assert kate.display_name == "Kate"
    (finding,) = config.findings
    assert (finding.code, finding.severity) == ("untrusted_setting", "warning")
    for key in ("workspace", "transcripts_dir", "profile", "workspace_git.enabled"):
        assert f"agents.kate.{key}" in finding.message
    assert "agents.kate.display_name" not in finding.message
    assert f"carrel trust {root}" in finding.hint


def test_a_strangers_model_still_serves_to_count_tokens(root, home) -> None:
    config = loaded(root, HOSTILE, home)
    assert config.settings.model.name == "expensive"
    assert config.settings.agents[0].model == "other"
    assert "used only to count tokens: model.name, agents.kate.model" in config.findings[0].message


def test_a_strangers_model_alone_is_no_warning(root, home) -> None:
    assert loaded(root, "model: x", home).findings[0].severity == "info"


def test_after_trust_the_sensitive_settings_count(root, home) -> None:
    trust(local_approvals(root, home), HOSTILE)
    config = loaded(root, HOSTILE, home)
    assert config.trusted
    assert config.findings == ()
    assert config.settings.agents[0].workspace == "/home/luis"


def test_an_ordinary_edit_keeps_trust_and_a_sensitive_one_ends_it(root, home) -> None:
    trust(local_approvals(root, home), HOSTILE)
    assert is_trusted(
        local_approvals(root, home), HOSTILE.replace("Kate", "Katherine") + "time_zone: Asia/Tokyo\n"
    )
    changed = loaded(root, HOSTILE.replace("/home/luis", "/home/ana"), home)
    assert (changed.trusted, changed.known) == (False, True)
    assert "changed since" in changed.findings[0].message
    assert changed.settings.agents[0].workspace is None
    assert not is_trusted(local_approvals(root, home), HOSTILE.replace("id: kate", "id: ana"))


def test_a_workspace_without_settings_can_be_trusted_and_loses_it_to_a_sensitive_one(root, home) -> None:
    trust(local_approvals(root, home), None)
    assert is_trusted(local_approvals(root, home), None)
    assert is_trusted(local_approvals(root, home), "user: {name: Luis}")
    assert not is_trusted(local_approvals(root, home), HOSTILE)


def test_trust_belongs_to_the_real_path(root, home, tmp_path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    trust(local_approvals(link, home), None)
    assert is_trusted(local_approvals(root, home), None)
    assert not is_trusted(local_approvals(tmp_path, home), None)


def test_trust_can_be_taken_back(root, home) -> None:
    trust(local_approvals(root, home), None)
    distrust(local_approvals(root, home))
    assert not loaded(root, None, home).known


def test_the_users_own_files_environment_and_flags_need_no_trust(root, home) -> None:
    user_file(home, HOSTILE)
    config = loaded(root, None, home, environ={"CARREL_MODEL": "mine"})
    assert config.settings.agents[0].workspace == "/home/luis"
    assert config.settings.model.name == "mine"
    assert config.findings == ()


def test_only_the_owner_can_read_or_write_the_trust_file(root, home) -> None:
    before = os.umask(0)
    try:
        trust(local_approvals(root, home), None)
        trust(local_approvals(root, home), "model: x")
    finally:
        os.umask(before)
    assert (home.data / "trust.json").stat().st_mode & 0o777 == 0o600
    assert home.data.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in home.data.iterdir()] == ["trust.json"]


DAMAGED = [b"{", b"[]", b"\xff", b'{"version":1}', b'{"version":1,"workspaces":{"/a":1}}', b"[" * 200_000]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_trust_file_trusts_nobody_and_is_kept_aside(root, home, content) -> None:
    trust(local_approvals(root, home), HOSTILE)
    path = home.data / "trust.json"
    path.write_bytes(content)
    config = loaded(root, HOSTILE, home)
    assert not config.trusted
    assert codes(config) == ["corrupt_trust_file", "untrusted_setting"]
    trust(local_approvals(root, home), HOSTILE)
    assert loaded(root, HOSTILE, home).trusted
    (aside,) = [other for other in home.data.iterdir() if other != path]
    assert aside.read_bytes() == content


def test_a_trust_file_of_a_newer_carrel_is_never_rewritten(root, home) -> None:
    home.data.mkdir(parents=True)
    newer = b'{"version": 2, "workspaces": {}, "more": 1}'
    (home.data / "trust.json").write_bytes(newer)
    assert codes(loaded(root, None, home)) == ["newer_trust_file"]
    with pytest.raises(NewerTrustFile):
        trust(local_approvals(root, home), None)
    assert (home.data / "trust.json").read_bytes() == newer


def test_an_unreadable_trust_file_is_a_finding_on_reading_and_an_error_on_writing(root, home) -> None:
    (home.data / "trust.json").mkdir(parents=True)
    assert codes(loaded(root, None, home)) == ["unreadable_trust_file"]
    with pytest.raises(CarrelError):
        trust(local_approvals(root, home), None)


def test_a_disk_that_fails_while_trust_is_looked_up_is_an_error_and_no_distrust(root, home) -> None:
    """Else what is written meanwhile would land where an untrusted workspace has its state."""

    class Failing(EphemeralFiles):
        def read(self, path, **_):
            raise Unreadable(path, "io_error")

    with pytest.raises(Unreadable):
        load_config(replace(local_approvals(root, home), open=Failing), None, environ={}, directories=home)


def test_of_many_who_trust_at_once_nobody_is_forgotten(tmp_path, home) -> None:
    roots = [tmp_path / f"w{number}" for number in range(8)]
    with ThreadPoolExecutor(len(roots)) as pool:
        list(pool.map(lambda root: trust(local_approvals(root, home), None), roots))
    assert all(is_trusted(local_approvals(root, home), None) for root in roots)


def test_carrel_home_holds_all_directories(tmp_path) -> None:
    found = user_directories({"CARREL_HOME": str(tmp_path), "HOME": "/elsewhere"})
    assert (found.config, found.cache, found.data) == tuple(
        tmp_path / name for name in ("config", "cache", "data")
    )


@pytest.mark.parametrize("variables", [{}, {"XDG_CONFIG_HOME": "/x/c", "XDG_DATA_HOME": "relative"}])
def test_else_they_are_where_the_platform_keeps_them(monkeypatch, variables) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    if "XDG_CONFIG_HOME" in variables:
        monkeypatch.setenv("XDG_CONFIG_HOME", variables["XDG_CONFIG_HOME"])
    found = user_directories({"HOME": str(Path.home())} | variables)
    assert found.config == platformdirs.user_config_path("carrel")
    assert found.cache == platformdirs.user_cache_path("carrel")
    assert found.data == platformdirs.user_data_path("carrel")


def test_every_value_and_every_table_says_what_it_is() -> None:
    def described(schema: dict):
        for name, rules in schema["properties"].items():
            yield name, rules["description"]
            yield from described({"properties": {}} | rules)
            yield from described({"properties": {}} | rules.get("items", {}))

    assert [name for name, text in described(json_schema()) if not text.endswith(".")] == []


def test_the_example_of_the_reference_is_valid() -> None:
    example = REFERENCE.read_text().split("```yaml\n")[1].split("```")[0]
    assert parse_text(example, layout=None, source="config.md")


def test_the_schema_knows_both_spellings_and_refuses_the_rest() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"time_zone", "timeZone", "maxContextTokens"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    agent = schema["properties"]["agents"]["items"]
    assert agent["required"] == ["id"]
    assert agent["properties"]["workspaceFiles"] == agent["properties"]["workspace_files"]
    json.dumps(schema)


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        (
            "carrel.settings",
            ["yaml", "difflib", "zoneinfo", "dataclasses", "pathlib", "carrel.settings.parse"],
        ),
        ("carrel.config", ["yaml", "difflib", "zoneinfo", "platformdirs", "shlex"]),
    ],
)
def test_starting_imports_no_more_than_it_needs(module, unwanted) -> None:
    program = f"import sys, {module}; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
