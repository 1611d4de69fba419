"""Two writers and one file: nobody's update is lost, and the test can tell when one is."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.files import Stale, Unreadable
from carrel.files.disk import Disk, DiskFailed, LockTimeout
from carrel.files.local import LocalFiles


class Interrupted(Disk):
    """A disk that lets somebody else act just before the first lock of, or rename in, a directory."""

    def __init__(self, before: str, act: Callable[[], object]) -> None:
        self.before, self.act = before, act

    def interrupt(self, call: str) -> None:
        if self.before == call:
            self.before = ""
            self.act()

    def lock(self, fd: int) -> bool:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            self.interrupt("lock")
        return super().lock(fd)

    def swap(self, old: str, new: str, *, directory: int) -> None:
        self.interrupt("rename")
        super().swap(old, new, directory=directory)


class Replacing(Interrupted):
    """The same on a system that cannot exchange names."""

    def swap(self, old: str, new: str, *, directory: int) -> None:
        self.interrupt("rename")
        self.rename(old, new, directory=directory)


class Unlocked(Replacing):
    """The same without a lock on directories: what a store without one would do."""

    def lock(self, fd: int) -> bool:
        return stat.S_ISDIR(os.fstat(fd).st_mode) or super().lock(fd)


def start(root: Path) -> str:
    return LocalFiles(root).write("a.md", b"start\n", expect=None)


def test_a_writer_that_was_overtaken_before_its_lock_learns_it(tmp_path: Path) -> None:
    digest = start(tmp_path)
    disk = Interrupted("lock", lambda: LocalFiles(tmp_path).write("a.md", b"B\n", expect=digest))
    with pytest.raises(Stale) as caught:
        LocalFiles(tmp_path, disk=disk).write("a.md", b"A\n", expect=digest)
    files = LocalFiles(tmp_path)
    assert files.read("a.md").data == b"B\n"
    assert caught.value.found == files.read("a.md").digest


def test_nobody_overtakes_a_writer_between_its_check_and_its_rename(tmp_path: Path) -> None:
    digest = start(tmp_path)
    refused: list[bool] = []

    def other() -> None:
        impatient = LocalFiles(tmp_path, lock_seconds=0.02)
        for call in (
            lambda: impatient.write("a.md", b"B\n", expect=digest),
            lambda: impatient.append("a.md", b"B\n"),
            lambda: impatient.remove("a.md", expect=digest),
        ):
            with pytest.raises(LockTimeout):
                call()
            refused.append(True)

    LocalFiles(tmp_path, disk=Interrupted("rename", other)).write("a.md", b"A\n", expect=digest)
    assert refused == [True] * 3
    with pytest.raises(Stale):
        LocalFiles(tmp_path).write("a.md", b"B\n", expect=digest)
    assert LocalFiles(tmp_path).read("a.md").data == b"A\n"


def test_without_the_lock_the_same_interleaving_loses_an_update(tmp_path: Path) -> None:
    digest = start(tmp_path)
    acknowledged: list[str] = []

    def other() -> None:
        unlocked = LocalFiles(tmp_path, disk=Unlocked("", lambda: None))
        acknowledged.append(unlocked.write("a.md", b"B\n", expect=digest))

    LocalFiles(tmp_path, disk=Unlocked("rename", other)).write("a.md", b"A\n", expect=digest)
    assert acknowledged
    assert LocalFiles(tmp_path).read("a.md").data == b"A\n"  # B was acknowledged, and is gone


def save(path: Path, data: bytes) -> None:
    """Save as an editor does, which takes no lock."""
    own = path.with_name(".own")
    own.write_bytes(data)
    own.replace(path)


@pytest.mark.parametrize("existed", [True, False])
def test_what_an_editor_saves_just_before_the_rename_is_kept_and_the_writer_learns_it(
    tmp_path: Path, existed: bool
) -> None:
    digest = start(tmp_path) if existed else None
    disk = Interrupted("rename", lambda: save(tmp_path / "a.md", b"theirs\n"))
    with pytest.raises(Stale) as caught:
        LocalFiles(tmp_path, disk=disk).write("a.md", b"ours\n", expect=digest)
    assert (tmp_path / "a.md").read_bytes() == b"theirs\n"
    assert caught.value.found == LocalFiles(tmp_path).read("a.md").digest
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


def test_a_folder_that_came_just_before_the_rename_keeps_its_name_and_what_is_in_it(tmp_path: Path) -> None:
    def put_a_folder() -> None:
        (tmp_path / "a.md").unlink()
        (tmp_path / "a.md").mkdir()
        (tmp_path / "a.md/theirs").touch()

    digest = start(tmp_path)
    disk = Interrupted("rename", put_a_folder)
    with pytest.raises(Unreadable):
        LocalFiles(tmp_path, disk=disk).write("a.md", b"ours\n", expect=digest)
    assert [path.name for path in tmp_path.rglob("*")] == ["a.md", "theirs"]


class Stuck(Interrupted):
    """A disk on which names are exchanged once, and not back; nothing is removed either."""

    def swap(self, old: str, new: str, *, directory: int) -> None:
        if not self.before:
            raise OSError(errno.EIO, "stuck")
        super().swap(old, new, directory=directory)

    def unlink(self, name: str, *, directory: int) -> None:
        raise OSError(errno.EIO, f"{name} is stuck in {directory}")


def test_what_an_editor_saved_is_there_also_where_its_name_cannot_be_given_back(tmp_path: Path) -> None:
    digest = start(tmp_path)
    disk = Stuck("rename", lambda: save(tmp_path / "a.md", b"theirs\n"))
    with pytest.raises(DiskFailed):
        LocalFiles(tmp_path, disk=disk).write("a.md", b"ours\n", expect=digest)
    found = {path.name.partition(".md")[2][:7]: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {"": b"ours\n", ".saved-": b"theirs\n"}


def test_a_write_counts_where_only_the_old_text_could_not_be_removed(tmp_path: Path) -> None:
    digest = start(tmp_path)
    files = LocalFiles(tmp_path, disk=Stuck("rename", lambda: None))
    assert files.write("a.md", b"ours\n", expect=digest) == files.read("a.md").digest
    assert [entry.path for entry in files.list()] == ["a.md"]
    assert len(list(tmp_path.iterdir())) == 2
    LocalFiles(tmp_path).sweep()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"ours\n"]


def test_where_names_cannot_be_exchanged_a_file_is_replaced_all_the_same(tmp_path: Path) -> None:
    digest = start(tmp_path)
    LocalFiles(tmp_path, disk=Replacing("", lambda: None)).write("a.md", b"ours\n", expect=digest)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.md", b"ours\n")]


def test_two_creators_of_one_name_do_not_both_succeed(tmp_path: Path) -> None:
    disk = Interrupted("lock", lambda: LocalFiles(tmp_path).write("new.md", b"B", expect=None))
    with pytest.raises(Stale):
        LocalFiles(tmp_path, disk=disk).write("new.md", b"A", expect=None)
    assert LocalFiles(tmp_path).read("new.md").data == b"B"


WRITER = """
import sys
from carrel.files import Stale
from carrel.files.local import LocalFiles
root, who = sys.argv[1:]
files = LocalFiles(root, lock_seconds=30)
for i in range(40):
    while True:
        content = files.read("set.md")
        try:
            files.write("set.md", content.data + f"{who}.{i}\\n".encode(), expect=content.digest)
            break
        except Stale:
            continue
    files.append("log.jsonl", f"{who}.{i}\\n".encode())
"""


def test_four_processes_lose_no_update_and_no_line(tmp_path: Path) -> None:
    (tmp_path / "set.md").touch()
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(who)]) for who in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    expected = sorted(f"{who}.{i}" for who in range(4) for i in range(40))
    for name in ("set.md", "log.jsonl"):
        assert sorted((tmp_path / name).read_text().splitlines()) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "set.md"]
