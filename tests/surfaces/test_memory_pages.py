"""`carrel memory` with more than one page of anything, and files by the names that people know them by."""

import pytest

from carrel import Workspace
from carrel.records.proposals import Proposal

MANY = 130


@pytest.fixture
def run(cli, sample):
    """Run a command of memory in the sample."""

    def memory_command(*words):
        return cli("-C", sample, "memory", *words)

    return memory_command


@pytest.fixture
def crowded(run, sample):
    """A workspace in which more wait than one page holds."""
    assert run("review").code == 0
    with Workspace.open(sample.path) as workspace, workspace.records.transaction():
        now = workspace.config.clock.now()
        for number in range(MANY):
            workspace.records.proposals.add(
                Proposal(
                    key=str(number), at=now, agent="kate", actor="kate", action="append", why="external_source",
                    reason="It comes from elsewhere.", path="notes.md", section="New", new=f"- Heron {number}.",
                )
            )  # fmt: skip
    return sample


def test_all_that_waits_is_approved_however_many_there_are(run, crowded):
    decided = run("review", "approve", "--all", "--json").document["proposals"]
    assert {each["state"] for each in decided} == {"approved"}
    assert (crowded / "notes.md").read_text().count("- Heron ") == MANY
    assert run("review", "--json").document["waiting"] == 0


def test_all_that_waits_is_rejected_however_many_there_are(run, crowded):
    assert len(run("review", "reject", "--all", "--json").document["proposals"]) == MANY
    assert run("review", "--json").document["waiting"] == 0


def test_what_waits_is_shown_page_by_page(run, crowded):
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        page = run("review", "--limit", "50", "--after", str(after), "--json").document
        seen += [each["id"] for each in page["proposals"]]
        after = page["next"]
    assert len(set(seen)) == len(seen) == page["waiting"] == MANY


def test_facts_are_taken_from_all_sessions_however_many_there_are(run, sample):
    assert run("status").code == 0
    with Workspace.open(sample.path) as workspace:
        for number in range(MANY):
            said = f"Remember that gate {number} closes at nine."
            workspace.record(
                f"s{number}",
                [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}],
            )
    learnt = run("extract", "--json").document
    assert learnt["turns"] == MANY
    assert len(learnt["written"]) == MANY
    assert run("extract", "--json").document["turns"] == 0


def test_what_travels_with_the_agent_is_shown_by_its_title(run):
    assert "Agent Experience: Kate: Knows Rust." in run("add", "Knows Rust.", "--layer", "experience").text
    for command in ("facts", "history"):
        told = run(command).text
        assert "Agent Experience: Kate" in told
        assert "agent." not in told
    (change,) = run("history", "--json").document["changes"]
    assert change["path"].startswith("agent.")


def test_what_waits_for_a_namespace_is_shown_by_its_title_before_there_is_one(run, sample):
    with Workspace.open(sample.path) as workspace:
        namespace = workspace.memory.namespace
        workspace.records.proposals.add(
            Proposal(
                key="k", at=workspace.config.clock.now(), agent="kate", actor="kate", action="append",
                why="external_source", reason="It comes from elsewhere.", store="namespaces",
                path=namespace.path, new="- Knows Rust.",
            )
        )  # fmt: skip
    told = run("review").text
    assert "Agent Experience: Kate" in told
    assert namespace.path not in told


def test_a_change_far_down_is_shown_with_the_numbers_of_its_lines(run, sample):
    sample.put({"MEMORY.md": "# Notes\n\n" + "- A line.\n" * 500})
    assert run("append", "MEMORY.md", "Notes", "- One more.").code == 0
    assert "@@ -500,3 +500,4 @@" in run("diff").text


def test_what_cannot_be_taken_back_says_how_another_change_can(run, sample):
    assert run("append", "MEMORY.md", "People", "- Luis rows.").code == 0
    (sample / "MEMORY.md").unlink()
    assert "carrel memory undo --change N" in run("undo", "--json").error["hint"]
