"""A `.git` may be anybody's work: nothing of it is run, it leads nowhere else, and memory is written either way."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest
from tests.stubs.pens import NOTEBOOK, NOW, Desk

from carrel.testing import FixedClock

ANA = pygit2.Signature("Ana", "ana@example.org", 1_700_000_000, 60)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with a repository of its own, a commit in it, and another directory beside it."""
    root = tmp_path / "desk"
    pygit2.init_repository(str(root), initial_head="main")
    desk = Desk(root, git=True)
    desk.write("clean\n", "clean.md")
    repository = desk.repository()
    repository.index.add("clean.md")
    repository.index.write()
    repository.create_commit("HEAD", ANA, ANA, "all", repository.index.write_tree(), [])
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("theirs\n")
    return desk


def outside_of(desk: Desk) -> Path:
    return desk.root.parent / "outside"


def snapshot(place: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(place)): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(place.rglob("*"))
    }


def move_out(desk: Desk, name: str) -> None:
    """Move a part of the repository outside, and lead there with a link."""
    place = desk.root / name
    place.rename(outside_of(desk) / place.name)
    place.symlink_to(outside_of(desk) / place.name)


def settings(desk: Desk, text: str) -> None:
    with (desk.root / ".git/config").open("a") as file:
        file.write(text)


def gitfile(desk: Desk) -> None:
    (desk.root / ".git").rename(outside_of(desk) / "git")
    (desk.root / ".git").write_text(f"gitdir: {outside_of(desk) / 'git'}\n")


def alternates(desk: Desk) -> None:
    (desk.root / ".git/objects/info/alternates").write_text(f"{outside_of(desk)}\n")


def every_fan_leads_outside(desk: Desk) -> None:
    for number in range(256):
        name = f"{number:02x}"
        if not (desk.root / ".git/objects" / name).exists():
            (desk.root / ".git/objects" / name).symlink_to(outside_of(desk))


def pipe(name: str) -> Callable[[Desk], None]:
    def make(desk: Desk) -> None:
        place = desk.root / name
        place.unlink(missing_ok=True)
        os.mkfifo(place)

    return make


def object_is_a_pipe(desk: Desk) -> None:
    name = str(desk.repository().head.target)
    pipe(f".git/objects/{name[:2]}/{name[2:]}")(desk)


def object_is_a_link(desk: Desk) -> None:
    name = str(desk.repository().head.target)
    place = desk.root / f".git/objects/{name[:2]}/{name[2:]}"
    place.rename(outside_of(desk) / "object")
    place.symlink_to(outside_of(desk) / "object")


def keeps_as_link(desk: Desk) -> None:
    """Git has a link where the folder of memory is now."""
    (desk.root / "memory").symlink_to("elsewhere")
    repository = desk.repository()
    repository.index.add("memory")
    repository.create_commit(
        "HEAD", ANA, ANA, "link", repository.index.write_tree(), [repository.head.target]
    )
    (desk.root / "memory").unlink()


def keeps_as_submodule(desk: Desk) -> None:
    repository = desk.repository()
    entry = pygit2.IndexEntry("memory", repository.head.target, pygit2.enums.FileMode.COMMIT)
    repository.index.add(entry)
    repository.index.write()


REFUSED: dict[str, Callable[[Desk], None]] = {
    "a link": lambda desk: move_out(desk, ".git"),
    "a gitfile": gitfile,
    "a part of another": lambda desk: (desk.root / ".git/commondir").write_text("../outside\n") and None,
    "bare": lambda desk: settings(desk, "[core]\n\tbare = true\n"),
    "bare, in other words": lambda desk: settings(desk, "[CORE] Bare\n"),
    "another worktree": lambda desk: settings(desk, f"[core]\n\tworktree = {outside_of(desk)}\n"),
    "alternates": alternates,
    "sha256": lambda desk: settings(desk, "[extensions]\n\tobjectFormat = sha256\n"),
    "reftable": lambda desk: settings(desk, "[extensions]\n\trefStorage = reftable\n"),
    "an extension of tomorrow": lambda desk: settings(desk, "[extensions]\n\tsomething = true\n"),
    "objects elsewhere": lambda desk: move_out(desk, ".git/objects"),
    "packs elsewhere": lambda desk: move_out(desk, ".git/objects/pack"),
    "info elsewhere": lambda desk: move_out(desk, ".git/objects/info"),
    "each fan elsewhere": every_fan_leads_outside,
    "refs elsewhere": lambda desk: move_out(desk, ".git/refs"),
    "heads elsewhere": lambda desk: move_out(desk, ".git/refs/heads"),
    "the branch elsewhere": lambda desk: move_out(desk, ".git/refs/heads/main"),
    "HEAD elsewhere": lambda desk: move_out(desk, ".git/HEAD"),
    "the index elsewhere": lambda desk: move_out(desk, ".git/index"),
    "settings elsewhere": lambda desk: move_out(desk, ".git/config"),
    "HEAD is a pipe": pipe(".git/HEAD"),
    "the index is a pipe": pipe(".git/index"),
    "settings are a pipe": pipe(".git/config"),
    "the branch is a pipe": pipe(".git/refs/heads/main"),
    "a pack is a pipe": pipe(".git/objects/pack/pack-1.idx"),
    "an object is a pipe": object_is_a_pipe,
    "an object is a link": object_is_a_link,
    "a branch is another's name": lambda desk: (desk.root / ".git/refs/heads/main").write_text("ref: refs/x\n") and None,
    "memory is a link to git": keeps_as_link,
    "memory is a repository to git": keeps_as_submodule,
}  # fmt: skip

