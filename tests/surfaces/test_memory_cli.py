"""`carrel memory`: notebooks by section, facts, what waits, what changed, and the way back, from the shell."""

import io
import json
import os
import re
import subprocess
import sys
from hashlib import sha256

import pytest

from carrel import Workspace
from carrel.cli.memory import memory
from carrel.markdown.sections import SectionConflict
from carrel.memory.places import NotebookTaken
from carrel.runtime.view import BinaryFile

NOTES = """\
# Project

Intro.

## Decisions

- JWT.

## Notes

first

# Later

## Notes

second
"""
OWNERS = [
    ["append", "MEMORY.md", "People", "x"],
    ["replace", "MEMORY.md", "People", "x"],
    ["rename", "MEMORY.md", "People", "Others"],
    ["move", "MEMORY.md", "People"],
    ["add", "A heron."],
    ["facts"],
    ["pin", "f1"],
    ["extract"],
    ["review"],
    ["review", "approve", "1"],
    ["review", "approve", "--all"],
    ["review", "reject", "1"],
    ["history"],
    ["diff"],
    ["undo"],
]


@pytest.fixture
def run(cli, sample):
    """Run a command of memory in the sample."""

    def memory_command(*words):
        return cli("-C", sample, "memory", *words)

    return memory_command


@pytest.fixture
def ok(run):
    """Run one that succeeds, and return its document."""

    def document(*words):
        outcome = run(*words, "--json")
        assert outcome.code == 0, outcome.text + outcome.warnings
        assert outcome.document["schema_version"] == 1
        return outcome.document

    return document


@pytest.fixture
def typed(monkeypatch, run):
    """Run one that reads this from standard input."""

    def memory_command(data, *words):
        data = data if isinstance(data, bytes) else data.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return run(*words)

    return memory_command


def propose(sample, *texts, agent="kate", **fields):
    """Let a tool's result teach facts, which wait then; return the numbers of the proposals."""
    with Workspace.open(sample.path, agent=agent, environ=dict(os.environ)) as workspace:
        answers = [
            workspace.tools(scope="shared").call("memory_write", {"text": text, **fields}) for text in texts
        ]
        assert all(answer["state"] == "waiting" for answer in answers), answers
        return [proposal.id for proposal in workspace.memory.review.waiting()]


# Sections


def test_sections_are_listed_with_the_address_that_finds_each(ok, sample):
    sample.put({"notes.md": NOTES})
    rows = ok("sections", "notes.md")["sections"]
    assert [(row["level"], row["heading"], row["line"]) for row in rows] == [
        (1, "Project", 1), (2, "Decisions", 5), (2, "Notes", 9), (1, "Later", 13), (2, "Notes", 15),
    ]  # fmt: skip
    assert all(row["tokens"] > 0 for row in rows)
    for row in rows:
        assert ok("show", "notes.md", row["address"])["text"]
    assert [row["address"] for row in rows] == [
        "Project", "Decisions", "Project/Notes", "Later", "Later/Notes",
    ]  # fmt: skip


def test_equal_headings_are_told_apart_by_path_and_by_position(run, ok, sample):
    sample.put({"notes.md": NOTES})
    assert ok("show", "notes.md", "Project/Notes")["text"].strip() == "first"
    assert ok("show", "notes.md", "Notes#2")["text"].strip() == "second"
    refused = run("append", "notes.md", "Notes", "- which?", "--json")
    assert (refused.code, refused.error["code"]) == (2, "ambiguous_section")
    assert "Later/Notes" in refused.error["hint"]
    ok("append", "notes.md", "Notes#2", "third")
    assert (sample / "notes.md").read_text() == NOTES.replace("second\n", "second\n\nthird\n")


def test_a_file_without_headings_says_so(run, ok, sample):
    sample.put({"plain.md": "No headings here.\n"})
    assert ok("sections", "plain.md")["sections"] == []
    assert "no headings" in run("sections", "plain.md").warnings
    assert ok("show", "plain.md")["text"] == "No headings here.\n"


def test_what_is_not_there_is_told_with_what_is(run):
    missing = run("show", "MEMORY.md", "Animals", "--json")
    assert (missing.code, missing.error["code"]) == (3, "section_not_found")
    assert "'People'" in missing.error["hint"]
    for words in (["sections", "none.md"], ["show", "none.md"]):
        assert run(*words, "--json").error["code"] == "no_such_path"
    for words in (["rename", "none.md", "A", "B"], ["move", "none.md", "A"]):
        absent = run(*words, "--json")
        assert (absent.code, absent.error["code"]) == (3, "section_not_found")


