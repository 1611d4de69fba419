"""What permissions forbid: told apart from absent and empty, and never in the way of the rest."""

import sys
from pathlib import Path

import pytest

FILES = {
    "carrel.yaml": "layout: carrel\n",
    "AGENTS.md": "Be brief.\n",
    "SOUL.md": "Kind.\n",
    "memory/2026-04-24.md": "- wrote tests\n",
    "knowledge/KNOWLEDGE.md": "Start here.\n",
    "skills/deploy/SKILL.md": "---\ndescription: Ship it\n---\n",
}


@pytest.fixture
def theirs(desk, process):
    process.home.mkdir()
    yield desk.put(FILES)
    for path in (desk.path.parent, desk.path, *desk.path.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)  # so that pytest can tidy up, whoever runs it


@pytest.fixture
def carrel(process):
    return lambda *words, **options: process(*words, privileged=False, **options)


def rows(outcome):
    assert outcome.code == 0, outcome.warnings + outcome.text
    return {row["name"]: row for row in outcome.document["sections"]}


def test_a_file_without_permission_is_unreadable_and_the_rest_is_read(carrel, theirs):
    (theirs / "AGENTS.md").chmod(0)
    found = rows(carrel("-C", theirs, "context", "report", "--json"))
    assert (found["AGENTS.md"]["state"], found["AGENTS.md"]["reason"]) == ("unreadable", "permission")
    assert found["SOUL.md"]["state"] == "included"
    health = carrel("-C", theirs, "health", "--json").document
    assert ("unreadable", "AGENTS.md") in {(f["code"], f["path"]) for f in health["findings"]}


@pytest.mark.parametrize("folder", ["memory", "knowledge", "skills"])
@pytest.mark.parametrize("mode", [0o000, 0o111])
def test_a_folder_without_permission_is_told(carrel, theirs, folder, mode):
    (theirs / folder).chmod(mode)
    outcome = carrel("-C", theirs, "context", "report", "--json")
    troubled = [
        r for name, r in rows(outcome).items() if name.startswith(folder) and r["state"] == "unreadable"
    ]
    assert troubled or outcome.document["warnings"]
    health = carrel("-C", theirs, "health", "--json").document
    assert any((f["path"] or "").startswith(folder) for f in health["findings"])


def test_a_workspace_without_permission_is_a_typed_error(carrel, theirs):
    theirs.path.chmod(0)
    outcome = carrel("-C", theirs, "context", "report", "--json")
    theirs.path.chmod(0o755)
    assert (outcome.code, outcome.error["code"]) == (1, "unreadable")


def test_a_workspace_whose_names_may_not_be_listed_is_told(carrel, theirs):
    theirs.path.chmod(0o111)
    outcome = carrel("-C", theirs, "context", "report", "--json")
    theirs.path.chmod(0o755)
    assert outcome.code == 1 or outcome.document["warnings"]


def test_settings_without_permission_are_a_typed_error(carrel, theirs):
    (theirs / "carrel.yaml").chmod(0)
    outcome = carrel("-C", theirs, "context", "report", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "unreadable")
    assert "carrel.yaml" in outcome.error["message"]


def test_rules_for_ignoring_without_permission_are_told(carrel, theirs):
    (theirs / ".carrelignore").write_text("SOUL.md\n")
    (theirs / ".carrelignore").chmod(0)
    assert carrel("-C", theirs, "context", "report", "--json").document["warnings"]


def test_a_directory_below_a_closed_one_can_be_worked_in(carrel, theirs):
    (theirs / "closed/open").mkdir(parents=True)
    command = 'cd closed/open && chmod 0 .. && exec "$@"'
    python = ("-c", "import os, sys; os.execv('/bin/sh', ['/bin/sh', *sys.argv[1:]])")
    words = ("-c", command, "sh", Path(sys.executable).with_name("carrel"), "--json", "context", "report")
    outcome = carrel(*words, python=python, cwd=theirs.path)
    assert outcome.out
    assert b"internal" not in outcome.out + outcome.err


