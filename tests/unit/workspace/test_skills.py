"""Skills load whatever state they are in, and the lint knows every rule of their specification."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from carrel.files.local import LocalFiles
from carrel.testing import EphemeralFiles
from carrel.workspace.document import Documents, Reading
from carrel.workspace.ignore import ignore_rules
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.skills import (
    MOST_SKILLS,
    Skill,
    Skills,
    UnknownSkill,
    find_skills,
    lint_skills,
    skills_folder,
)

GOOD = "---\nname: deploy\ndescription: Ship it safely\n---\nRun the checks.\n"


def reading(files: Mapping[str, str | bytes]) -> Reading:
    return Documents(EphemeralFiles(files)).reading()


def skills(files: Mapping[str, str | bytes], **more) -> Skills:
    return find_skills(reading(files), "skills", ignored=ignore_rules(None), **more)


def only(text: str | bytes, folder: str = "deploy") -> Skill:
    (skill,) = skills({f"skills/{folder}/SKILL.md": text}).loaded
    return skill


def codes(found) -> list[str]:
    return [finding.code for finding in found]


def lint(text: str, folder: str = "deploy", **files: str):
    store = {f"skills/{folder}/SKILL.md": text} | {f"skills/{folder}/{k}": v for k, v in files.items()}
    look = reading(store)
    found = find_skills(look, "skills", ignored=ignore_rules(None))
    return lint_skills(look, found, lambda text: len(text.split()))


def fields(lines: str, body: str = "Do it.") -> str:
    return f"---\n{lines}\n---\n{body}\n"


# Loading


def test_a_good_skill_is_a_line_in_the_prompt_and_a_body_on_demand() -> None:
    skill = only(GOOD)
    assert (skill.name, skill.description) == ("deploy", "Ship it safely")
    assert skill.line == "- deploy: Ship it safely"
    assert skill.document.text == "Run the checks."
    assert skill.findings == ()


def test_a_name_that_is_not_its_folder_is_loaded_with_a_warning() -> None:
    found = skills({"skills/ship/SKILL.md": GOOD})
    assert [skill.name for skill in found.loaded] == ["deploy"]
    assert [(f.code, f.severity) for f in found.findings] == [("skill_name_folder", "warning")]


def test_an_overlong_description_and_odd_keys_are_loaded_with_warnings() -> None:
    found = skills({"skills/a/SKILL.md": fields(f"name: a\ndescription: {'x' * 1025}\ncolour: red")})
    assert found.loaded[0].description == "x" * 1025
    assert codes(found.findings) == ["skill_description", "skill_unknown_key"]
    assert {finding.severity for finding in found.findings} == {"warning"}


def test_a_colon_inside_a_value_is_read_as_it_is_meant() -> None:
    skill = only(fields("name: deploy\ndescription: Use this when: it is late\n  and dark\nlicense: MIT"))
    assert skill.description == "Use this when: it is late and dark"
    assert skill.document.text == "Do it."
    assert skill.document.meta.extra["license"] == "MIT"
    assert codes(skill.findings) == ["skill_unquoted"]


def test_a_value_in_quotes_is_left_alone_however_far_it_stands_from_its_name() -> None:
    skill = only(fields('name: deploy\ndescription:   "Use this when: it is late"\nlicense: MIT: or so'))
    assert skill.description == "Use this when: it is late"
    assert skill.document.meta.extra["license"] == "MIT: or so"


def test_a_mended_block_keeps_its_scope() -> None:
    skill = only(fields("description: Use this when: late\nscope: private"))
    assert skill.document.meta.private


@pytest.mark.parametrize(
    "text",
    [
        "Only prose.",
        "",
        "---\nname: [never closed\n---\nBody",
        "---\nname: deploy\nno end",
        "---\n---\nBody",
        "---\n- a list\n---\nBody",
        "---\na: &a [x, x]\nb: [*a, *a]\n---\nBody",
        "---\ndescription: !!python/object/apply:os.system [echo: x]\n---\nBody",
        "---\n" + "[" * 60_000 + "\n---\nBody",
        "---\n" + "a: b: " * 10_000 + "\n---\nBody",
        "---\n" + "x: y:\n" * 10_000 + "---\nBody",
        "---\na:" + " " * 20_000 + ":x" * 20_000 + "\nb: [\n---\nBody",
        "---\nname: deploy\ndescription:\n---\nBody",
    ],
    ids=[
        "prose",
        "empty",
        "dead",
        "endless",
        "no-keys",
        "list",
        "bomb",
        "tag",
        "deep",
        "colons",
        "twice",
        "spaces",
        "null",
    ],
)
def test_a_skill_that_says_nothing_of_itself_is_loaded_by_name_and_warned_about(text: str) -> None:
    began = time.process_time()
    found = skills({"skills/deploy/SKILL.md": text})
    assert time.process_time() - began < 10
    assert [skill.line for skill in found.loaded] == ["- deploy"]
    assert {"front_matter", "skill_front_matter", "skill_description"} & set(codes(found.prompt_findings))


def test_a_block_that_cannot_be_read_may_have_said_private() -> None:
    assert only("---\nscope: private\nname: [\n---\nBody").document.meta.private
    assert only("---\nscope: private\nno end").document.meta.private
    assert not only("Only prose.").document.meta.private


def test_names_that_are_no_text_are_replaced_by_the_folder() -> None:
    assert only(fields("name: [a, b]\ndescription: d")).name == "deploy"
    assert only(fields("name: {a: b}\ndescription: d")).name == "deploy"
    assert only(fields("name: 12\ndescription: d")).name == "12"


def test_hostile_names_stay_data() -> None:
    names = ["../../etc/passwd", "a\nb", "\x1b[31mred", "a" * 300, "<skills>", "$(rm -rf .)", "{{memory}}"]
    text = "---\nname: {}\ndescription: d\n---\nBody"
    files = {f"skills/s{i}/SKILL.md": text.format(repr(name)) for i, name in enumerate(names)}
    found = skills(files)
    assert len(found.loaded) == len(names)
    assert codes(found.findings).count("skill_name") == len(names)
    assert all("\x1b" not in finding.message for finding in found.findings)


def test_of_two_with_one_name_the_first_folder_wins_and_the_other_is_reported() -> None:
    found = skills({"skills/b/SKILL.md": GOOD, "skills/a/SKILL.md": GOOD.replace("Ship", "Send")})
    assert [skill.description for skill in found.loaded] == ["Send it safely"]
    assert [skill.folder for skill in found.shadowed] == ["skills/b"]
    (finding,) = [f for f in found.findings if f.code == "skill_duplicate"]
    assert (finding.path, finding.severity) == ("skills/b/SKILL.md", "warning")
    assert "skills/a" in finding.message


def test_names_that_differ_only_by_case_are_one_name() -> None:
    found = skills(
        {"skills/A/SKILL.md": GOOD.replace("deploy", "A"), "skills/a/SKILL.md": GOOD.replace("deploy", "a")}
    )
    assert [skill.name for skill in found.loaded] == ["A"]


def test_a_hidden_skill_takes_no_name_and_leaves_no_finding() -> None:
    files = {
        "skills/a/SKILL.md": GOOD.replace("---\nRun", "scope: private\nodd: key\n---\nRun"),
        "skills/b/SKILL.md": GOOD,
    }
    found = skills(files, hidden=lambda document: document.meta.private)
    assert [skill.folder for skill in found] == ["skills/b"]
    assert found.withheld == 1
    assert all("skills/a" not in str(finding) for finding in found.findings)


def test_what_carrelignore_names_is_no_skill() -> None:
    files = {"skills/.archive/SKILL.md": GOOD, "skills/node_modules/SKILL.md": GOOD}
    found = skills(files)
    assert list(found) == []
    assert found.ignored == ("skills/.archive/SKILL.md", "skills/node_modules/SKILL.md")
    assert skills(files, hidden=lambda _: True) == Skills()


def test_a_folder_without_skill_md_is_mentioned_unless_it_holds_drafts() -> None:
    found = skills({"skills/lower/skill.md": GOOD, "skills/_drafts/x.md": "x", "skills/README.md": "x"})
    assert list(found) == []
    assert [(f.code, f.path, f.severity) for f in found.findings] == [
        ("skill_no_file", "skills/lower", "info")
    ]


def test_a_file_where_the_folder_should_be_is_reported() -> None:
    assert codes(skills({"skills": "x"}).findings) == ["skills_not_a_folder"]
    assert codes(skills({"AGENTS.md": "x"}).findings) == []


def test_directories_pipes_links_and_bytes_are_reported_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(GOOD)
    root = tmp_path / "root"
    for name in ("bytes", "dir", "fifo", "link"):
        (root / "skills" / name).mkdir(parents=True)
    (root / "skills/dir/SKILL.md").mkdir()
    (root / "skills/bytes/SKILL.md").write_bytes(b"\xff\xfe")
    os.mkfifo(root / "skills/fifo/SKILL.md")
    (root / "skills/link/SKILL.md").symlink_to(outside)
    found = find_skills(Documents(LocalFiles(root)).reading(), "skills", ignored=ignore_rules(None))
    assert found.loaded == ()
    problems = {skill.folder: skill.document.problem for skill in found.unreadable}
    assert problems == {
        "skills/bytes": "not_utf8",
        "skills/dir": "directory",
        "skills/fifo": "special_file",
        "skills/link": "link_outside",
    }
    assert codes(found.findings) == ["unreadable"] * 4


def test_a_thousand_skills_load_in_order_and_soon() -> None:
    files = {f"skills/s{i:04}/SKILL.md": GOOD.replace("deploy", f"s{i:04}") for i in range(1000)}
    look = reading(files)
    began = time.process_time()
    found = find_skills(look, "skills", ignored=ignore_rules(None))
    assert time.process_time() - began < 20
    assert [skill.name for skill in found.loaded] == [f"s{i:04}" for i in range(1000)]
    assert found.findings == ()
    assert lint_skills(look, found, len) == ()


def test_beyond_the_most_that_are_considered_the_rest_is_counted() -> None:
    files = {f"skills/s{i:04}/SKILL.md": "x" for i in range(MOST_SKILLS + 3)}
    found = skills(files)
    assert len(found.loaded) == MOST_SKILLS
    assert "3 of 2003" in found.noticed[0].message


# Looking one up


def test_a_skill_answers_to_its_name_and_else_to_its_folder() -> None:
    found = skills(
        {"skills/a/SKILL.md": GOOD, "skills/deploy/SKILL.md": GOOD.replace("name: deploy", "name: b")}
    )
    assert found.named("deploy").folder == "skills/a"
    assert found.named("b").folder == "skills/deploy"
    assert found.named("a").folder == "skills/a"


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(UnknownSkill) as caught:
        skills({"skills/deploy/SKILL.md": GOOD}).named("Deplyo")
    assert "deploy" in caught.value.hint
    with pytest.raises(UnknownSkill) as caught:
        skills({}).named("x" * 100_000 + "\x1b")
    assert len(caught.value.message) < 300


# Lint


def test_a_skill_that_keeps_every_rule_passes() -> None:
    text = fields(
        "name: pdf-2-text\ndescription: Reads PDFs.\nlicense: MIT\ncompatibility: Needs git\n"
        'metadata:\n  version: "1.0"\nallowed-tools: Bash(git:*) Bash(a, b) Read',
        "See [the guide](references/guide.md#part), `[x](../y)`, https://example.org/a/b/c and run scripts/go.py.",
    )
    assert lint(text, "pdf-2-text", **{"references/guide.md": "x", "scripts/go.py": "x"}) == ()


@pytest.mark.parametrize("name", ["-a", "a-", "a--b", "A", "a_b", "a b", "é", "a" * 65, "''"])
def test_a_name_that_breaks_the_rules_is_an_error(name: str) -> None:
    found = lint(fields(f"name: {name}\ndescription: d"), folder=name.strip("'") or "x")
    assert ("skill_name", "error") in [(f.code, f.severity) for f in found]


def test_a_name_of_64_characters_is_allowed() -> None:
    assert lint(fields(f"name: {'a' * 64}\ndescription: {'d' * 1024}"), folder="a" * 64) == ()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("x: 1", "skill_description"),
        ("description: ''", "skill_description"),
        ("description: 12", "skill_description"),
        (f"description: {'d' * 1025}", "skill_description"),
        (f"description: d\ncompatibility: {'c' * 501}", "skill_compatibility"),
        ("description: d\ncompatibility: ''", "skill_compatibility"),
        ("description: d\ncompatibility: [git]", "skill_compatibility"),
        ("description: d\nlicense: [MIT]", "skill_license"),
        ("description: d\nmetadata: text", "skill_metadata"),
        ("description: d\nmetadata:\n  version: 1.0", "skill_metadata"),
        ("description: d\nmetadata:\n  a: {b: c}", "skill_metadata"),
        ("description: d\nallowed-tools: [Read, Write]", "skill_allowed_tools"),
        ("description: d\nallowed-tools: Read, Write", "skill_allowed_tools"),
        ("description: use when: late", "skill_unquoted"),
    ],
)
def test_each_field_that_breaks_its_rule_is_an_error(line: str, code: str) -> None:
    found = lint(fields(f"name: deploy\n{line}"))
    assert (code, "error") in [(f.code, f.severity) for f in found]
    assert all(f.path == "skills/deploy/SKILL.md" and f.hint for f in found)


def test_an_unknown_key_is_a_warning_and_carrels_own_keys_are_not() -> None:
    found = lint(fields("name: deploy\ndescription: d\nversion: '1'\nscope: shared\ntags: [a]\npriority: 3"))
    assert [(f.code, f.severity) for f in found] == [("skill_unknown_key", "warning")]


def test_too_many_tokens_or_lines_and_no_body_at_all_are_warnings() -> None:
    head = "name: deploy\ndescription: d"
    assert lint(fields(head, "word " * 4999)) == ()
    assert [(f.code, f.severity) for f in lint(fields(head, "word " * 5000))] == [("skill_long", "warning")]
    assert lint(fields(head, "\n".join(["x"] * 499))) == ()
    assert codes(lint(fields(head, "\n".join(["x"] * 500)))) == ["skill_long"]
    assert codes(lint(fields(head, ""))) == ["skill_empty"]


@pytest.mark.parametrize(
    ("body", "code", "severity"),
    [
        ("[a](references/deep/a.md)", "skill_reference_deep", "warning"),
        ("Run scripts/deep/er/go.py now.", "skill_reference_deep", "warning"),
        ("[a](../other/SKILL.md)", "skill_reference_outside", "error"),
        ("[a](/etc/passwd)", "skill_reference_outside", "error"),
        ("[a](references/%2e%2e/%00)", "skill_reference_outside", "error"),
        ("[a](gone.md)", "skill_reference_missing", "warning"),
    ],
)
def test_references_stay_in_the_skill_one_level_deep(body: str, code: str, severity: str) -> None:
    found = lint(fields("name: deploy\ndescription: d", body))
    assert [(f.code, f.severity) for f in found] == [(code, severity)]


def test_what_only_looks_like_a_reference_is_left_alone() -> None:
    body = (
        "```\n[a](../x)\n```\n[b](#top) [c](mailto:a@b.c) [d](.) references/*.md scripts/<name>.py assets/{x}"
    )
    assert lint(fields("name: deploy\ndescription: d", body)) == ()


def test_a_megabyte_of_brackets_is_linted_soon() -> None:
    began = time.process_time()
    lint(fields("name: deploy\ndescription: d", "](" * 300_000 + "`" * 300_001 + "scripts/" * 40_000))
    assert time.process_time() - began < 20


def test_lint_of_one_name_leaves_the_others_alone() -> None:
    look = reading({"skills/a/SKILL.md": "x", "skills/b/SKILL.md": "x"})
    found = find_skills(look, "skills", ignored=ignore_rules(None))
    assert {f.path for f in lint_skills(look, found, len, "b")} == {"skills/b/SKILL.md"}
    with pytest.raises(UnknownSkill):
        lint_skills(look, found, len, "c")


# For the whole product


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_has_a_place_for_skills(name: str) -> None:
    layout = load_layout(name)
    folder, in_prompt = skills_folder(layout)
    assert folder == f"{layout.home}skills"
    assert in_prompt is (name == "carrel")
    assert codes(find_skills(reading({f"{folder}/a/SKILL.md": "x"}), folder).findings) == [
        "skill_front_matter"
    ]


def test_health_hears_of_no_errors_since_all_that_can_be_loaded_is() -> None:
    files = {"skills/a/SKILL.md": "x", "skills/b/SKILL.md": GOOD, "skills/c/SKILL.md": b"\xff"}
    found = find_skills(reading(files), "skills").findings
    assert codes(found) == ["skill_front_matter", "skill_name_folder", "unreadable"]
    assert all(finding.severity == "warning" for finding in found)
