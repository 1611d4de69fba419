"""A large workspace is not looked over before each search: what was written, or told by who watches it, is."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel import Workspace
from carrel.files.disk import LockTimeout
from carrel.findings import Finding
from carrel.index import Query, SyncReport
from carrel.runtime import freshness

LONG = 1_000.0


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Every workspace is a large one, and what is fresh stays so."""
    monkeypatch.setattr(freshness, "LARGE", 0)
    monkeypatch.setattr(freshness, "FRESH", LONG)
    monkeypatch.setattr(freshness, "WATCHED", LONG)


@pytest.fixture
def workspace(sample, cli) -> Iterator[Workspace]:
    sample.put({"carrel.yaml": "layout: carrel\nagents: [{id: kate}]\nsearch: {embedder: none}\n"})
    with Workspace.open(sample, environ=dict(os.environ)) as opened:
        opened.search("anything")
        yield opened


def found(workspace: Workspace, word: str) -> set[str]:
    return {hit.chunk.path for hit in workspace.search(word, mode="literal", limit=50).hits}


def indexed(workspace: Workspace, word: str) -> dict[str, str]:
    """What the index holds, without bringing it up to date."""
    hits = workspace.searching.index.search(Query(text=word, mode="literal", limit=500)).hits
    return {f"{hit.chunk.path}:{hit.chunk.line}": hit.chunk.text for hit in hits}


def test_what_was_written_here_is_found_at_once_and_nothing_else_is_looked_at(workspace, sample):
    sample.put({"others.md": "A pelican that nobody told of.\n"})
    workspace.write("own.md", "A pelican.\n", expect=None)
    assert found(workspace, "pelican") == {"own.md"}
    workspace.append("./own.md", "An ostrich.\n")
    assert found(workspace, "ostrich") == {"own.md"}
    workspace.memory.notebook("MEMORY.md").append("People", "- Otto keeps a walrus.")
    assert found(workspace, "walrus") == {"MEMORY.md"}
    workspace.tools().call("write_file", {"path": "plan.md", "content": "A cassowary.\n"})
    assert found(workspace, "cassowary") == {"plan.md"}
    workspace.record("s1", [{"role": "user", "content": "A dodo."}])
    assert found(workspace, "dodo") == {"agents/kate/sessions/s1.log.jsonl"}
    assert found(workspace, "pelican") == {"own.md"}
    workspace.discard("plan.md")
    assert found(workspace, "cassowary") == set()


def test_everything_is_looked_over_when_its_time_has_come(workspace, sample, monkeypatch):
    sample.put({"others.md": "A pelican that nobody told of.\n"})
    assert found(workspace, "pelican") == set()
    monkeypatch.setattr(freshness, "FRESH", 0.0)
    assert found(workspace, "pelican") == {"others.md"}


@pytest.mark.parametrize("told", ["attic", "gone.md", "twice.md", ""])
def test_a_path_that_may_be_more_than_itself_has_everything_looked_over(workspace, sample, told):
    sample.put({"attic/a.md": "A pelican in the attic.\n", "twice.md": "A pelican.\n"})
    (sample / "again.md").hardlink_to(sample / "twice.md")
    workspace.searching.sync([told])
    assert {key.partition(":")[0] for key in indexed(workspace, "pelican")} == {
        "attic/a.md",
        "twice.md",
        "again.md",
    }


def test_what_a_link_leads_to_is_found_under_both_names_or_under_none(workspace, sample):
    sample.put({"real.md": "A pelican.\n", ".attic/a.md": "A pelican.\n"})
    (sample / "alias.md").symlink_to("real.md")
    (sample / "attic").symlink_to(".attic")
    workspace.searching.sync()
    assert found(workspace, "pelican") == {"real.md", "alias.md", "attic/a.md"}
    for path in ("real.md", ".attic/a.md"):
        workspace.put(path, b"An ostrich.\n")
    assert found(workspace, "pelican") == set()
    assert found(workspace, "ostrich") == {"real.md", "alias.md", "attic/a.md"}


def test_an_index_that_somebody_dropped_is_made_of_everything(workspace, sample):
    with Workspace.open(sample, environ=dict(os.environ)) as other:
        other.home.drop_index()
    workspace.write("own.md", "A pelican.\n", expect=None)
    assert found(workspace, "pelican") == {"own.md"}
    assert found(workspace, "Two people") == {"team.md"}


