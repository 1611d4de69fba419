"""What is taken back of forgetting and archiving is taken back in the records too."""

from datetime import UTC, datetime

import pytest
from tests.unit.memory.oblivion import NOTEBOOK, SAMSUNG, TEA, Oblivion

from carrel.memory.undo import UndoConflict

NOVEMBER = datetime(2025, 11, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def desk(tmp_path):
    return Oblivion(tmp_path / "work", tmp_path / "home")


def state(desk, fact):
    with desk.open() as workspace:
        return workspace.records.facts.get(fact.id).state


def test_to_undo_a_forgetting_brings_the_fact_back(desk):
    fact = desk.learn(SAMSUNG)
    desk.learn(TEA)
    before = desk.read()
    desk.forget(fact.id)
    assert (state(desk, fact), SAMSUNG in desk.read()) == ("forgotten", False)
    with desk.open() as workspace:
        workspace.memory.undo()
    assert (state(desk, fact), desk.read()) == ("written", before)
    with desk.open() as workspace:
        assert workspace.memory.add(SAMSUNG).known == 1


def test_to_undo_the_undo_forgets_it_again(desk):
    fact = desk.learn(SAMSUNG)
    desk.forget(fact.id)
    with desk.open() as workspace:
        (undone,) = workspace.memory.undo()
        workspace.memory.undo_change(undone.id)
    assert (state(desk, fact), SAMSUNG in desk.read()) == ("forgotten", False)


def test_what_is_forgotten_a_second_time_stays_forgotten(desk):
    fact = desk.learn(SAMSUNG)
    desk.forget(fact.id)
    with desk.open() as workspace:
        workspace.memory.undo()
    desk.forget(fact.id)
    assert state(desk, fact) == "forgotten"
    assert state(desk, fact) == "forgotten"  # each time that memory is opened, too


def test_to_undo_the_forgetting_of_an_owners_line_makes_no_fact_of_it(desk):
    desk.put({"MEMORY.md": "- Luis is tall.\n- Ana is here.\n"})
    desk.forget(query="Luis tall")
    assert desk.read("MEMORY.md") == "- Ana is here.\n"
    with desk.open() as workspace:
        workspace.memory.undo()
        assert not workspace.memory.facts(states=("written", "forgotten"))
    assert desk.read("MEMORY.md") == "- Luis is tall.\n- Ana is here.\n"


def test_what_is_gone_for_good_cannot_be_taken_back(desk):
    fact = desk.learn(SAMSUNG)
    desk.forget(fact.id, purge=True)
    with desk.open() as workspace:
        last = workspace.memory.history(NOTEBOOK, limit=1)[0]
        with pytest.raises(UndoConflict, match="forgotten for good"):
            workspace.memory.undo_change(last.id)
    assert state(desk, fact) == "forgotten"


def test_a_journal_comes_back_from_the_archive_with_its_facts(desk):
    desk.put({"memory/2025-11-01.md": "- 09:00 [note] Something old was said.\n"})
    fact = desk.learn("Ana moved to Rome.", kind="event", at=NOVEMBER)
    day = desk.read("memory/2025-11-01.md")
    with desk.open() as workspace:
        done = workspace.conversations.learning.consolidate(None)
        assert done.archived == ("memory/2025-11-01.md",)
        assert workspace.records.facts.get(fact.id).path == "memory/archive/2025-11-01.md"
        actions = [change.action for change in workspace.memory.history(limit=2)]
        assert actions == ["archive", "archive"]
    assert (desk.read("memory/2025-11-01.md"), desk.read("memory/archive/2025-11-01.md")) == ("", day)
    with desk.open() as workspace:
        workspace.memory.undo(2)
        assert workspace.records.facts.get(fact.id).path == "memory/2025-11-01.md"
    assert (desk.read("memory/2025-11-01.md"), desk.read("memory/archive/2025-11-01.md")) == (day, "")
