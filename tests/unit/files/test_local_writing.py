"""Changing files on a disk: what stays, what is left behind, what is refused."""

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from carrel.backing.newfile import new_file
from carrel.files import Stale
from carrel.files.disk import LockTimeout, ReadOnly
from carrel.files.local import LocalFiles
from carrel.testing import FaultyDisk


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("x")
    files = LocalFiles(tmp_path)
    for mode in (0o600, 0o664, 0o755):
        path.chmod(mode)
        files.write("a.md", str(mode).encode(), expect=files.read("a.md").digest)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write("d/written.md", b"", expect=None)
    files.append("d/appended.md", b"x\n")
    (tmp_path / "d" / "plain.md").touch()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "d").iterdir()}
    assert len(modes) == 1


def test_a_file_that_its_owner_made_read_only_is_respected(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x\n")
    (tmp_path / "a.md").chmod(0o444)
    files = LocalFiles(tmp_path)
    digest = files.read("a.md").digest
    for call in (
        lambda: files.write("a.md", b"y", expect=digest),
        lambda: files.append("a.md", b"y\n"),
        lambda: files.remove("a.md", expect=digest),
    ):
        with pytest.raises(ReadOnly) as caught:
            call()
        assert caught.value.hint
    assert (tmp_path / "a.md").read_text() == "x\n"


def test_a_change_is_made_in_the_order_that_survives_a_power_cut(tmp_path: Path) -> None:
    disk = FaultyDisk()
    files = LocalFiles(tmp_path, disk=disk)
    digest = files.write("d/a.md", b"one", expect=None)
    assert disk.calls == [
        "lock", "mkdir", "fsync directory",
        "open", "lock", "write", "fsync", "lock", "fsync directory", "rename", "fsync directory",
    ]  # fmt: skip
    disk.calls.clear()
    digest = files.write("d/a.md", b"two", expect=digest)
    swapped = ["unlink"] if sys.platform == "linux" else []  # what was replaced is looked at before it goes
    assert disk.calls == [
        "open", "lock", "resemble", "write", "fsync", "lock", "rename", *swapped, "fsync directory",
    ]  # fmt: skip
    disk.calls.clear()
    files.append("d/a.md", b"x\n")
    assert disk.calls == ["lock", "open", "write", "fdatasync"]
    disk.calls.clear()
    files.remove("d/a.md", expect=files.read("d/a.md").digest)
    assert disk.calls == ["lock", "unlink", "fsync directory"]


def test_a_stale_write_touches_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk()
    files = LocalFiles(tmp_path, disk=disk)
    files.write("a.md", b"one", expect=None)
    disk.calls.clear()
    with pytest.raises(Stale):
        files.write("a.md", b"two", expect=None)
    assert disk.calls == []


def test_what_a_killed_writer_left_is_never_listed_and_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("old")
    killed(tmp_path, "before:rename", "files.write('a.md', b'new', expect=files.read('a.md').digest)")
    assert len(list(tmp_path.iterdir())) == 2
    files = LocalFiles(tmp_path)
    assert [entry.path for entry in files.list()] == ["a.md"]
    files.write("a.md", b"newer", expect=files.read("a.md").digest)
    assert names(tmp_path) == ["a.md"]


def test_the_temporary_file_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    class Meanwhile(FaultyDisk):
        def swap(self, old: str, new: str, *, directory: int) -> None:
            if new == "a.md":
                # Another process sweeps the same directory just before the rename.
                sweeper = (
                    "from carrel.files.durable import *; import os, sys\n"
                    "d = Directory(Disk(), os.open(sys.argv[1], os.O_RDONLY), ''); d.sweep(d.names()[1])"
                )
                subprocess.run([sys.executable, "-c", sweeper, str(tmp_path)], check=True)
            super().swap(old, new, directory=directory)

    LocalFiles(tmp_path, disk=Meanwhile()).write("a.md", b"x", expect=None)
    assert (tmp_path / "a.md").read_bytes() == b"x"


def test_a_temporary_file_that_was_swept_before_it_was_locked_is_made_again(tmp_path: Path) -> None:
    class Overtaken(FaultyDisk):
        def open(self, name: str, flags: int, mode: int, *, directory: int) -> int:
            fd = super().open(name, flags, mode, directory=directory)
            if self.calls == ["open"]:
                self.unlink(name, directory=directory)
            return fd

    LocalFiles(tmp_path, disk=Overtaken()).write("a.md", b"x", expect=None)
    assert names(tmp_path) == ["a.md"]


@pytest.mark.parametrize(
    "point", ["before:open", "after:open", "after:write", "after:fsync", "after:lock", "after:rename"]
)
def test_a_kill_at_any_point_leaves_the_old_or_the_new_content_and_no_lock(
    tmp_path: Path, point: str
) -> None:
    (tmp_path / "a.md").write_text("old")
    killed(tmp_path, point, "files.write('a.md', b'new', expect=files.read('a.md').digest)")
    found = (tmp_path / "a.md").read_text()
    assert found == ("new" if point == "after:rename" else "old")
    files = LocalFiles(tmp_path, lock_seconds=0.05)
    files.append("a.md", b"x\n")
    assert files.read("a.md").data == found.encode() + b"\nx\n"


def test_a_held_lock_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path, lock_seconds=0.05)
    digest = files.write("a.md", b"x", expect=None)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert FaultyDisk().lock(fd)
        for call in (
            lambda: files.write("a.md", b"y", expect=digest),
            lambda: files.append("a.md", b"y\n"),
            lambda: files.remove("a.md", expect=digest),
        ):
            with pytest.raises(LockTimeout) as caught:
                call()
            assert caught.value.code == "lock_timeout"
        assert files.read("a.md").data == b"x"
    finally:
        os.close(fd)
    files.append("a.md", b"y\n")
    assert names(tmp_path) == ["a.md"]


