"""Links, as a workspace from a stranger may hold them: inside is followed, outside never."""

import os
import threading
import time
from pathlib import Path

import pytest

from carrel.errors import CarrelError, Refused
from carrel.files import Stale, Unreadable, walk
from carrel.files.local import LocalFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside.md").write_text("SECRET")
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil" / "x.md").write_text("SECRET")
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


def test_a_link_inside_is_read_as_what_it_leads_to(root: Path) -> None:
    (root / "CLAUDE.md").write_text("guide")
    (root / "AGENTS.md").symlink_to("CLAUDE.md")
    files = LocalFiles(root)
    content = files.read("AGENTS.md")
    agents, claude = files.list()
    assert content.data == b"guide"
    assert content.target == agents.target == "CLAUDE.md"
    assert agents.kind == "file"
    assert content.identity == agents.identity == claude.identity
    assert agents.stamp == files.stamps(["AGENTS.md"])[0]


@pytest.mark.parametrize("style", ["relative", "absolute", "through the given path", "upwards and back"])
def test_a_link_may_be_spelled_in_any_way_that_stays_inside(root: Path, style: str) -> None:
    given = root.parent / "alias"
    given.symlink_to(root)
    (root / "a" / "b").mkdir(parents=True)
    (root / "real.md").write_text("here")
    target = {
        "relative": "../../real.md",
        "absolute": f"{root}/real.md",
        "through the given path": f"{given}/real.md",
        "upwards and back": "../b/../../a/../real.md",
    }[style]
    (root / "a" / "b" / "link.md").symlink_to(target)
    content = LocalFiles(given).read("a/b/link.md")
    assert content.data == b"here"
    assert content.target == "real.md"


@pytest.mark.parametrize(
    "target",
    ["../outside.md", "{tmp}/outside.md", "../ws-evil/x.md", "{root}-evil/x.md", "/etc/passwd", "/proc/self/environ",
     "/dev/zero", "/dev/stdin", "../../../../../../../../etc/passwd", "{root}/../outside.md", "/", ".."],
)  # fmt: skip
def test_a_link_that_leads_outside_is_not_followed_by_any_verb(root: Path, target: str) -> None:
    (root / "MEMORY.md").symlink_to(target.format(tmp=root.parent, root=root))
    files = LocalFiles(root)
    with pytest.raises(Unreadable) as caught:
        files.read("MEMORY.md")
    assert caught.value.reason == "link_outside"
    assert files.stamps(["MEMORY.md"]) == [None]
    assert [entry.kind for entry in files.list()] == ["link"]
    with pytest.raises(Unreadable):
        files.target("MEMORY.md")
    for call in (
        lambda: files.write("MEMORY.md", b"x", expect=None),
        lambda: files.append("MEMORY.md", b"x\n"),
        lambda: files.remove("MEMORY.md", expect="0" * 64),
    ):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.code == "link_outside"
    assert (root.parent / "outside.md").read_text() == "SECRET"


def test_a_directory_link_that_leads_outside_hides_everything_behind_it(root: Path) -> None:
    (root / "notes").symlink_to("../ws-evil")
    files = LocalFiles(root)
    for call in (lambda: files.read("notes/x.md"), lambda: files.list("notes")):
        with pytest.raises(Unreadable) as caught:
            call()
        assert caught.value.reason == "link_outside"
    with pytest.raises(Refused):
        files.write("notes/new.md", b"x", expect=None)
    assert files.stamps(["notes/x.md", "notes"]) == [None, None]
    assert [entry.kind for entry in walk(files, skip=lambda _: False)] == ["link"]
    assert [path.name for path in (root.parent / "ws-evil").iterdir()] == ["x.md"]


