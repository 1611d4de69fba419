"""Folders that are made for good, walked and removed; that they are synced is seen by the order of calls, in the long tier."""

import errno
import os
from pathlib import Path

import pytest

from carrel.files import folders
from carrel.files.folders import folders_below, make_folders, remove_folder
from carrel.testing.disks import FaultyDisk

DEPTH = 1_500
"""More than Python would call itself."""


def test_folders_that_are_missing_are_made_the_last_with_its_mode(tmp_path: Path) -> None:
    make_folders(tmp_path / "a/b/c", mode=0o700)
    assert (tmp_path / "a/b/c").stat().st_mode & 0o777 == 0o700
    (tmp_path / "a/b/c/kept.md").write_text("x")
    make_folders(tmp_path / "a/b/c", mode=0o700)
    assert [path.name for path in (tmp_path / "a/b/c").iterdir()] == ["kept.md"]


def test_a_file_in_the_place_of_a_folder_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    for path in ("a", "a/b"):
        with pytest.raises(OSError):
            make_folders(tmp_path / path)
    assert (tmp_path / "a").read_text() == "x"


def test_folders_that_could_not_be_synced_are_tried_again(tmp_path: Path, monkeypatch) -> None:
    disk = FaultyDisk(fail_at=2)
    monkeypatch.setattr(folders, "Disk", lambda: disk)
    with pytest.raises(OSError):
        make_folders(tmp_path / "a/b")
    assert list(tmp_path.iterdir()) == []
    make_folders(tmp_path / "a/b")
    assert disk.calls == ["fsync directory"] * 4


def test_folders_however_deep_are_made_walked_and_removed(tmp_path: Path) -> None:
    deepest = tmp_path.joinpath("a", *["d"] * DEPTH)
    make_folders(deepest)
    (deepest / "f.md").write_text("x")
    assert sum(1 for _ in folders_below(tmp_path / "a")) == DEPTH + 1
    remove_folder(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_links_are_neither_walked_nor_emptied(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/kept.md").write_text("x")
    (tmp_path / "ours/inner").mkdir(parents=True)
    (tmp_path / "ours/link").symlink_to(tmp_path / "theirs")
    os.mkfifo(tmp_path / "ours/inner/pipe")
    (tmp_path / "ours/inner").chmod(0o500)
    assert [path.name for path in folders_below(tmp_path / "ours")] == ["ours", "inner"]
    remove_folder(tmp_path / "ours")
    assert [path.name for path in tmp_path.rglob("*")] == ["theirs", "kept.md"]


def test_folders_of_which_one_cannot_be_made_are_not_there_without_their_names_being_durable(
    tmp_path,
) -> None:
    with pytest.raises(OSError):
        make_folders(tmp_path / "a" / "b" / ("c" * 300))
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_keeps_nothing_else(tmp_path: Path, monkeypatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / "ours" / name).mkdir(parents=True)
        (tmp_path / "ours" / name / "secret").write_text("x")
    unlink = Path.unlink

    def fail(path: Path) -> None:
        if path.parent.name == "b":
            raise OSError(errno.EIO, "stuck")
        unlink(path)

    monkeypatch.setattr(Path, "unlink", fail)
    with pytest.raises(OSError, match="stuck"):
        remove_folder(tmp_path / "ours")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("secret")] == ["ours/b/secret"]
