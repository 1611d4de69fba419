"""What a walk told is told again while every file and folder stays as it is, and never after a change."""

import os
import time

import pytest

from carrel.files import SETTLED_NS
from carrel.files.local import LocalFiles
from carrel.index import Place
from carrel.runtime.walked import Walked, as_known

KNOWN = {"AGENTS.md": "1", "memory/today.md": "2"}
LATER = 2 * SETTLED_NS


@pytest.fixture
def root(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/today.md").write_text("- It rains.\n")
    (tmp_path / "AGENTS.md").write_text("Be brief.\n")
    return tmp_path


def walk(root, *others, later=LATER):
    """Keep a walk over both files, as if it had begun so much later."""
    walked = Walked()
    places = [*(as_known(path, stamp) for path, stamp in KNOWN.items()), *others]
    walked.keep(LocalFiles(root), "rules", ["", "memory"], places, time.time_ns() + later)
    return walked


def told(walked, root, rules="rules", known=KNOWN):
    places = walked.again(LocalFiles(root), rules, known)
    return None if places is None else {place.path: place.stamp for place in places}


def edit_unseen(root):
    """Write as many other bytes into the same file, and give it the time back that it had."""
    path = root / "memory/today.md"
    before = path.stat()
    with path.open("r+") as file:
        file.write("- It snows.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def link_over(root):
    (root / "memory/today.md").unlink()
    (root / "memory/today.md").symlink_to("../AGENTS.md")


CHANGES = {
    "edited in place, with its size and time as before": edit_unseen,
    "grown": lambda root: (root / "AGENTS.md").write_text("Be brief. Be kind.\n"),
    "removed": lambda root: (root / "memory/today.md").unlink(),
    "new": lambda root: (root / "memory/tomorrow.md").write_text("- Sun.\n"),
    "in a new folder": lambda root: (root / "notes").mkdir(),
    "renamed": lambda root: (root / "AGENTS.md").rename(root / "OTHERS.md"),
    "a link now": link_over,
    "another file of the same name": lambda root: (
        (root / "copy").write_text("Be brief.\n"),
        (root / "copy").replace(root / "AGENTS.md"),
    ),
    "named twice": lambda root: (root.parent / "elsewhere").hardlink_to(root / "AGENTS.md"),
}


def test_a_walk_over_the_same_files_is_not_made_again(root):
    walked = walk(root)
    assert told(walked, root) == told(walked, root) == KNOWN


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_walked_again(root, change):
    walked = walk(root)
    CHANGES[change](root)
    assert told(walked, root) is None


def test_what_was_new_or_changed_lately_is_walked_again(root):
    assert told(walk(root, later=0), root) is None
    assert told(walk(root, Place(path="new.md", tier="document", stamp="3")), root) is None


def test_a_walk_that_found_something_new_ends_what_an_earlier_one_told(root):
    walked = walk(root)
    new = Place(path="AGENTS.md", tier="document", stamp="4")
    walked.keep(LocalFiles(root), "rules", [""], [new], time.time_ns() + LATER)
    assert told(walked, root) is None


def test_one_who_knows_less_or_goes_by_other_rules_is_told_by_a_walk(root):
    walked = walk(root)
    assert told(walked, root, rules="others") is None
    assert told(walked, root, known={"AGENTS.md": "1"}) is None
    assert told(walked, root, known={**KNOWN, "AGENTS.md": "0"}) is None
    assert told(walked, root, known={**KNOWN, "a session": "9"}) == KNOWN


def test_an_empty_workspace_is_told_as_well(tmp_path):
    walked = Walked()
    walked.keep(LocalFiles(tmp_path), "rules", [""], [], time.time_ns() + LATER)
    assert walked.again(LocalFiles(tmp_path), "rules", {}) == ()
