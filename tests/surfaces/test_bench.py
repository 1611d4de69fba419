"""`carrel bench` measures what a user would wait for, and leaves the user's workspace as it was."""

import os
import subprocess
import tempfile

import pytest

from carrel.cli.bench_measures import Subject

MODES = {"hybrid", "lexical", "literal", "regex"}


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where temporary directories go."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def test_a_workspace_is_measured_as_it_is_and_nothing_of_it_changes(cli, sample, scratch):
    assert cli("-C", sample, "search", "Ana").code == 0  # an index of its own, which must stay as it is too
    before = sample.snapshot()
    told = cli("-C", sample, "bench", "--json").document
    assert sample.snapshot() == before
    assert list(scratch.iterdir()) == []
    assert told["size"]["files"] >= 13
    assert told["size"]["chunks"] > 5
    assert told["size"]["tokens"] > 50
    names = {figure["name"] for figure in told["figures"]}
    assert MODES | {"made from nothing", "assemble, nothing has changed", "prepare"} <= names
    assert all(0 < figure["median"] <= figure["worst"] for figure in told["figures"])
    assert {"carrel", "python", "cores", "load"} <= set(told["machine"])


def test_without_a_workspace_one_is_made_up_and_shown_with_bars(cli, scratch, tmp_path):
    outcome = cli("bench", "--files", "12")
    assert (outcome.code, outcome.err) == (0, b"")
    lines = outcome.text.splitlines()
    assert " chunks, " in lines[0]
    longest = {line.split()[0]: line.count("█") for line in lines if "█" in line}
    assert longest["prepare"] > longest["record"]
    assert {child.name for child in tmp_path.iterdir()} <= {"home", "scratch"}
    assert list(scratch.iterdir()) == []


def test_it_is_the_owners(cli, sample):
    assert cli("-C", sample, "--scope", "shared", "bench", "--json").error["code"] == "hidden_by_scope"


def test_a_workspace_of_several_agents_asks_for_one(cli, sample, scratch):
    (sample / "carrel.yaml").write_text("layout: carrel\nagents: [{id: kate}, {id: ben}]\n")
    assert cli("-C", sample, "bench", "--json").error["code"] == "agent_required"
    assert list(scratch.iterdir()) == []


def test_where_it_is_run_no_code_is_taken_for_carrels(sample):
    (sample / "carrel").mkdir()
    (sample / "carrel/__init__.py").write_text("raise SystemExit(7)")
    command = Subject(sample, {}).command("--version")
    assert (
        subprocess.run(command, cwd=sample, env=os.environ, capture_output=True, check=False).returncode == 0
    )
