"""What was acknowledged survives a power cut, at every moment; and the test can tell when it does not."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.files.local import LocalFiles
from carrel.testing import VolatileDisk

Steps = list[tuple[str, Callable[[LocalFiles], object], dict[str, bytes]]]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


STEPS: Steps = [
    ("create", lambda f: f.write("a.md", b"one", expect=None), {"a.md": b"one"}),
    ("replace", lambda f: f.write("a.md", b"two", expect=sha(b"one")), {"a.md": b"two"}),
    ("create deep", lambda f: f.write("x/y/z.md", b"deep", expect=None), {"a.md": b"two", "x/y/z.md": b"deep"}),
    ("append new", lambda f: f.append("x/log", b"1\n"), {"a.md": b"two", "x/y/z.md": b"deep", "x/log": b"1\n"}),
    ("append more", lambda f: f.append("x/log", b"2\n"), {"a.md": b"two", "x/y/z.md": b"deep", "x/log": b"1\n2\n"}),
    ("remove", lambda f: f.remove("a.md", expect=sha(b"two")), {"x/y/z.md": b"deep", "x/log": b"1\n2\n"}),
    ("again", lambda f: f.write("a.md", b"six", expect=None), {"a.md": b"six", "x/y/z.md": b"deep", "x/log": b"1\n2\n"}),
]  # fmt: skip


def survivors(disk: VolatileDisk, into: Path) -> dict[str, bytes]:
    disk.power_cut(into)
    return {
        str(path.relative_to(into)): path.read_bytes()
        for path in into.rglob("*")
        if path.is_file() and not path.name.startswith(".carrel-tmp-")
    }


def lost(tmp_path: Path, make: Callable[[Path], VolatileDisk]) -> list[str]:
    """Cut the power after each acknowledged step and name the steps whose outcome is not all there."""
    root = tmp_path / "ws"
    root.mkdir()
    disk = make(root)
    wrong = list[str]()
    for name, step, expected in STEPS:
        step(LocalFiles(root, disk=disk))
        if survivors(disk, tmp_path / f"after {name}") != expected:
            wrong.append(name)
    return wrong


def test_every_acknowledged_change_survives_a_power_cut(tmp_path: Path) -> None:
    assert lost(tmp_path, VolatileDisk) == []


class FileSyncDoesNothing(VolatileDisk):
    def fsync(self, fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            super().fsync(fd)


class DirectorySyncDoesNothing(VolatileDisk):
    def fsync(self, fd: int) -> None:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            super().fsync(fd)


class LineSyncDoesNothing(VolatileDisk):
    def fdatasync(self, fd: int) -> None:
        pass


@pytest.mark.parametrize(
    ("wrong", "first_loss"),
    [
        (FileSyncDoesNothing, "create"),
        (DirectorySyncDoesNothing, "create"),
        (LineSyncDoesNothing, "append more"),
    ],
)
def test_the_harness_sees_a_missing_sync(tmp_path: Path, wrong: type[VolatileDisk], first_loss: str) -> None:
    assert lost(tmp_path, wrong)[0] == first_loss


def test_a_file_that_was_renamed_without_a_sync_is_empty_after_the_cut(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    disk = FileSyncDoesNothing(root)
    LocalFiles(root, disk=disk).write("a.md", b"one", expect=None)
    assert survivors(disk, tmp_path / "cut") == {"a.md": b""}


class PowerFails(BaseException):
    """Not an Exception: nothing may catch it, as nothing catches a power cut."""


def cutting(at: int) -> type[VolatileDisk]:  # noqa: C901 - a line for each call of a disk
    """A disk whose power fails before its Nth call."""

    class Cutting(VolatileDisk):
        calls = 0

        def count(self) -> None:
            type(self).calls += 1
            if type(self).calls >= at:
                raise PowerFails

        def open(self, name: str, flags: int, mode: int, *, directory: int) -> int:
            self.count()
            return super().open(name, flags, mode, directory=directory)

        def write(self, fd: int, data: bytes | memoryview) -> int:
            self.count()
            return super().write(fd, data)

        def fsync(self, fd: int) -> None:
            self.count()
            super().fsync(fd)

        def rename(self, old: str, new: str, *, directory: int) -> None:
            self.count()
            super().rename(old, new, directory=directory)

        def swap(self, old: str, new: str, *, directory: int) -> None:
            self.count()
            super().swap(old, new, directory=directory)

        def unlink(self, name: str, *, directory: int) -> None:
            self.count()
            super().unlink(name, directory=directory)

        def mkdir(self, name: str, *, directory: int) -> None:
            self.count()
            super().mkdir(name, directory=directory)

        def truncate(self, fd: int, size: int) -> None:
            self.count()
            super().truncate(fd, size)

    return Cutting


def test_a_cut_before_any_call_leaves_the_state_before_or_after_the_step(tmp_path: Path) -> None:
    for at in range(1, 200):
        here = tmp_path / str(at)
        root = here / "ws"
        root.mkdir(parents=True)
        disk = cutting(at)(root)
        before: dict[str, bytes] = {}
        after = before
        try:
            for _, step, expected in STEPS:
                after = expected
                step(LocalFiles(root, disk=disk))
                before = expected
        except PowerFails:
            assert survivors(disk, here / "cut") in (before, after)
        else:
            break
    assert at > 30
    assert before == STEPS[-1][2]


def test_a_directory_left_by_a_process_that_died_is_made_durable_by_the_next_writer(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    disk = VolatileDisk(root)
    (root / "memory").mkdir()
    LocalFiles(root, disk=disk).append("memory/today.md", b"x\n")
    assert survivors(disk, tmp_path / "cut") == {"memory/today.md": b"x\n"}
