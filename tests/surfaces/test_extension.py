"""The package of examples/extension, installed from its wheel, does what the guide says; and one that fails is told of."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stubs import extensions as stub

from carrel import Workspace
from carrel.tools.access import NotForTools

OWN = "search: {embedder: acme}\nmodel: {name: acme-large, tokenizer: acme-bytes}\n"
RUN = "import pathlib\npathlib.Path(__file__).with_name('was-run').touch()\nraise RuntimeError('it broke')\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return stub.build(tmp_path_factory.mktemp("acme"))


@pytest.fixture
def acme(built, monkeypatch, cli, tmp_path):
    """The command line where carrel-acme is installed."""
    stub.install(monkeypatch, built)
    cli.set(ACME_FOLDER=str(tmp_path))
    yield cli
    for name in [name for name in sys.modules if name.startswith("carrel_acme")]:
        del sys.modules[name]


@pytest.fixture
def broken(tmp_path, monkeypatch, cli):
    """The command line where a package is installed whose code cannot even be imported."""
    points = "".join(
        f"[carrel.{sort}]\nbroken = broken_one:it\n"
        for sort in ("embedders", "tokenizers", "stores", "importers")
    )
    stub.install(monkeypatch, stub.make(tmp_path / "site", "carrel-broken", points, broken_one=RUN))
    return cli


def was_run(tmp_path):
    return (tmp_path / "site/was-run").exists()


def codes(outcome):
    return [finding["code"] for finding in outcome.document["findings"]]


def test_it_keeps_every_contract(built, tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            stub.EXAMPLE / "tests",
        ],
        env={**os.environ, "PYTHONPATH": str(built), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 100


def test_a_workspace_that_names_extensions_runs_none_of_their_code_until_it_is_trusted(broken, tmp_path):
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "AGENTS.md").write_text("Be kind.\n")
    (desk / "carrel.yaml").write_text("search: {embedder: broken}\nmodel: {tokenizer: broken}\n")
    for words in (("context", "report"), ("search", "kind"), ("health",), ("config", "show")):
        told = broken("-C", desk, *words, "--json")
        assert told.code == 0, told.warnings
    assert not was_run(tmp_path)
    assert "untrusted_setting" in codes(broken("-C", desk, "health", "--json"))


def test_what_is_broken_is_told_with_its_package_and_search_goes_on(broken, tmp_path):
    desk = tmp_path / "desk"
    broken("init", desk)
    (desk / "carrel.yaml").write_text("search: {embedder: broken}\n")
    broken("trust", desk)
    found = broken("-C", desk, "search", "the", "--json")
    assert found.code == 0
    assert was_run(tmp_path)
    assert "[extension_failed]" in found.warnings
    (desk / "carrel.yaml").write_text("model: {tokenizer: broken}\n")
    broken("trust", desk)
    error = broken("-C", desk, "context", "report", "--json").error
    assert error["code"] == "extension_failed"
    assert "carrel-broken 1.0 failed: RuntimeError: it broke" in error["message"]
    assert broken("-C", "broken://x", "context", "report", "--json").error["code"] == "extension_failed"
    imported = broken("-C", desk, "import", tmp_path, "--from", "broken", "--json")
    assert imported.error["code"] == "extension_failed"


def test_health_and_validate_name_what_is_used_and_what_is_missing(acme, tmp_path):
    desk = tmp_path / "desk"
    acme("init", desk)
    (desk / "carrel.yaml").write_text(OWN)
    acme("trust", desk)
    used = [f["message"] for f in acme("-C", desk, "health", "--json").document["findings"]]
    assert "The embedder is an extension: acme (carrel-acme 1.0)." in used
    assert "The tokenizer is an extension: acme-bytes (carrel-acme 1.0)." in used
    (desk / "carrel.yaml").write_text(OWN.replace("embedder: acme", "embedder: acne"))
    acme("trust", desk)
    checked = acme("-C", desk, "config", "validate", "--json").document["findings"]
    (told,) = [finding for finding in checked if finding["code"] == "unknown_extension"]
    assert "static" in told["hint"]
    assert "acme (carrel-acme 1.0)" in told["hint"]


def test_its_tokenizer_counts_and_its_embedder_finds(acme, tmp_path):
    desk = tmp_path / "desk"
    acme("init", desk)
    (desk / "carrel.yaml").write_text(OWN)
    acme("trust", desk)
    with Workspace.open(desk) as workspace:
        tokens = workspace.report().tokens
        text = "".join(str(message.content) for message in workspace.assemble().messages)
        assert tokens.exact
        assert abs(tokens.used - len(text.encode())) < len(text) // 10
        (desk / "note.md").write_text("The harbourmaster owns cranes.\n")
        assert workspace.search("harbourmasters crane", mode="vector").hits[0].chunk.path == "note.md"
        assert workspace.searching.index.status().embedder == "carrel-acme:trigrams-256"


def test_a_workspace_lives_in_its_store_and_is_found_there_again(acme, tmp_path):
    place = "acme://harbour"
    made = acme("-C", place, "init", "--json")
    assert made.code == 0, made.warnings
    (tmp_path / "notes.jsonl").write_text(json.dumps({"title": "Pier", "text": "It is closed on Mondays."}))
    assert acme("-C", place, "import", tmp_path, "--from", "acme-notes", "--mine").code == 0
    assert "closed on Mondays" in acme("-C", place, "search", "Mondays").text
    assert "closed on Mondays" in acme("-C", place, "files", "cat", "knowledge/Pier.md").text
    with Workspace.open(place) as workspace:
        workspace.record("s1", [{"role": "user", "content": "The heron sleeps in the boat house."}])
        assert workspace.root is None
        assert workspace.location == place
    with Workspace.open(f"{place}/") as workspace:
        assert workspace.location == place
        assert workspace.sessions.exists("s1")
        assert any("boat house" in hit.chunk.text for hit in workspace.search("heron").hits)
    assert not Path("acme:").exists()
    assert acme("-C", place, "health", "--json").document["structure_valid"]


def test_an_agent_with_a_folder_of_its_own_has_it_in_the_store(acme):
    place = "acme://team"
    acme("-C", place, "init")
    with Workspace.open(place) as workspace:
        now = workspace.files.read("carrel.yaml")
        assert now is not None
        agents = b"agents:\n- {id: ann}\n- {id: bob, workspace: rooms/bob}\n"
        workspace.files.write("carrel.yaml", agents, expect=now.digest)
    Workspace.trust(place)
    with Workspace.open(place, agent="bob") as bob:
        bob.put("AGENTS.md", b"Bob's own room.\n")
        bob.record("s1", [{"role": "user", "content": "Hello."}])
        assert bob.location == "acme://team/rooms/bob"
    with Workspace.open(place, agent="ann") as ann:
        assert ann.files.read("rooms/bob/AGENTS.md").data == b"Bob's own room.\n"
        assert ann.home.inner() == ["rooms/bob"]
        assert not ann.sessions.exists("s1")


def test_an_address_of_an_unknown_kind_is_told_those_there_are(acme):
    error = acme("-C", "zork://x", "context", "report", "--json").error
    assert error["code"] == "unknown_extension"
    assert "pg, acme (carrel-acme 1.0)" in error["hint"]
    assert acme("-C", "acme://../x", "context", "report", "--json").error["code"] == "bad_id"


def test_its_layout_is_data_and_needs_no_trust(acme, tmp_path):
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "PERSONA.md").write_text("You keep the harbour.\n")
    (desk / "ABOUT-ME.md").write_text("Luis.\n")
    (desk / "carrel.yaml").write_text("layout: acme-desk\n")
    told = acme("-C", desk, "context", "show")
    assert "# Persona\nYou keep the harbour." in told.text
    assert "carrel_acme" not in sys.modules
    assert "Luis" not in acme("-C", desk, "context", "show", "--scope", "shared").text


def test_an_agent_cannot_write_the_layout_that_says_what_is_private(cli, tmp_path):
    desk = tmp_path / "desk"
    cli("init", desk)
    layout = 'name: own\nmarker: "[cut]"\nmessages: [{parts: [{kind: documents, files: ["*.md"]}]}]\n'
    (desk / "my-layout.yaml").write_text(layout)
    (desk / "carrel.yaml").write_text("layout: ./my-layout.yaml\n")
    with Workspace.open(desk) as workspace:
        assert workspace.layout.name == "own"
        tools = workspace.tools()
        for path in ("my-layout.yaml", "other-layout.yaml"):
            with pytest.raises(NotForTools):
                tools.call("write_file", {"path": path, "content": "name: x"})
    assert (desk / "my-layout.yaml").read_text() == layout
    assert not (desk / "other-layout.yaml").exists()
    assert (
        cli("-C", desk, "files", "cat", "my-layout.yaml", "--scope", "shared", "--json").error["code"]
        == "hidden_by_scope"
    )
