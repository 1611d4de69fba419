"""Opening a workspace executes nothing, writes nothing into it, reads nothing outside it, and believes nothing in its .carrel."""

import json
import os
import shutil
import sqlite3

import pytest

from carrel import Workspace
from carrel.workspace.scope import HiddenByScope

READING = [
    ["context", "show"],
    ["context", "show", "--session", "s1", "--query", "Hello"],
    ["context", "report", "--session", "s1"],
    ["context", "report", "--oneline"],
    ["health"],
    ["config", "show"],
    ["config", "validate"],
    ["config", "schema"],
]
WATCH = """\
import json, os, sys
seen = []
def watch(event, args):
    if event.startswith(("subprocess.", "socket.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "ctypes.dlopen")):
        seen.append([event, repr(args)])
    elif event == "open" and isinstance(args[0], (str, bytes)):
        writes = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        seen.append(["write" if writes else "read", os.fsdecode(args[0])])
    elif event in ("os.rename", "os.link", "os.symlink"):
        seen.extend([event, os.fsdecode(path)] for path in args[:2])
    elif event in ("os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"):
        seen.append([event, repr(args)])
from carrel.cli.main import run
sys.addaudithook(watch)
code = run(sys.argv[2:])
text = json.dumps(seen)
with open(sys.argv[1], "w") as file:
    file.write(text)
sys.exit(code)
"""
EXECUTED = "import os; open(os.environ['CANARY'], 'a').write(__name__ + chr(10))\n"


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_leaves_no_trace_in_a_workspace_nobody_trusts(cli, sample, words):
    before = sample.snapshot()
    assert cli("-C", sample, *words).code == 0
    assert cli("-C", sample, "--scope", "shared", *words).code == 0
    assert sample.snapshot() == before


def test_even_a_real_call_leaves_no_trace_in_a_workspace_nobody_trusts(cli, sample):
    before = sample.snapshot()
    assert cli("-C", sample, "context", "show", "--prepare", "--session", "s1").code == 0
    assert sample.snapshot() == before


def test_in_a_trusted_workspace_only_its_own_folder_is_written(cli, sample):
    cli("trust", sample)
    before = {item[0]: item[1:] for item in sample.snapshot()}
    assert cli("-C", sample, "context", "show", "--prepare", "--session", "s1").code == 0
    after = {item[0]: item[1:] for item in sample.snapshot()}
    own = os.fsencode(sample / ".carrel")
    assert {path for path in after if path not in before} == {path for path in after if path.startswith(own)}
    root = os.fsencode(sample)
    assert {path: item for path, item in before.items() if path != root} == {
        path: item for path, item in after.items() if path in before and path != root
    }


def poison(desk, cli, tmp_path):
    """Put a .carrel with another session's frozen parts and wrong counts into the workspace, as a clone would have it."""
    other = tmp_path / "other"
    shutil.copytree(desk.path, other)
    (other / "MEMORY.md").write_text("Poison.\n")
    cli("trust", other)
    cli("-C", other, "context", "show", "--prepare", "--session", "s1")
    shutil.copytree(other / ".carrel", desk / ".carrel")
    counts = sqlite3.connect(desk / ".carrel/cache/tokens.db")
    counts.execute("UPDATE workspace_files SET token_count = 99999")
    counts.commit()
    counts.close()


def test_a_folder_of_ours_in_a_stranger_s_workspace_is_treated_as_absent(cli, sample, tmp_path):
    clean = cli("-C", sample, "context", "report", "--session", "s1", "--json").document
    poison(sample, cli, tmp_path)
    before = sample.snapshot()
    assert cli("-C", sample, "context", "report", "--session", "s1", "--json").document == clean
    assert "Poison." not in cli("-C", sample, "context", "show", "--session", "s1").text
    assert cli("-C", sample, "context", "show", "--prepare", "--session", "s1").code == 0
    assert sample.snapshot() == before


@pytest.mark.parametrize("kind", ["file", "link outside", "link inside", "fifo", "dangling", "loop"])
def test_an_odd_folder_of_ours_in_a_stranger_s_workspace_is_treated_as_absent(cli, sample, tmp_path, kind):
    outside = tmp_path / "outside"
    outside.mkdir()
    odd(sample / ".carrel", outside, kind)
    before = sample.snapshot()
    assert cli("-C", sample, "context", "show", "--prepare", "--session", "s1").code == 0
    assert cli("-C", sample, "context", "report", "--session", "s1").code == 0
    assert sample.snapshot() == before
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", [".carrel/.gitignore", ".carrel/cache/tokens.db", ".Carrel/x"])
def test_our_own_folder_is_not_for_shared_scope(cli, sample, path):
    cli("trust", sample)
    cli("-C", sample, "context", "report")
    with Workspace.open(sample) as workspace, pytest.raises(HiddenByScope):
        workspace.read(path, scope="shared")


def odd(path, outside, kind):
    if kind == "file":
        path.write_text("x")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        targets = {
            "link outside": outside,
            "link inside": "knowledge",
            "dangling": "nothing",
            "loop": ".carrel",
        }
        path.symlink_to(targets[kind])


@pytest.mark.parametrize("kind", ["file", "link outside", "fifo", "loop"])
def test_an_odd_folder_of_ours_in_a_trusted_workspace_is_never_written_through(cli, sample, tmp_path, kind):
    cli("trust", sample)
    outside = tmp_path / "outside"
    outside.mkdir()
    odd(sample / ".carrel", outside, kind)
    outcome = cli("-C", sample, "context", "report", "--json")
    assert outcome.code == 0
    assert "cache_unavailable" in {w["code"] for w in outcome.document["warnings"]}
    prepared = cli("-C", sample, "context", "show", "--prepare", "--session", "s1", "--json")
    assert prepared.code == 1
    assert prepared.error["code"] == "database_unavailable"
    assert list(outside.iterdir()) == []


