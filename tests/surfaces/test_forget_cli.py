"""`carrel memory forget`: what goes, what is asked first, and what is told of the copies, from the shell."""

import pytest

SAMSUNG = "Luis uses a Samsung phone."


@pytest.fixture
def learnt(cli, sample):
    told = cli("-C", sample, "--agent", "kate", "memory", "add", SAMSUNG, "--json").document
    return sample, told["written"][0]["id"]


def test_a_fact_is_forgotten_and_copies_are_told(cli, learnt):
    sample, fact = learnt
    outcome = cli("-C", sample, "--agent", "kate", "memory", "forget", fact)
    assert outcome.code == 0
    assert "Forgotten: 1" in outcome.text
    assert "memory/kate.md:" in outcome.text
    assert "Copies remain:" in outcome.text
    assert SAMSUNG not in (sample / "memory/kate.md").read_text()


def test_a_file_that_cannot_be_written_is_told_by_the_exit_code_and_cleared_by_the_next_sweep(cli, learnt):
    sample, fact = learnt
    notebook = sample / "memory/kate.md"
    notebook.chmod(0o444)
    outcome = cli("-C", sample, "--agent", "kate", "memory", "forget", fact, "--json")
    assert outcome.code == 1
    assert [found["code"] for found in outcome.document["findings"]] == ["read_only"]
    assert SAMSUNG in notebook.read_text()
    notebook.chmod(0o644)
    assert cli("-C", sample, "--agent", "kate", "sweep").code == 0
    assert SAMSUNG not in notebook.read_text()


def test_the_report_has_a_stable_form(cli, learnt):
    sample, fact = learnt
    told = cli("-C", sample, "--agent", "kate", "memory", "forget", fact, "--purge", "--json").document
    assert set(told) == {
        "schema_version", "dry_run", "facts", "removed", "proposals", "recalls", "calls", "purged", "remaining",
        "finished", "findings",
    }  # fmt: skip
    assert [(each["path"], each["text"]) for each in told["removed"]] == [("memory/kate.md", f"- {SAMSUNG}")]
    assert all(set(each) == {"kind", "place", "count", "how"} for each in told["purged"] + told["remaining"])
    assert {each["kind"] for each in told["remaining"]} == {"export"}
    assert "history" in {each["kind"] for each in told["purged"]}


def test_what_a_query_finds_needs_a_look_first(cli, learnt):
    sample, _ = learnt
    words = ("-C", sample, "--agent", "kate", "memory", "forget", "--query", "Samsung phone", "--json")
    assert cli(*words).error["code"] == "not_confirmed"
    before = sample.snapshot()
    would = cli(*words, "--dry-run").document
    assert (would["dry_run"], sample.snapshot()) == (True, before)
    assert SAMSUNG in {fact["text"] for fact in would["facts"]}
    done = cli(*words, "--yes").document
    assert done["removed"] == would["removed"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "forget_what"),
        (("--query", "zebra", "--yes"), "nothing_to_forget"),
        (("no-such-fact",), "unknown_fact"),
        (("--file", "../out", "--yes"), "bad_path"),
        (("--session", "s9", "--scope", "shared"), "hidden_by_scope"),
    ],
)
def test_what_cannot_be_forgotten_is_an_error_with_a_name(cli, learnt, words, code):
    outcome = cli("-C", learnt[0], "--agent", "kate", "memory", "forget", *words, "--json")
    assert outcome.error["code"] == code
