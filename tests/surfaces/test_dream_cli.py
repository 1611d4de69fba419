"""`carrel dream`: what would be promoted, what was, why not, and the way back, from the shell."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from carrel.app import Workspace
from carrel.records.recalls import RecallEvent

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
BOGOTA = "User's timezone is America/Bogota"
DREAMED = "## Dreamed 2026-04-24 12:00 UTC"


@pytest.fixture
def recalled(cli, sample):
    """Have a line of the sample's journal recalled, so many times on so many days."""

    def recall(text, times=3, path="memory/2026-04-23.md", tier="journal"):
        with Workspace.open(sample.path, agent="kate", environ={"CARREL_HOME": str(cli.home)}) as workspace:
            workspace.records.recalls.add(
                RecallEvent(
                    agent="kate", session="s1", at=NOW - timedelta(days=n), query=f"query {n}", path=path, line=1,
                    tier=tier, rank=1, score=0.5, text=text, who="prepare",
                )
                for n in range(times)
            )  # fmt: skip
        return sample

    return recall


@pytest.fixture
def desk_to_dream(recalled, sample):
    """A journal with one line to promote, one that needs more recalls, and one that MEMORY.md has."""
    sample.put({"memory/2026-04-23.md": f"- {BOGOTA}\n- met Ana\n- Ana uses a Samsung.\n"})
    recalled(f"- {BOGOTA}", 5)
    recalled("- met Ana", 2)
    recalled("- Ana uses a Samsung.", 4)
    return sample


def test_a_run_writes_what_the_seed_shows_and_says_so(cli, desk_to_dream):
    before = (desk_to_dream / "MEMORY.md").read_text()
    outcome = cli("-C", desk_to_dream, "dream", "run")
    assert outcome.code == 0
    assert "Promoted to MEMORY.md (dream 1):" in outcome.text
    assert f"0.77  {BOGOTA}" in outcome.text
    assert (desk_to_dream / "MEMORY.md").read_text() == (
        f"{before}\n{DREAMED}\n\n- {BOGOTA} _(score=0.77, hits=5, days=5)_\n"
    )
    assert "run 1" in (desk_to_dream / "DREAMS.md").read_text()


def test_a_run_as_json_tells_what_was_promoted_and_what_was_not(cli, desk_to_dream):
    told = cli("-C", desk_to_dream, "dream", "run", "--json").document
    assert (told["dry_run"], told["path"], told["reason"]) == (False, "MEMORY.md", None)
    assert told["counts"] == {
        "candidates": 3, "ready": 1, "later": 0, "blocked": 0, "known": 1, "below": 1, "promoted": 0,
    }  # fmt: skip
    run = told["run"]
    assert (run["id"], run["state"], run["heading"]) == (1, "done", DREAMED[3:])
    assert [(each["text"], each["hits"], each["days"]) for each in run["promotions"]] == [(BOGOTA, 5, 5)]
    again = cli("-C", desk_to_dream, "dream", "run", "--json").document
    assert (again["run"]["promotions"], again["counts"]["promoted"]) == ([], 1)
    assert again["reason"] == again["run"]["reason"] != ""


def test_a_dry_run_shows_the_same_and_writes_nothing(cli, desk_to_dream):
    before = desk_to_dream.snapshot()
    told = cli("-C", desk_to_dream, "dream", "run", "--dry-run", "--json").document
    assert (told["run"], told["dry_run"]) == (None, True)
    assert [each["text"] for each in told["ready"]] == [BOGOTA]
    assert (
        f"Would be promoted to MEMORY.md:\n+ 0.77  {BOGOTA}"
        in cli("-C", desk_to_dream, "dream", "run", "--dry-run").text
    )
    assert desk_to_dream.snapshot() == before


def test_nothing_promoted_says_why(cli, sample, recalled):
    first = cli("-C", sample, "dream", "run")
    assert first.code == 0
    assert "Nothing was promoted. Nothing was recalled yet" in first.text
    recalled("- met Ana", 2)
    assert "recalls 2 of 3" in cli("-C", sample, "dream", "run").text
    assert "recalls 2 of 3" in cli("-C", sample, "dream", "run", "--dry-run").text
    assert "recalls 2 of 3" in cli("-C", sample, "dream", "candidates").warnings