ODD = {
    "crlf": b"# A\r\n\r\n- one\r\n\r\n# B\r\ntwo\r\n",
    "no final newline": b"# A\n\n- one\n\n# B\ntwo",
    "fence": b"# A\n\n- one\n\n# B\n\n```sh\n# A\n# C\n```\nafter\n",
    "open fence": b"# A\n\n- one\n\n# B\n\n~~~\n# C\n",
    "bom": b"\xef\xbb\xbf# A\n\n- one\n\n# B\ntwo\n",
    "front matter": b"---\ntitle: x\n# B\n---\n# A\n\n- one\n\n# B\ntwo\n",
    "trailing blanks": b"# A  \n\n- one   \n\t\n\n\n# B\n  two\n\n\n",
}


@pytest.mark.parametrize("name", ODD)
def test_an_edit_of_one_section_leaves_every_byte_of_the_rest(ok, sample, name):
    before = ODD[name]
    sample.put({"odd.md": before})
    ok("append", "odd.md", "A", "- new")
    after = (sample / "odd.md").read_bytes()
    assert ok("show", "odd.md")["digest"] == sha256(after).hexdigest()
    kept, _, rest = before.partition(b"- one")
    newline = b"\r\n" if b"\r\n" in before else b"\n"
    assert after.startswith(kept + b"- one")
    assert after.endswith(rest[rest.find(b"# B") :])
    assert after.replace(newline + b"- new", b"", 1) == before
    ok("undo")
    assert (sample / "odd.md").read_bytes() == before
    ok("replace", "odd.md", "A", "another text")
    assert (sample / "odd.md").read_bytes() == re.sub(rb"- one *", b"another text", before)


def test_append_and_replace_make_what_is_missing(ok, sample):
    ok("append", "new/folder/notes.md", "People", "- Ana")
    assert (sample / "new/folder/notes.md").read_text() == "## People\n\n- Ana\n"
    ok("append", "new/folder/notes.md", "People/Work", "- at the harbour")
    ok("replace", "new/folder/notes.md", "Later", "Nothing.")
    assert (sample / "new/folder/notes.md").read_text() == (
        "## People\n\n- Ana\n\n### Work\n\n- at the harbour\n\n## Later\n\nNothing.\n"
    )
    ok("undo", "3")
    assert not (sample / "new/folder/notes.md").exists()


def test_sections_are_renamed_and_moved_with_what_is_nested_in_them(ok, sample):
    sample.put({"notes.md": NOTES})
    ok("rename", "notes.md", "Project/Notes", "First notes")
    assert "## First notes\n\nfirst\n" in (sample / "notes.md").read_text()
    ok("move", "notes.md", "Project", "--after", "Later")
    headings = [row["heading"] for row in ok("sections", "notes.md")["sections"]]
    assert headings == ["Later", "Notes", "Project", "Decisions", "First notes"]
    ok("move", "notes.md", "Project")
    ok("rename", "notes.md", "First notes", "Notes")
    assert (sample / "notes.md").read_text() == NOTES


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["append", "notes.md", "Notes#2", "# A heading"], "bad_section_text"),
        (["append", "notes.md", "Decisions", "```\nnever closed"], "bad_section_text"),
        (["replace", "notes.md", "Decisions", "# Higher up"], "bad_section_text"),
        (["rename", "notes.md", "Decisions", "two\nlines"], "bad_heading"),
        (["rename", "notes.md", "Decisions", "  "], "bad_heading"),
        (["move", "notes.md", "Project", "--after", "Decisions"], "bad_move"),
        (["append", "notes.md", "a/b/c/d/e/f/g/h", "x"], "bad_heading"),
        (["append", "notes.md", "Notes#9", "x"], "section_not_found"),
        (["append", "../out.md", "A", "x"], "bad_path"),
        (["append", "/out.md", "A", "x"], "bad_path"),
        (["append", ".carrel/x.md", "A", "x"], "reserved"),
        (["append", ".git/x.md", "A", "x"], "reserved"),
        (["append", "carrel.yaml", "A", "x"], "not_memory"),
        (["append", "agents/kate/sessions/s1.jsonl", "A", "x"], "not_memory"),
        (["append", "", "A", "x"], "usage"),
        (["append", "notes.md", "A", "half \udce9"], "bad_text"),
    ],
    ids=lambda value: " ".join(value[:4]).encode("ascii", "replace").decode() if isinstance(value, list) else value,
)  # fmt: skip
def test_what_cannot_be_written_is_refused_and_nothing_is_touched(run, sample, words, code):
    sample.put({"notes.md": NOTES})
    before = [each for each in sample.snapshot() if not each[0].startswith(os.fsencode(sample / ".carrel"))]
    refused = run(*words, "--json")
    assert refused.error["code"] == code
    after = [each for each in sample.snapshot() if not each[0].startswith(os.fsencode(sample / ".carrel"))]
    assert [each[0] for each in after] == [each[0] for each in before]
    assert [each[-1] for each in after] == [each[-1] for each in before]
    assert "history" not in code
    assert run("history", "--json").document["changes"] == []


