"""Shell completion: what the keys of a real bash bring, and that a broken workspace disturbs nobody."""

import subprocess

import click
import pytest

from carrel.cli.completion import SHELLS
from carrel.cli.main import carrel as program
from carrel.cli.verbs import BELOW, offer

COMPLETE = """
eval "$(carrel completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_carrel_completion carrel
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def bash(process, cli):
    def bash(*words):
        """What bash offers after these words, the last of them begun."""
        path = f"{process.script.parent}:/usr/bin:/bin"
        command = ["bash", "--norc", "-c", COMPLETE, "bash", "carrel", *map(str, words)]
        env = process.environment({"PATH": path})
        done = subprocess.run(command, env=env, cwd=process.cwd, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return bash


def test_bash_completes_verbs_options_and_names_of_the_workspace(bash, cli, sample):
    cli("trust", sample)
    cli("-C", sample, "context", "show", "--prepare", "--session", "monday")
    sample.put({"agents/kate/sessions/monday.log.jsonl": ""})
    assert bash("mem") == ["memory"]
    assert bash("memory", "re") == ["rename", "replace", "review"]
    assert bash("-C", sample, "memory", "review", "a") == ["approve"]
    assert "--dry-run" in bash("files", "rm", "--")
    assert bash("-C", sample, "files", "cat", "know") == ["knowledge/"]
    assert bash("-C", sample, "files", "cat", "knowledge/a") == ["knowledge/api.md"]
    assert bash("-C", sample, "--agent", "") == ["kate"]
    assert bash("-C", sample, "sessions", "show", "") == ["monday"]
    assert bash("init", "--layout", "ne") == ["nexo"]
    assert bash("--scope", "s") == ["shared"]
    assert bash("sessions", "export", "monday", "--t") == ["--to"]
    assert bash("sessions", "export", "monday", "--ou") == []


def test_where_there_is_nothing_to_offer_nothing_is_said(bash, desk):
    desk.put({"carrel.yaml": "layout: [\n"})
    assert bash("-C", desk, "--agent", "") == []
    assert bash("-C", desk / "nowhere", "sessions", "show", "") == []
    assert bash("sessions", "show", "s1", "") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_there_is_a_script_for_each_shell(cli, shell):
    outcome = cli("completion", shell)
    assert "_CARREL_COMPLETE" in outcome.text
    assert cli("completion", shell, "--json").document["script"] == outcome.text


def test_what_is_offered_before_anything_is_loaded_is_what_there_is():
    context = click.Context(program)
    groups = {name: program.get_command(context, name) for name in program.list_commands(context)}
    real = {
        name: group.list_commands(context) for name, group in groups.items() if isinstance(group, click.Group)
    }
    assert {name: verbs.split() for name, verbs in BELOW.items()} == {
        name: sorted(verbs) for name, verbs in real.items()
    }


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["carrel", "sw"], ["plain,sweep"]),
        (["carrel", "dream", ""], ["plain,candidates", "plain,revert", "plain,run", "plain,status"]),
        (["carrel", "sweep", ""], None),
        (["carrel", "--js"], None),
        (["carrel", "-C", "x", ""], None),
        (["carrel", "memory", "review", ""], None),
    ],
)
def test_the_short_way_knows_its_limits(words, offered):
    assert offer(words, len(words) - 1, "bash_complete") == offered


def test_bash_completes_skills_agents_and_tools(bash, cli, tmp_path):
    desk = tmp_path / "desk"
    cli("init", desk)
    assert bash("-C", desk, "skills", "show", "") == ["weekly-review"]
    assert bash("-C", desk, "skills", "lint", "w") == ["weekly-review"]
    assert bash("-C", desk, "agents", "show", "m") == ["main"]
    assert bash("-C", desk, "tools", "call", "who") == ["who_am_i"]
