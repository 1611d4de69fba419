"""Forgotten for good: no byte of it is left below the workspace and the user's directories but what is told."""

from datetime import timedelta

import pytest
from tests.unit.memory.oblivion import Oblivion

from carrel import Workspace
from carrel.memory.forget.choice import Choice
from carrel.records.recalls import RecallEvent

DAY = timedelta(days=1)
WORD = "zanzibarquokka"
FACT = f"The garage of Ana opens with {WORD}."
SAID = f"You should know that {WORD} is what opens the garage, Ana told me."
SETTINGS = "layout: carrel\nagents:\n  - id: kate\nsearch:\n  embedder: none\n"


@pytest.fixture(params=[False, True], ids=["untrusted", "trusted"])
def desk(tmp_path, request):
    own = Oblivion(tmp_path / "work", tmp_path / "home").put({"carrel.yaml": SETTINGS})
    if request.param:
        Workspace.trust(own.root, environ=own.environ)
    return own


def fill(desk):
    """Have it said, learnt, recalled, prepared, searched, promoted, thrown away and handed on."""
    desk.say(
        {"role": "user", "content": SAID, "message_id": "m1"},
        {"role": "assistant", "content": f"Noted: {WORD} opens the garage, says Ana."},
    )
    fact = desk.learn(FACT)
    desk.put({f"notes/{n}.md": f"# {n}\n\nNothing of interest.\n" for n in range(3)})
    with desk.open() as workspace:
        memory, records = workspace.memory, workspace.records
        memory.note(FACT, session="s1")
        memory.notebook("memory/kate.md").append("Open", f"- {FACT}")
        workspace.put("notes/garage.md", f"- {FACT}\n- Keep this.\n".encode())
        workspace.discard("notes/garage.md")
        workspace.prepare("s1", f"What opens the garage? I think: {SAID}")
        workspace.search(f"garage {WORD}")
        records.recalls.add(
            [
                RecallEvent(
                    agent="kate", session="s1", at=workspace.config.clock.now(), query=SAID, path="MEMORY.md",
                    line=1, tier="profile", rank=1, score=0.9, text=FACT, who="prepare",
                )
            ]
        )  # fmt: skip
        job = records.queue.put("delegate", {"task": SAID, "caller": "kate"}, key="1")
        taken = records.queue.take(("delegate",), now=workspace.config.clock.now(), lease=DAY, worker="w")
        assert taken
        assert taken.id == job.id
        records.queue.finish(taken, {"answer": FACT})
    logs = desk.root / "agents/kate/sessions"
    (logs / "sessions.json.damaged-20260424T120000-abcdef01").write_text(f'{{"title": "{SAID}"')
    desk.put({"memory/.consolidation_state": "{}"})
    return fact


def holding(*roots):
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_file() and WORD.encode() in path.read_bytes().lower():
                yield path


def test_nothing_is_left_of_what_was_purged(desk, tmp_path):
    fact = fill(desk)
    assert [*holding(desk.root, tmp_path / "home")]
    with desk.open() as workspace:
        done = workspace.forgetting.forget(Choice(facts=(fact.id,)), purge=True)
    assert [path.relative_to(tmp_path) for path in holding(desk.root, tmp_path / "home")] == []
    assert {"session", "history", "job", "trash", "damaged", "index"} <= {copy.kind for copy in done.purged}
    assert {copy.kind for copy in done.remaining} == {"export"}
    with desk.open() as workspace:
        assert workspace.search("Nothing of interest").hits
        assert not workspace.search(WORD).hits


def test_what_says_it_in_other_words_is_told_and_left_to_its_owner(desk):
    fact = fill(desk)
    own = f"# Garage\n\nAna: {WORD} opens it, the garage.\n"
    desk.put({"notes/mine.md": own})
    with desk.open() as workspace:
        told = workspace.forgetting.forget(Choice(facts=(fact.id,)), purge=True, dry_run=True)
        done = workspace.forgetting.forget(Choice(facts=(fact.id,)), purge=True)
    assert desk.read("notes/mine.md") == own
    for report in (told, done):
        assert ("file", "notes/mine.md") in {(copy.kind, copy.place) for copy in report.remaining}
