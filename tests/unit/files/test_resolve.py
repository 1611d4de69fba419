"""The walk from a root to a file, step by step."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.files import Unreadable
from carrel.files.deep import reach
from carrel.files.paths import BadPath, clean, is_own
from carrel.files.resolve import (
    DIRECTORY,
    Root,
    RootMissing,
    RootNotDirectory,
    Steps,
    _Walk,
    combined,
    open_root,
    resolved,
)


def opened(root: Path) -> Root:
    return open_root(str(root), (root.parts[1:],))


def target(root: Path, path: str, **options: bool) -> str:
    with opened(root) as here, resolved(here, path.split("/"), **options) as place:
        return place.target


def test_steps_are_taken_until_there_are_none_left() -> None:
    steps = Steps(2)
    steps.take("a")
    steps.take("a")
    with pytest.raises(Unreadable) as caught:
        steps.take("a")
    assert (caught.value.reason, caught.value.path) == ("link_loop", "a")


def test_a_root_must_be_there_and_be_a_directory_however_it_is_reached(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(RootMissing, match="nowhere"):
        opened(tmp_path / "nowhere")
    with pytest.raises(RootNotDirectory, match="file"):
        opened(tmp_path / "file")
    with pytest.raises(Unreadable) as caught:
        opened(tmp_path / ("x" * 300))
    assert caught.value.reason == "io_error"
    with opened(tmp_path / "link") as root:
        assert os.fstat(root.fd).st_ino == (tmp_path / "real").stat().st_ino


def test_what_is_missing_is_told_by_its_first_name_and_those_beyond(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with opened(tmp_path) as root:
        with resolved(root, ["a", "b", "c", "d"]) as place:
            assert (place.within, place.name, place.beyond, place.found) == (("a",), "b", ("c", "d"), None)
            assert place.target == "a/b/c/d"
        with resolved(root, ["a"]) as place:
            assert (place.name, place.target) == ("a", "a")
            assert place.found is not None
        with resolved(root, []) as place:
            assert (place.name, place.target) == ("", "")


def test_a_step_up_stays_inside_and_beyond_the_root_there_is_none(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "c.md").write_bytes(b"c")
    (root / "a" / "b" / "up").symlink_to("../../c.md")
    (root / "a" / "self").symlink_to("../a/b/../../c.md")
    (root / "a" / "b" / "out").symlink_to("../../../root/c.md")
    (root / "a" / "top").symlink_to("..")
    assert target(root, "a/b/up") == "c.md"
    assert target(root, "a/self") == "c.md"
    assert target(root, "a/top") == ""
    assert target(root, "a/top/a/b/up") == "c.md"
    with pytest.raises(Unreadable) as caught:
        target(root, "a/b/out")
    assert caught.value.reason == "link_outside"


def test_an_absolute_link_is_followed_where_it_names_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "c.md").write_bytes(b"c")
    (root / "a" / "own").symlink_to(root / "c.md")
    (root / "a" / "whole").symlink_to(root)
    (root / "a" / "other").symlink_to(tmp_path / "rooted")
    (root / "a" / "short").symlink_to("/")
    assert target(root, "a/own") == "c.md"
    assert target(root, "a/whole/c.md") == "c.md"
    for name in ("other", "short"):
        with pytest.raises(Unreadable) as caught:
            target(root, f"a/{name}")
        assert caught.value.reason == "link_outside"


def test_the_last_link_may_be_meant_itself(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b" / "c").symlink_to("../a")
    assert target(tmp_path, "a", follow_last=False) == "a"
    assert target(tmp_path, "a/c", follow_last=False) == "b/c"
    assert target(tmp_path, "a/c") == "b"


def test_a_file_on_the_way_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(Unreadable) as caught:
        target(tmp_path, "a/b")
    assert (caught.value.reason, caught.value.path) == ("not_directory", "a/b")


def test_each_link_on_the_way_is_part_of_a_stamp(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"bytes")
    (tmp_path / "a").symlink_to("b")
    found = (tmp_path / "b").stat()
    plain = (found.st_ino, 5, found.st_mtime_ns, found.st_ctime_ns)
    assert combined(found) == plain
    link = (tmp_path / "a").lstat()
    with opened(tmp_path) as root, resolved(root, ["a"]) as place:
        assert place.links == ((link.st_ino, link.st_ctime_ns),)
        assert combined(found, place.links)[1:] == plain[1:]
        assert combined(found, place.links)[0] != found.st_ino
        assert combined(found, [(1, 2)])[0] not in (found.st_ino, combined(found, place.links)[0])


def test_nothing_stays_open_behind_a_walk(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to("../../a/b/none")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        assert target(tmp_path, "a/b/up") == "a/b/none"
    assert len(list(Path("/proc/self/fd").iterdir())) == before


class Watched(_Walk):
    """A walk during which somebody else changes a name: before it is looked at, or right after."""

    def __init__(
        self, root: Root, names: list[str], *, before: Callable[[], object], after: Callable[[], object]
    ):
        super().__init__(root, names, Steps(100))
        self.before, self.after = before, after

    def look(self, name: str) -> os.stat_result | None:
        self.before()
        found = super().look(name)
        self.after()
        return found


def nothing() -> None: ...


def test_a_link_that_became_a_file_just_now_is_looked_at_again(tmp_path: Path) -> None:
    shown = tmp_path / "a"
    shown.symlink_to("b")

    def replace_link() -> None:
        if shown.is_symlink():
            shown.unlink()
            shown.write_bytes(b"now a file")

    with opened(tmp_path) as root:
        place = Watched(root, ["a"], before=nothing, after=replace_link).run(follow_last=True)
    assert place.target == "a"
    assert place.found is not None
    assert place.found.st_size == len(b"now a file")


def test_a_link_that_went_just_now_is_missing(tmp_path: Path) -> None:
    shown = tmp_path / "a"
    shown.symlink_to("b")
    with opened(tmp_path) as root:
        walk = Watched(root, ["a", "c"], before=nothing, after=lambda: shown.unlink(missing_ok=True))
        place = walk.run(follow_last=True)
    assert (place.name, place.beyond, place.found) == ("a", ("c",), None)


def test_a_file_that_became_a_directory_just_now_is_entered(tmp_path: Path) -> None:
    shown = tmp_path / "a"
    shown.write_bytes(b"a file")

    def replace_file() -> None:
        if shown.is_file():
            shown.unlink()
            shown.mkdir()
            (shown / "b").write_bytes(b"inside")

    with opened(tmp_path) as root:
        walk = Watched(root, ["a", "b"], before=replace_file, after=nothing)
        place = walk.run(follow_last=True)
        walk.close()
    assert (place.target, place.within) == ("a/b", ("a",))
    assert place.found is not None


def test_what_git_and_carrel_keep_for_themselves_is_known_by_any_spelling() -> None:
    for path in (".git", ".carrel", "a/.GIT/config", ".Carrel/state/x", "a/b/.git"):
        assert is_own(path), path
    for path in ("git", "carrel", ".gitignore", "a/git.md", ".carrelx/a", "a.git/b", ""):
        assert not is_own(path), path


def test_one_name_that_is_too_long_is_enough_to_refuse_a_path() -> None:
    assert clean("notes/" + "x" * 255) == "notes/" + "x" * 255
    for path in ("notes/" + "x" * 256, "é" * 128 + "/notes"):
        with pytest.raises(BadPath, match="longer"):
            clean(path)


def test_a_root_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RootMissing) as caught:
        opened(tmp_path / "gone")
    assert caught.value.root == str(tmp_path / "gone")


# A way so long that the system is asked for the last directory at once


DEPTH = 24


@pytest.fixture(params=["at once", "name by name", "without ctypes"])
def deep(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with a chain of folders, where the system has such a call and where it has none."""
    if request.param == "name by name":
        monkeypatch.setattr("carrel.files.deep.reach", lambda *_: None)
    if request.param == "without ctypes":
        monkeypatch.setitem(sys.modules, "carrel.files.deep", None)
    root = tmp_path / "root"
    (root / "/".join(["d"] * DEPTH)).mkdir(parents=True)
    (root / "/".join(["d"] * DEPTH) / "f.md").write_bytes(b"deep")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f.md").write_bytes(b"not ours")
    return root