# Texts


@pytest.mark.parametrize(
    "text",
    [
        "- Ana has a phone.",  # h would be help
        "- Chose JWT",  # C would be a directory
        "-- an aside, --json and -h in it",
        "--json is an option",
        "-C is one too",
        "* --scope shared",
        "- --agent=milo said so",
        "--name=value with white space",
    ],
)
def test_a_text_that_begins_with_a_dash_is_a_text(run, ok, sample, text):
    assert ok("append", "notes.md", "A", text)["change"] == 1
    assert (sample / "notes.md").read_text() == f"## A\n\n{text}\n"
    assert ok("replace", "notes.md", "A", f"{text} Again.")["change"] == 2
    (fact,) = ok("add", text, "--section", "- Odd heading")["written"]
    assert fact["text"] == re.sub(r"^[-*] ", "", text)
    assert f"- {fact['text']}\n" in (sample / "memory/kate.md").read_text()


def test_options_count_before_and_behind_a_text_and_a_misspelt_one_is_never_written(run, sample):
    assert run("append", "--json", "notes.md", "A", "- x y").document["change"] == 1
    assert run("append", "notes.md", "A", "- z y", "--json").document["change"] == 2
    for word in ("--jsno", "-x", "--section=A"):
        refused = run("append", "notes.md", "A", word)
        assert refused.code == 2
        assert word.partition("=")[0] in refused.warnings
    assert run("append", "notes.md", "A", "--", "--jsno").code == 0
    assert (sample / "notes.md").read_text() == "## A\n\n- x y\n- z y\n\n--jsno\n"


def test_a_text_comes_from_standard_input_where_none_is_given(typed, sample):
    assert typed("- from a pipe\n- and -h another\n", "append", "notes.md", "A").code == 0
    assert typed("- instead\n", "replace", "notes.md", "B").code == 0
    assert typed("Ana likes\nthe sea.\n", "add").code == 0
    assert (sample / "notes.md").read_text() == (
        "## A\n\n- from a pipe\n- and -h another\n\n## B\n\n- instead\n"
    )
    assert "- Ana likes the sea.\n" in (sample / "memory/kate.md").read_text()


def test_standard_input_that_is_empty_too_large_or_no_text_is_told(typed, run, sample):
    assert "Nothing changed" in typed("", "append", "notes.md", "A").text
    assert not (sample / "notes.md").exists()
    nothing = typed("", "add", "--json").document
    assert [fact["reason"] for fact in nothing["refused"]] == ["empty"]
    large = typed(b"x" * (16 * 1024 * 1024 + 1), "append", "notes.md", "A", "--json")
    assert large.error["code"] == "too_large"
    assert typed(b"caf\xe9 \x00 \x1b[31m\n", "append", "notes.md", "A").code == 0
    shown = run("show", "notes.md", "A")
    assert "caf�" in shown.text


def test_what_is_said_already_changes_nothing_and_says_so(run, ok):
    assert ok("replace", "MEMORY.md", "People", "- Ana uses a Samsung.") == {
        "schema_version": 1, "change": None, "digest": None,
    }  # fmt: skip
    assert "Nothing changed" in run("rename", "MEMORY.md", "People", "People").text
    assert ok("history")["changes"] == []


# Files that are no notebooks


def test_a_file_that_is_not_utf_8_is_refused_by_every_command_and_left_as_it_is(run, sample):
    sample.put({"bytes.md": b"# A\n\nca\xff\xfe\n"})
    for words in (
        ["sections", "bytes.md"], ["show", "bytes.md"], ["show", "bytes.md", "A"], ["append", "bytes.md", "A", "x"],
        ["replace", "bytes.md", "A", "x"], ["rename", "bytes.md", "A", "B"], ["move", "bytes.md", "A"],
    ):  # fmt: skip
        assert run(*words, "--json").error["code"] in ("unreadable", BinaryFile.code)
    assert (sample / "bytes.md").read_bytes() == b"# A\n\nca\xff\xfe\n"


def test_a_notebook_of_50_mb_is_refused_by_every_command_and_left_as_it_is(run, sample):
    with (sample / "huge.md").open("wb") as file:
        file.write(b"# A\n\n")
        file.truncate(50_000_000)
    for words in (
        ["sections", "huge.md"], ["show", "huge.md"], ["append", "huge.md", "A", "x"],
        ["replace", "huge.md", "A", "x"], ["rename", "huge.md", "A", "B"], ["move", "huge.md", "A"],
    ):  # fmt: skip
        refused = run(*words, "--json")
        assert (refused.code, refused.error["code"]) == (1, "unreadable")
    assert (sample / "huge.md").stat().st_size == 50_000_000
    sample.put({"memory/kate.md": b"x" * 50_000_000})
    refused = run("add", "A heron.", "--json")
    assert (refused.code, refused.error["code"]) == (1, "fact_unwritten")


