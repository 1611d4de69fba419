"""Put, move and discard: nothing is lost, nothing is overwritten, and the trash has a copy."""

import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from carrel.errors import CarrelError, UsageError
from carrel.files import Stale, Unreadable
from carrel.files.disk import Disk, ReadOnly
from carrel.files.local import LocalFiles
from carrel.files.overlay import OverlayFiles
from carrel.files.paths import BadPath, NameTaken
from carrel.runtime.edit import ABSENT, Reserved, Trash, discard, move, open_trash, put
from carrel.runtime.view import NoSuchPath, View, look
from carrel.testing import FaultyDisk
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import HiddenByScope, Privacy, Scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
SHARED: View = look(Privacy(load_layout("carrel"), frozenset), scope=Scope.SHARED)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "desk").mkdir()
    return tmp_path / "desk"


@pytest.fixture
def trash(tmp_path: Path) -> Callable[[], Trash]:
    return lambda: open_trash(tmp_path / "data" / "state")


def test_put_makes_a_file_and_then_replaces_it(root: Path) -> None:
    files = LocalFiles(root)
    first = put(files, "notes//plan.md", b"one")
    assert (first.path, first.digest, first.size, first.replaced) == ("notes/plan.md", sha(b"one"), 3, None)
    second = put(files, "notes/plan.md", b"two")
    assert second.replaced == first.digest
    assert (root / "notes/plan.md").read_bytes() == b"two"


def test_put_over_another_version_changes_nothing(root: Path) -> None:
    files = LocalFiles(root)
    put(files, "a.md", b"one")
    for expect in (sha(b"other"), ABSENT):
        with pytest.raises(Stale):
            put(files, "a.md", b"two", expect=expect)
    with pytest.raises(Stale):
        put(files, "b.md", b"two", expect=sha(b"one"))
    assert (root / "a.md").read_bytes() == b"one"
    assert not (root / "b.md").exists()
    assert put(files, "a.md", b"two", expect=sha(b"one")).replaced == sha(b"one")


def test_a_change_between_the_look_and_the_write_is_a_conflict(root: Path) -> None:
    class Rival(Disk):
        def lock(self, fd: int) -> bool:
            (root / "a.md").write_bytes(b"rival")
            return super().lock(fd)

    (root / "a.md").write_bytes(b"one")
    with pytest.raises(Stale):
        put(LocalFiles(root, disk=Rival()), "a.md", b"two")
    assert (root / "a.md").read_bytes() == b"rival"


@pytest.mark.parametrize("path", [".git/hooks/x", ".carrel/state/records.db", "sub/.GIT/config", "alias/x"])
def test_what_carrel_and_git_keep_is_not_changed(root: Path, path: str, trash: Callable[[], Trash]) -> None:
    (root / ".git").mkdir()
    (root / "alias").symlink_to(".git")
    (root / "a.md").write_bytes(b"one")
    files = LocalFiles(root)
    with pytest.raises(Reserved):
        put(files, path, b"x")
    with pytest.raises(Reserved):
        move(files, "a.md", path)
    with pytest.raises((Reserved, NoSuchPath)):
        discard(files, path, trash=trash, now=NOW)
    assert (root / "a.md").exists()


@pytest.mark.parametrize("path", ["", ".", "./"])
def test_the_root_is_no_file(root: Path, path: str) -> None:
    with pytest.raises(UsageError):
        put(LocalFiles(root), path, b"x")


def test_a_path_that_nobody_could_make_is_refused_before_its_folders_are_looked_for(root: Path) -> None:
    """It would take minutes to ask for each of them, one below another."""
    with pytest.raises(BadPath, match="longer"):
        put(LocalFiles(root), "x/" * 20_000 + "a.md", b"x", expect=ABSENT)


