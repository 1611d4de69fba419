"""Every change of memory is a commit of its own, and whatever else its owner has in git stays as it is."""

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode, FileStatus
from tests.stubs.pens import NOTEBOOK, NOW, OWNER, Desk, QuickDisk, content

from carrel.memory.pen import Author
from carrel.testing import FixedClock

ANA = pygit2.Signature("Ana", "ana@example.org", int(NOW.now().timestamp()) + 60, 60)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk whose repository Carrel makes."""
    return Desk(tmp_path / "desk", git=True)


@pytest.fixture
def theirs(tmp_path: Path) -> Desk:
    """A desk whose owner has a repository, with a file of each kind of state in it."""
    root = tmp_path / "desk"
    pygit2.init_repository(str(root), initial_head="trunk")
    desk = Desk(root, git=True)
    for name in ("clean", "staged", "changed", "both", "gone", "deep/er/clean"):
        desk.write(f"{name}\n", f"{name}.md")
    (root / "run.sh").write_text("true\n")
    (root / "run.sh").chmod(0o755)
    commit(desk, "all", "*")
    desk.write("staged now\n", "staged.md")
    desk.write("both now\n", "both.md")
    desk.write("new\n", "new.md")
    stage(desk, "staged.md", "both.md", "new.md")
    desk.write("both again\n", "both.md")
    desk.write("changed now\n", "changed.md")
    desk.write("unknown\n", "unknown.md")
    (root / "gone.md").unlink()
    return desk


def stage(desk: Desk, *paths: str) -> None:
    repository = desk.repository()
    for path in paths:
        repository.index.add(path)
    repository.index.write()


def commit(desk: Desk, message: str, *patterns: str) -> str:
    repository = desk.repository()
    repository.index.add_all(list(patterns))
    repository.index.write()
    parents = [] if repository.head_is_unborn else [repository.head.target]
    return str(repository.create_commit("HEAD", ANA, ANA, message, repository.index.write_tree(), parents))


def state(desk: Desk) -> tuple[dict[str, FileStatus], str]:
    """What `git status` and `git diff --cached` would say."""
    repository = desk.repository()
    status = {path: found for path, found in repository.status().items() if found != FileStatus.CURRENT}
    tree = repository.head.peel(pygit2.Tree)
    return status, repository.index.diff_to_tree(tree).patch or ""


def changed(commit: pygit2.Commit) -> list[str]:
    """The paths that a commit touches."""
    if not commit.parents:
        delta = commit.tree.diff_to_tree(swap=True)
    else:
        delta = commit.parents[0].tree.diff_to_tree(commit.tree)
    return [each.new_file.path for each in delta.deltas]


# --------------------------------------------------------------------------------------------- what it says


def test_a_commit_says_who_changed_what_why_and_in_which_session(desk: Desk) -> None:
    author = Author(actor="kate", action="supersede", reason="She said so\n\nChange: 99\x1b", session="s-1")
    change = desk.add("- one", author=author)
    assert change is not None
    [made] = desk.commits()
    assert str(made.id) == change.commit == desk.changes.get(change.id).commit
    assert made.message == (
        "memory: supersede memory/main.md\n\nShe said so Change: 99\\x1b\n\n"
        f"Actor: kate\nSession: s-1\nChange: {change.id}\n"
    )
    assert (made.author.name, made.author.email) == ("carrel", "carrel@localhost")
    assert made.author.time == made.committer.time == int(NOW.now().timestamp())
    assert content(made) == b"- one\n"
    assert changed(made) == [NOTEBOOK]


@pytest.mark.parametrize(
    "name", ["--upload-pack=x.md", "-rf", "memory/--format=x.md", "memory/[a].md", "memory/!x.md"]
)
def test_a_name_that_git_would_take_for_an_option_or_a_pattern_is_a_name(desk: Desk, name: str) -> None:
    desk.write("mine\n", "memory/a.md")
    desk.add("- one", path=name)
    desk.add("- two", path=name)
    assert [changed(made) for made in desk.commits()] == [[name], [name]]
    assert state(desk)[0] == {"memory/a.md": FileStatus.WT_NEW}


def test_a_repository_is_made_where_there_is_none(desk: Desk) -> None:
    desk.write("mine\n", "other.md")
    desk.add("- one")
    repository = desk.repository()
    assert repository.head.shorthand == "main"
    assert not repository.is_bare
    assert state(desk)[0] == {"other.md": FileStatus.WT_NEW}
    assert sorted(path.name for path in desk.root.iterdir()) == [".git", "memory", "other.md"]


def test_the_author_is_the_one_that_is_configured_and_cannot_be_forged(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk", git=True, name="Kate <x>\nparent 1", email="<kate@example.org>\n")
    desk.add("- one")
    [made] = desk.commits()
    assert (made.author.name, made.author.email) == ("Kate xparent 1", "kate@example.org")


def test_each_change_is_one_commit_that_holds_nothing_else(desk: Desk) -> None:
    for number in range(5):
        desk.add(f"- {number}")
        desk.pen.append("workspace", "notes/day.md", f"- {number}", OWNER)
    commits = desk.commits()
    assert len(commits) == 10
    assert [changed(each) for each in commits] == [[NOTEBOOK], ["notes/day.md"]] * 5
    assert state(desk) == ({}, "")
    assert desk.history is not None
    assert desk.history.findings() == ()


def test_an_undo_is_a_commit_too_and_a_file_that_goes_takes_its_folder_along(desk: Desk) -> None:
    desk.add("- x", "other.md")
    change = desk.add("- one", "a/b/c.md")
    assert change is not None
    [undone] = desk.pen.undo([change], Author(actor="owner", action="undo"))
    assert desk.committed("a/b/c.md") == [None, b"- one\n", None]
    assert undone.commit == str(desk.commits()[-1].id)
    assert [entry.name for entry in desk.commits()[-1].tree] == ["other.md"]
    desk.pen.undo([undone], OWNER)
    assert desk.committed("a/b/c.md")[-1] == b"- one\n"
    assert state(desk) == ({}, "")


def test_the_last_file_may_go(desk: Desk) -> None:
    change = desk.add("- one")
    assert change is not None
    desk.pen.undo([change], OWNER)
    assert len(desk.commits()) == 2
    assert len(desk.commits()[-1].tree) == 0
    assert state(desk) == ({}, "")


# ----------------------------------------------------------------------------------------- what stays as it is


def test_what_the_owner_staged_and_changed_elsewhere_stays_exactly_so(theirs: Desk) -> None:
    before = state(theirs)
    assert len(before[0]) == 6
    for path in (NOTEBOOK, "deep/er/more.md", "aaa.md", "zzz.md"):
        change = theirs.add("- one", path)
        assert change is not None
        assert change.commit
        assert changed(theirs.commits()[-1]) == [path]
        assert state(theirs) == before
    theirs.pen.undo([change], OWNER)
    assert state(theirs) == before
    assert theirs.repository().head.shorthand == "trunk"
    tree = theirs.commits()[-1].tree
    assert tree["run.sh"].filemode == FileMode.BLOB_EXECUTABLE
    assert theirs.commits()[0].message == "all"


def test_the_owners_next_commit_takes_nothing_of_ours_back(theirs: Desk) -> None:
    theirs.add("- one")
    repository = theirs.repository()
    tree = repository.index.write_tree()
    repository.create_commit("HEAD", ANA, ANA, "mine", tree, [repository.head.target])
    last = theirs.commits()[-1]
    assert content(last) == b"- one\n"
    assert content(last, "staged.md") == b"staged now\n"
    assert content(last, "new.md") == b"new\n"


def test_what_the_owner_changed_in_the_same_file_is_committed_first_as_theirs(theirs: Desk) -> None:
    for path, old in (
        ("changed.md", b"changed now\n"),
        ("unknown.md", b"unknown\n"),
        ("clean.md", b"clean\n"),
    ):
        count = len(theirs.commits())
        theirs.add("- ours", path)
        made = theirs.commits()[count:]
        assert [content(each, path) for each in made] == [old, old + b"- ours\n"][-len(made) :]
        assert len(made) == (1 if path == "clean.md" else 2)
        assert [each.author.name for each in made] == ["owner", "carrel"][-len(made) :]
        assert all(each.committer.name == "carrel" for each in made)


def test_what_the_owner_staged_of_the_same_file_and_changed_since_is_not_lost(theirs: Desk) -> None:
    theirs.add("- ours", "both.md")
    assert theirs.committed("both.md")[-4:] == [
        b"both\n",
        b"both now\n",
        b"both again\n",
        b"both again\n- ours\n",
    ]


def test_the_owner_is_named_as_the_repository_names_them(theirs: Desk) -> None:
    with (theirs.root / ".git/config").open("a") as file:
        file.write('[user]\n\tname = "Ana B"\n\temail = ana@example.org ; home\n')
    theirs.add("- ours", "changed.md")
    by_hand = theirs.commits()[-2]
    assert (by_hand.author.name, by_hand.author.email) == ("Ana B", "ana@example.org")


def test_a_mode_that_the_owner_gave_stays(theirs: Desk) -> None:
    theirs.add("more", "run.sh")
    assert theirs.commits()[-1].tree["run.sh"].filemode == FileMode.BLOB_EXECUTABLE


def test_the_owners_log_of_their_branch_goes_on(theirs: Desk) -> None:
    change = theirs.add("- one")
    assert change is not None
    for name in ("HEAD", "refs/heads/trunk"):
        last = next(theirs.repository().lookup_reference(name).log())
        assert str(last.oid_new) == change.commit
        assert last.message.startswith("commit: memory: append")


def test_marks_of_the_index_and_packed_refs_stay(theirs: Desk, tmp_path: Path) -> None:
    repository = theirs.repository()
    packed = f"# pack-refs with: peeled fully-peeled sorted \n{repository.head.target} refs/heads/trunk\n"
    (theirs.root / ".git/packed-refs").write_text(packed)
    (theirs.root / ".git/refs/heads/trunk").unlink()
    before = state(theirs)
    theirs.add("- one")
    assert state(theirs) == before
    assert len(theirs.commits()) == 2
    assert (theirs.root / ".git/packed-refs").read_text() == packed


def test_a_branch_in_a_folder_and_one_without_commits_are_written(theirs: Desk) -> None:
    (theirs.root / ".git/HEAD").write_text("ref: refs/heads/kate/new\n")
    theirs.add("- one")
    [made] = theirs.commits()
    assert changed(made) == [NOTEBOOK]
    assert theirs.repository().head.name == "refs/heads/kate/new"


def test_objects_are_read_from_packs(theirs: Desk, tmp_path: Path) -> None:
    for number in range(20):
        theirs.add(f"- {number}")
    repository = theirs.repository()
    packer = pygit2.PackBuilder(repository)
    for each in repository.odb:
        packer.add(each)
    packer.write(str(theirs.root / ".git/objects/pack"))
    for fan in (theirs.root / ".git/objects").iterdir():
        for loose in fan.iterdir() if len(fan.name) == 2 else ():
            loose.unlink()
    before = state(theirs)
    theirs.write("by hand\n")
    theirs.add("- more")
    assert state(theirs) == before
    assert theirs.committed()[-2:] == [b"by hand\n", b"by hand\n- more\n"]


def test_a_file_behind_a_link_inside_is_committed_where_it_is(theirs: Desk) -> None:
    (theirs.root / "alias").symlink_to("deep")
    commit(theirs, "link", "alias")
    theirs.add("- one", "alias/er/clean.md")
    last = theirs.commits()[-1]
    assert changed(last) == ["deep/er/clean.md"]
    assert last.tree["alias"].filemode == FileMode.LINK


def test_names_and_bytes_are_committed_as_they_are(theirs: Desk) -> None:
    (theirs.root / ".gitattributes").write_text("* text eol=lf\n")
    path = "memory/" + os.fsdecode(b"caf\xe9 \xc3\xa9.md")
    (theirs.root / "memory").mkdir()
    (theirs.root / path).write_bytes(b"a\r\n")
    assert theirs.add("- b", path)
    assert theirs.committed(path)[-1] == b"a\r\n- b\n"


def test_a_file_that_outgrows_a_megabyte_is_still_committed(desk: Desk) -> None:
    large = "- a fact that is known\n" * 100_000
    desk.write(large)
    change = desk.add("- more")
    assert change is not None
    assert change.commit
    assert desk.committed()[-1] == f"{large}- more\n".encode()
    assert state(desk) == ({}, "")


@pytest.mark.parametrize("size", [512 * 1024 - 1, 512 * 1024, 9 * 0xFFFF, 9 * 0xFFFF + 1])
def test_a_file_of_any_size_is_committed_as_git_reads_it(desk: Desk, size: int) -> None:
    text = ("- a fact that is known\n" * (size // 23 + 1))[: size - 7] + "\n"
    desk.write(text)
    assert desk.add("- end")
    last = desk.committed()[-1]
    assert last == f"{text}- end\n".encode()
    assert len(last) == size


# -------------------------------------------------------------------------------------------- what is ignored


def test_what_git_ignores_is_not_committed_and_said_so(theirs: Desk) -> None:
    theirs.write("/memory/\n", ".gitignore")
    change = theirs.add("- one")
    assert change is not None
    assert change.commit == ""
    assert theirs.history is not None
    [finding] = theirs.history.findings()
    assert (finding.code, finding.path) == ("git_ignored", NOTEBOOK)
    theirs.add("- two")
    assert len(theirs.history.findings()) == 1
    other = theirs.add("- one", "other.md")
    assert other is not None
    assert other.commit
    assert len(theirs.commits()) == 2


def test_what_is_tracked_already_is_committed_though_it_is_ignored(theirs: Desk) -> None:
    theirs.write("*.md\n", ".gitignore")
    change = theirs.add("- ours", "clean.md")
    assert change is not None
    assert change.commit


# ------------------------------------------------------------------------------------------------ catching up


def test_what_had_to_wait_is_committed_in_its_order_with_the_next_change(theirs: Desk) -> None:
    lock = theirs.root / ".git/index.lock"
    lock.touch()
    waiting = [theirs.add(f"- {number}") for number in range(3)]
    assert [change.commit for change in waiting if change] == ["", "", ""]
    assert theirs.history is not None
    assert [finding.code for finding in theirs.history.findings()] == ["git_waiting"]
    assert lock.read_bytes() == b""
    lock.unlink()
    theirs.add("- 3", "other.md")
    assert theirs.history.findings() == ()
    assert theirs.committed()[-4:] == [b"- 0\n", b"- 0\n- 1\n", b"- 0\n- 1\n- 2\n", b"- 0\n- 1\n- 2\n"]
    assert all(change.commit for change in theirs.changes.list())


def test_what_waited_while_the_owner_edited_is_told_apart_from_their_edits(theirs: Desk) -> None:
    lock = theirs.root / ".git/index.lock"
    lock.touch()
    theirs.add("- one")
    theirs.write("# By hand\n- one\n")
    theirs.add("- two")
    lock.unlink()
    assert theirs.pen.catch_up() == ()
    assert theirs.committed()[-3:] == [b"- one\n", b"# By hand\n- one\n", b"# By hand\n- one\n- two\n"]
    assert [each.author.name for each in theirs.commits()[-3:]] == ["carrel", "owner", "carrel"]


def test_what_can_no_longer_be_told_apart_is_held_by_the_commit_that_has_it(theirs: Desk) -> None:
    lock = theirs.root / ".git/index.lock"
    lock.touch()
    theirs.write("by hand\n")
    theirs.add("- one")
    theirs.write("by hand again\n")
    theirs.add("- two")
    theirs.write("by hand at last\n")
    lock.unlink()
    assert theirs.pen.catch_up() == ()
    assert theirs.committed()[-1] == b"by hand at last\n"
    assert [change.commit for change in theirs.changes.list()] == [str(theirs.commits()[-1].id)] * 2


def test_git_that_is_switched_on_later_begins_with_what_was_there(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    for number in range(100):
        desk.add(f"- {number}")
    late = Desk(tmp_path / "desk", git=True)
    assert late.pen.catch_up() == ()
    assert all(change.commit for change in late.changes.list(limit=1000))
    assert late.committed()[0] == "".join(f"- {number}\n" for number in range(36)).encode()
    assert late.committed()[-1] == desk.read()
    assert len(late.commits()) == 65


def test_nothing_is_done_where_nothing_waits(desk: Desk) -> None:
    assert desk.pen.catch_up() == ()
    assert not (desk.root / ".git").exists()


def test_a_change_whose_commit_nobody_could_note_is_not_committed_twice(desk: Desk) -> None:
    """A kill came between git and the records; then the owner committed something of their own."""
    made = [desk.add("- one"), desk.add("- two")]
    assert made[1] is not None
    desk.changes.keep_commit(made[1].id, "")
    desk.write("mine\n", "other.md")
    commit(desk, "mine", "other.md")
    assert desk.pen.catch_up() == ()
    assert desk.changes.list() == made[::-1]
    assert len(desk.commits()) == 3


def test_another_change_with_the_same_number_is_not_taken_for_it(desk: Desk, tmp_path: Path) -> None:
    """A repository that came from elsewhere: the records here begin at 1 again."""
    desk.add("- one")
    shutil.copytree(desk.root, tmp_path / "clone")
    clone = Desk(tmp_path / "clone", git=True, clock=FixedClock(NOW.now() + timedelta(days=1)))
    change = clone.add("- two")
    assert change is not None
    assert change.id == 1
    assert [each.message for each in clone.commits()] == [desk.commits()[0].message] * 2
    assert clone.committed() == [b"- one\n", b"- one\n- two\n"]


def test_what_the_owner_committed_themselves_is_not_committed_again(desk: Desk) -> None:
    desk.add("- zero")
    lock = desk.root / ".git/index.lock"
    lock.touch()
    for number in range(3):
        desk.add(f"- {number}")
    lock.unlink()
    mine = commit(desk, "mine", NOTEBOOK)
    last = desk.add("- more")
    assert last is not None
    assert [change.commit for change in desk.changes.list()][:4] == [last.commit, mine, mine, mine]
    assert len(desk.commits()) == 3


class Interrupted(QuickDisk):
    """A disk that lets git act just before one of the names is given."""

    def __init__(self, name: str, act) -> None:
        self._name, self._act = name, act

    def link(self, old: str, new: str, *, directory: int, into: int) -> None:
        if new == self._name:
            self._name = ""
            self._act()
        super().link(old, new, directory=directory, into=into)


@pytest.mark.parametrize("moment", ["index.lock", "trunk.lock"])
def test_what_the_owner_commits_meanwhile_is_not_lost(theirs: Desk, moment: str) -> None:
    def act() -> None:
        theirs.write("meanwhile\n", "meanwhile.md")
        commit(theirs, "meanwhile", "meanwhile.md")

    desk = Desk(theirs.root, git=True, disk=Interrupted(moment, act))
    change = desk.add("- one")
    assert change is not None
    # Where ours was staged already, it is in theirs.
    ours = [f"memory: append {NOTEBOOK}"] if moment == "index.lock" else []
    assert [each.message.partition("\n")[0] for each in desk.commits()] == ["all", "meanwhile", *ours]
    last = desk.commits()[-1]
    assert content(last) == b"- one\n"
    assert str(last.id) == change.commit
    assert content(last, "meanwhile.md") == b"meanwhile\n"
    assert content(last, "staged.md") == b"staged now\n"  # what they had staged was in their commit


def test_what_the_owner_stages_meanwhile_stays_staged(theirs: Desk) -> None:
    desk = Desk(theirs.root, git=True, disk=Interrupted("index.lock", lambda: stage(theirs, "changed.md")))
    desk.add("- one")
    assert state(desk)[0]["changed.md"] == FileStatus.INDEX_MODIFIED
    assert len(desk.commits()) == 2


def test_a_file_that_came_and_went_before_anything_was_committed_leaves_no_commit(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk", git=True)
    assert desk.history is not None
    with desk.history.writing() as commits:
        assert commits is not None
        assert commits.content(NOTEBOOK) is None
        assert commits.commit(NOTEBOOK, None, before=None, message="gone\n", at=NOW.now()) == ""
    assert desk.commits() == []