def test_a_directory_a_link_to_outside_and_a_fifo_are_refused(run, sample, tmp_path):
    (sample / "folder.md").mkdir()
    (tmp_path / "out.md").write_text("# A\n")
    (sample / "out.md").symlink_to(tmp_path / "out.md")
    os.mkfifo(sample / "pipe.md")
    for name in ("folder.md", "out.md", "pipe.md"):
        assert run("append", name, "A", "x", "--json").error["code"] == "unreadable"
        assert run("sections", name, "--json").error["code"] == "unreadable"
    assert (tmp_path / "out.md").read_text() == "# A\n"


def test_a_file_or_a_folder_that_may_not_be_written_is_told_and_nothing_is_half_done(process, sample):
    words = ("-C", sample, "memory")
    (sample / "MEMORY.md").chmod(0o444)
    (sample / "memory").chmod(0o555)
    try:
        for more in (("append", "MEMORY.md", "People", "- x"), ("append", "memory/new.md", "A", "- x")):
            refused = process(*words, *more, "--json", privileged=False)
            assert (refused.code, refused.error["code"]) == (1, "read_only")
        assert process(*words, "history", "--json", privileged=False).document["changes"] == []
    finally:
        (sample / "memory").chmod(0o755)
    assert (sample / "MEMORY.md").read_text() == "## People\n\n- Ana uses a Samsung.\n"
    assert sorted(path.name for path in (sample / "memory").iterdir()) == ["2026-04-23.md", "2026-04-24.md"]


# Two at a time