def test_a_database_that_is_a_link_is_not_written_through(cli, sample, tmp_path):
    cli("trust", sample)
    outside = tmp_path / "outside"
    outside.mkdir()
    for folder, name in (("cache", "tokens.db"), ("state", "records.db")):
        (sample / ".carrel" / folder).mkdir(parents=True)
        (sample / ".carrel" / folder / name).symlink_to(outside / name)
    cli("-C", sample, "context", "report", "--json")
    cli("-C", sample, "context", "show", "--prepare", "--session", "s1", "--json")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", [".carrel/state", ".carrel/state/trash"])
def test_a_trash_that_is_a_link_is_not_written_through(cli, sample, tmp_path, name):
    cli("trust", sample)
    outside = tmp_path / "outside"
    outside.mkdir()
    (sample / name).parent.mkdir(parents=True)
    (sample / name).symlink_to(outside)
    outcome = cli("-C", sample, "files", "rm", "team.md", "--json")
    assert (outcome.code, outcome.error["code"]) == (6, "link_outside")
    assert list(outside.iterdir()) == []
    assert (sample / "team.md").is_file()


def test_a_detected_layout_needs_no_database(cli, desk, tmp_path):
    desk.put({"SOUL.md": "Kind.\n", "IDENTITY.md": "- **Name:** Kate\n", "notes/2026-04-24.md": "- x\n"})
    cli("trust", desk)
    outside = tmp_path / "outside"
    outside.mkdir()
    (desk / ".carrel").symlink_to(outside)
    assert cli("-C", desk, "context", "report", "--json").document["layout"] == "nexo"
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_cache_is_begun_anew(cli, sample, damage):
    cli("trust", sample)
    clean = cli("-C", sample, "context", "report", "--json").document
    cache = sample / ".carrel/cache"
    for path in cache.iterdir():
        path.unlink()
    (cache / "tokens.db").write_bytes(damage)
    assert cli("-C", sample, "context", "report", "--json").document["sections"] == clean["sections"]


@pytest.mark.parametrize("damage", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged_records_are_told_and_kept(cli, sample, damage):
    cli("trust", sample)
    cli("-C", sample, "context", "show", "--prepare", "--session", "s1")
    state = sample / ".carrel/state"
    for path in state.iterdir():
        path.unlink()
    (state / "records.db").write_bytes(damage)
    outcome = cli("-C", sample, "context", "show", "--prepare", "--session", "s1", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "database_unavailable")
    assert (state / "records.db").read_bytes() == damage


def hostile(desk, canary):
    config = (
        f'[core]\n\tfsmonitor = touch {canary}\n\thooksPath = hooks\n[filter "x"]\n\tclean = touch {canary}\n'
        f"\tsmudge = touch {canary}\n[diff]\n\texternal = touch {canary}\n"
    )
    script = f"#!/bin/sh\ntouch {canary}\n"
    modules = (
        "yaml",
        "click",
        "apsw",
        "msgspec",
        "json",
        "carrel_plugin",
        "sitecustomize",
        "conftest",
        "pathspec",
    )
    desk.put({f"{name}.py": EXECUTED for name in modules})
    desk.put(
        {
            ".git/config": config,
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/hooks/post-index-change": script,
            ".gitattributes": "* filter=x\n",
            ".envrc": f"touch {canary}\n",
            ".carrelignore": "drafts.md\n",
            "skills/deploy/run.sh": script,
            "IDENTITY.md": "- **Name:** Kate\n- **Avatar:** http://127.0.0.1:9/x.png\n",
        }
    )
    for path in desk.path.rglob("*"):
        if path.is_file():
            path.chmod(0o755)
    return desk


@pytest.mark.parametrize("words", [READING[1], READING[2], READING[4]], ids=" ".join)
def test_reading_a_hostile_workspace_runs_nothing_and_calls_nobody(process, sample, tmp_path, words):
    canary, log = tmp_path / "canary", tmp_path / "log.json"
    hostile(sample, canary)
    # Bytecode is written by Python itself, and only the first time.
    env = {"CANARY": str(canary), "PYTHONDONTWRITEBYTECODE": "1"}
    outcome = process(log, "-C", sample, *words, python=("-c", WATCH), env=env, cwd=tmp_path)
    assert outcome.code == 0
    assert not canary.exists()
    events = json.loads(log.read_text())
    # Vectors are written by their name alone in a folder of the user's cache, and numpy looks at the process itself.
    allowed = (str(process.home), "/dev/null", "vectors-", "(None,)")
    odd_events = [e for e in events if e[0] not in ("read", "os.mkdir") and not e[1].startswith(allowed)]
    assert odd_events == []
    made = [e[1] for e in events if e[0] == "os.mkdir"]
    assert all(str(process.home) in path for path in made)


@pytest.mark.parametrize("python", [None, ("-m", "carrel")], ids=["command", "module"])
def test_standing_in_a_hostile_workspace_runs_none_of_its_code(process, sample, tmp_path, python):
    canary = tmp_path / "canary"
    hostile(sample, canary)
    outcome = process("context", "report", python=python, env={"CANARY": str(canary)}, cwd=sample.path)
    assert not canary.exists(), canary.read_text()
    assert outcome.code == 0
