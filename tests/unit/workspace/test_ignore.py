import subprocess
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from carrel.workspace.ignore import DEFAULTS, ignore_rules

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


@pytest.mark.parametrize("rules", ["*.md\n!keep.md\n", "/a/*\n!/a/keep.md\n", "**/b/**\n", "a/**/c.md\n"])
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