def at_once(process, *commands):
    """Run commands in processes of their own, all at the same time, and return their exit codes."""
    running = [
        subprocess.Popen(
            [process.script, *map(os.fspath, words)],
            env=process.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for words in commands
    ]
    ended = [(each.communicate(timeout=120), each.returncode) for each in running]
    return [(code, err.decode()) for (_, err), code in ended]


def test_processes_that_append_to_one_section_and_to_others_lose_nothing(process, sample, ok):
    sample.put({"notes.md": "## A\n\n- first\n\n## B\n\n- first\n"})
    commands = [("-C", sample, "memory", "append", "notes.md", "AABC"[n % 4], f"- {n}") for n in range(8)]
    assert at_once(process, *commands) == [(0, "")] * 8
    text = (sample / "notes.md").read_text()
    assert sorted(re.findall(r"^- (\d)$", text, re.MULTILINE)) == [str(n) for n in range(8)]
    for section, numbers in (("A", "0145"), ("B", "26"), ("C", "37")):
        assert sorted(re.findall(r"\d", ok("show", "notes.md", section)["text"])) == list(numbers)
    changes = ok("history")["changes"]
    assert [each["state"] for each in changes] == ["done"] * 8
    ok("undo", "8")
    assert (sample / "notes.md").read_text() == "## A\n\n- first\n\n## B\n\n- first\n"


def test_processes_that_remember_the_same_fact_remember_it_once(process, sample, ok):
    command = ("-C", sample, "memory", "add", "The harbour opens at six.")
    other = ("-C", sample, "memory", "add", "The harbour closes at nine.")
    assert {code for code, _ in at_once(process, command, command, other, command)} == {0}
    text = (sample / "memory/kate.md").read_text()
    assert (text.count("opens at six"), text.count("closes at nine"), text.count("## Insights")) == (1, 1, 1)
    assert [fact["state"] for fact in ok("facts")["facts"]] == ["written"] * 2


def test_of_two_who_replace_one_section_the_second_waits_in_review_and_both_texts_survive(run, ok, sample):
    seen = ok("show", "MEMORY.md", "People")["digest"]
    ok("replace", "MEMORY.md", "People", "- Theirs.", "--expect", seen)
    late = run("replace", "MEMORY.md", "People", "- Mine.", "--expect", seen, "--json")
    assert (late.code, late.error["code"]) == (5, SectionConflict.code)
    assert "- Theirs.\n" in (sample / "MEMORY.md").read_text()
    waiting = ok("review")
    (proposal,) = waiting["proposals"]
    assert (proposal["why"], proposal["path"], proposal["section"]) == (
        "section_conflict",
        "MEMORY.md",
        "People",
    )
    assert (proposal["old"].strip(), proposal["new"]) == ("- Theirs.", "- Mine.")
    run("replace", "MEMORY.md", "People", "- Mine.", "--expect", seen)
    assert ok("review")["waiting"] == 1
    ok("append", "MEMORY.md", "Elsewhere", "- x")
    shown = run("review").text
    assert "-- Theirs." in shown
    assert "+- Mine." in shown
    ok("review", "approve", str(proposal["id"]))
    assert (sample / "MEMORY.md").read_text() == "## People\n\n- Mine.\n\n## Elsewhere\n\n- x\n"
    ok("undo")
    assert (sample / "MEMORY.md").read_text() == "## People\n\n- Theirs.\n\n## Elsewhere\n\n- x\n"


def test_a_replacement_over_a_version_that_is_there_goes_through(ok, sample):
    seen = ok("show", "MEMORY.md", "People")["digest"]
    ok("append", "MEMORY.md", "Elsewhere", "- x")
    ok("replace", "MEMORY.md", "People", "- Mine.", "--expect", seen)
    assert ok("review")["waiting"] == 0
    assert (sample / "MEMORY.md").read_text() == "## People\n\n- Mine.\n\n## Elsewhere\n\n- x\n"


# Facts


def test_a_fact_is_added_listed_with_its_place_and_known_the_second_time(run, ok, sample):
    (fact,) = ok("add", "All API calls go through src/lib/api.ts.", "--kind", "convention")["written"]
    assert (sample / "memory/kate.md").read_text() == (
        "## Insights\n\n- All API calls go through src/lib/api.ts.\n"
    )
    again = ok("add", "all api calls go through src/lib/api.ts")
    assert (again["written"], again["known"]) == ([], 1)
    listed = ok("facts")
    assert [each["id"] for each in listed["facts"]] == [fact["id"]]
    assert listed["counts"]["written"] == 1
    told = listed["facts"][0]
    assert (told["state"], told["trust"], told["path"], told["section"], told["seen"]) == (
        "written", "owner", "memory/kate.md", "Insights", 2,
    )  # fmt: skip
    shown = run("facts").text
    assert fact["id"] in shown
    assert "memory/kate.md > Insights" in shown


def test_facts_are_filtered_and_paged(run, ok):
    for n in range(5):
        ok("add", f"Heron number {n} sleeps.", "--layer", "experience" if n % 2 else "project")
    every = [fact["id"] for fact in ok("facts")["facts"]]
    assert len(every) == 5
    first = [fact["id"] for fact in ok("facts", "--limit", "2")["facts"]]
    assert f"--after {first[-1]}" in run("facts", "--limit", "2").warnings
    assert run("facts").warnings == ""
    assert "None of what was learnt" in run("facts", "--state", "refused").warnings
    rest = [fact["id"] for fact in ok("facts", "--after", first[-1])["facts"]]
    assert first + rest == every
    assert len(ok("facts", "--path", "memory/kate.md")["facts"]) == 3
    assert ok("facts", "--state", "superseded", "--state", "refused")["facts"] == []
    assert ok("facts", "--session", "s1")["facts"] == []


def test_each_kind_of_fact_goes_to_its_place(ok, sample, cli):
    def place(*words):
        (fact,) = ok("add", *words)["written"]
        return fact["store"], fact["path"], fact["section"]

    assert place("Prefers short replies.", "--kind", "user") == ("workspace", "USER.md", "Learned")
    assert place("Met Ana today.", "--kind", "event") == ("workspace", "memory/2026-04-24.md", "")
    assert place("Ana rows.", "--kind", "entity", "--subject", "Ana") == (
        "workspace", "memory/entities/ana.md", "",
    )  # fmt: skip
    assert place("Run make, then push.", "--kind", "procedure", "--subject", "Ship it") == (
        "workspace", "memory/procedures/ship-it.md", "",
    )  # fmt: skip
    assert place("Chose JWT.", "--kind", "decision", "--section", "Decisions Made") == (
        "workspace", "memory/kate.md", "Decisions Made",
    )  # fmt: skip
    store, path, section = place("Knows Rust.", "--layer", "experience")
    assert (store, section) == ("namespaces", "")
    assert (sample / "USER.md").read_text() == "Luis, in Bogota.\n\n## Learned\n\n- Prefers short replies.\n"
    assert (sample / "memory/2026-04-24.md").read_text() == "- wrote tests\n- 12:00 [note] Met Ana today.\n"
    assert (sample / "memory/entities/ana.md").read_text() == "# Ana\n\n- Ana rows.\n"
    assert "- Knows Rust.\n" in (cli.home / "data/namespaces" / path).read_text()


@pytest.mark.parametrize(
    "subject", ["../../etc/passwd", "/", "CON", "a" * 500, "2026-04-24", "\x1b[31m", "..", "日本"]
)
def test_a_subject_never_leads_out_of_its_folder(ok, sample, subject):
    (fact,) = ok("add", "It is odd.", "--kind", "entity", "--subject", subject)["written"]
    folder = (sample / "memory/entities").resolve()
    assert (sample / fact["path"]).resolve().parent in (folder, (sample / "memory").resolve())
    assert "- It is odd.\n" in (sample / fact["path"]).read_text()


def test_a_secret_is_refused_and_stands_nowhere(run, ok, sample):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    outcome = run("add", f"The token is {secret}.", "--json")
    assert [fact["reason"] for fact in outcome.document["refused"]] == ["secret"]
    shown = [run("add", f"The token is {secret}."), run("facts"), run("facts", "--json"), run("history")]
    assert not any(secret in each.text + each.warnings for each in (outcome, *shown))
    held = [
        path for path in sample.path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert held == []


def test_a_pinned_fact_is_shown_and_let_go_of(run, ok):
    (fact,) = ok("add", "Ana uses an iPhone.")["written"]
    assert ok("pin", fact["id"])["pinned"] is True
    assert "📌" in run("facts").text
    assert ok("pin", fact["id"], "--off")["pinned"] is False
    unknown = run("pin", "no-such-fact", "--json")
    assert (unknown.code, unknown.error["code"]) == (3, "unknown_fact")


def test_an_agent_whose_name_is_a_day_or_a_path_takes_no_file_that_is_another_s(cli, desk):
    for agent, code in (
        ("2026-04-24", NotebookTaken.code),
        ("entities/ana", "bad_setting"),
        ("..", "bad_setting"),
    ):
        desk.put({"carrel.yaml": json.dumps({"layout": "carrel", "agents": [{"id": agent}]})})
        refused = cli("-C", desk, "memory", "add", "A heron.", "--json")
        assert (refused.code, refused.document["error"]["code"]) == (2, code)
        assert not (desk / "memory").exists()


# What waits


def test_what_waits_is_listed_and_decided_one_by_one_in_bulk_and_in_other_words(run, ok, sample):
    first, second, third, fourth, fifth = propose(sample, *(f"Heron {n} sleeps." for n in range(5)))
    told = ok("review")
    assert (told["waiting"], len(told["proposals"])) == (5, 5)
    assert {each["why"] for each in told["proposals"]} == {"external_source"}
    assert {(each["path"], each["trust"]) for each in told["proposals"]} == {("memory/kate.md", "external")}
    shown = run("review", "--limit", "2")
    assert "+- Heron 0 sleeps." in shown.text
    assert f"5 wait in all. More: --after {second}" in shown.warnings
    rest = ok("review", "--limit", "3", "--after", str(second))
    assert ([each["id"] for each in rest["proposals"]], rest["next"]) == ([third, fourth, fifth], None)
    assert not (sample / "memory/kate.md").exists()

    approved = ok("review", "approve", str(first), str(second))["proposals"]
    assert [each["state"] for each in approved] == ["approved"] * 2
    ok("review", "approve", str(third), "--text", "Heron 2 rests.")
    ok("review", "reject", str(fourth))
    ok("review", "approve", "--all")
    assert (sample / "memory/kate.md").read_text() == (
        "## Insights\n\n- Heron 0 sleeps.\n- Heron 1 sleeps.\n- Heron 2 rests.\n- Heron 4 sleeps.\n"
    )
    states = {fact["text"]: fact["state"] for fact in ok("facts")["facts"]}
    assert states == {
        "Heron 0 sleeps.": "written", "Heron 1 sleeps.": "written", "Heron 2 rests.": "written",
        "Heron 3 sleeps.": "refused", "Heron 4 sleeps.": "written",
    }  # fmt: skip
    assert run("review").text == "Nothing waits for you.\n"
    assert ok("review", "approve", str(fifth))["proposals"][0]["state"] == "approved"
    for words in (["approve", str(fourth)], ["reject", str(first)]):
        decided = run("review", *words, "--json")
        assert (decided.code, decided.error["code"]) == (5, "already_decided")


def test_what_was_rejected_is_not_proposed_again_and_its_owner_may_still_say_it(ok, sample):
    (number,) = propose(sample, "Heron 1 sleeps.")
    ok("review", "reject", str(number))
    with Workspace.open(sample.path, agent="kate", environ=dict(os.environ)) as workspace:
        workspace.tools(scope="shared").call("memory_write", {"text": "Heron 1 sleeps."})
    assert ok("review")["waiting"] == 0
    assert len(ok("add", "Heron 1 sleeps.")["written"]) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["approve"], "nothing_named"),
        (["reject"], "nothing_named"),
        (["approve", "99"], "unknown_proposal"),
        (["reject", "99"], "unknown_proposal"),
        (["approve", "0"], "usage"),
        (["approve", "x"], "usage"),
        (["approve", "1", "2", "--text", "x"], "usage"),
        (["approve", "--all", "--text", "x"], "usage"),
    ],
)
def test_a_decision_that_names_nothing_or_too_much_is_a_usage_error(run, sample, words, code):
    propose(sample, "Heron 1 sleeps.", "Heron 2 sleeps.")
    assert run("review", *words, "--json").error["code"] == code
    assert run("review", "--json").document["waiting"] == 2


