"""To forget: a fact goes from everywhere, stays gone, and every copy that remains is told."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from tests.unit.memory.oblivion import NOTEBOOK, SAID, SAMSUNG, TEA, Oblivion, forgetting_of

from carrel.files import Unreadable
from carrel.memory.forget.choice import Choice, ForgetWhat, NothingToForget
from carrel.memory.pen import Author
from carrel.memory.undo import UndoConflict
from carrel.records.facts import UnknownFact
from carrel.records.recalls import RecallEvent
from carrel.workspace.scope import HiddenByScope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)


@pytest.fixture
def desk(tmp_path):
    return Oblivion(tmp_path / "work", tmp_path / "home")


@pytest.fixture
def told(desk):
    """A session in which the owner tells two things, of which both are learnt."""
    desk.say(
        {"role": "user", "content": SAID, "message_id": "m1"},
        {
            "role": "assistant",
            "content": "Noted. The Samsung phone that Ana uses is in my notes.",
            "message_id": "m2",
        },
    )
    return desk, desk.learn(SAMSUNG), desk.learn(TEA)


def test_a_fact_goes_from_every_file_of_memory_and_nothing_else_does(told):
    desk, samsung, _ = told
    desk.put(
        {
            "MEMORY.md": f"# Me\n\n## Dreamed 2026-04-23 03:00 UTC\n\n- {SAMSUNG} _(score=0.62, hits=3, days=3)_\n- Bo.\n",
            "DREAMS.md": f"# Dream diary\n\n- {SAMSUNG} _(score=0.62, hits=3, days=3)_\n",
            "USER.md": "## Learned\n\n- ana uses a samsung phone\n- Other.\n",
            "memory/2026-04-20.md": f"- 14:05 [note] {SAMSUNG} _(session s1, m1)_\n- 15:00 [note] Lunch.\n",
            "memory/archive/2020.md": f"Old days.\n\n- {SAMSUNG}\n",
            "memory/entities/ana.md": f"# Ana\n\n- ~~Ana uses an iPhone.~~ _(until 2026-01-02; now: {SAMSUNG})_\n",
            "AGENTS.md": f"- {SAMSUNG}\n",
        }
    )
    done = desk.forget(samsung.id)
    assert desk.read() == f"## Insights\n\n- {TEA}\n"
    assert desk.read("MEMORY.md") == "# Me\n\n## Dreamed 2026-04-23 03:00 UTC\n\n- Bo.\n"
    assert desk.read("DREAMS.md") == "# Dream diary\n\n"
    assert desk.read("USER.md") == "## Learned\n\n- Other.\n"
    assert desk.read("memory/2026-04-20.md") == "- 15:00 [note] Lunch.\n"
    assert desk.read("memory/archive/2020.md") == "Old days.\n\n"
    assert desk.read("memory/entities/ana.md") == "# Ana\n\n- ~~Ana uses an iPhone.~~ _(until 2026-01-02)_\n"
    assert desk.read("AGENTS.md") == f"- {SAMSUNG}\n"  # which is the owner's own
    assert {each.path for each in done.removed} == {
        NOTEBOOK, "MEMORY.md", "DREAMS.md", "USER.md", "memory/2026-04-20.md", "memory/archive/2020.md",
        "memory/entities/ana.md",
    }  # fmt: skip
    assert ("session", "s1") in {(copy.kind, copy.place) for copy in done.remaining}
    assert {"history", "tombstone", "export"} <= {copy.kind for copy in done.remaining}


def test_nobody_but_the_owner_brings_it_back(told):
    desk, samsung, _ = told
    desk.forget(samsung.id)
    with desk.open() as workspace:
        author = Author(actor="extraction", action="add", agent="kate")
        kept = workspace.memory.keeper.keep([workspace.records.facts.get(samsung.id)], author)
        assert (kept.written, kept.waiting) == ((), ())
    with pytest.raises(UnknownFact):  # the same message, read again and put in other words
        desk.learn("The phone of Ana is a Samsung.")
    with pytest.raises(UnknownFact):
        desk.learn(SAMSUNG, session="s2", evidence=("n1",), trust="agent")
    assert desk.learn(SAMSUNG, session="s3", evidence=("o1",)).state == "waiting"  # the owner said it again
    assert SAMSUNG not in desk.read()
    with desk.open() as workspace:
        assert workspace.memory.add(SAMSUNG).written
    assert SAMSUNG in desk.read()


def test_a_dry_run_tells_the_same_and_changes_nothing(told):
    desk, samsung, _ = told
    before = desk.everything()
    would = desk.forget(samsung.id, dry_run=True)
    assert desk.everything() == before
    assert would.dry_run
    done = desk.forget(samsung.id)
    assert would.removed == done.removed
    assert [fact.id for fact in would.facts] == [fact.id for fact in done.facts]


def test_purged_it_is_in_no_file_and_the_rest_of_what_was_said_stays(told):
    desk, samsung, _ = told
    desk.forget(samsung.id, purge=True)
    everything = desk.everything().lower()
    assert b"samsung" not in everything
    assert b"green tea" in everything
    with desk.open() as workspace:
        page = workspace.sessions.page("s1")
        assert [placed.entry.content for placed in page.entries] == [
            "[FORGOTTEN] Also I drink green tea.",
            "Noted. [FORGOTTEN]",
        ]
        assert page.findings == ()
        left = workspace.records.facts.get(samsung.id)
        assert (left.text, left.line, left.state) == ("[FORGOTTEN]", "", "forgotten")
        assert workspace.records.facts.find(key=samsung.key) == [left]
        assert all(b"Samsung" not in c.splice.old + c.splice.new for c in workspace.records.changes.list())
        workspace.sessions.settle("s1")
    assert not list(desk.root.rglob("*.damaged*"))
    assert b"samsung" not in desk.everything().lower()


def test_what_was_purged_is_not_learnt_again_and_cannot_be_taken_back(told):
    desk, samsung, _ = told
    done = desk.forget(samsung.id, purge=True)
    assert {"session", "history"} <= {copy.kind for copy in done.purged}
    assert {copy.kind for copy in done.remaining} == {"export"}
    assert desk.learn(TEA).state == "written"
    with desk.open() as workspace:
        kept = workspace.memory.keeper.keep(
            [replace(samsung, id="other")], Author(actor="extraction", action="add", agent="kate")
        )
        assert kept.written == ()
        purged = [change for change in workspace.records.changes.list() if change.splice.is_purged]
        assert purged
        with pytest.raises(UndoConflict):
            workspace.memory.undo_change(purged[0].id)


def test_by_session_no_fact_of_it_is_left(told):
    desk, samsung, tea = told
    other = desk.learn("Bo lives in Rome.", session="s2", evidence=("n1",))
    desk.put({"memory/2026-04-20.md": "- 09:00 [note] A walk. _(session s1, m9)_\n- 10:00 [note] Rain.\n"})
    done = desk.forget(session="s1")
    assert {samsung.id, tea.id} < {fact.id for fact in done.facts}
    assert desk.read() == f"## Insights\n\n- {other.text}\n"
    assert desk.read("memory/2026-04-20.md") == "- 10:00 [note] Rain.\n"


def test_by_sender_what_they_taught_goes_and_the_owners_own_stays(desk):
    desk.say(
        {"role": "user", "content": "I am Eve.", "message_id": "m1", "sender_id": "eve"},
        {"role": "assistant", "content": "Eve likes jazz.", "message_id": "m2"},
        {"role": "user", "content": "Ana drinks green tea.", "message_id": "m3"},
        {"role": "assistant", "content": "Ok.", "message_id": "m4"},
    )
    own = desk.learn(TEA, evidence=("m3",))
    name = desk.learn("Eve is called Eve.", evidence=("m1",), trust="external")
    jazz = desk.learn("Eve likes jazz.", evidence=("m2",), trust="external")
    assert (name.state, jazz.state) == ("waiting", "waiting")
    done = desk.forget(sender="eve")
    assert {fact.id for fact in done.facts} == {name.id, jazz.id}
    assert done.proposals == 2
    assert own.text in desk.read()
    with desk.open() as workspace:
        assert workspace.records.proposals.list() == []


def test_by_file_what_was_learnt_from_reading_it_goes(desk):
    call = {"id": "c1", "name": "read_file", "arguments": {"path": "knowledge/x.md"}}
    desk.say(
        {"role": "user", "content": "Read it.", "message_id": "m1"},
        {"role": "assistant", "content": "", "tool_calls": [call], "message_id": "m2"},
        {"role": "tool", "content": "The port is 80.", "tool_call_id": "c1", "message_id": "m3"},
        {"role": "assistant", "content": "The port is 80.", "message_id": "m4"},
        {"role": "user", "content": "And Ana drinks green tea.", "message_id": "m5"},
    )
    port = desk.learn("The port is 80.", evidence=("m4",), trust="tool")
    tea = desk.learn(TEA, evidence=("m5",))
    done = desk.forget(file="knowledge/x.md")
    assert [fact.id for fact in done.facts] == [port.id]
    assert tea.text in desk.read()


def test_a_query_finds_facts_and_lines_that_nobody_learnt(told):
    desk, samsung, _ = told
    desk.put({"MEMORY.md": "# Me\n\n- The old Samsung is in the drawer.\n- Keys are on the hook.\n"})
    done = desk.forget(query="samsung")
    assert samsung.id in {fact.id for fact in done.facts}
    assert desk.read("MEMORY.md") == "# Me\n\n- Keys are on the hook.\n"
    assert "Samsung" not in desk.read()
    with desk.open() as workspace:
        assert workspace.records.facts.counts()["forgotten"] == 2


def test_recalls_and_frozen_parts_of_it_go(told):
    desk, samsung, _ = told
    with desk.open() as workspace:
        event = RecallEvent(
            agent="kate", session="s1", at=NOW, query="phone", path=NOTEBOOK, line=3, tier="profile", rank=1,
            score=0.5, text=f"## Insights\n\n- {SAMSUNG}", who="prepare",
        )  # fmt: skip
        workspace.records.recalls.add([event])
        workspace.prepare("s1", "Hello")
        frozen = workspace.records.frozen("kate", "s1", "main")
    done = desk.forget(samsung.id)
    assert done.recalls == 1
    with desk.open() as workspace:
        assert workspace.records.recalls.count("kate", datetime(2020, 1, 1, tzinfo=UTC)) == 0
        assert SAMSUNG not in str(workspace.records.frozen("kate", "s1", "main"))
    assert frozen is not None


def test_nothing_named_and_nothing_found_are_told_apart(desk):
    with pytest.raises(ForgetWhat):
        desk.forget()
    with pytest.raises(ForgetWhat):
        desk.forget(query=" ")
    with pytest.raises(NothingToForget):
        desk.forget(query="zebra")
    with desk.open() as workspace, pytest.raises(HiddenByScope):
        forgetting_of(workspace).forget(Choice(query="x"), scope="shared")


def test_a_file_that_cannot_be_read_is_told_and_keeps_nothing_back(told):
    desk, samsung, _ = told
    desk.put({"MEMORY.md": f"- {SAMSUNG}\n"})
    (desk.root / "memory/broken.md").write_bytes(b"\xff\xfe")
    done = desk.forget(samsung.id)
    assert [finding.path for finding in done.findings] == ["memory/broken.md"]
    assert desk.read("MEMORY.md") == ""
    with desk.open() as workspace:
        assert forgetting_of(workspace).finish() == 0


def test_what_the_disk_refused_to_give_is_looked_through_the_next_time(told, monkeypatch):
    desk, samsung, _ = told

    def fail(_, path, *__):
        raise Unreadable(path, "io_error")

    with desk.open() as workspace:
        monkeypatch.setattr(workspace.memory.pen, "edit", fail)
        done = forgetting_of(workspace).forget(Choice(facts=(samsung.id,)))
    assert {finding.severity for finding in done.findings} == {"error"}
    assert SAMSUNG in desk.read()
    with desk.open() as workspace:
        assert forgetting_of(workspace).finish() == 1
    assert SAMSUNG not in desk.read()


def test_a_purge_removes_what_killed_writers_left_where_nobody_writes_any_more(told):
    desk, samsung, _ = told
    left = [desk.root / f"{folder}.carrel-tmp-0123456789abcdef" for folder in ("", "memory/", "notes/deep/")]
    with desk.open() as workspace:  # which has written there already
        workspace.memory.note("Lunch.")
        for path in left:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SAMSUNG)
        forgetting_of(workspace).forget(Choice(facts=(samsung.id,)), purge=True)
    assert [path for path in left if path.exists()] == []
    assert b"samsung" not in desk.everything().lower()
