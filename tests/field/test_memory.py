"""What went wrong with memory: it grew until nothing worked, was written over, fed on itself, and was invented."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

from tests.field.talk import agent, user

from carrel import Workspace
from carrel.records.recalls import RecallEvent
from carrel.runtime.model import Reply
from carrel.testing import ScriptedModel

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
LARGEST = 16 * 1024 * 1024
PHONE = "Ana uses a Nokia phone."


def test_a_memory_that_grew_beyond_everything_stops_nothing_and_can_be_made_smaller(cli, process, sample):
    line = "- A line of the memory that says little.\n"
    sample.put({"MEMORY.md": "# Memory\n\n## Notes\n\n" + line * (1 + LARGEST // len(line))})
    report = cli("-C", sample, "context", "report", "--json").document
    (row,) = [row for row in report["sections"] if row["name"] == "MEMORY.md"]
    assert row["state"] == "unreadable"
    assert "Be brief." in cli("-C", sample, "context", "show", "--prepare", "--session", "s1").text
    told = {finding["path"] for finding in cli("-C", sample, "health", "--json").document["findings"]}
    assert "MEMORY.md" in told
    assert cli("-C", sample, "dream", "run").code == 0
    with Workspace.open(sample) as workspace:
        workspace.put("MEMORY.md", b"# Memory\n\n- The demo is on Friday.\n")
    assert cli("-C", sample, "memory", "append", "MEMORY.md", "Notes", "- It fits again.").code == 0
    assert "It fits again." in cli("-C", sample, "context", "show").text


def test_a_memory_that_no_prompt_can_hold_is_cut_told_of_and_edited_as_ever(cli, sample):
    sample.put({"MEMORY.md": "## Notes\n\n" + "- A line of the memory that says little.\n" * 20_000})
    report = cli("-C", sample, "context", "report", "--json").document
    (row,) = [row for row in report["sections"] if row["name"] == "MEMORY.md"]
    assert row["state"] == "truncated"
    assert cli("-C", sample, "memory", "replace", "MEMORY.md", "Notes", "- Little.").code == 0
    assert (sample / "MEMORY.md").stat().st_size < 100


def recalled(text, path, times=3, of=1):
    """Recalls of one line of a file on as many days as times, each by queries of its own."""
    return [
        RecallEvent(
            agent="kate", session="s1", at=NOW - timedelta(days=day + 1), query=f"query {day} {n}", path=path,
            line=1, tier="journal", rank=1, score=0.9, text=text, who="prepare",
        )
        for day in range(times)
        for n in range(of)
    ]  # fmt: skip


def test_however_often_something_was_recalled_a_dream_still_ends_and_promotes(cli, sample):
    sample.put({"memory/2026-04-20.md": f"- {PHONE}\n"})
    with Workspace.open(sample) as workspace:
        for _ in range(10):
            workspace.records.recalls.add(recalled(PHONE, "memory/2026-04-20.md", of=700))
    assert cli("-C", sample, "dream", "run").code == 0
    assert (sample / "MEMORY.md").read_text().count(PHONE) == 1


OWN = "# Mine\r\n\r\nI wrote *this* myself -- with  odd   blanks.\r\n\r\n* a star\n+ a plus\n\n```\n- code\n```\n"


def test_dreams_and_consolidation_leave_each_other_and_every_byte_of_the_owner_alone(cli, sample):
    sample.put(
        {
            "MEMORY.md": OWN,
            "memory/2026-04-20.md": f"- 09:00 [note] {PHONE}\n",
            "memory/2026-04-21.md": "- 10:00 [decision] We decided to sail on Sunday.\n",
        }
    )
    with Workspace.open(sample) as workspace:
        workspace.records.recalls.add(recalled(PHONE, "memory/2026-04-20.md"))
    assert cli("-C", sample, "dream", "run").code == 0
    dreamt = (sample / "MEMORY.md").read_bytes()
    assert PHONE.encode() in dreamt
    assert cli("-C", sample, "memory", "consolidate").code == 0
    both = (sample / "MEMORY.md").read_bytes().decode()
    assert "sail on Sunday" in both
    sample.put({"memory/2026-04-22.md": "- 11:00 [note] The pier is closed in May.\n"})
    with Workspace.open(sample) as workspace:
        workspace.records.recalls.add(recalled("The pier is closed in May.", "memory/2026-04-22.md"))
    for words in (["dream", "run"], ["memory", "consolidate"], ["dream", "run"], ["memory", "consolidate"]):
        assert cli("-C", sample, *words).code == 0
    after = (sample / "MEMORY.md").read_bytes()
    assert after.startswith(OWN.encode())
    text = after.decode()
    for said in (PHONE, "sail on Sunday", "The pier is closed in May."):
        assert text.count(said) == 1, said
    assert "query 0" not in text


class Believer:
    """A model that takes every line it is shown for a fact, and makes up one more, with real messages as evidence."""

    name = "believer"

    async def stream(self, request):
        await asyncio.sleep(0)
        lines = [json.loads(line) for line in request.messages[1].to_text().splitlines() if line[:1] == "{"]
        told = [line for line in lines if "id" in line]
        claims = [*((line["text"], line["id"]) for line in told)]
        claims += [("John Doe lives in Springfield.", line["id"]) for line in told]
        yield Reply(text=json.dumps({"facts": [{"text": text, "evidence": [own]} for text, own in claims]}))


def test_what_was_recalled_is_not_learnt_again_and_nothing_is_made_up(cli, sample):
    """Applications hand back what they were given, and agents repeat what they have read."""
    with Workspace.open(sample) as workspace:
        learn = workspace.conversations.learning.extract
        workspace.record("s0", [user(PHONE), agent("Good.")])
        learn("s0", Believer())
        for session in ("s1", "s2", "s3"):
            shown = workspace.prepare(session, f"What phone has Ana, I ask in {session}?")
            assert PHONE in shown.to_text()
            workspace.record(session, [user(shown.messages[-1].to_text()), agent(PHONE)])
            learn(session, Believer())
        facts = [fact for fact in workspace.memory.facts(limit=500) if fact.state == "written"]
        said = {
            (session, placed.entry.message_id): placed.entry.to_text()
            for session in ("s0", "s1", "s2", "s3")
            for placed in workspace.sessions.page(session).entries
        }
    assert [fact.text for fact in facts if "Nokia" in fact.text] == [PHONE]
    assert [fact.text for fact in facts if "John Doe" in fact.text] == []
    for fact in facts:
        assert any(fact.text in said[fact.session, own] for own in fact.evidence)
    assert (sample / "memory/kate.md").read_text().count("Nokia") == 1


def test_a_models_silence_about_facts_is_not_taken_for_memory(cli, sample):
    with Workspace.open(sample) as workspace:
        workspace.record("s1", [user("Tell me a joke."), agent("Well.")])
        for answer in ("", "No facts.", "{}", '{"facts": null}', "```json\n[]\n```"):
            workspace.sweep(model=ScriptedModel([Reply(text=answer)]))
            workspace.conversations.learning.extract(
                "s1", ScriptedModel([Reply(text='{"facts": []}')]), anew=True
            )
        assert workspace.memory.facts() == []
