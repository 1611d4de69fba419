"""Every call to the disk fails once while memory is written: old or new, a record that says which, and a retry."""

import errno
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.stubs.pens import NOTEBOOK, OWNER, Desk

from carrel.errors import Unavailable
from carrel.files.history import GitHistory
from carrel.files.local import LocalFiles
from carrel.testing import FaultyDisk, VolatileDisk

ROOT = Path(__file__).parents[2]
OLD = b"# Notes\n\n- zero\n"
NEW = OLD + b"- one\n"
FAULTS = {
    "EIO": {"error": errno.EIO},
    "ENOSPC": {"error": errno.ENOSPC},
    "EROFS": {"error": errno.EROFS},
    "short write": {"short": True},
}


def act(desk: Desk, deed: str) -> None:
    if deed == "append":
        desk.pen.append("workspace", NOTEBOOK, "- one", OWNER)
    elif deed == "undo":
        desk.pen.undo(desk.changes.list(limit=1), OWNER)
    else:
        desk.add("- one")


def with_faults(desk: Desk, disk: FaultyDisk, *, git: bool) -> Desk:
    """The same desk, on a disk that fails: in its files, or in its repository."""
    if git:
        desk.history = GitHistory(desk.root, disk=disk)
    else:
        desk.pen._stores = {"workspace": LocalFiles(desk.root, disk=disk)}
    return desk


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("deed", ["edit", "append", "undo"])
def test_a_failed_call_leaves_old_or_new_and_a_record_that_says_which(
    tmp_path: Path, deed: str, fault: str
) -> None:
    for turn in range(1, 100):
        desk = Desk(tmp_path / str(turn))
        desk.write(OLD)
        if deed == "undo":
            desk.add("- one")
        old, new = (NEW, OLD) if deed == "undo" else (OLD, NEW)
        disk = FaultyDisk(fail_at=turn, **FAULTS[fault])
        with_faults(desk, disk, git=False)
        with suppress(Unavailable):
            act(desk, deed)
        is_new = desk.read() == new
        assert is_new or desk.read() == old
        assert desk.states() == {"undo": [["done"], ["undone", "done"]]}.get(deed, [[], ["done"]])[is_new]
        if not is_new:
            act(Desk(desk.root), deed)
            assert desk.read() == new
        desk.records.close()
        if turn > len(disk.calls):
            break
    assert turn > 2
    assert is_new


@pytest.mark.parametrize("fault", ["ENOSPC", "short write"])
def test_a_failed_call_in_the_repository_costs_the_commit_and_not_the_change(
    tmp_path: Path, fault: str
) -> None:
    failed = 0
    for turn in range(1, 200):
        desk = Desk(tmp_path / str(turn))
        desk.write(OLD)
        disk = FaultyDisk(fail_at=turn, **FAULTS[fault])
        change = with_faults(desk, disk, git=True).add("- one")
        assert desk.read() == NEW
        assert desk.states() == ["done"]
        assert change is not None
        assert desk.history is not None
        if not change.commit:
            failed += 1
            [finding] = desk.history.findings()
            assert finding.code == "git_failed"
        again = Desk(desk.root, git=True)
        assert again.pen.catch_up() == ()
        assert again.committed() == [OLD, NEW]
        assert again.repository().status() == {}
        assert [path for path in (again.root / ".git").rglob("*") if path.suffix == ".lock"] == []
        desk.records.close()
        again.records.close()
        if turn > len(disk.calls):
            break
    assert turn > 40
    assert failed > 20 or fault == "short write"


FULL = """
import resource, signal, sys
from pathlib import Path
from carrel.errors import CarrelError
from tests.stubs.pens import Desk
desk = Desk(Path(sys.argv[1]), git=True)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    change = desk.add("- " + "more " * 20_000)
    print("made", change.commit != "")
except CarrelError as error:
    print(error.code)
"""


@pytest.mark.parametrize("limit", [60_000, 100_000])
def test_a_real_full_disk_leaves_the_old_file_and_nothing_begun(tmp_path: Path, limit: int) -> None:
    """A limit on file size is the kernel's own way to stop a write at byte k."""
    desk = Desk(tmp_path / "desk", git=True)
    desk.write(OLD)
    desk.add("- x", "other.md")
    desk.records.close()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(desk.root), str(limit)], capture_output=True, text=True, check=True, cwd=ROOT
    )  # fmt: skip
    assert done.stdout.strip() in ("disk_full", "database_unavailable")
    desk = Desk(tmp_path / "desk", git=True)
    assert desk.read() == OLD
    assert desk.pen.recover() == ()
    assert desk.states() == ["done"]
    change = desk.add("- one")
    assert change is not None
    assert change.commit


class PowerFails(BaseException):
    """Not an Exception: nothing may catch it, as nothing catches a power cut."""


class Cutting(VolatileDisk):
    """A disk whose power fails before its Nth call, and at every one after it."""

    def __init__(self, root: Path, at: int) -> None:
        super().__init__(root)
        self.calls = 0
        self._at = at

    def _count(self) -> None:
        self.calls += 1
        if self.calls >= self._at:
            raise PowerFails

    def fsync(self, fd: int) -> None:
        self._count()
        super().fsync(fd)

    def rename(self, old: str, new: str, *, directory: int) -> None:
        self._count()
        super().rename(old, new, directory=directory)

    def swap(self, old: str, new: str, *, directory: int) -> None:
        self._count()
        super().swap(old, new, directory=directory)

    def unlink(self, name: str, *, directory: int) -> None:
        self._count()
        super().unlink(name, directory=directory)


def test_a_power_cut_at_any_moment_leaves_a_repository_whose_branch_is_whole(tmp_path: Path) -> None:
    seen: set[int] = set()
    for turn in range(1, 200):
        place = tmp_path / str(turn)
        place.mkdir()
        desk = Desk(place / "desk")
        desk.write(OLD)
        disk = Cutting(desk.root, turn)
        desk.history = GitHistory(desk.root, disk=disk)
        with suppress(PowerFails):
            desk.add("- one")
        disk.power_cut(place / "cut")
        if (place / "cut/.git").exists():
            after = Desk(place / "cut", git=True)
            states = after.committed()  # every object on the way is read
            seen.add(len(states))
            assert states in ([], [OLD, NEW])
            assert {entry.path for entry in after.repository().index} <= {NOTEBOOK}
        desk.records.close()
        if turn > disk.calls:
            break
    assert turn > 25
    assert seen == {0, 2}