def test_of_several_decisions_one_that_fails_keeps_none_of_the_others_back(run, ok, sample):
    numbers = [str(number) for number in propose(sample, "Heron 1 sleeps.", "Heron 2 sleeps.")]
    refused = run("review", "approve", *numbers, "99", "--json")
    assert refused.code in (3, 5)
    ok("review", "approve", "--all")
    text = (sample / "memory/kate.md").read_text()
    assert (text.count("Heron 1"), text.count("Heron 2")) == (1, 1)


def test_what_waits_cannot_move_the_cursor(run, sample):
    propose(sample, "Heron \x1b[31mred\x1b[0m \x07 sleeps.")
    assert "\x1b" not in run("review").text
    assert "\x1b" not in run("facts").text


# What changed


def test_history_tells_who_when_what_and_where_the_newest_first(run, ok):
    assert "not changed yet" in run("history").warnings
    ok("append", "MEMORY.md", "People", "- Luis rows.")
    ok("add", "A heron.")
    changes = ok("history")["changes"]
    assert [(each["id"], each["actor"], each["action"], each["path"]) for each in changes] == [
        (2, "owner", "add", "memory/kate.md"),
        (1, "owner", "append", "MEMORY.md"),
    ]
    assert [each["id"] for each in ok("history", "MEMORY.md")["changes"]] == [1]
    assert [each["id"] for each in ok("history", "--before", "2")["changes"]] == [1]
    assert [each["id"] for each in ok("history", "--limit", "1")["changes"]] == [2]
    assert "--before 2" in run("history", "--limit", "1").warnings
    ok("undo")
    shown = run("history").text.splitlines()
    assert shown[0].split() == ["3", "2026-04-24", "12:00", "UTC", "undo", "2", "memory/kate.md"]
    assert shown[2].endswith("add       memory/kate.md  [undone]")


