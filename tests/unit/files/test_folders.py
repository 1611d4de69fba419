"""Folders that are made for good; that they are synced is seen by the order of calls, in the long tier."""

from pathlib import Path

import pytest

from carrel.files.folders import make_folders


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
