"""`carrel integrate`: hooks in the settings of a harness, put in once, and taken out without a trace."""

import json
import os
import shlex
import sys

import pytest

from carrel.adapters.harness.settings import is_command

HARNESSES = ("claude", "codex", "cursor")
FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}
THEIRS = {
    "claude": {
        "model": "opus",
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
            "PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}],
        },
    },
    "codex": {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done", "timeout": 9}]}]}},
    "cursor": {
        "version": 1,
        "hooks": {"stop": [{"command": "say done"}], "preCompact": [{"command": "keep"}]},
    },
}


@pytest.fixture
def project(tmp_path, cli):
    cli.set(HOME=str(tmp_path / "me"), CLAUDE_CONFIG_DIR=None, CODEX_HOME=None)
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def put(project, harness, text):
    path = project / FILES[harness]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def commands(path, harness):
    """Every command in a settings file, ours and others."""
    found = []
    for event, entries in json.loads(path.read_text())["hooks"].items():
        for entry in entries:
            found += [(event, each["command"]) for each in entry.get("hooks", [entry])]
    ours = {event: command for event, command in found if is_command(command, harness)}
    return ours, [each for each in found if not is_command(each[1], harness)]


@pytest.mark.parametrize("harness", HARNESSES)
def test_hooks_are_put_in_once_and_others_stay(cli, project, harness):
    path = put(project, harness, json.dumps(THEIRS[harness], indent=4))
    before = path.read_bytes()
    assert cli("integrate", harness, "install", cwd=project).code == 0
    first = path.read_bytes()
    ours, others = commands(path, harness)
    assert len(ours) == 4
    assert {shlex.split(command)[2] for command in ours.values()} == {
        "session-start",
        "prompt",
        "pre-compact",
        "stop",
    }
    assert ("Stop" if harness != "cursor" else "stop", "say done") in others
    outcome = cli("integrate", harness, "install", "--json", cwd=project).document
    assert outcome["changed"] is False
    assert path.read_bytes() == first
    backups = list(path.parent.glob("*.bak"))
    assert [backup.read_bytes() for backup in backups] == [before]


@pytest.mark.parametrize("harness", HARNESSES)
def test_what_was_put_in_is_taken_out_to_the_byte(cli, project, harness):
    theirs = {key: value for key, value in THEIRS[harness].items() if key != "hooks"}
    for text in (
        json.dumps(theirs),
        json.dumps(theirs, indent="\t") + "\n",
        "{}",
        "\ufeff" + json.dumps(theirs),
        '{\r\n  "a": [1,\r\n 2]\r\n}\r\n',
    ):
        path = put(project, harness, text)
        before = path.read_bytes()
        assert cli("integrate", harness, "install", cwd=project).code == 0
        assert path.read_bytes() != before
        assert cli("integrate", harness, "remove", cwd=project).code == 0
        assert path.read_bytes() == before


@pytest.mark.parametrize("harness", HARNESSES)
def test_only_what_was_ours_is_taken_out(cli, project, harness):
    path = put(project, harness, json.dumps(THEIRS[harness], indent=2))
    cli("integrate", harness, "install", cwd=project)
    cli("integrate", harness, "remove", cwd=project)
    assert json.loads(path.read_text()) == THEIRS[harness]


def test_a_group_that_others_put_something_into_keeps_that(cli, project):
    cli("integrate", "claude", "install", cwd=project)
    path = project / FILES["claude"]
    settings = json.loads(path.read_text())
    settings["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    path.write_text(json.dumps(settings))
    cli("integrate", "claude", "remove", cwd=project)
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


@pytest.mark.parametrize("harness", HARNESSES)
def test_where_there_was_nothing_nothing_is_left(cli, project, harness):
    assert cli("integrate", harness, "install", cwd=project).code == 0
    assert (project / FILES[harness]).is_file()
    assert "json: would be removed" in cli("integrate", harness, "remove", "--dry-run", cwd=project).text
    assert "json: removed" in cli("integrate", harness, "remove", cwd=project).text
    assert not (project / FILES[harness]).exists()
    assert cli("integrate", harness, "remove", cwd=project).code == 0


def test_a_dry_run_shows_the_difference_and_changes_nothing(cli, project):
    path = put(project, "claude", '{\n  "model": "opus"\n}\n')
    outcome = cli("integrate", "claude", "install", "--dry-run", cwd=project)
    assert '+    "SessionStart": [' in outcome.text
    assert "would be changed" in outcome.text
    assert path.read_text() == '{\n  "model": "opus"\n}\n'
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]
    document = cli("integrate", "claude", "install", "--dry-run", "--json", cwd=project).document
    assert (document["changed"], document["would_change"]) == (False, True)
    assert "+++" in document["diff"]


