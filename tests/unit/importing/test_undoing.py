"""An import is one change: one command takes it back, but for what was changed since."""

import pytest
from tests.unit.importing.desks import PLACES, furnish, write

from carrel.app import Workspace
from carrel.importing import bring_in
from carrel.importing.undoing import NothingImported, take_back
from carrel.workspace.layout import LAYOUTS


@pytest.fixture
def environ(tmp_path):
    return {"CARREL_HOME": str(tmp_path / "home"), "CARREL_NOW": "2026-04-24T12:00:00Z"}


def files_of(root):
    """Every file of a workspace with its bytes, but for ours: state, and the list of sessions."""
    own = (path for path in root.rglob("*") if path.is_file() and ".carrel" not in path.parts)
    own = (path for path in own if path.name != "sessions.json")
    return {str(path.relative_to(root)): path.read_bytes() for path in own}


def ends(done):
    return {row.path: row.action for row in done.rows}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_after_an_undo_every_file_is_as_it_was(tmp_path, environ, layout):
    source = furnish(tmp_path / "old", "carrel")
    root = furnish(tmp_path / "new", layout, pieces=[p for p in PLACES[layout] if p != "session"])
    for piece in ("agents", "memory", "own", "day"):  # what is merged into
        if piece in PLACES[layout]:
            write(root, PLACES[layout][piece], f"## Mine\n\n- My own {piece}.\n")
    Workspace.trust(root, environ=environ)
    with Workspace.open(root, environ=environ) as desk:
        _ = desk.records
        before = files_of(root)
        brought = bring_in(desk, source, mine=True)
        assert {"new", "merge"} <= brought.counts.keys()
        done = take_back(desk, source)
        assert done.is_whole, done
        assert not done.findings
        assert files_of(root) == before


def test_an_undo_is_done_once_and_what_was_imported_before_it_is_next(tmp_path, environ):
    source = furnish(tmp_path / "old", "carrel", pieces=("knowledge",))
    with Workspace.open(furnish(tmp_path / "new", "carrel", pieces=()), environ=environ) as desk:
        with pytest.raises(NothingImported):
            take_back(desk, source)
        bring_in(desk, source, mine=True)
        write(source, "knowledge/more.md", "The heron API.\n")
        bring_in(desk, source, mine=True)
        assert ends(take_back(desk, source)) == {"knowledge/more.md": "undone"}
        assert "knowledge/api.md" in ends(take_back(desk, source))
        with pytest.raises(NothingImported):
            take_back(desk, source)
        assert bring_in(desk, source, mine=True).counts["new"] >= 2  # files come again


def test_what_was_edited_since_stays_and_is_told_and_can_be_tried_again(tmp_path, environ):
    source = furnish(tmp_path / "old", "carrel", pieces=("knowledge", "memory", "session"))
    root = furnish(tmp_path / "new", "carrel", pieces=())
    with Workspace.open(root, environ=environ) as desk:
        bring_in(desk, source, mine=True)
        written = (root / "knowledge/api.md").read_text()
        write(root, "knowledge/api.md", "My own words.\n")
        write(root, "MEMORY.md", "## People\n\n- Ana has two macaws.\n")
        desk.record("s1", [{"role": "user", "content": "And now?"}])
        done = take_back(desk, source)
        kept = {row.path for row in done.rows if row.action == "kept"}
        assert {"knowledge/api.md", "MEMORY.md", "agents/kate/sessions/s1.log.jsonl"} == kept
        assert all(row.reason for row in done.rows if row.action == "kept")
        assert [finding.code for finding in done.findings] == ["import_edited"]
        assert (root / "knowledge/api.md").read_text() == "My own words.\n"
        assert desk.sessions.row("s1").entries == 3
        write(root, "knowledge/api.md", written)
        assert ends(take_back(desk, source))["knowledge/api.md"] == "undone"


def test_what_waits_no_longer_waits_and_facts_no_longer_stand(desk, own_folder):
    bring_in(desk, own_folder)
    assert desk.memory.review.waiting()
    assert desk.sessions.rows()[0]
    done = take_back(desk, own_folder)
    assert done.is_whole, done
    assert desk.memory.review.waiting() == []
    assert desk.sessions.rows()[0] == []