@pytest.mark.parametrize("there", [0, 1, 2, 3, 4])
def test_a_new_file_below_a_link_is_refused_however_many_of_its_folders_are_there(
    root: Path, there: int
) -> None:
    """The link is found whether what is below it is there or not, and whether it leads anywhere yet."""
    if there:
        (root / "memory" / "/".join("abc"[: there - 1])).mkdir(parents=True)
    (root / "notes/mine").mkdir(parents=True)
    (root / "notes/mine/alias").symlink_to("../../memory")
    (root / "soon.md").symlink_to("memory/new.md")
    for path in ("notes/mine/alias/a/b/c/new.md", "soon.md"):
        with pytest.raises(HiddenByScope):
            put(LocalFiles(root), path, b"x", view=SHARED)
    assert not (root / "memory").exists() or not list((root / "memory").rglob("new.md"))


def test_what_lies_below_a_link_of_a_layer_does_not_hide_what_is_written_through_it(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "lower").mkdir()
    (tmp_path / "lower/notes.md").write_text("open")
    (root / "notes.md").symlink_to("memory/new.md")
    files = OverlayFiles(LocalFiles(root), LocalFiles(tmp_path / "lower"))
    with pytest.raises(HiddenByScope):
        put(files, "notes.md", b"x", view=SHARED)
    assert not (root / "memory").exists()


def test_move_keeps_the_bytes_and_makes_the_folders(root: Path) -> None:
    files = LocalFiles(root)
    put(files, "a.md", b"\xef\xbb\xbfone\r\n\0")
    moved = move(files, "./a.md", "x/y/b.md")
    assert (moved.path, moved.target, moved.digest) == ("a.md", "x/y/b.md", sha(b"\xef\xbb\xbfone\r\n\0"))
    assert (root / "x/y/b.md").read_bytes() == b"\xef\xbb\xbfone\r\n\0"
    assert not (root / "a.md").exists()
    assert move(files, "x/y/b.md", "z/").target == "z/b.md"


def test_move_never_overwrites(root: Path) -> None:
    files = LocalFiles(root)
    put(files, "a.md", b"one")
    put(files, "b.md", b"two")
    for target in ("b.md", "a.md"):
        with pytest.raises(Stale):
            move(files, "a.md", target)
    with pytest.raises(NameTaken):
        move(files, "a.md", "A.md")
    (root / "docs").mkdir()
    with pytest.raises(Unreadable):
        move(files, "a.md", "docs")
    with pytest.raises(NoSuchPath):
        move(files, "nope.md", "c.md")
    assert sorted(p.name for p in root.iterdir()) == ["a.md", "b.md", "docs"]
    assert (root / "b.md").read_bytes() == b"two"


def test_a_move_whose_original_cannot_go_leaves_everything_as_it_was(root: Path) -> None:
    put(LocalFiles(root), "a.md", b"one")
    (root / "a.md").chmod(0o444)
    with pytest.raises(ReadOnly):
        move(LocalFiles(root), "a.md", "b.md")
    assert [p.name for p in root.iterdir()] == ["a.md"]


def test_whichever_call_of_a_move_fails_one_of_the_two_paths_has_the_bytes(tmp_path: Path) -> None:
    fired = True
    at = 0
    while fired:
        at += 1
        root = tmp_path / str(at)
        root.mkdir()
        (root / "a.md").write_bytes(b"one")
        disk = FaultyDisk(fail_at=at)
        try:
            move(LocalFiles(root, disk=disk), "a.md", "sub/b.md")
        except CarrelError:
            assert disk.fired
        kept = [p for p in (root / "a.md", root / "sub/b.md") if p.exists()]
        assert [p.read_bytes() for p in kept] == [b"one"]
        fired = disk.fired
    assert at > 8


def test_discard_keeps_a_copy_and_says_where(root: Path, trash: Callable[[], Trash], tmp_path: Path) -> None:
    files = LocalFiles(root)
    put(files, "notes/a.md", b"one")
    gone = discard(files, "notes/a.md", trash=trash, now=NOW)
    folder = tmp_path / "data/state/trash"
    assert gone.kept == str(folder / f"2026-04-24T120000Z-{sha(b'one')[:8]}/notes/a.md")
    assert Path(gone.kept).read_bytes() == b"one"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not (root / "notes/a.md").exists()
    put(files, "notes/a.md", b"one")
    assert discard(files, "notes/a.md", trash=trash, now=NOW) == gone


