"""The command as a program among others: pipes, colours, locales, signals, and the help it gives."""

import os
import pty
import subprocess

import click
import pytest
from tests.conftest import PATIENCE

from carrel.cli.main import carrel


def commands(group=carrel, path=()):
    """Every command there is, by the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = {" ".join(path): command for path, command in commands()}
READING = [
    ["context", "show", "--json"],
    ["context", "show", "--format", "messages"],
    ["context", "report", "--json"],
    ["config", "show", "--json"],
    ["config", "schema"],
    ["config", "schema", "--json"],
    ["config", "validate", "--json"],
    ["health", "--json"],
]


def in_a_terminal(process, *words, **env):
    """Run with standard output on a pseudo-terminal, and return what a person would see."""
    parent, child = pty.openpty()
    environment = process.environment({"TERM": "xterm-256color", **env})
    try:
        with subprocess.Popen(
            [process.script, *words],
            env=environment,
            cwd=process.cwd,
            stdout=child,
            stderr=child,
            stdin=child,
        ) as running:
            os.close(child)
            seen = b""
            try:
                while chunk := os.read(parent, 65_536):
                    seen += chunk
            except OSError:
                pass  # Linux says EIO where others say end of file
            assert running.wait(PATIENCE) == 0
    finally:
        os.close(parent)
    return seen


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_machine_gets_exactly_one_document(cli, sample, words):
    sample.put({"team.md": "<!-- priority: soon -->\nTwo people.\n"})
    outcome = cli("-C", sample, *words)
    assert outcome.code == 0
    assert isinstance(outcome.document, dict)
    assert outcome.text.endswith("}\n")


def test_making_and_trusting_answer_a_machine_too(cli, tmp_path):
    assert cli("init", tmp_path / "new", "--json").document["created"]
    assert cli("trust", tmp_path / "new", "--json").document["trusted"] is True


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_examples(cli, name):
    outcome = cli(*name.split(), "--help")
    assert outcome.code == 0
    assert outcome.err == b""
    assert f"Usage: carrel {name}" in outcome.text
    assert "Examples:" in outcome.text
    assert f"carrel {name}" in outcome.text.partition("Examples:")[2] or "carrel -C" in outcome.text


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_is_explained(name):
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts}"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["health", "-h"]], ids=" ".join)
def test_help_is_a_success_on_standard_output(cli, words):
    outcome = cli(*words)
    assert outcome.code == 0
    assert outcome.text.startswith("Usage: carrel")


def test_the_list_of_commands_is_complete_and_in_one_line_each(cli):
    text = cli("--help").text
    for name in (name for name in COMMANDS if " " not in name):
        assert f"\n  {name} " in text


def test_the_version_is_told(cli):
    from carrel import __version__  # noqa: PLC0415

    assert cli("--version").text == f"carrel, version {__version__}\n"


def test_a_module_is_the_same_as_the_command(process, sample):
    words = ("-C", sample, "context", "report", "--json")
    assert process(*words, python=("-m", "carrel")) == process(*words)


def test_a_pipe_gets_no_colours(process, sample):
    for words in (["context", "report"], ["health"], ["config", "show"]):
        assert b"\x1b" not in process("-C", sample, *words).out


def test_a_terminal_gets_colours_unless_told_not_to(process, sample):
    assert b"\x1b[" in in_a_terminal(process, "-C", sample, "context", "report")
    assert b"\x1b" not in in_a_terminal(process, "-C", sample, "context", "report", NO_COLOR="1")
    assert b"\x1b[" in in_a_terminal(process, "-C", sample, "context", "report", NO_COLOR="")


def test_standard_error_gets_no_colours_that_standard_output_does_not(process, sample):
    outcome = process("-C", sample, "context", "report", "--session", "..")
    assert outcome.code == 2
    assert b"\x1b" not in outcome.err


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8"])
def test_output_is_utf_8_in_any_locale(process, sample, locale):
    usual = process("-C", sample, "context", "show", "--query", "¿Dónde? 🐙")
    plain = process("-C", sample, "context", "show", "--query", "¿Dónde? 🐙", env={"LC_ALL": locale})
    assert usual.code == plain.code == 0
    assert "🐙" in plain.text
    assert plain.text == usual.text


def test_text_in_any_locale_can_be_a_picture(process, sample):
    outcome = process("-C", sample, "context", "report", env={"LC_ALL": "POSIX"})
    assert outcome.code == 0
    assert "█" in outcome.text


def test_a_reader_that_goes_away_is_no_error(process, sample):
    sample.put({"SOUL.md": "word " * 15_000})
    with subprocess.Popen(
        [process.script, "-C", sample, "context", "show"],
        env=process.environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        said = running.stderr.read()
        running.wait(PATIENCE)
    assert said == b""


def test_a_full_disk_is_a_typed_failure(process, sample):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [process.script, "-C", sample, "context", "show"],
            env=process.environment({}),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 2
    assert b"\n  hint: " in done.stderr
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert b"internal" not in done.stderr


def test_no_standard_output_at_all_is_no_traceback(process, sample):
    command = f'exec "{process.script}" -C "{sample}" context show >&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=process.environment({}),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert b"internal" not in done.stderr
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 2
    assert b"\n  hint: " in done.stderr


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&-"])
def test_streams_that_are_closed_are_no_traceback(process, sample, closed):
    sample.put({"team.md": "<!-- priority: soon -->\nTwo people.\n"})
    command = f'exec "{process.script}" -C "{sample}" context show {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=process.environment({}),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == (1 if closed.startswith(">") else 0)
    assert b"Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    "words",
    [
        *READING[:4],
        ["config", "validate", "--json"],
        ["health", "--json"],
        ["--json", "context"],
        ["--json", "frobnicate"],
        ["--json", "--scope", "x", "health"],
        ["context", "explain", "AGENTS.md", "--json"],
        ["context", "diff", "--scopes", "--json"],
        ["trust", "--json"],
        ["init", "--json"],
        ["restore", "--json"],
    ],
    ids=" ".join,
)
def test_every_document_says_its_version(cli, sample, words):
    assert cli(*words, cwd=sample.path).document["schema_version"] == 1


def test_bytes_that_are_no_text_may_be_a_query(process, sample):
    outcome = process("-C", sample, "context", "show", "--json", "--query", b"caf\xe9?")
    assert outcome.code == 0
    asked = outcome.document["messages"][-1]["content"][0]["text"]
    assert asked.startswith("caf")
    assert asked.encode()  # what a provider could be sent
    assert process("-C", sample, "context", "show", "--query", b"caf\xe9?").code == 0


@pytest.mark.parametrize("option", ["--session", "--agent", "--scope", "-C", "--format"])
def test_bytes_that_are_no_text_are_a_typed_error_elsewhere(process, sample, option):
    words = [b"context", b"show", b"--json", b"-C", os.fsencode(sample), option.encode(), b"caf\xe9"]
    outcome = process(*words)
    assert outcome.code in (2, 3)
    assert outcome.error["code"] in ("bad_id", "unknown_agent", "unknown_scope", "root_missing", "usage")


def test_a_workspace_whose_name_is_no_text_can_be_used(process, tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    assert process("init", folder).code == 0
    outcome = process("-C", folder, "context", "report", "--json")
    assert outcome.code == 0
    assert outcome.document["tokens"]["used"] > 0
    assert process("-C", folder, "config", "show", "--json").code == 0
    assert process("-C", folder, "context", "show", "--prepare", "--session", "s1").code == 0


def test_a_directory_that_is_gone_is_a_typed_error(process, tmp_path):
    command = f'mkdir gone && cd gone && rmdir ../gone && exec "{process.script}" --json context report'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=process.environment({}),
        cwd=tmp_path,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 3
    assert b"internal" not in done.stdout
