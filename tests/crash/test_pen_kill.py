"""kill -9 at every step of a change of memory, and crowds that write one file: each change once, none lost."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stubs.pens import NOTEBOOK, OWNER, Desk

from carrel.files.local import LocalFiles
from carrel.memory.pen import Author

ROOT = Path(__file__).parents[2]
OLD = "# Notes\n\n- zero\n"
NEW = OLD + "- one\n"
LATE = Author(actor="owner", action="undo")

OPEN = """
import json, os, sys
from pathlib import Path
from tests.stubs.pens import NOTEBOOK, OWNER, Desk, Fuse, FusedDisk

def act(root, git, fuse):
    desk = Desk(Path(root), git=git == "git", disk=FusedDisk(fuse), fuse=fuse)
    if deed == "undo":
        desk.pen.undo(desk.changes.list(limit=1), OWNER)
    elif deed == "append":
        desk.pen.append("workspace", NOTEBOOK, "- one", OWNER)
    else:
        desk.add("- one")
"""

# A process for each step would take minutes: one forks another for each, which opens everything anew.
SWEEP = (
    OPEN
    + """
import shutil
start, into, git, deed = sys.argv[1:]
for number in range(1, 500):
    for suffix in ("", ".records"):
        place = f"{start}{suffix}"
        copy = shutil.copytree if os.path.isdir(place) else shutil.copy
        if os.path.exists(place):
            copy(place, f"{into}/{number}{suffix}")
    child = os.fork()
    if child == 0:
        act(f"{into}/{number}", git, Fuse(at=number))
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
print(number)
"""
)


def run(script: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def prepared(place: Path, *, git: bool, deed: str) -> Desk:
    """A desk with an old file, and for an undo with a change to take back; closed, so that it can be copied."""
    desk = Desk(place, git=git)
    desk.write(OLD)
    if deed == "undo":
        desk.add("- one")
    elif git:
        desk.add("- x", "other.md")
    desk.records.close()
    return desk


def check_sound(desk: Desk) -> None:
    """Nothing waits, nothing is locked, and git agrees with the files; the next who writes there tidies up."""
    assert "begun" not in desk.states()
    beside = LocalFiles(desk.root / "memory")
    beside.remove("beside.md", expect=beside.write("beside.md", b"", expect=None))
    assert not list(desk.root.rglob(".carrel-tmp-*"))
    if desk.history is not None:
        assert all(change.commit for change in desk.changes.list())
        git = desk.root / ".git"
        assert not [path.name for path in git.iterdir() if path.name.startswith("carrel-")]
        assert not list(git.rglob("*.lock"))
        assert desk.repository().status() == {}
        assert desk.committed()[-1] == desk.read()


def check_recovered(place: Path, *, git: bool, deed: str) -> None:
    """Open what a kill left, finish it, repeat what was asked for, and find it there exactly once."""
    desk = Desk(place, git=git)
    assert (desk.read() or b"").decode() in (OLD, NEW)
    assert desk.pen.recover() == ()
    states = desk.states()
    if deed == "undo":
        assert desk.read() == (NEW if states[-1:] == ["done"] and len(states) == 1 else OLD).encode()
        if states == ["done"]:
            desk.pen.undo(desk.changes.list(limit=1), OWNER)
        assert desk.states() == ["undone", "done"]
        assert desk.read() == OLD.encode()
    else:
        made = [change for change in desk.changes.list() if change.path == NOTEBOOK]
        assert len(made) == (desk.read() == NEW.encode())
        if deed == "append":
            desk.pen.append("workspace", NOTEBOOK, "- one", OWNER)
        else:
            desk.add("- one")
        [change] = [change for change in desk.changes.list() if change.path == NOTEBOOK]
        assert desk.read() == NEW.encode()
    assert desk.pen.catch_up() == ()
    if git:  # the old text by hand, and each change once
        assert desk.committed().count(NEW.encode()) == 1
        messages = [commit.message for commit in desk.commits()]
        assert len(messages) == len(set(messages))
    check_sound(desk)
    if deed != "undo" and not git:
        desk.pen.undo([change], LATE)
        assert desk.read() == OLD.encode()
        check_sound(desk)
    desk.records.close()


@pytest.mark.parametrize(
    ("git", "deed"), [(False, "edit"), (False, "append"), (False, "undo"), (True, "edit")]
)
def test_a_kill_at_any_step_leaves_a_change_that_is_made_once_or_not_at_all(
    tmp_path: Path, git: bool, deed: str
) -> None:
    prepared(tmp_path / "start", git=git, deed=deed)
    into = tmp_path / "killed"
    into.mkdir()
    with run(SWEEP, tmp_path / "start", into, "git" if git else "", deed) as sweep:
        assert sweep.stdout is not None
        steps = int(sweep.stdout.read())
    assert steps > (35 if git else 6)
    for number in range(1, steps + 1):
        check_recovered(into / str(number), git=git, deed=deed)
        shutil.rmtree(into / str(number))


KILLED_AT = (
    OPEN
    + """
