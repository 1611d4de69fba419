"""What must not be opened among the words is named before anything opens it, whatever the disk says to the look."""

import os
from pathlib import Path

import pytest

from carrel.index.embedded.soundness import find_odd, find_unsound


def _be_a_file(folder: Path) -> None:
    folder.parent.rmdir()
    folder.parent.write_text("x")


def _hold_a_folder(folder: Path) -> None:
    (folder / "meta.json").mkdir(parents=True)


def _hold_a_pipe(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "meta.json")


@pytest.mark.parametrize(
    ("spoil", "named"), [(_be_a_file, "words-1"), (_hold_a_folder, "meta.json"), (_hold_a_pipe, "meta.json")]
)
def test_words_that_cannot_be_looked_at_are_damage_and_no_failure(tmp_path, spoil, named):
    folder = tmp_path / "index/words-1"
    folder.parent.mkdir()
    spoil(folder)
    assert find_odd(folder) == find_unsound(folder) == named


def test_words_that_are_not_there_are_no_damage(tmp_path):
    assert find_odd(tmp_path / "words-1") is find_unsound(tmp_path / "words-1") is None