def test_candidates_tell_each_gate_against_its_threshold(cli, desk_to_dream):
    told = cli("-C", desk_to_dream, "dream", "candidates", "--json").document
    rows = {each["text"]: each for each in told["candidates"]}
    assert {text: each["state"] for text, each in rows.items()} == {
        BOGOTA: "ready",
        "Ana uses a Samsung.": "known",
        "met Ana": "below",
    }
    gates = {gate["name"]: (gate["value"], gate["least"], gate["open"]) for gate in rows["met Ana"]["gates"]}
    assert gates == {
        "recalls": (2, 3, False),
        "queries": (2, 2, True),
        "days": (2, 2, True),
        "score": (rows["met Ana"]["score"], 0.35, True),
    }
    assert set(rows["met Ana"]["signs"]) == {
        "frequency",
        "relevance",
        "recency",
        "diversity",
        "consolidation",
    }
    assert rows[BOGOTA]["sources"] == [{"tier": "journal", "path": "memory/2026-04-23.md", "line": 1}]
    shown = cli("-C", desk_to_dream, "dream", "candidates", "--why").text
    assert "recalls 2 of 3 ✗ queries 2 of 2 ✓ days 2 of 2 ✓" in shown
    assert "memory/2026-04-23.md:1" in shown
    assert "Not yet: recalls 2 of 3." in shown
    assert "recalls" not in cli("-C", desk_to_dream, "dream", "candidates").text


def test_what_is_blocked_is_shown_with_its_reason(cli, sample, recalled):
    recalled("- never written down")
    shown = cli("-C", sample, "dream", "candidates", "--why")
    assert "! 0.62  never written down  [gone]" in shown.text
    assert "It no longer stands where it was recalled from." in shown.text
    assert "1 gone" in shown.warnings


def test_candidates_can_be_limited(cli, desk_to_dream):
    told = cli("-C", desk_to_dream, "dream", "candidates", "--limit", "1", "--json").document
    assert ([each["text"] for each in told["candidates"]], told["counts"]["candidates"]) == ([BOGOTA], 3)
    assert "And 2 more." in cli("-C", desk_to_dream, "dream", "candidates", "--limit", "1").warnings


def test_what_is_shown_cannot_move_the_cursor(cli, sample, recalled):
    sample.put({"memory/2026-04-23.md": "- red \x1b[31m line\n"})
    recalled("- red \x1b[31m line")
    assert "\x1b" not in cli("-C", sample, "dream", "candidates", "--why").text
    assert "\x1b" not in cli("-C", sample, "dream", "run").text


def test_the_status_tells_the_last_run_the_next_and_the_counts(cli, desk_to_dream):
    before = cli("-C", desk_to_dream, "dream", "status")
    assert "last run   never" in before.text
    assert "next run   only when you ask" in before.text
    cli("-C", desk_to_dream, "dream", "run")
    (desk_to_dream / "carrel.yaml").write_text(
        (desk_to_dream / "carrel.yaml").read_text() + "dreaming:\n  schedule: daily 03:00\n"
    )
    told = cli("-C", desk_to_dream, "dream", "status", "--json").document
    assert (told["last"]["id"], told["schedule"], told["is_due"]) == (1, "daily 03:00", False)
    assert told["due"] == "2026-04-25T03:00:00+00:00"
    assert (told["promotions"]["promoted"], told["recalls"], told["unfinished"]) == (1, 11, [])
    shown = cli("-C", desk_to_dream, "dream", "status").text
    assert "2026-04-24 12:00 UTC, dream 1, done: 1 promoted" in shown
    assert "next run   2026-04-25 03:00 UTC" in shown