@pytest.mark.parametrize("kind", ["unwritable", "missing parent"])
def test_reading_works_without_a_home_to_write_to(carrel, theirs, kind):
    home = theirs.path.parent / "home"
    if kind == "missing parent":
        home.rmdir()
        theirs.path.parent.chmod(0o555)
    else:
        home.chmod(0o555)
    outcome = carrel("-C", theirs, "context", "report", "--json")
    assert rows(outcome)["AGENTS.md"]["state"] == "included"
    assert "cache_unavailable" in {w["code"] for w in outcome.document["warnings"]}
    assert "Be brief." in carrel("-C", theirs, "context", "show", "--session", "s1").text
    assert carrel("-C", theirs, "health", "--json").code == 0
    assert carrel("-C", theirs, "config", "show", "--json").code == 0
    prepared = carrel("-C", theirs, "context", "show", "--prepare", "--session", "s1", "--json")
    assert prepared.code == 1
    assert prepared.error["code"] == "database_unavailable"
    trusted = carrel("trust", theirs, "--json")
    assert trusted.code == 1
    assert trusted.error["code"] in ("read_only", "disk_failed", "unreadable")
    theirs.path.parent.chmod(0o755)


def test_a_file_in_the_place_of_the_home_is_a_typed_error(carrel, theirs):
    home = theirs.path.parent / "home"
    home.rmdir()
    home.write_text("x")
    for words in (["-C", theirs, "context", "report"], ["trust", theirs], ["init", theirs]):
        outcome = carrel(*words, "--json")
        assert outcome.code == 1
        assert str(home) in outcome.error["message"]
    assert home.read_text() == "x"


def test_making_a_workspace_where_nothing_may_be_made_is_a_typed_error(carrel, theirs):
    theirs.path.parent.chmod(0o555)
    outcome = carrel("init", theirs.path.parent / "new", "--json")
    theirs.path.parent.chmod(0o755)
    assert outcome.code == 2
    assert outcome.error["code"] == "cannot_make_workspace"


def test_adding_to_a_workspace_that_may_not_be_written_is_a_typed_error(carrel, theirs):
    theirs.path.chmod(0o555)
    outcome = carrel("init", theirs, "--json")
    theirs.path.chmod(0o755)
    assert outcome.code == 1
    assert outcome.error["code"] in ("read_only", "disk_failed", "unreadable")


def test_a_trusted_workspace_on_a_read_only_disk_can_be_read(carrel, theirs):
    assert carrel("trust", theirs).code == 0
    theirs.path.chmod(0o555)
    outcome = carrel("-C", theirs, "context", "report", "--json")
    theirs.path.chmod(0o755)
    assert rows(outcome)["AGENTS.md"]["state"] == "included"
    assert "cache_unavailable" in {w["code"] for w in outcome.document["warnings"]}


@pytest.mark.parametrize(
    ("words", "code"), [(("backup", "create", "--to"), "read_only"), (("import",), "no_source")]
)
def test_a_place_that_may_not_be_looked_at_is_a_typed_error(carrel, theirs, words, code):
    assert carrel("trust", theirs).code == 0
    locked = theirs / "locked"
    locked.mkdir(mode=0)
    outcome = carrel("-C", theirs, *words, locked / "there", "--json")
    assert outcome.error["code"] == code


def test_a_trash_that_may_not_be_looked_at_is_a_typed_error_and_nothing_is_removed(carrel, theirs):
    assert carrel("trust", theirs).code == 0
    assert carrel("-C", theirs, "files", "rm", "SOUL.md", "--json").code == 0
    (theirs / ".carrel/state").chmod(0)
    outcome = carrel("-C", theirs, "files", "rm", "AGENTS.md", "--json")
    assert outcome.error["code"] == "read_only"
    assert (theirs / "AGENTS.md").exists()