@pytest.mark.parametrize("made", ["nothing", "the folder", "the file"])
def test_it_is_told_where_a_link_would_have_a_file_made(root: Path, made: str) -> None:
    (root / "soon.md").symlink_to("memory/day.md")
    (root / "a").mkdir()
    (root / "a/alias").symlink_to("../memory")
    files = LocalFiles(root)
    if made != "nothing":
        (root / "memory").mkdir()
    if made == "the file":
        (root / "memory/day.md").write_text("old")
    assert files.target("soon.md") == files.target("a/alias/day.md") == "memory/day.md"
    assert files.target("a/alias/deep/er.md") == "memory/deep/er.md"
    files.write("a/alias/deep/er.md", b"x", expect=None)
    assert (root / "memory/deep/er.md").read_text() == "x"


def test_eight_links_in_a_row_are_followed_and_nine_are_not(root: Path) -> None:
    (root / "l0").write_text("end")
    for i in range(50):
        (root / f"l{i + 1}").symlink_to(f"l{i}")
    files = LocalFiles(root)
    assert files.read("l8").data == b"end"
    for name in ("l9", "l50"):
        with pytest.raises(Unreadable) as caught:
            files.read(name)
        assert caught.value.reason == "link_loop"
    kinds = {entry.path: entry.kind for entry in files.list()}
    assert kinds["l8"] == "file"
    assert kinds["l9"] == "link"


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "self").symlink_to("self")
    (root / "here").symlink_to(".")
    (root / "d").mkdir()
    (root / "d" / "up").symlink_to("..")
    (root / "d" / "x.md").write_text("")
    files = LocalFiles(root)
    with pytest.raises(Unreadable) as caught:
        files.read("a")
    assert caught.value.reason == "link_loop"
    found = [(entry.path, entry.kind) for entry in walk(files, skip=lambda _: False)]
    assert found == [("a", "link"), ("b", "link"), ("d/x.md", "file"), ("self", "link")]


def test_a_file_is_walked_by_its_own_path_before_an_alias(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "x.md").write_text("")
    (root / "alias").symlink_to("real")
    (root / ".kept").mkdir()
    (root / ".kept" / "y.md").write_text("")
    (root / "current").symlink_to(".kept")
    files = LocalFiles(root)
    found = walk(files, skip=lambda entry: entry.path.startswith("."))
    assert [(entry.path, entry.target) for entry in found] == [
        ("real/x.md", "real/x.md"),
        ("current/y.md", ".kept/y.md"),
    ]


def test_hostile_links_cost_bounded_time(root: Path) -> None:
    deep = root
    for _ in range(200):
        deep /= "d"
    deep.mkdir(parents=True)
    back = "/".join(["d", ".."] * 800)
    for i in range(200):
        (deep / f"l{i}").symlink_to(f"{back}/nothing")
    for i in range(2000):
        (root / f"f{i}").symlink_to(f"f{i + 1}")
    files = LocalFiles(root)
    started = time.process_time()
    assert {entry.kind for entry in files.list("/".join(["d"] * 200))} == {"link"}
    assert len(files.list()) == 2001
    assert time.process_time() - started < 10


def test_a_dangling_link_is_absent_and_its_target_can_be_made(root: Path) -> None:
    (root / "today.md").symlink_to("journal/2026-04-23.md")
    files = LocalFiles(root)
    assert files.read("today.md") is None
    assert files.list()[0].kind == "link"
    assert files.stamps(["today.md"]) == [None]
    files.write("today.md", b"dear diary\n", expect=None)
    assert (root / "today.md").is_symlink()
    assert (root / "journal" / "2026-04-23.md").read_text() == "dear diary\n"


def test_a_write_goes_through_a_link_and_the_link_stays(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "a.md").write_text("old")
    (root / "a.md").symlink_to("real/a.md")
    files = LocalFiles(root)
    files.write("a.md", b"new", expect=files.read("a.md").digest)
    files.append("a.md", b"more\n")
    assert (root / "a.md").is_symlink()
    assert (root / "real" / "a.md").read_text() == "new\nmore\n"