root, name = sys.argv[1:]
deed = "edit"
act(root, "git", Fuse(name=name))
"""
)


@pytest.mark.parametrize(
    ("moment", "is_made", "is_committed"),
    [
        ("after begin", False, False),
        ("after rename to main.md", True, False),
        ("before settle", True, False),
        ("after settle", True, False),
        ("before link to index.lock", True, False),
        ("after link to index.lock", True, False),
        ("after rename to index", True, False),
        ("after link to main.lock", True, False),
        ("after rename to main", True, True),
        ("before keep_commit", True, True),
    ],
)
def test_a_kill_at_a_named_moment_leaves_what_that_moment_has(
    tmp_path: Path, moment: str, is_made: bool, is_committed: bool
) -> None:
    prepared(tmp_path / "desk", git=True, deed="edit")
    with run(KILLED_AT, tmp_path / "desk", moment) as worker:
        pass
    assert worker.returncode == -signal.SIGKILL
    desk = Desk(tmp_path / "desk", git=True)
    assert (desk.read() == NEW.encode()) == is_made
    assert (NEW.encode() in desk.committed()) == is_committed
    desk.records.close()
    check_recovered(tmp_path / "desk", git=True, deed="edit")


NO_REPOSITORY = (
    OPEN
    + """
start, into, git, deed = sys.argv[1:]
for number in range(1, 500):
    os.mkdir(f"{into}/{number}")
    child = os.fork()
    if child == 0:
        act(f"{into}/{number}", git, Fuse(at=number))
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
print(number)
"""
)


def test_a_kill_while_a_repository_is_made_leaves_one_that_works(tmp_path: Path) -> None:
    into = tmp_path / "killed"
    into.mkdir()
    with run(NO_REPOSITORY, "", into, "git", "edit") as sweep:
        assert sweep.stdout is not None
        steps = int(sweep.stdout.read())
    assert steps > 60
    for number in range(1, steps + 1):
        desk = Desk(into / str(number), git=True)
        assert desk.pen.recover() == ()
        desk.add("- one")
        assert desk.pen.catch_up() == ()
        assert desk.committed() == [b"- one\n"]
        check_sound(desk)
        desk.records.close()


# ------------------------------------------------------------------------------------------------ crowds


WRITER = """
import sys
from pathlib import Path
from carrel.clock import SystemClock
from tests.stubs.pens import NOTEBOOK, OWNER, Desk
root, git, who = sys.argv[1:]
desk = Desk(Path(root), git=git == "git", clock=SystemClock())
print("ready", flush=True)
sys.stdin.readline()
for number in range(25):
    line = f"- {who}.{number}"
    desk.pen.edit("workspace", NOTEBOOK, lambda text: text.replace("\\n## End", f"{line}\\n\\n## End"), OWNER)
    if number % 5 == 0:
        desk.pen.append("workspace", "notes/day.md", line, OWNER)
    if number % 10 == 0:
        desk.pen.recover()  # as every process does that opens the workspace
desk.pen.catch_up()
"""


@pytest.mark.parametrize("git", [False, True], ids=["records", "git"])
def test_four_processes_that_write_one_section_lose_nothing(tmp_path: Path, git: bool) -> None:
    desk = Desk(tmp_path / "desk", git=git)
    start = "# Notes\n\n## Insights\n\n\n## End\n"
    desk.write(start)
    desk.add("- x", "other.md")
    desk.records.close()
    workers = [run(WRITER, desk.root, "git" if git else "", who) for who in range(4)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=240)
    assert [worker.returncode for worker in workers] == [0] * 4
    desk = Desk(tmp_path / "desk", git=git)
    assert desk.pen.recover() == ()
    assert desk.pen.catch_up() == ()
    expected = sorted(f"- {who}.{number}" for who in range(4) for number in range(25))
    text = (desk.read() or b"").decode()
    assert sorted(line for line in text.splitlines() if line.startswith("- ")) == expected
    assert len((desk.read("notes/day.md") or b"").splitlines()) == 20
    changes = desk.changes.list(path=NOTEBOOK, state="done", limit=1000)
    assert (
        sorted(line for change in changes for line in added(change.splice.old, change.splice.new)) == expected
    )
    check_sound(desk)
    if git:
        for change in changes:
            commit = desk.repository()[change.commit]
            assert f"Change: {change.id}\n" in commit.message
            assert len(desk.repository().diff(commit.parents[0], commit)) == 1
    for change in changes:
        desk.pen.undo([change], LATE)
    assert (desk.read() or b"").decode() == start


def added(old: bytes, new: bytes) -> list[str]:
    before = old.decode().splitlines()
    return [line for line in new.decode().splitlines() if line.startswith("- ") and line not in before]