def test_a_diff_shows_the_last_change_or_the_one_that_is_named(run, ok):
    assert run("diff", "--json").error["code"] == "nothing_changed"
    ok("append", "MEMORY.md", "People", "- Luis rows.")
    ok("replace", "MEMORY.md", "People", "- Nobody.")
    assert "+- Luis rows." in run("diff", "1").text
    last = ok("diff")
    assert last["id"] == 2
    assert "-- Ana uses a Samsung." in last["diff"]
    assert "+- Nobody." in last["diff"]
    assert run("diff", "99", "--json").error["code"] == "unknown_change"


def test_undo_takes_back_the_last_change_several_or_one_in_the_middle_byte_for_byte(run, ok, sample):
    before = (sample / "MEMORY.md").read_bytes()
    for n in range(4):
        ok("append", "MEMORY.md", f"Part {n}", f"- {n}")
    ok("undo", "--change", "2")
    assert "## Part 1" not in (sample / "MEMORY.md").read_text()
    assert "## Part 2" in (sample / "MEMORY.md").read_text()
    ok("undo", "2")
    assert (sample / "MEMORY.md").read_text().count("## Part") == 1
    assert "taken back" in run("undo").text
    assert (sample / "MEMORY.md").read_bytes() == before
    assert "nothing to take back" in run("undo").warnings
    assert ok("undo")["undone"] == []


def test_an_undo_can_be_undone_and_a_change_is_taken_back_once(run, ok, sample):
    ok("append", "MEMORY.md", "People", "- Luis rows.")
    after = (sample / "MEMORY.md").read_bytes()
    (undone,) = ok("undo")["undone"]
    assert undone["undoes"] == 1
    refused = run("undo", "--change", "1", "--json")
    assert (refused.code, refused.error["code"]) == (5, "undo_conflict")
    ok("undo", "--change", str(undone["id"]))
    assert (sample / "MEMORY.md").read_bytes() == after


def test_what_was_edited_by_hand_since_stays_and_where_both_met_nothing_changes(run, ok, sample):
    ok("append", "MEMORY.md", "People", "- Luis rows.")
    path = sample / "MEMORY.md"
    path.write_text(path.read_text().replace("Samsung", "Nokia") + "\n## Mine\n\n- by hand\n")
    ok("undo")
    assert path.read_text() == "## People\n\n- Ana uses a Nokia.\n\n## Mine\n\n- by hand\n"
    ok("append", "MEMORY.md", "People", "- Luis rows.")
    path.write_text(path.read_text().replace("Luis rows", "Luis rows fast"))
    before = path.read_bytes()
    refused = run("undo", "--json")
    assert (refused.code, refused.error["code"]) == (5, "undo_conflict")
    assert path.read_bytes() == before
    path.unlink()
    assert run("undo", "--json").error["code"] == "undo_conflict"
    assert not path.exists()