def test_facts_of_the_owners_own_are_taken_out_of_memory(desk, own_folder):
    before = files_of(desk.root)
    bring_in(desk, own_folder, mine=True)
    assert files_of(desk.root) != before
    assert take_back(desk, own_folder).is_whole
    assert files_of(desk.root) == before
    assert desk.records.facts.counts().get("written", 0) == 0


def test_what_the_owner_said_yes_to_is_the_owners(desk, project):
    bring_in(desk, project)
    first, *others = desk.memory.review.all_waiting()
    desk.memory.review.approve([first], by="owner")
    done = take_back(desk, project)
    assert [row.action for row in done.rows if "yes" in row.reason] == ["kept"]
    assert desk.memory.review.all_waiting() == []
    assert others


def test_a_statement_that_the_owner_said_yes_to_is_the_owners(desk, own_folder):
    bring_in(desk, own_folder)
    first, *others = desk.memory.review.all_waiting()
    desk.memory.review.approve([first], by="owner")
    (name,) = desk.records.proposals.get(first).facts
    done = take_back(desk, own_folder)
    assert [row.action for row in done.rows if "yes" in row.reason] == ["kept"]
    assert desk.records.facts.get(name).state == "written"
    assert desk.records.facts.counts()["refused"] == len(others) > 0


def test_a_session_of_the_same_name_that_is_somebody_elses_stays(desk, tmp_path):
    source = tmp_path / "old"
    write(source, "carrel.yaml", "layout: carrel\nagents: [{id: kate}, {id: luis}]\n")
    for agent in ("kate", "luis"):  # both are nobody in the target
        log = furnish(tmp_path / agent, "carrel", pieces=("session",)) / PLACES["carrel"]["session"]
        write(source, f"agents/{agent}/sessions/s1.log.jsonl", log.read_text().replace("kate", agent))
    desk.record("s1", [{"role": "user", "content": "My own words."}])
    bring_in(desk, source, mine=True)
    assert take_back(desk, source).is_whole
    assert [each.entry.to_text() for each in desk.sessions.entries("s1")] == ["My own words."]
    logs = [path for path in files_of(desk.root) if path.endswith(".jsonl")]
    assert logs == ["agents/main/sessions/s1.log.jsonl"]


def test_an_import_of_which_something_stays_does_not_stand_before_the_one_before_it(tmp_path, environ):
    source = furnish(tmp_path / "old", "carrel", pieces=("knowledge",))
    root = furnish(tmp_path / "new", "carrel", pieces=())
    with Workspace.open(root, environ=environ) as desk:
        bring_in(desk, source, mine=True)
        write(source, "knowledge/more.md", "The heron API.\n")
        bring_in(desk, source, mine=True)
        write(root, "knowledge/more.md", "My own words.\n")
        done = take_back(desk, source)
        assert ends(done)["knowledge/more.md"] == "kept"
        assert ends(done)["knowledge/api.md"] == "undone"
        assert not done.is_whole
        assert ends(take_back(desk, source)) == {"knowledge/more.md": "kept"}


def test_what_was_merged_and_taken_back_comes_again(tmp_path, environ):
    source = furnish(tmp_path / "old", "carrel", pieces=("memory",))
    root = furnish(tmp_path / "new", "carrel", pieces=())
    write(root, "MEMORY.md", "## Mine\n\n- My own words.\n")
    with Workspace.open(root, environ=environ) as desk:
        for _ in range(2):
            assert bring_in(desk, source, mine=True).counts["merge"] == 1
            assert "Ana has a macaw." in (root / "MEMORY.md").read_text()
            assert take_back(desk, source).is_whole
            assert (root / "MEMORY.md").read_text() == "## Mine\n\n- My own words.\n"
        bring_in(desk, source, mine=True)
        write(root, "MEMORY.md", "## Mine\n\n- My own words.\n")  # by hand: that is the owner's word
        assert "merge" not in bring_in(desk, source, mine=True).counts