BROKEN = {
    "a comment": '{\n  // mine\n  "model": "opus"\n}\n',
    "a comma too many": '{"model": "opus",}',
    "half of it": '{"model": ',
    "a list": "[]",
    "a key twice": '{"hooks": {}, "hooks": {"Stop": []}}',
    "hooks that are a list": '{"hooks": []}',
    "an event that is an object": '{"hooks": {"Stop": {}}}',
    "a group that is a word": '{"hooks": {"Stop": ["say"]}}',
    "a group whose hooks are a word": '{"hooks": {"Stop": [{"hooks": "say"}]}}',
    "no text": b"\xff\xfe{}",
    "no number": '{"a": NaN}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("case", BROKEN)
def test_settings_with_comments_or_errors_are_left_untouched(cli, project, case):
    path = put(project, "claude", BROKEN[case])
    before = path.read_bytes()
    outcome = cli("integrate", "claude", "install", "--json", cwd=project)
    assert outcome.error["code"] == "harness_settings"
    assert outcome.code == 6
    assert str(path) in outcome.error["message"]
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]
    assert cli("integrate", "claude", "status", "--json", cwd=project).code == 0


def test_the_hooks_say_what_was_said_at_the_installation(cli, project, sample):
    outcome = cli(
        "-C",
        sample,
        "integrate",
        "claude",
        "install",
        "--user",
        "--scope",
        "main",
        "--agent",
        "kate",
        cwd=project,
    )
    assert outcome.code == 0
    path = project.parent / "me" / FILES["claude"]
    ours, _ = commands(path, "claude")
    for command in ours.values():
        words = shlex.split(command)
        assert words[words.index("-C") + 1] == str(sample)
        assert words[words.index("--scope") + 1] == "main"
        assert words[words.index("--agent") + 1] == "kate"
    cli("integrate", "claude", "install", "--user", cwd=project)
    ours, _ = commands(path, "claude")
    assert all("-C" not in shlex.split(command) for command in ours.values())


def test_status_tells_where_what_stands(cli, project):
    def states():
        places = cli("integrate", "claude", "status", "--json", cwd=project).document["places"]
        return {each["where"]: each["state"] for each in places}

    assert states() == {"project": "absent", "user": "absent"}
    cli("integrate", "claude", "install", cwd=project)
    assert states() == {"project": "installed", "user": "absent"}
    path = project / FILES["claude"]
    settings = json.loads(path.read_text())
    del settings["hooks"]["Stop"]
    path.write_text(json.dumps(settings))
    assert states() == {"project": "partial", "user": "absent"}
    path.write_text("{}")
    assert states() == {"project": "none", "user": "absent"}
    path.write_text("{ // }")
    assert states() == {"project": "unreadable", "user": "absent"}
    assert "not plain JSON" in cli("integrate", "claude", "status", cwd=project).text


def test_settings_that_are_a_link_stay_one(cli, project, tmp_path):
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}\n")
    path = project / FILES["claude"]
    path.parent.mkdir()
    path.symlink_to(kept)
    assert cli("integrate", "claude", "install", cwd=project).code == 0
    assert path.is_symlink()
    assert "SessionStart" in kept.read_text()


@pytest.mark.parametrize("link", [".claude", ".claude/settings.json"])
def test_a_link_that_leads_nowhere_is_not_followed(cli, project, tmp_path, link):
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(tmp_path / "gone")
    done = cli("integrate", "claude", "install", "--json", cwd=project)
    assert done.error["code"] == "harness_settings"
    assert "is a link to" in done.error["message"]
    assert "remove the link" in done.error["hint"]
    assert not (tmp_path / "gone").exists()
    (place, _) = cli("integrate", "claude", "status", "--json", cwd=project).document["places"]
    assert place["state"] == "unreadable"


def test_an_unknown_harness_and_two_places_are_usage_errors(cli, project):
    assert cli("integrate", "emacs", "install", "--json", cwd=project).error["code"] == "unknown_harness"
    assert cli("integrate", "claude", "install", "--user", "--project", ".", "--json", cwd=project).code == 2
    assert cli("integrate", "claude", "destroy", "--json", cwd=project).code == 2


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("carrel hook stop --harness claude", True),
        ("/opt/x/carrel hook stop --scope main --harness=claude", True),
        ("'/with space/python' -m carrel hook stop --harness claude", True),
        ("'/with space/python' -P -m carrel hook stop --harness claude", True),
        ("carrel -C /x --scope main hook stop --harness claude", True),
        ("cd /src/carrel && carrel hook --harness claude stop || true", True),
        ("carrel hook stop --harness codex", False),
        ("carrel search hook stop --harness claude", False),
        ("mycarrel hook stop --harness claude", False),
        ("carrel hook lunch --harness claude", False),
        ("echo carrel hook", False),
        ("hook stop --harness claude", False),
        ("carrel 'hook", False),
        ("", False),
    ],
)
def test_ours_is_told_from_others(command, expected):
    assert is_command(command, "claude") is expected