def test_an_undone_fact_does_not_stand_and_can_be_learnt_again_from_its_owner(ok, sample):
    (fact,) = ok("add", "A heron.")["written"]
    ok("undo")
    assert not (sample / "memory/kate.md").exists()
    assert [(each["id"], each["state"]) for each in ok("facts")["facts"]] == [(fact["id"], "undone")]
    (undo,) = [each for each in ok("history")["changes"] if each["undoes"]]
    ok("undo", "--change", str(undo["id"]))
    assert [each["state"] for each in ok("facts")["facts"]] == ["written"]
    ok("undo")
    assert [each["state"] for each in ok("facts")["facts"]] == ["undone"]
    assert len(ok("add", "A heron.")["written"]) == 1
    assert (sample / "memory/kate.md").read_text() == "## Insights\n\n- A heron.\n"
    assert ok("facts", "--state", "written")["facts"]


# The contract


def test_every_command_answers_one_document_with_its_version(run, ok, sample):
    numbers = propose(sample, "Heron 1 sleeps.", "Heron 2 sleeps.", "Heron 3 sleeps.")
    (fact,) = ok("add", "Herons fish.")["written"]
    ok("append", "MEMORY.md", "People", "- x")
    ok("replace", "MEMORY.md", "People", "- y")
    ok("rename", "MEMORY.md", "People", "Others")
    ok("move", "MEMORY.md", "Others")
    for words in (
        ["sections", "MEMORY.md"], ["show", "MEMORY.md"], ["show", "MEMORY.md", "Others"], ["facts"], ["extract"],
        ["pin", fact["id"]], ["review"], ["review", "approve", str(numbers[0])], ["review", "reject", str(numbers[1])],
        ["review", "approve", str(numbers[2]), "--text", "Heron 3 fishes."], ["history"], ["diff"], ["undo"],
        ["search", "heron"],
    ):  # fmt: skip
        assert ok(*words)


def test_every_command_has_examples_in_its_help(cli):
    def each_of(command, *path):
        yield path
        for name, inner in getattr(command, "commands", {}).items():
            yield from each_of(inner, *path, name)

    for path in each_of(memory, "memory"):
        helped = cli(*path, "--help")
        assert (helped.code, "Examples:" in helped.text) == (0, True), path


@pytest.mark.parametrize("words", OWNERS, ids=" ".join)
def test_memory_is_the_owners(cli, sample, words):
    before = sample.snapshot()
    for refused in (
        cli("-C", sample, "--scope", "shared", "memory", *words, "--json"),
        cli("-C", sample, "memory", *words, "--scope", "shared", "--json"),
    ):
        assert (refused.code, refused.error["code"]) == (6, "hidden_by_scope")
    assert sample.snapshot() == before


def test_others_may_read_the_sections_of_what_is_for_everybody_and_of_nothing_else(cli, sample):
    for words in (["sections"], ["show"]):
        assert cli("-C", sample, "--scope", "shared", "memory", *words, "AGENTS.md").code == 0
        for path in ("MEMORY.md", "USER.md", "memory/2026-04-24.md", "memory/kate.md"):
            refused = cli("-C", sample, "--scope", "shared", "memory", *words, path, "--json")
            assert (refused.code, refused.error["code"]) == (6, "hidden_by_scope"), path


# Search


def test_memory_is_searched_over_all_agents_by_agent_section_case_and_with_lines_around(cli, desk):
    agents = "agents: [{id: kate, displayName: Kate}, {id: milo, displayName: Milo}]\n"
    desk.put({"carrel.yaml": f"layout: squad\n{agents}"})

    def kate(*words):
        return cli("-C", desk, "--agent", "kate", "memory", *words, "--json")

    for agent, text, section in (
        ("kate", "Herons fish at dawn.", "Insights"),
        ("milo", "Every heron sleeps.", "Insights"),
        ("milo", "We count each heron.", "Conventions"),
    ):
        assert cli("-C", desk, "--agent", agent, "memory", "add", text, "--section", section).code == 0

    def found(*words):
        return [
            (hit["path"], hit["text"]) for hit in kate("search", *words, "--mode", "literal").document["hits"]
        ]

    assert len(found("heron")) == 3
    assert {path for path, _ in found("heron", "--in-agent", "milo")} == {"memory/milo.md"}
    assert [text for _, text in found("heron", "--in-agent", "milo", "--section", "Conventions")] == [
        "- We count each heron."
    ]
    assert [path for path, _ in found("Heron", "--case")] == ["memory/kate.md"]
    assert found("Every heron", "--lines", "1") == [("memory/milo.md", "\n- Every heron sleeps.\n")]