def test_rules_that_changed_have_everything_looked_over(workspace, sample):
    assert indexed(workspace, "Two people")
    sample.put({".carrelignore": "team.md\n"})
    workspace.searching.sync([".carrelignore"])
    assert not indexed(workspace, "Two people")


def test_a_removed_file_that_was_told_of_is_no_longer_indexed(workspace, sample):
    assert indexed(workspace, "Two people")
    (sample / "team.md").unlink()
    workspace.searching.sync(["team.md"])
    assert not indexed(workspace, "Two people")


def test_what_could_not_be_taken_in_stays_to_be_looked_at(workspace, monkeypatch):
    workspace.write("own.md", "A pelican.\n", expect=None)
    index, report = (
        workspace.searching.index,
        SyncReport(findings=(Finding(code=LockTimeout.code, message=""),)),
    )
    with monkeypatch.context() as patched:
        patched.setattr(index, "sync", lambda *_, **__: report)
        assert found(workspace, "pelican") == set()
    assert found(workspace, "pelican") == {"own.md"}


# Whatever happens, as long as it is told


_FILES = ("a.md", "b.txt", "x/a.md", "x/y/b.md", "z/c.md", ".hidden/d.md", "node_modules/e.md")
_FOLDERS = ("x", "x/y", "z", "w", "z/v")
_CHANGES = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(_FILES), st.sampled_from(("one", "two", "three"))),
    st.tuples(st.just("remove"), st.sampled_from(_FILES), st.none()),
    st.tuples(st.just("link"), st.sampled_from(_FILES), st.sampled_from(_FILES)),
    st.tuples(st.just("alias"), st.sampled_from((*_FILES, *_FOLDERS)), st.sampled_from(("l.md", "x/l", "m"))),
    st.tuples(st.just("move"), st.sampled_from(_FOLDERS), st.sampled_from(_FOLDERS)),
    st.tuples(
        st.just("ignore"), st.just(".carrelignore"), st.sampled_from(("", "x/\n", "*.txt\n", "!/.hidden\n"))
    ),
)


def change(root: Path, kind: str, one: str, two: str | None) -> list[str]:
    """Change something as anybody may, and return the paths that a watcher is told of."""
    first, second = root / one, root / (two or "")
    match kind:
        case "put":
            first.parent.mkdir(parents=True, exist_ok=True)
            first.write_text(f"The word is {two}.\n")
        case "remove" if first.exists():
            first.unlink()
        case "link" if first.exists() and not second.exists():
            second.parent.mkdir(parents=True, exist_ok=True)
            second.hardlink_to(first)
        case "alias" if not os.path.lexists(second) and second.parent.is_dir():
            second.symlink_to(os.path.relpath(first, second.parent))
        case "move" if first.is_dir() and not second.exists() and not second.is_relative_to(first):
            second.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(first, second)
        case "ignore":
            first.write_text(str(two))
        case _:
            return []
    return [one] if kind in ("put", "remove", "ignore") else [one, str(two)]


@contextmanager
def opened_in(folder: str) -> Iterator[tuple[Path, Workspace]]:
    root = Path(folder) / "desk"
    environ = {"CARREL_HOME": f"{folder}/home", "PATH": os.environ["PATH"]}
    Workspace.init(root, environ=environ)
    (root / "carrel.yaml").write_text("layout: carrel\nsearch: {embedder: none}\n")
    with Workspace.open(root, environ=environ) as workspace:
        yield root, workspace


@settings(max_examples=40)
@given(rounds=st.lists(st.lists(_CHANGES, min_size=1, max_size=4), min_size=1, max_size=5))
def test_who_is_told_of_each_change_knows_what_a_look_at_everything_tells(rounds):
    with TemporaryDirectory() as folder, opened_in(folder) as (root, workspace):
        for path in _FILES:
            change(root, "put", path, "zero")
        workspace.searching.sync()
        for changes in rounds:
            told = [path for each in changes for path in change(root, *each)]
            workspace.searching.sync(told)
        known = indexed(workspace, "The word is")
        workspace.searching.rebuild()
        assert known == indexed(workspace, "The word is")
