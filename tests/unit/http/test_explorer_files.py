"""What pages of files show of folders that git and Carrel keep: that they are there, and no more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.http.served import TOKEN, Place, serving

WORDS = "the red ledger"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with serving(tmp_path) as place:
        state = place.root / ".carrel/state"
        state.mkdir(parents=True, exist_ok=True)
        (state / "guard.md").write_text(WORDS)
        (place.root / "notes").mkdir()
        (place.root / "notes/file.md").symlink_to("../.carrel/state/guard.md")
        (place.root / "notes/folder").symlink_to("../.carrel/state")
        (place.root / "notes/plain.md").write_text(WORDS)
        place.client.get(f"/login?token={TOKEN}")
        yield place


@pytest.mark.parametrize("path", [".carrel/state/guard.md", "notes/file.md", "notes/folder/guard.md"])
def test_what_git_and_carrel_keep_is_shown_by_no_link_either(place: Place, path: str) -> None:
    told = place.client.get(f"/w/default/files/{path}").text
    assert WORDS not in told
    assert "keeps this for itself" in told


@pytest.mark.parametrize("page", ["files", "tree", "totals"])
def test_a_link_to_a_folder_of_theirs_is_not_looked_into(place: Place, page: str) -> None:
    told = place.client.get(f"/w/default/{page}/notes/folder").text
    assert "guard.md" not in told
    assert "records.db" not in told


def test_other_files_are_shown(place: Place) -> None:
    assert WORDS in place.client.get("/w/default/files/notes/plain.md").text
