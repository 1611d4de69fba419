"""`carrel memory consolidate`: what would change, what did, and the way back, from the shell."""

import io
import sys

import pytest

from carrel import Workspace

ENTRIES = "- 09:00 [decision] Chose JWT for authentication. _(session s1, m2)_\n- The demo is on Friday.\n"


@pytest.fixture
def desk(sample):
    sample.put({"memory/2026-04-23.md": ENTRIES})
    return sample


def test_a_dry_run_shows_the_diff_and_writes_nothing(cli, desk):
    before = (desk / "MEMORY.md").read_bytes()
    outcome = cli("-C", desk, "memory", "consolidate", "--dry-run")
    assert outcome.code == 0
    assert "+- Chose JWT for authentication." in outcome.text
    assert "3 entries would be taken into MEMORY.md" in outcome.text
    assert (desk / "MEMORY.md").read_bytes() == before
    assert not (desk / "memory/.consolidation_state").exists()


def test_a_run_adds_to_memory_once_and_can_be_taken_back(cli, desk):
    before = (desk / "MEMORY.md").read_text()
    assert cli("-C", desk, "memory", "consolidate").code == 0
    after = (desk / "MEMORY.md").read_text()
    assert after.startswith(before)
    assert "## Consolidated" in after
    assert "Nothing is new" in cli("-C", desk, "memory", "consolidate").text
    assert cli("-C", desk, "memory", "undo").code == 0
    assert (desk / "MEMORY.md").read_text() == before


def test_a_run_as_json_says_what_was_added(cli, desk):
    told = cli("-C", desk, "memory", "consolidate", "--json").document
    assert (told["reason"], told["dry_run"], told["target"]) == ("done", False, "MEMORY.md")
    assert "Chose JWT for authentication." in told["added"]
    assert "+- Chose JWT for authentication." in told["diff"]


def test_it_is_the_owners_alone(cli, desk):
    assert cli("-C", desk, "--scope", "shared", "memory", "consolidate").code != 0
    assert not (desk / "memory/.consolidation_state").exists()


def test_switched_off_it_does_nothing(cli, desk):
    given = (desk / "carrel.yaml").read_text()
    desk.put({"carrel.yaml": f"{given}\nconsolidation:\n  enabled: false\n"})
    outcome = cli("-C", desk, "memory", "consolidate")
    assert outcome.code != 0
    assert "consolidation.enabled" in outcome.warnings


def test_an_old_journal_goes_to_the_archive_and_is_still_found(cli, desk):
    desk.put({"memory/2025-01-02.md": "- The zeppelin landed in Friedrichshafen.\n"})
    told = cli("-C", desk, "memory", "consolidate", "--json").document
    assert told["archived"] == ["memory/2025-01-02.md"]
    assert (
        desk / "memory/archive/2025-01-02.md"
    ).read_text() == "- The zeppelin landed in Friedrichshafen.\n"
    assert not (desk / "memory/2025-01-02.md").exists()
    found = cli("-C", desk, "search", "zeppelin Friedrichshafen", "--json").document
    assert "memory/archive/2025-01-02.md" in str(found)


@pytest.mark.parametrize("automatic", [True, False])
def test_a_chat_that_ends_lets_the_journal_be_consolidated_where_that_is_wanted(
    cli, tmp_path, monkeypatch, automatic
):
    root = tmp_path / "desk"
    (root / "memory").mkdir(parents=True)
    (root / "carrel.yaml").write_text(
        f"layout: carrel\nconsolidation: {{automatic: {str(automatic).lower()}}}\nagents:\n  - id: kate\n"
    )
    (root / "memory/2026-04-23.md").write_text("- 09:00 [decision] Chose JWT for authentication.\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hello there.\n")))
    assert cli("-C", root, "chat", "--session", "s1").code == 0
    with Workspace.open(root, environ={"CARREL_HOME": str(cli.home)}) as workspace:
        kinds = {job.kind for job in workspace.records.queue.jobs()}
    assert ("consolidate" in kinds) == automatic


def test_a_schedule_is_kept_by_the_sweep(cli, tmp_path):
    root = tmp_path / "desk"
    (root / "memory").mkdir(parents=True)
    (root / "carrel.yaml").write_text("layout: carrel\nconsolidation: {schedule: every 1d}\n")
    for day, entry in (("2026-04-22", "Ana uses a Samsung."), ("2026-04-23", "Luis is tall.")):
        (root / f"memory/{day}.md").write_text(f"- 09:00 [note] {entry}\n")
        assert cli("-C", root, "sweep").code == 0
    assert "Samsung" in (root / "MEMORY.md").read_text()
    assert "Luis" not in (root / "MEMORY.md").read_text()
