"""A notebook by its sections: one is edited, no byte of the others is, and nobody's words are written over."""

from pathlib import Path

import pytest
from tests.stubs.pens import Desk

from carrel.files import Unreadable
from carrel.markdown.sections import SectionConflict, SectionNotFound
from carrel.memory.notebook import NoNotebook, Notebook, digest_of
from carrel.memory.pen import Author

PATH = "MEMORY.md"
TEXT = "# Memory\n\n## People\n\n- Ana\n\n## Places\n\n- Lima\n"


class Room:
    """A notebook on a desk, and what could not be written to it."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder / "desk")
        self.kept: list[tuple[str, str, str]] = []
        self.notebook = Notebook(
            path=PATH, pen=lambda: self.desk.pen, files=self.desk.files, keep_mine=self.keep_mine
        )

    def keep_mine(self, conflict: SectionConflict, path: str) -> None:
        self.kept.append((path, conflict.mine, conflict.theirs))

    @property
    def text(self) -> str | None:
        data = self.desk.read(PATH)
        return None if data is None else data.decode()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.desk.write(TEXT, PATH)
    return room


def test_sections_are_read_by_their_names_and_in_their_order(room: Room) -> None:
    assert room.notebook.text == TEXT
    assert [part.heading for part in room.notebook.sections()] == ["Memory", "People", "Places"]
    assert room.notebook.read("Places").strip() == "- Lima"
    with pytest.raises(SectionNotFound):
        room.notebook.read("Food")


def test_a_notebook_that_is_not_there_is_named_and_one_that_is_empty_is_read(tmp_path: Path) -> None:
    room = Room(tmp_path)
    for ask in (lambda: room.notebook.text, room.notebook.sections, lambda: room.notebook.read("x")):
        with pytest.raises(NoNotebook, match=PATH):
            ask()
    room.desk.write("", PATH)
    assert room.notebook.text == ""
    assert room.notebook.sections() == ()


def test_a_notebook_that_is_no_text_is_left_alone(room: Room) -> None:
    room.desk.write(b"\xff\xfe", PATH)
    for act in (lambda: room.notebook.text, lambda: room.notebook.append("People", "- Bo")):
        with pytest.raises(Unreadable) as caught:
            act()
        assert caught.value.reason == "not_utf8"
    assert room.desk.read(PATH) == b"\xff\xfe"


def test_an_addition_is_a_change_of_the_owner_unless_somebody_else_says_so(room: Room) -> None:
    change = room.notebook.append("People", "- Bo")
    assert change is not None
    assert (change.actor, change.action, change.path) == ("owner", "append", PATH)
    assert room.text == TEXT.replace("- Ana\n", "- Ana\n- Bo\n")
    other = room.notebook.append("People", "- Cy", Author(actor="kate", action="learn"))
    assert other is not None
    assert (other.actor, other.action) == ("kate", "learn")


def test_an_addition_makes_its_section_and_its_file_and_an_empty_one_neither(tmp_path: Path) -> None:
    room = Room(tmp_path)
    assert room.notebook.append("", "") is None
    assert room.text is None
    room.notebook.append("People", "- Ana")
    assert room.notebook.read("People").strip() == "- Ana"


def test_a_section_is_replaced_over_what_is_there_or_over_what_was_read(room: Room) -> None:
    change = room.notebook.replace("People", "- Bo")
    assert change is not None
    assert change.action == "replace"
    assert room.text == TEXT.replace("- Ana", "- Bo")
    read = digest_of(room.notebook.read("People"))
    room.notebook.replace("People", "- Cy", expect=read)
    assert room.text == TEXT.replace("- Ana", "- Cy")
    assert room.kept == []


def test_a_section_that_is_replaced_and_not_there_is_made(room: Room) -> None:
    room.notebook.replace("Food", "- rice")
    assert room.notebook.read("Food").strip() == "- rice"
    room.notebook.replace("Drinks", "- tea", expect="")
    assert room.notebook.read("Drinks").strip() == "- tea"


def test_who_changes_what_somebody_else_changed_meanwhile_keeps_it_for_review(room: Room) -> None:
    read = digest_of(room.notebook.read("People"))
    room.desk.write(TEXT.replace("- Ana", "- Ana, by hand"), PATH)
    with pytest.raises(SectionConflict) as caught:
        room.notebook.replace("People", "- Bo", expect=read)
    assert (caught.value.mine, caught.value.theirs.strip()) == ("- Bo", "- Ana, by hand")
    assert [(path, mine, theirs.strip()) for path, mine, theirs in room.kept] == [
        (PATH, "- Bo", "- Ana, by hand")
    ]
    assert room.text == TEXT.replace("- Ana", "- Ana, by hand")


def test_a_section_that_somebody_removed_meanwhile_is_a_conflict_too(room: Room) -> None:
    read = digest_of(room.notebook.read("Places"))
    room.desk.write("# Memory\n", PATH)
    with pytest.raises(SectionConflict) as caught:
        room.notebook.replace("Places", "- Cusco", expect=read)
    assert caught.value.theirs == ""
    assert room.text == "# Memory\n"


@pytest.mark.parametrize("verb", ["append", "rename", "move"])
def test_every_edit_may_name_the_version_that_it_is_made_to(room: Room, verb: str) -> None:
    act = {
        "append": lambda expect: room.notebook.append("People", "- Bo", expect=expect),
        "rename": lambda expect: room.notebook.rename("People", "Friends", expect=expect),
        "move": lambda expect: room.notebook.move("People", "Places", expect=expect),
    }[verb]
    with pytest.raises(SectionConflict):
        act("0" * 64)
    assert room.text == TEXT
    assert room.kept == []
    change = act(digest_of(room.notebook.read("People")))
    assert change is not None
    assert (change.actor, change.action) == ("owner", verb)
    assert room.text != TEXT


def test_a_section_gets_another_heading_or_another_place(room: Room) -> None:
    room.notebook.rename("People", "Friends")
    assert [part.heading for part in room.notebook.sections()] == ["Memory", "Friends", "Places"]
    room.notebook.move("Friends", "Places")
    assert [part.heading for part in room.notebook.sections()] == ["Memory", "Places", "Friends"]


def test_blank_lines_around_a_section_are_none_of_its_words() -> None:
    assert digest_of("- a\n") == digest_of("\n- a\n\n")
    assert digest_of("- a\n") != digest_of("- b\n")
    assert digest_of(None) == ""
    assert digest_of("") not in ("", None)
    assert len(digest_of("\ud800")) == 64