DAMAGED: dict[str, Callable[[Desk], object]] = {
    "HEAD is garbage": lambda desk: (desk.root / ".git/HEAD").write_bytes(b"\xff\x00garbage"),
    "HEAD leads out": lambda desk: (desk.root / ".git/HEAD").write_text(
        "ref: refs/heads/../../../outside/x\n"
    ),
    "HEAD is no branch": lambda desk: (desk.root / ".git/HEAD").write_text("ref: refs/tags/v1\n"),
    "HEAD is empty": lambda desk: (desk.root / ".git/HEAD").write_text(""),
    "HEAD is missing": lambda desk: (desk.root / ".git/HEAD").unlink(),
    "the index is garbage": lambda desk: (desk.root / ".git/index").write_bytes(b"DIRC" + b"garbage" * 99),
    "the index is empty": lambda desk: (desk.root / ".git/index").write_bytes(b"\0"),
    "the branch is garbage": lambda desk: (desk.root / ".git/refs/heads/main").write_text("garbage\n"),
    "the branch leads nowhere": lambda desk: (desk.root / ".git/refs/heads/main").write_text("a" * 40 + "\n"),
    "the branch is a tree": lambda desk: (desk.root / ".git/refs/heads/main").write_text(
        str(desk.repository().head.peel(pygit2.Tree).id) + "\n"
    ),
}


def lock(name: str) -> Callable[[Desk], None]:
    return lambda desk: (desk.root / name).write_text("git's\n") and None


def unresolved(desk: Desk) -> None:
    repository = desk.repository()
    entry = repository.index["clean.md"]
    repository.index.add_conflict(entry, entry, entry)
    repository.index.write()


WAITING: dict[str, Callable[[Desk], object]] = {
    "detached": lambda desk: (desk.root / ".git/HEAD").write_text(f"{desk.repository().head.target}\n"),
    "merging": lambda desk: (desk.root / ".git/MERGE_HEAD").write_text("x\n"),
    "rebasing": lambda desk: (desk.root / ".git/rebase-merge").mkdir(),
    "the index is locked": lock(".git/index.lock"),
    "the branch is locked": lock(".git/refs/heads/main.lock"),
    "conflicts": unresolved,
}


def check_left_alone(desk: Desk, code: str) -> None:
    """Memory is written, nothing outside is touched, nothing of the repository changes, and it is said."""
    before = snapshot(outside_of(desk))
    for number in range(2):
        change = desk.add(f"- {number}")
        assert change is not None
        assert change.state == "done"
        assert change.commit == ""
    assert desk.read() == b"- 0\n- 1\n"
    assert snapshot(outside_of(desk)) == before
    assert desk.history is not None
    [finding] = desk.history.findings()
    assert finding.code == code
    assert finding.message
    assert finding.hint
    assert desk.pen.catch_up() == (finding,)
    assert desk.pen.undo([change], desk_author()) != []
    assert desk.read() == b"- 0\n"


def desk_author():
    from carrel.memory.pen import Author  # noqa: PLC0415

    return Author(actor="owner", action="undo")


@pytest.mark.parametrize("case", REFUSED)
def test_a_repository_that_leads_elsewhere_is_left_alone(desk: Desk, case: str) -> None:
    REFUSED[case](desk)
    check_left_alone(desk, "git_refused")


@pytest.mark.parametrize("case", DAMAGED)
def test_a_repository_that_is_damaged_is_left_alone(desk: Desk, case: str) -> None:
    DAMAGED[case](desk)
    check_left_alone(desk, "git_damaged")


@pytest.mark.parametrize("case", WAITING)
def test_a_repository_that_is_in_use_is_waited_for(desk: Desk, case: str) -> None:
    WAITING[case](desk)
    check_left_alone(desk, "git_waiting")


