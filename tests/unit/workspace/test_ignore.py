import os
import subprocess
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.workspace.document import Documents
from carrel.workspace.ignore import DEFAULTS, MOST_RULES, find_rules, ignore_rules

names = st.one_of(
    st.sampled_from(
        [".git", "node_modules", "venv", "a.pem", "id_rsa.pub", "credentials", "secrets.yaml", "x.db", "..."]
    ),
    st.from_regex(r"[a-z.*\[\]!# _-]{1,8}", fullmatch=True).filter(lambda name: name not in (".", "..")),
    st.text(st.characters(exclude_characters="/\0\n\r", codec="utf-8"), min_size=1, max_size=6).filter(
        lambda name: name not in (".", "..")
    ),
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@given(paths)
@settings(max_examples=120, deadline=None)
@example("notes/.hidden/x.md")
@example("keys/id_rsa")
@example("a.keys")
def test_the_defaults_mean_what_git_would_say_for_the_same_patterns(path):
    spec = GitIgnoreSpec.from_lines(DEFAULTS)
    assert ignore_rules(None)(path) == spec.match_file(path)
    assert ignore_rules("# nothing of its own\n")(path) == spec.match_file(path)


@pytest.mark.parametrize("text", [None, "", "\n \n", "# only a comment\n"])
def test_without_rules_of_its_own_a_workspace_has_the_defaults(text):
    ignored = ignore_rules(text)
    assert ignored(".env")
    assert ignored("web/node_modules/x/README.md")
    assert ignored("server.pem")
    assert not ignored("notes.md")
    assert not ignored("a/b/notes.md")


def test_lines_add_to_the_defaults():
    ignored = ignore_rules("draft*.md\n/top.md\nbuild/\n")
    assert ignored("draft-1.md")
    assert ignored("a/drafts.md")
    assert ignored("top.md")
    assert not ignored("a/top.md")
    assert ignored("a/build/x.md")
    assert not ignored("build.md")
    assert ignored(".env")


def test_a_negation_takes_a_default_back():
    ignored = ignore_rules("!.hidden.md\n!credentials.md\n")
    assert not ignored(".hidden.md")
    assert not ignored("credentials.md")
    assert ignored(".other.md")


def test_windows_newlines_change_nothing():
    assert ignore_rules("draft.md\r\n!.env\r\n")("draft.md")
    assert not ignore_rules("draft.md\r\n!.env\r\n")(".env")


@pytest.mark.parametrize(
    "line", ["!", "\\", "a\\", "[", "[[:alpha:]]", "[!", "**", "//", "a/**b", "!!", "\t"]
)
def test_no_line_can_make_the_workspace_unusable(line):
    ignored = ignore_rules(f"draft.md\n{line}\n")
    assert ignored("draft.md")
    assert isinstance(ignored("notes.md"), bool)


@given(st.text(st.sampled_from("ab*?[]!\\/# .-^:\n\r\u2028\x0c"), max_size=20))
@settings(max_examples=120, deadline=None)
def test_no_text_can_make_the_workspace_unusable(text):
    assert isinstance(ignore_rules(text)("a/b.md"), bool)


def test_matching_a_name_does_not_explode_with_its_length():
    ignored = ignore_rules("*a*a*a*a*b\n")

    def cost(length: int) -> float:
        before = process_time()
        ignored("a" * length)
        return process_time() - before

    assert cost(120) < 0.05 + 20 * cost(30)


@pytest.mark.parametrize(
    "rules",
    [
        "*.md\n!keep.md\n",
        "/a/*\n!/a/keep.md\n",
        "**/b/**\n",
        "a/**/c.md\n",
        "a\n!a/keep.md\n",
        "a/\n!keep.md\n",
        "***/keep.md\n",
        "a/***\n",
        "**\n!keep.md\n",
        "*\n!*/\n!keep.md\n",
        "[!a]/*.md\n",
        "[]a-b]/?.md\n",
        "\\a/*p.md  \n",
        "x/**\n!x/a/\n",
        "k*e*p*.md\n#keep.md\n",
    ],
)
def test_rules_mean_what_git_says(tmp_path, rules):
    candidates = ["keep.md", "a/keep.md", "a/b/c.md", "b/keep.md", "a/c.md", "x/a/keep.md", "x/b/y.md"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(rules)
    for path in candidates:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "--", *candidates]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    assert [path for path in candidates if ignore_rules(rules)(path)] == answer


@pytest.mark.parametrize(
    "line",
    [
        "!",
        "/",
        "//",
        "!/",
        "\\",
        "a\\",
        "a\\ ",
        "[",
        "[!]",
        "[z-a]",
        "[[:alpha:]]",
        "a//b",
        "./a",
        "../a",
        "a" * 5_000,
    ],
)
def test_a_line_that_makes_no_sense_is_skipped_and_named(line):
    rules = ignore_rules(f"draft.md\n{line}\nlast.md\n")
    assert len(rules.problems) == 1
    assert "line 2" in rules.problems[0]
    assert rules("draft.md")
    assert rules("last.md")
    assert not rules("notes.md")


@pytest.mark.parametrize(
    "text", [None, "", "# a comment\n", "*.md\n!a.md\n", "**\n", "!!\n", "\\#x\n", "[a-]\n"]
)
def test_rules_that_make_sense_are_no_problem(text):
    assert ignore_rules(text).problems == ()


def test_very_many_rules_are_cut_off_and_that_is_said():
    rules = ignore_rules("".join(f"x{n}\n" for n in range(MOST_RULES + 5)))
    assert rules(f"x{MOST_RULES - 1}")
    assert not rules(f"x{MOST_RULES}")
    assert any("1,000" in problem for problem in rules.problems)


def test_a_very_long_file_is_cut_off_at_a_line_and_that_is_said():
    rules = ignore_rules("first.md\n" + f"# {'x' * 100}\n" * 1_000 + "beyond.md\n")
    assert rules("first.md")
    assert not rules("beyond.md")
    assert any("64 KB" in problem for problem in rules.problems)


def test_very_many_bad_lines_are_a_few_problems():
    assert len(ignore_rules("[\n" * 30_000).problems) < 30


BOMBS = {
    "stars": "*a" * 200 + "*b\n",
    "many stars": ("*a" * 30 + "*b\n") * 1_000,
    "folders": "**/a/" * 200 + "b\n",
    "star folders": ("**/*a*a*a/" * 6 + "b\n") * 900,
    "classes": ("[a-z]*" * 10 + "!\n") * 1_000,
    "questions": ("*" + "?a" * 30 + "b*\n") * 1_000,
    "many": "".join(f"x{n}*y\n" for n in range(20_000)),
    "one line": "a*" * 1_000_000,
    "negations": ("*a\n!*a\n") * 500,
}


@pytest.mark.parametrize("name", sorted(BOMBS))
def test_no_rules_take_long_whatever_the_names(name):
    before = process_time()
    rules = ignore_rules(BOMBS[name])
    for path in ("a" * 250, "a" * 250 + ".md", "a/" * 100 + "c.md", "x1" * 60):
        rules(path)
    assert process_time() - before < 10


def test_rules_are_read_once_and_remember_folders():
    text = "".join(f"*x{n}*\n" for n in range(MOST_RULES))
    before = process_time()
    for n in range(300):
        ignore_rules(text)(f"{'a/' * 30}{n}.md")
    assert process_time() - before < 10


def test_the_rules_of_a_workspace_are_found():
    rules = find_rules(Documents(EphemeralFiles({".carrelignore": "draft.md\n[\n"})).reading())
    assert rules("draft.md")
    assert len(rules.problems) == 1
    assert find_rules(Documents(EphemeralFiles({})).reading()).problems == ()


@pytest.mark.parametrize("kind", ["bytes", "fifo", "directory", "large"])
def test_rules_that_cannot_be_read_are_a_problem_and_the_defaults_stay(tmp_path, kind):
    path = tmp_path / ".carrelignore"
    if kind == "bytes":
        path.write_bytes(b"draft.md\n# caf\xe9\n")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.write_text("draft.md\n")
        os.truncate(path, 100_000_000)
    rules = find_rules(Documents(LocalFiles(tmp_path)).reading())
    assert len(rules.problems) == 1
    assert "cannot be read" in rules.problems[0]
    assert rules(".env")
    assert not rules("notes.md")