def test_a_revert_takes_back_exactly_what_a_run_added(cli, desk_to_dream):
    before = (desk_to_dream / "MEMORY.md").read_bytes()
    cli("-C", desk_to_dream, "dream", "run")
    outcome = cli("-C", desk_to_dream, "dream", "revert")
    assert (outcome.code, BOGOTA in outcome.text) == (0, True)
    assert (desk_to_dream / "MEMORY.md").read_bytes() == before
    assert not (desk_to_dream / "DREAMS.md").exists()
    refused = cli("-C", desk_to_dream, "dream", "revert", "1", "--json")
    assert (refused.code, refused.error["code"]) == (5, "already_reverted")
    assert cli("-C", desk_to_dream, "dream", "revert", "--json").error["code"] == "nothing_to_revert"
    assert cli("-C", desk_to_dream, "dream", "revert", "99", "--json").error["code"] == "unknown_dream"
    assert "Nothing would be" in cli("-C", desk_to_dream, "dream", "run", "--dry-run").text


def test_an_undo_of_one_file_of_a_dream_says_how_to_take_back_the_rest(cli, desk_to_dream):
    cli("-C", desk_to_dream, "dream", "run")
    before = (desk_to_dream / "MEMORY.md").read_bytes()
    assert "carrel dream revert" in cli("-C", desk_to_dream, "memory", "undo").warnings
    assert cli("-C", desk_to_dream, "dream", "revert").code == 0
    assert (desk_to_dream / "MEMORY.md").read_bytes() != before


def test_a_revert_by_number_is_told_as_json(cli, desk_to_dream):
    cli("-C", desk_to_dream, "dream", "run")
    told = cli("-C", desk_to_dream, "dream", "revert", "1", "--json").document
    assert (told["id"], told["state"]) == (1, "reverted")
    assert [each["state"] for each in told["promotions"]] == ["reverted"]


@pytest.mark.parametrize("words", [["run"], ["run", "--dry-run"], ["candidates"], ["status"], ["revert"]])
def test_dreams_are_the_owners(cli, desk_to_dream, words):
    refused = cli("-C", desk_to_dream, "--scope", "shared", "dream", *words, "--json")
    assert (refused.code, refused.error["code"]) == (6, "hidden_by_scope")


def test_off_is_refused_and_odd_weights_are_named(cli, desk_to_dream):
    settings = (desk_to_dream / "carrel.yaml").read_text()
    (desk_to_dream / "carrel.yaml").write_text(f"{settings}dreaming: {{enabled: false}}\n")
    refused = cli("-C", desk_to_dream, "dream", "run", "--json")
    assert (refused.code, refused.error["code"]) == (6, "dreaming_off")
    names = ("frequency", "relevance", "recency", "diversity", "consolidation")
    nothing = json.dumps(dict.fromkeys(names, 0))
    (desk_to_dream / "carrel.yaml").write_text(f"{settings}dreaming: {{weights: {nothing}}}\n")
    odd = cli("-C", desk_to_dream, "dream", "candidates", "--json")
    assert (odd.code, odd.error["code"]) == (2, "bad_setting")
    assert "dreaming.weights" in odd.error["message"]


def test_what_the_clock_makes_odd_is_a_warning(cli, desk_to_dream):
    cli.set(CARREL_NOW="2026-04-21T00:00:00Z")
    outcome = cli("-C", desk_to_dream, "dream", "candidates")
    assert outcome.code == 0
    assert "[recalls_in_future]" in outcome.warnings


@pytest.mark.parametrize("verb", ["", "run", "candidates", "status", "revert"])
def test_every_verb_shows_examples(cli, sample, verb):
    assert "Examples:" in cli("dream", *([verb] if verb else []), "--help").text


def test_a_recall_of_a_real_prompt_leads_to_a_promotion(cli, sample):
    """From the question to MEMORY.md: what `prepare` reminded the model of is what is promoted."""
    sample.put({"memory/2026-03-02.md": "- The harbour office opens at nine, says Ana Martinez.\n"})
    for day, question in enumerate(
        ("When does the harbour office open?", "Ana Martinez harbour?", "harbour office")
    ):
        cli.set(CARREL_NOW=f"2026-04-{20 + day}T12:00:00Z")
        done = cli("-C", sample, "context", "show", "--session", f"s{day}", "--query", question, "--prepare")
        assert done.code == 0
        assert "harbour office opens" in done.text
    cli.set(CARREL_NOW="2026-04-24T12:00:00Z")
    told = cli("-C", sample, "dream", "run", "--json").document
    assert [each["text"] for each in told["run"]["promotions"]] == [
        "The harbour office opens at nine, says Ana Martinez."
    ]