def test_what_was_in_the_way_is_forgotten_once_it_is_gone(desk: Desk) -> None:
    place = desk.root / ".git/HEAD"
    head = place.read_text()
    place.write_text(f"{desk.repository().head.target}\n")
    desk.add("- one")
    place.write_text(head)
    assert desk.pen.catch_up() == ()
    assert desk.committed() == [None, b"- one\n"]


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\thooksPath = {canary}\n\tfsmonitor = {canary}/run\n\tsshCommand = {canary}/run\n",
        '[filter "x"]\n\tclean = {canary}/run\n\tsmudge = {canary}/run\n\tprocess = {canary}/run\n\trequired\n',
        "[include]\n\tpath = {canary}/pipe\n",
        '[includeIf "gitdir:**"]\n\tpath = {canary}/pipe\n',
        "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {canary}/run\n",
        "[core]\n\tautocrlf = true\n\tsafecrlf = true\n\tbigFileThreshold = 1\n",
        "[init]\n\ttemplateDir = {canary}\n[trace2]\n\teventTarget = {canary}/trace\n",
        "broken [\n= x\n\\\n[[[\n\0" + "[" * 100_000,
        "[a]" * 300_000 + "\n[core\n" + " " * 50_000,
    ],
)
def test_nothing_that_settings_name_is_run_or_read(desk: Desk, tmp_path: Path, text: str) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    os.mkfifo(canary / "pipe")
    for name in ("run", "pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        for place in (canary, desk.root / ".git/hooks"):
            place.mkdir(exist_ok=True)
            (place / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
            (place / name).chmod(0o755)
    settings(desk, text.format(canary=canary) if "{" in text else text)
    desk.write("* filter=x diff=x merge=x text=auto eol=crlf ident\n", ".gitattributes")
    change = desk.add("- $Id$\r")
    assert change is not None
    assert change.commit
    assert desk.read() == b"- $Id$\r\n"
    (desk.root / ".git/config").write_text("[core]\n\tbare = false\n")
    assert desk.committed()[-1] == b"- $Id$\r\n"
    assert not (tmp_path / "ran").exists()


def test_logs_that_lead_elsewhere_are_not_written(desk: Desk) -> None:
    for name in ("HEAD", "refs/heads/main"):
        place = desk.root / ".git/logs" / name
        place.unlink()
        place.symlink_to(outside_of(desk) / "kept.txt")
    change = desk.add("- one")
    assert change is not None
    assert change.commit
    assert (outside_of(desk) / "kept.txt").read_text() == "theirs\n"


@pytest.mark.parametrize("name", ["carrel-index", "carrel-index.lock", "carrel-ref"])
def test_names_of_ours_that_lead_elsewhere_are_taken_away(desk: Desk, name: str) -> None:
    (desk.root / ".git" / name).symlink_to(outside_of(desk) / "kept.txt")
    change = desk.add("- one")
    assert change is not None
    assert change.commit
    assert (outside_of(desk) / "kept.txt").read_text() == "theirs\n"


def test_a_lock_that_only_looks_like_ours_is_gits(desk: Desk) -> None:
    (desk.root / ".git/carrel-index").write_text("x")
    (desk.root / ".git/index.lock").write_text("x")
    change = desk.add("- one")
    assert change is not None
    assert change.commit == ""
    assert (desk.root / ".git/index.lock").exists()


def test_a_repository_above_is_never_used(tmp_path: Path) -> None:
    pygit2.init_repository(str(tmp_path), initial_head="main")
    before = snapshot(tmp_path / ".git")
    desk = Desk(tmp_path / "desk", git=True)
    change = desk.add("- one")
    assert change is not None
    assert change.commit
    assert snapshot(tmp_path / ".git") == before
    assert (desk.root / ".git").is_dir()


def test_a_repository_of_somebody_else_is_left_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    check_left_alone(desk, "git_refused")


def test_a_directory_that_cannot_be_written_is_told(desk: Desk) -> None:
    assert desk.history is not None
    (desk.root / ".git").rename(desk.root / "aside")
    (desk.root / ".carrel-tmp-git").write_text("in the way")
    change = desk.add("- one")
    assert change is not None
    assert change.commit == ""
    assert [finding.code for finding in desk.history.findings()] == ["git_failed"]


def test_an_index_that_is_as_git_wrote_it_in_any_version_is_kept(desk: Desk) -> None:
    """Versions differ in how names are written; what git marks in entries must survive."""
    index = desk.root / ".git/index"
    before = index.read_bytes()
    desk.add("- one")
    repository = desk.repository()
    assert sorted(entry.path for entry in repository.index) == ["clean.md", NOTEBOOK]
    assert stat.S_ISREG(index.lstat().st_mode)
    assert index.read_bytes()[:8] == before[:8]
    assert not list((desk.root / ".git").glob("carrel-*"))
    assert not list((desk.root / ".git").rglob("*.lock"))


def test_times_before_1970_are_no_obstacle(tmp_path: Path) -> None:
    clock = FixedClock(NOW.now().replace(year=1900))
    desk = Desk(tmp_path / "desk", git=True, clock=clock)
    change = desk.add("- one")
    assert change is not None
    assert change.commit