def test_a_hook_takes_no_code_of_the_project_it_is_run_in_for_carrels(cli, project, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))  # no script stands beside it
    told = cli("integrate", "claude", "install", "--dry-run", cwd=project).text
    assert "python -P -m carrel " in told


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("indent", [None, 3])
def test_what_is_taken_out_leaves_the_file_to_the_byte_and_nothing_beside_it(cli, project, harness, indent):
    path = put(project, harness, json.dumps(THEIRS[harness], indent=indent))
    before = path.read_bytes()
    for _ in range(2):
        assert cli("integrate", harness, "install", cwd=project).code == 0
        assert cli("integrate", harness, "remove", cwd=project).code == 0
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]


def test_what_was_changed_meanwhile_stays_and_so_does_the_copy(cli, project):
    path = put(project, "claude", json.dumps(THEIRS["claude"]))
    assert cli("integrate", "claude", "install", cwd=project).code == 0
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "model": "haiku"}))
    assert cli("integrate", "claude", "remove", cwd=project).code == 0
    assert json.loads(path.read_text()) == {**THEIRS["claude"], "model": "haiku"}
    assert len(list(path.parent.glob("*.bak"))) == 2


def test_settings_that_cannot_be_read_are_told_and_left(cli, project):
    path = project / FILES["claude"]
    for make in (path.mkdir, lambda: os.mkfifo(path), lambda: path.write_bytes(b" " * 5_000_000)):
        path.parent.mkdir(exist_ok=True)
        make()
        assert (
            cli("integrate", "claude", "install", "--json", cwd=project).error["code"] == "harness_settings"
        )
        (place, _) = cli("integrate", "claude", "status", "--json", cwd=project).document["places"]
        assert place["state"] == "unreadable"
        path.rmdir() if path.is_dir() else path.unlink()
    path.parent.rmdir()
    path.parent.write_text("mine")
    done = cli("integrate", "claude", "install", "--dry-run", "--json", cwd=project)
    assert done.error["code"] == "harness_settings"
    assert path.parent.read_text() == "mine"


def test_a_change_that_fails_leaves_no_copy(cli, project):
    path = put(project, "claude", "{}")
    path.chmod(0o400)
    if cli("integrate", "claude", "install", cwd=project).code:
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("theirs", [True, False])
def test_hooks_that_were_installed_anew_with_other_words_leave_nothing_behind_either(
    cli, project, harness, theirs
):
    path = put(project, harness, json.dumps(THEIRS[harness])) if theirs else project / FILES[harness]
    before = path.read_bytes() if theirs else None
    for options in ((), ("--scope", "main"), ("--agent", "main"), ()):
        assert cli("integrate", harness, "install", *options, cwd=project).code == 0
        assert len(list(path.parent.glob("*.bak"))) == theirs
    assert cli("integrate", harness, "remove", cwd=project).code == 0
    assert (path.read_bytes() if path.exists() else None) == before
    assert list(path.parent.iterdir()) == ([path] if theirs else [])


@pytest.mark.parametrize("action", ["install", "status", "remove"])
def test_a_project_that_is_not_there_is_told_and_not_made(cli, project, action):
    done = cli("integrate", "claude", action, "--project", project / "typo", "--json")
    assert (done.error["code"], done.code) == ("root_missing", 3)
    assert not (project / "typo").exists()
    (project / "file").write_text("mine")
    done = cli("integrate", "claude", action, "--project", project / "file", "--json")
    assert (done.error["code"], done.code) == ("root_not_directory", 2)


def test_a_workspace_that_is_named_and_not_there_is_told_before_anything_is_written(cli, project):
    done = cli("-C", project / "typo", "integrate", "claude", "install", "--json", cwd=project)
    assert (done.error["code"], done.code) == ("root_missing", 3)
    assert list(project.iterdir()) == []


def test_hooks_that_will_find_no_workspace_are_told(cli, project):
    assert "no_workspace_around" in cli("integrate", "claude", "install", cwd=project).warnings
    assert "no_workspace_around" not in cli("integrate", "claude", "install", "--user", cwd=project).warnings
    assert cli("init", project).code == 0
    assert "no_workspace_around" not in cli("integrate", "claude", "install", cwd=project).warnings


def test_an_address_of_a_workspace_stays_one(cli, project):
    told = cli("-C", "pg://acme/desk", "integrate", "claude", "install", "--dry-run", cwd=project).text
    assert "--harness claude -C pg://acme/desk" in told


def test_a_carrel_of_a_virtual_environment_is_found_by_other_shells_too(cli, project, tmp_path, monkeypatch):
    script = tmp_path / "env/bin/carrel"
    script.parent.mkdir(parents=True)
    script.touch(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    installed_for_all = cli("integrate", "claude", "install", "--user", "--dry-run", cwd=project)
    assert '"carrel hook stop' in installed_for_all.text  # what stands there without one is for every shell
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    assert f'"{script} hook stop' in cli("integrate", "claude", "install", "--user", "--dry-run").text
    shared = cli("integrate", "claude", "install", "--dry-run", cwd=project)
    assert '"carrel hook stop' in shared.text  # others of the project have it elsewhere
    assert "carrel_in_environment" in shared.warnings