def test_a_discard_whose_file_cannot_go_leaves_it(root: Path, trash: Callable[[], Trash]) -> None:
    put(LocalFiles(root), "a.md", b"one")
    (root / "a.md").chmod(0o444)
    with pytest.raises(ReadOnly):
        discard(LocalFiles(root), "a.md", trash=trash, now=NOW)
    assert (root / "a.md").read_bytes() == b"one"


def test_no_file_goes_while_the_trash_has_no_copy(root: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    put(LocalFiles(root), "a.md", b"one")
    fired, at = True, 0
    while fired:
        at += 1
        disk = FaultyDisk(fail_at=at)
        opened = Trash(store=LocalFiles(tmp_path / "bin", disk=disk), place="bin")
        try:
            discard(LocalFiles(root), "a.md", trash=lambda opened=opened: opened, now=NOW)
        except CarrelError:
            assert (root / "a.md").read_bytes() == b"one"
        fired = disk.fired
    assert [p.read_bytes() for p in (tmp_path / "bin").rglob("a.md")] == [b"one"]


@pytest.mark.parametrize("name", ["what?.md", "CON", "new\nline", "bytes\udcff", "back\\slash", "trailing "])
def test_a_name_that_cannot_be_made_can_still_be_discarded(
    root: Path, trash: Callable[[], Trash], name: str
) -> None:
    (root / name).write_bytes(b"one")
    gone = discard(LocalFiles(root), name, trash=trash, now=NOW)
    assert "unportable-" in gone.kept
    assert Path(gone.kept).read_bytes() == b"one"
    with pytest.raises(BadPath):
        put(LocalFiles(root), name, b"again")


def test_what_is_no_file_is_not_discarded(root: Path, trash: Callable[[], Trash], tmp_path: Path) -> None:
    (root / "docs").mkdir()
    os.mkfifo(root / "pipe")
    (root / "out").symlink_to("/etc/passwd")
    for path, reason in (("docs", "directory"), ("pipe", "special_file"), ("out", "link_outside")):
        with pytest.raises(Unreadable) as failure:
            discard(LocalFiles(root), path, trash=trash, now=NOW)
        assert failure.value.reason == reason
    with pytest.raises(NoSuchPath):
        discard(LocalFiles(root), "nope", trash=trash, now=NOW)
    assert not (tmp_path / "data").exists()


def test_shared_scope_changes_nothing_that_it_may_not_see(root: Path, trash: Callable[[], Trash]) -> None:
    files = LocalFiles(root)
    (root / "wish.md").write_text("<!-- scope: private -->\nCANARY")
    (root / "memory").mkdir()
    (root / "USER.md").write_text("CANARY")
    (root / "alias").symlink_to("memory")
    (root / "soft.md").symlink_to("USER.md")
    (root / "a.md").write_text("open")
    for path in (
        "USER.md",
        "MEMORY.md",
        "memory/new.md",
        "alias/new.md",
        "alias/deep/new.md",
        "wish.md",
        "soft.md",
    ):
        with pytest.raises(HiddenByScope):
            put(files, path, b"x", view=SHARED)
        with pytest.raises(HiddenByScope):
            move(files, "a.md", path, view=SHARED)
    for path, refusal in (("USER.md", HiddenByScope), ("wish.md", NoSuchPath), ("soft.md", NoSuchPath)):
        with pytest.raises(refusal):
            discard(files, path, trash=trash, now=NOW, view=SHARED)
        with pytest.raises(refusal):
            move(files, path, "mine.md", view=SHARED)
    assert put(files, "a.md", b"new", view=SHARED).replaced == sha(b"open")