def test_removing_a_link_leaves_what_it_leads_to(root: Path) -> None:
    (root / "real.md").write_text("x")
    (root / "link.md").symlink_to("real.md")
    files = LocalFiles(root)
    with pytest.raises(Stale):
        files.remove("link.md", expect="0" * 64)
    files.remove("link.md", expect=files.read("link.md").digest)
    assert files.read("link.md") is None
    assert files.read("real.md").data == b"x"


def test_repointing_a_link_changes_the_stamp_even_to_the_same_file(root: Path) -> None:
    (root / "a.md").write_text("x")
    (root / "link.md").symlink_to("a.md")
    files = LocalFiles(root)
    before = files.stamps(["link.md"])
    assert files.stamps(["link.md"]) == before
    (root / "new").symlink_to("./a.md")
    (root / "new").rename(root / "link.md")
    assert files.stamps(["link.md"]) != before


def test_a_file_behind_a_directory_link_has_one_stamp_for_all_verbs(root: Path) -> None:
    (root / "v2").mkdir()
    (root / "v2" / "a.md").write_text("x")
    (root / "current").symlink_to("v2")
    (root / "v2" / "b.md").symlink_to("a.md")
    files = LocalFiles(root)
    for path, entry in zip(("current/a.md", "current/b.md"), files.list("current"), strict=True):
        assert entry.path == path
        assert entry.target == "v2/a.md"
        assert entry.stamp == files.stamps([path])[0]


def test_a_hard_link_is_read_but_its_other_name_is_never_changed(root: Path) -> None:
    outside = root.parent / "outside.md"
    for name in ("a.md", "b.md"):
        os.link(outside, root / name)
    files = LocalFiles(root)
    content = files.read("a.md")
    assert content.data == b"SECRET"
    assert content.links == 3
    files.write("a.md", b"mine", expect=content.digest)
    files.append("b.md", b"mine\n")
    assert outside.read_text() == "SECRET"
    assert (root / "b.md").read_text() == "SECRET\nmine\n"


def test_a_link_swapped_in_between_look_and_open_never_leads_outside(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "x.md").write_text("inside")
    (root / "f.md").write_text("inside")
    (root / "inside").mkdir()
    (root / "e").symlink_to("inside")
    stop = threading.Event()

    def swap() -> None:
        outside = root.parent / "ws-evil"
        while not stop.is_set():
            (root / "d").rename(root / "d.real")
            (root / "d").symlink_to(outside)
            (root / "f.new").symlink_to(outside / "x.md")
            (root / "f.new").rename(root / "f.md")
            (root / "e.new").symlink_to(outside)
            (root / "e.new").rename(root / "e")
            (root / "d").unlink()
            (root / "d.real").rename(root / "d")
            (root / "e.new").symlink_to("inside")
            (root / "e.new").rename(root / "e")
            (root / "f.new").write_text("inside")
            (root / "f.new").rename(root / "f.md")

    thread = threading.Thread(target=swap)
    thread.start()
    files = LocalFiles(root)
    outcomes = set[str]()
    deadline = time.monotonic() + 1
    try:
        while time.monotonic() < deadline or not is_enough(outcomes):
            assert thread.is_alive()
            outcomes |= {_outcome(files, "d/x.md"), _outcome(files, "f.md")}
            try:
                files.append("e/log", b"x\n")
            except CarrelError:
                outcomes.add("append refused")
    finally:
        stop.set()
        thread.join()
    assert "SECRET" not in outcomes
    assert [path.name for path in (root.parent / "ws-evil").iterdir()] == ["x.md"]
    assert (root.parent / "ws-evil" / "x.md").read_text() == "SECRET"


def is_enough(outcomes: set[str]) -> bool:
    """Tell whether both were met with: what is inside, and a link away or a moment without a file."""
    return "inside" in outcomes and bool(outcomes & {"link_outside", "absent", "SECRET"})


def _outcome(files: LocalFiles, path: str) -> str:
    try:
        content = files.read(path)
    except Unreadable as error:
        return error.reason
    return "absent" if content is None else content.data.decode()
