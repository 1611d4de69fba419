"""Which folders are watched: all that are somebody's, none that Carrel or git keeps, and none outside."""

import os
from pathlib import Path

from watchfiles import Change

from carrel.app import Workspace
from carrel.http.watching import Watched


def folders(root: Path) -> set[str]:
    return Watched(root).folders


def test_folders_are_watched_but_not_those_behind_links_or_what_is_kept_beside_them(tmp_path: Path) -> None:
    root, outside = tmp_path / "desk", tmp_path / "outside"
    for folder in ("a/b", ".git/objects", "a/.git", ".hidden", os.fsdecode(b"\xff/c")):
        (root / folder).mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (root / "a/link").symlink_to(outside)
    (root / "again").symlink_to("a")
    (root / "a/file.md").write_text("x")
    found = {Path(folder).relative_to(root).as_posix() for folder in folders(root)}
    assert found == {".", "a", "a/b", ".hidden"}


def test_what_is_thrown_away_is_not_watched(tmp_path: Path) -> None:
    root, environ = tmp_path / "desk", {"CARREL_HOME": str(tmp_path / "home")}
    Workspace.init(root, environ=environ)
    before = folders(root)
    with Workspace.open(root, environ=environ) as workspace:
        workspace.write("notes/a.md", "x", expect=None)
        workspace.discard("notes/a.md")
    assert folders(root) == before | {str(root / "notes")}


def test_folders_that_are_too_deep_to_be_named_do_not_keep_others_from_being_watched(tmp_path: Path) -> None:
    deep = ["d" * 200] * 40
    at = os.open(tmp_path, os.O_RDONLY)
    for name in deep:
        os.mkdir(name, dir_fd=at)
        at, above = os.open(name, os.O_RDONLY, dir_fd=at), at
        os.close(above)
    os.close(at)
    (tmp_path / "other").mkdir()
    found = folders(tmp_path)
    assert str(tmp_path / "other") in found
    assert 10 < len(found) < len(deep)


def test_a_workspace_that_is_gone_is_still_asked_for(tmp_path: Path) -> None:
    assert folders(tmp_path / "gone") == {str(tmp_path / "gone")}


def test_folders_that_come_and_go_are_told_from_files_and_links(tmp_path: Path) -> None:
    for name in ("gone", "kept"):
        (tmp_path / name).mkdir()
    watched = Watched(tmp_path)
    assert not watched.are_others(())
    (tmp_path / "gone").rmdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "file.md").write_text("x")
    (tmp_path / "link").symlink_to("new")

    def told(change: Change, name: str) -> bool:
        return watched.are_others({(change, str(tmp_path / name))})

    assert told(Change.added, "new")
    assert told(Change.added, "kept")  # it is another one of that name
    assert told(Change.deleted, "gone")
    assert told(Change.modified, "new")  # which could not be read before
    assert not told(Change.modified, "kept")
    assert not told(Change.deleted, "away.md")
    assert not told(Change.added, "file.md")
    assert not told(Change.added, "link")


def test_a_folder_that_is_made_before_the_watching_has_begun_is_watched_too(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    (tmp_path / "late").mkdir()
    assert watched.are_others(())
    assert str(tmp_path / "late") in folders(tmp_path)


def test_what_carrel_and_git_keep_is_told_from_where_a_workspace_is() -> None:
    is_theirs = Watched(Path("/home/me/.carrel/agent")).is_theirs
    assert is_theirs(Change.added, "/home/me/.carrel/agent/notes.md")
    assert not is_theirs(Change.added, "/home/me/.carrel/agent/.carrel/x")
    assert not is_theirs(Change.added, "/home/me/.carrel/agent/sub/.git/HEAD")
    assert not is_theirs(Change.added, "/home/me/.carrel/agent/.carrel-tmp-1")