def chain(*, of: str = "d", at: int = -1) -> list[str]:
    return [of if place == at else "d" for place in range(DEPTH)]


def test_a_long_way_is_the_same_however_it_is_gone(deep: Path) -> None:
    names = [*chain(), "f.md"]
    with opened(deep) as root, resolved(root, names) as place:
        assert (place.within, place.name, place.links) == (tuple(names[:-1]), "f.md", ())
        assert place.found is not None
        assert place.found.st_size == len(b"deep")
        assert os.fstat(place.directory).st_ino == (deep / "/".join(names[:-1])).stat().st_ino
    with opened(deep) as root, resolved(root, [*chain(), "none", "f.md"]) as place:
        assert (place.within, place.name, place.beyond) == (tuple(chain()), "none", ("f.md",))


@pytest.mark.parametrize("at", range(0, DEPTH, 5))
def test_a_link_on_a_long_way_is_followed_inside_and_nowhere_else(deep: Path, at: int) -> None:
    above = deep.joinpath(*chain()[:at])
    (above / "in").symlink_to("d")
    (above / "out").symlink_to(deep.parent / "outside")
    (above / "up").symlink_to("../" * (at + 1) + "outside")
    (above / "file").write_bytes(b"")
    assert target(deep, "/".join([*chain(of="in", at=at), "f.md"])) == "/".join([*chain(), "f.md"])
    for name, reason in (("out", "link_outside"), ("up", "link_outside"), ("file", "not_directory")):
        with pytest.raises(Unreadable) as caught:
            target(deep, "/".join([*chain(of=name, at=at), "f.md"]))
        assert caught.value.reason == reason
    with opened(deep) as root, resolved(root, [*chain(of="none", at=at), "f.md"]) as place:
        assert (len(place.within), place.name, place.found) == (at, "none", None)


def test_a_long_way_takes_as_many_steps_as_it_has_names(deep: Path) -> None:
    with opened(deep) as root, resolved(root, [*chain(), "f.md"], steps=Steps(DEPTH + 1)) as place:
        assert place.found is not None
    with (
        opened(deep) as root,
        pytest.raises(Unreadable) as caught,
        resolved(root, [*chain(), "f.md"], steps=Steps(DEPTH - 1)),
    ):
        pass
    assert caught.value.reason == "link_loop"


def test_descriptors_of_a_long_way_are_closed(deep: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    for names in ([*chain(), "f.md"], [*chain(), "none"], chain(of="none", at=20)):
        with opened(deep) as root, resolved(root, names):
            pass
    assert count() == before


def test_the_call_leads_nowhere_by_a_link_or_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    with opened(tmp_path) as root:
        found = reach(root.fd, ["a", "b"], DIRECTORY)
        assert found is not None
        assert os.fstat(found).st_ino == (tmp_path / "a/b").stat().st_ino
        assert not os.get_inheritable(found)
        os.close(found)
        for names in (
            ["link"],
            ["link", "b"],
            ["a", "..", ".."],
            ["", "etc"],
            ["a", "none"],
            ["a\0x"],
            ["a"] * 3_000,
        ):
            assert reach(root.fd, names, DIRECTORY) is None, names
