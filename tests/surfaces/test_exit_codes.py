"""Exit codes and errors: 0 ok, 1 unavailable, 2 usage, 3 not found, 4 check failed, 5 conflict, 6 refused."""

import json
import os
import subprocess

import pytest

from carrel import errors
from carrel.cli.errors import exit_code

FAMILIES = {
    errors.Unavailable: 1,
    errors.UsageError: 2,
    errors.NotFound: 3,
    errors.CheckFailed: 4,
    errors.Conflict: 5,
    errors.Refused: 6,
    errors.CarrelError: 1,
}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_family_of_errors_has_its_exit_code(family):
    class Leaf(family):
        code = "leaf"

    assert exit_code(family("It failed.")) == FAMILIES[family]
    assert exit_code(Leaf("It failed.")) == FAMILIES[family]


def test_success_is_0(cli, sample):
    assert cli("-C", sample, "context", "report").code == 0


def test_unavailable_is_1(cli, sample):
    (sample / "carrel.yaml").write_bytes(b"layout: \xff\n")
    outcome = cli("-C", sample, "context", "report", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "unreadable_settings")


def test_usage_is_2(cli, sample):
    outcome = cli("-C", sample, "context", "report", "--session", "../x", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "bad_id")


def test_not_found_is_3(cli, tmp_path):
    outcome = cli("-C", tmp_path / "nowhere", "context", "report", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "root_missing")
    assert "carrel init" in outcome.error["hint"]


def test_conflict_is_5(cli, sample):
    data = cli.home / "data"
    data.mkdir(parents=True)
    (data / "trust.json").write_text('{"version": 99, "workspaces": {}}')
    outcome = cli("trust", sample, "--json")
    assert (outcome.code, outcome.error["code"]) == (5, "newer_trust_file")
    assert json.loads((data / "trust.json").read_text())["version"] == 99


def test_refused_is_6(cli, desk, tmp_path):
    (tmp_path / "theirs.md").write_text("Not yours.\n")
    (desk / "AGENTS.md").symlink_to(tmp_path / "theirs.md")
    outcome = cli("init", desk, "--json")
    assert (outcome.code, outcome.error["code"]) == (6, "link_outside")
    assert (tmp_path / "theirs.md").read_text() == "Not yours.\n"


def test_an_error_for_a_person_is_on_standard_error_with_its_code_and_a_hint(cli, tmp_path):
    outcome = cli("-C", tmp_path / "nowhere", "health")
    assert outcome.out == b""
    first, second = outcome.warnings.splitlines()
    assert first.startswith("error[root_missing]: ")
    assert second.startswith("  hint: ")


def test_an_error_for_a_machine_is_one_document_on_standard_output(cli, tmp_path):
    outcome = cli("--json", "-C", tmp_path / "nowhere", "health")
    assert outcome.error["code"] == "root_missing"
    assert outcome.err == b""


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["context", "frobnicate"],
        ["health", "--frobnicate"],
        ["health", "surplus"],
        ["context", "show", "--format", "frobnicate"],
        ["-C"],
        ["context", "show", "--prepare"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_a_usage_error_with_a_way_out(cli, sample, words):
    for_people = cli(*words, cwd=sample.path)
    assert for_people.code == 2
    assert for_people.out == b""
    assert "error[usage]" in for_people.warnings
    assert "--help" in for_people.warnings
    for_machines = cli("--json", *words)
    assert for_machines.code == 2
    assert for_machines.error["code"] == "usage"
    assert "--help" in for_machines.error["hint"]


@pytest.mark.parametrize("words", [[], ["context"], ["config"]], ids=" ".join)
def test_a_command_without_its_verb_shows_help(cli, words):
    outcome = cli(*words)
    assert outcome.code == 2
    assert "Usage: carrel" in outcome.text + outcome.warnings
    assert "Commands:" in outcome.text + outcome.warnings


@pytest.mark.parametrize("words", [[], ["context"], ["config"]], ids=" ".join)
def test_a_command_without_its_verb_is_one_document_for_a_machine_too(cli, words):
    outcome = cli("--json", *words)
    assert outcome.error["code"] == "usage"


def test_a_failure_nobody_foresaw_is_still_a_message(cli, sample, monkeypatch):
    def explode(*_: object, **__: object):
        raise RuntimeError("boom")

    monkeypatch.setattr("carrel.app.Workspace.open", explode)
    outcome = cli("-C", sample, "health", "--json")
    assert outcome.code == 1
    assert outcome.document["error"]["code"] == "internal"
    assert "RuntimeError: boom" in outcome.document["error"]["message"]
    assert b"Traceback" not in outcome.err


def test_interrupting_ends_with_130_and_no_traceback(cli, sample, monkeypatch):
    def interrupt(*_: object, **__: object):
        raise KeyboardInterrupt

    monkeypatch.setattr("carrel.app.Workspace.open", interrupt)
    outcome = cli("-C", sample, "health")
    assert outcome.code == 130
    assert b"Traceback" not in outcome.err


@pytest.mark.parametrize("words", [("health", "--json"), ("no-such-command", "--json"), ("health",)])
def test_an_error_that_nobody_reads_leaves_no_traceback(process, tmp_path, words):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [process.script, "-C", tmp_path / "nowhere", *words],
            env=process.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