def test_a_lock_is_given_back_although_a_forked_child_still_has_the_descriptor(tmp_path: Path) -> None:
    copies: list[int] = []

    class Forked(FaultyDisk):
        def swap(self, old: str, new: str, *, directory: int) -> None:
            copies.append(os.dup(directory))
            super().swap(old, new, directory=directory)

    LocalFiles(tmp_path, disk=Forked()).write("a.md", b"x", expect=None)
    try:
        LocalFiles(tmp_path, lock_seconds=0.05).append("a.md", b"y\n")
    finally:
        os.close(copies[0])
    assert (tmp_path / "a.md").read_bytes() == b"x\ny\n"


def test_a_write_larger_than_one_system_call_takes_is_whole(tmp_path: Path) -> None:
    class Sips(FaultyDisk):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            return super().write(fd, data[:1000])

    data = os.urandom(50_500)
    LocalFiles(tmp_path, disk=Sips()).write("a.bin", data, expect=None)
    assert (tmp_path / "a.bin").read_bytes() == data


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def killed(root: Path, point: str, code: str) -> None:
    """Run code in a process whose disk kills it at the named point."""
    script = (
        "from carrel.files.local import LocalFiles\nfrom carrel.testing import FaultyDisk\n"
        f"files = LocalFiles({str(root)!r}, disk=FaultyDisk(kill_at={point!r}))\n{code}"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr


def test_nothing_stays_open_after_any_verb_that_is_done_or_refused(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    own = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")

    def everything() -> None:
        digest = files.write("d/a.md", b"one", expect=None)
        with pytest.raises(Stale):
            files.write("d/a.md", b"two", expect=None)
        digest = files.write("d/a.md", b"two", expect=digest)
        files.append("d/b.md", b"x\n")
        files.read("d/a.md")
        files.part("d/a.md", 0, 1)
        files.list("d")
        files.stamps(["d/a.md", "d/none.md"])
        for name in ("d/a.md", "d/b.md"):
            files.remove(name, expect=files.read(name).digest)

    everything()
    before = len(list(own.iterdir()))
    for _ in range(5):
        everything()
    assert len(list(own.iterdir())) == before


def test_a_sweep_removes_what_killed_writers_left_anywhere_and_nothing_else(tmp_path: Path) -> None:
    for folder in ("", "a", "a/b", ".git", "link"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / ".carrel-tmp-00").write_bytes(b"left")
        (tmp_path / folder / "kept.md").write_bytes(b"kept")
    (tmp_path / "link").rename(tmp_path.with_name("elsewhere"))
    (tmp_path / "link").symlink_to(tmp_path.with_name("elsewhere"))
    files = LocalFiles(tmp_path)
    files.write("a/kept.md", b"new", expect=files.read("a/kept.md").digest)
    (tmp_path / "a/.carrel-tmp-01").write_bytes(b"left since")
    with (tmp_path / "a/b/.carrel-tmp-02").open("wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        files.sweep()
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob(".carrel-tmp-*"))
    assert left == [".git/.carrel-tmp-00", "a/b/.carrel-tmp-02"]
    assert (tmp_path.with_name("elsewhere") / ".carrel-tmp-00").exists()
    assert len(list(tmp_path.rglob("kept.md"))) == 4


def test_a_sweep_leaves_what_a_backup_is_being_written_to(tmp_path: Path) -> None:
    with new_file(tmp_path / "backup.zip") as stream:
        LocalFiles(tmp_path).sweep()
        stream.write(b"whole")
    assert (tmp_path / "backup.zip").read_bytes() == b"whole"
