"""A change is taken back byte for byte, or only its own lines, or not at all."""

from pathlib import Path

import pytest
from tests.stubs.pens import NOTEBOOK, OWNER, Desk

from carrel.memory.pen import Author
from carrel.memory.undo import UndoConflict
from carrel.records.changes import Change

UNDO = Author(actor="owner", action="undo", reason="was wrong")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "desk")


def edit(desk: Desk, old: str | None, new: str) -> Change:
    """Write a file by hand, and change it with the pen."""
    if old is not None:
        desk.write(old)
    change = desk.pen.edit("workspace", NOTEBOOK, lambda _: new, OWNER)
    assert change is not None
    return change


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# A\n\n- one\n", "# A\n\n- one\n- two\n"),
        ("# A\r\n- one\r\n", "# A\r\n- 1\r\n- two\r\n"),
        ("no end", "no end\n- two\n"),
        ("\ufeffa\n\nb\n", "\ufeffb\n"),
        ("a\n" * 50, "a\n" * 30 + "b\n" + "a\n" * 10),
        ("", "x"),
        ("x\n", ""),
        ("\x00\r\x0c", "\x00\r\x0c\u2028"),
    ],
)
def test_an_undo_and_the_undo_of_that_restore_every_byte(desk: Desk, old: str, new: str) -> None:
    change = edit(desk, old, new)
    [undone] = desk.pen.undo([change], UNDO)
    assert desk.read() == old.encode()
    assert (undone.undoes, undone.action, undone.reason) == (change.id, "undo", "was wrong")
    assert (undone.before, undone.after) == (change.after, change.before)
    assert desk.states() == ["undone", "done"]
    [redone] = desk.pen.undo([undone], UNDO)
    assert desk.read() == new.encode()
    assert desk.states() == ["done", "undone", "done"]
    desk.pen.undo([redone], UNDO)
    assert desk.read() == old.encode()
    assert desk.states() == ["undone", "done", "undone", "done"]


def test_the_undo_of_a_new_file_removes_it_and_the_undo_of_that_brings_it_back(desk: Desk) -> None:
    change = edit(desk, None, "- one\n")
    [undone] = desk.pen.undo([change], UNDO)
    assert desk.read() is None
    [redone] = desk.pen.undo([undone], UNDO)
    assert desk.read() == b"- one\n"
    desk.write("another\n")
    with pytest.raises(UndoConflict):
        desk.pen.undo([change], UNDO)
    (desk.root / NOTEBOOK).unlink()
    assert desk.pen.undo([redone], UNDO) == []
    assert desk.read() is None


def test_a_file_that_came_back_is_not_overwritten(desk: Desk) -> None:
    [undone] = desk.pen.undo([edit(desk, None, "- one\n")], UNDO)
    desk.write("mine\n")
    with pytest.raises(UndoConflict) as caught:
        desk.pen.undo([undone], UNDO)
    assert desk.read() == b"mine\n"
    assert caught.value.path == NOTEBOOK
    assert str(undone.id) in caught.value.hint


BASE = "# Notes\n\n## People\n\n- Ana likes tea.\n- Bo likes rye.\n\n## Work\n\n- Uses make.\n- Ships on Friday.\n"


@pytest.mark.parametrize(
    ("new", "by_hand", "left"),
    [
        pytest.param(
            BASE.replace("- Bo likes rye.\n", "- Bo likes rye.\n- Cy sings.\n"),
            lambda text: text.replace("# Notes\n", "# Notes of ours\n\nA word.\n"),
            BASE.replace("# Notes\n", "# Notes of ours\n\nA word.\n"),
            id="an added line, after lines above it came",
        ),
        pytest.param(
            BASE.replace("- Bo likes rye.\n", "- Bo likes rye.\n- Cy sings.\n"),
            lambda text: text.replace("- Bo likes rye.\n", "- Bo bakes.\n").replace(
                "\n\n## Work", "\n- Di.\n\n## Work"
            ),
            BASE.replace("- Bo likes rye.\n", "- Bo bakes.\n- Di.\n"),
            id="an added line, both of whose neighbours changed",
        ),
        pytest.param(
            BASE.replace("- Ana likes tea.\n", "- Ana likes coffee.\n"),
            lambda text: text + "- By hand.\n",
            BASE + "- By hand.\n",
            id="a replaced line",
        ),
        pytest.param(
            BASE.replace("- Uses make.\n", ""),
            lambda text: text.replace("- Ana likes tea.\n", ""),
            BASE.replace("- Ana likes tea.\n", ""),
            id="a removed line",
        ),
        pytest.param(
            BASE.replace("- Uses make.\n", ""),
            lambda text: text.replace("- Ships on Friday.\n", "- Ships on Monday.\n"),
            BASE.replace("- Ships on Friday.\n", "- Ships on Monday.\n"),
            id="a removed line, one of whose neighbours changed",
        ),
        pytest.param(
            BASE.replace("- Ana likes tea.\n", "- ~~Ana likes tea.~~\n") + "- Ana likes coffee.\n",
            lambda text: text.replace("- Bo likes rye.\n", "- Bo bakes.\n- Cy sings.\n"),
            BASE.replace("- Bo likes rye.\n", "- Bo bakes.\n- Cy sings.\n"),
            id="two lines far apart, with an edit between them",
        ),
        pytest.param(
            BASE + "\n## New\n\n- One.\n",
            lambda text: "---\ntags: a\n---\n" + text,
            "---\ntags: a\n---\n" + BASE,
            id="a new section",
        ),
    ],
)
def test_what_was_edited_by_hand_elsewhere_stays(desk: Desk, new: str, by_hand, left: str) -> None:
    change = edit(desk, BASE, new)
    desk.write(by_hand(new))
    [undone] = desk.pen.undo([change], UNDO)
    assert (desk.read() or b"").decode() == left
    desk.pen.undo([undone], UNDO)
    assert (desk.read() or b"").decode() == by_hand(new)


@pytest.mark.parametrize(
    ("new", "by_hand"),
    [
        (BASE + "- Two.\n", lambda text: text.replace("- Two.\n", "- Three.\n")),
        (BASE + "- Two.\n", lambda text: text.replace("- Two.\n", "")[:-1]),
        (BASE.replace("tea", "coffee"), lambda text: text.replace("coffee", "cocoa")),
        (BASE.replace("- Uses make.\n", ""), lambda text: text.replace("## Work\n\n", "## Work\n\n- Uses ninja.\n")),
        (BASE.replace("- Uses make.\n", ""), lambda _: "all new\n"),
        (
            BASE.replace("- Ana likes tea.\n", "- ~~Ana likes tea.~~\n") + "- Ana likes coffee.\n",
            lambda text: text.replace("- Ana likes coffee.\n", "- Ana likes cocoa.\n"),
        ),
        (BASE + "---\n", lambda text: text.replace("---\n", "") .replace("# Notes\n", "# Notes\n\n---\n").replace("Friday", "Monday")),
    ],
)  # fmt: skip
def test_what_was_edited_by_hand_in_the_same_place_is_a_conflict_and_stays(
    desk: Desk, new: str, by_hand
) -> None:
    change = edit(desk, BASE, new)
    desk.write(by_hand(new))
    with pytest.raises(UndoConflict) as caught:
        desk.pen.undo([change], UNDO)
    assert (desk.read() or b"").decode() == by_hand(new)
    assert desk.states() == ["done"]
    assert caught.value.message
    assert caught.value.hint


def test_of_equal_lines_the_one_is_taken_that_stands_where_it_was_written(desk: Desk) -> None:
    new = BASE.replace("- Bo likes rye.\n", "- Bo likes rye.\n- Same.\n")
    change = edit(desk, BASE, new)
    desk.write(new + "- Same.\n")
    desk.pen.undo([change], UNDO)
    assert (desk.read() or b"").decode() == BASE + "- Same.\n"


def test_equal_lines_that_cannot_be_told_apart_are_a_conflict(desk: Desk) -> None:
    change = edit(desk, "a\nb\n", "a\nb\nSame.\n")
    desk.write("x\nSame.\ny\nSame.\nz\n")
    with pytest.raises(UndoConflict):
        desk.pen.undo([change], UNDO)
    desk.write("Same.\n" * 5000)
    with pytest.raises(UndoConflict):
        desk.pen.undo([change], UNDO)


def test_several_changes_are_taken_back_newest_first(desk: Desk) -> None:
    changes = [desk.add(f"- {number}", path) for number in range(5) for path in (NOTEBOOK, "other.md")]
    undone = desk.pen.undo([change for change in changes if change], UNDO)
    assert [change.undoes for change in undone] == sorted((c.id for c in changes if c), reverse=True)
    assert desk.read() is None
    assert desk.read("other.md") is None


def test_a_change_in_the_middle_is_taken_back_alone(desk: Desk) -> None:
    changes = [desk.add(f"- {number}") for number in range(5)]
    desk.pen.undo([change for change in changes if change][2:3], UNDO)
    assert desk.read() == b"- 0\n- 1\n- 3\n- 4\n"
    desk.pen.undo([change for change in changes if change][1:2], UNDO)
    assert desk.read() == b"- 0\n- 3\n- 4\n"


def test_where_one_of_several_conflicts_nothing_is_changed(desk: Desk) -> None:
    desk.write("- zero\n")
    first, second, other = desk.add("- one"), desk.add("- two"), desk.add("- x", "other.md")
    desk.write("- zero\n- edited\n- two\n")
    with pytest.raises(UndoConflict) as caught:
        desk.pen.undo([change for change in (first, second, other) if change], UNDO)
    assert first is not None
    assert caught.value.change.id == first.id
    assert desk.read() == b"- zero\n- edited\n- two\n"
    assert desk.read("other.md") == b"- x\n"
    assert desk.states() == ["done"] * 3


def test_what_is_undone_already_is_not_undone_again(desk: Desk) -> None:
    change = edit(desk, "a\n", "b\n")
    desk.pen.undo([change], UNDO)
    with pytest.raises(UndoConflict):
        desk.pen.undo([change], UNDO)
    assert desk.read() == b"a\n"


def test_what_the_owner_took_back_by_hand_only_counts_as_undone(desk: Desk) -> None:
    change = edit(desk, "a\n", "b\n")
    desk.write("a\n")
    assert desk.pen.undo([change], UNDO) == []
    assert desk.states() == ["undone"]
    assert desk.read() == b"a\n"


def test_an_undo_is_made_again_on_what_was_written_meanwhile(desk: Desk) -> None:
    change = edit(desk, BASE, BASE + "- Two.\n")
    written = iter(["- By hand.\n"])
    read = desk.files.read

    def interrupted(path: str, **given):
        content = read(path, **given)
        if len(reads := list(desk.written)) == 1 and next(written, None):
            desk.write(BASE.replace("tea", "cocoa") + "- Two.\n")
        assert reads
        return content

    desk.files.read = interrupted
    desk.pen.undo([change], UNDO)
    assert (desk.read() or b"").decode() == BASE.replace("tea", "cocoa")
