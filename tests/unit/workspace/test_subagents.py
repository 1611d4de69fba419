"""Subagents: a file is a declaration or a finding, and never more than that."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from carrel.files.local import LocalFiles
from carrel.settings import AgentSettings
from carrel.testing import EphemeralFiles
from carrel.workspace.document import Documents
from carrel.workspace.ignore import ignore_rules
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.subagents import (
    Declared,
    Subagent,
    Subagents,
    find_subagents,
    list_agents,
    subagents_folder,
)

GOOD = "---\ndescription: Looks things up\n---\nAnswer with sources.\n"


def subagents(files: Mapping[str, str | bytes], **more) -> Subagents:
    reading = Documents(EphemeralFiles(files)).reading()
    return find_subagents(reading, "subagents", ignored=ignore_rules(None), **more)


def only(lines: str) -> Subagent:
    (subagent,) = subagents({"subagents/a.md": f"---\ndescription: d\n{lines}\n---\nBody\n"}).loaded
    return subagent


def refused(files: Mapping[str, str | bytes], **more) -> list[tuple[str, str | None]]:
    found = subagents(files, **more)
    assert found.loaded == ()
    assert all(finding.severity == "warning" and finding.hint for finding in found.findings)
    return [(finding.code, finding.path) for finding in found.findings]


def test_a_file_is_a_subagent_with_its_name_as_id_and_its_body_as_prompt() -> None:
    (found,) = subagents({"subagents/researcher.md": GOOD}).loaded
    assert (found.id, found.description, found.prompt) == (
        "researcher",
        "Looks things up",
        "Answer with sources.",
    )
    assert found.declared == Declared()
    assert (found.declared.steps, found.declared.mode, found.declared.workspace_mode) == (
        10,
        "all",
        "isolated",
    )
    assert found.declared.tools is None


def test_all_keys_of_agentscope_are_read() -> None:
    found = only(
        "name: Ann\nmodel: gpt-5\nvariant: fast\nsteps: 3\ntemperature: 0.2\ntop_p: 0.9\nmode: subagent\nhidden: true\n"
        "expose_to_user: false\ntools: Read, Grep\nskills: [a, b]\nworkspace:\n  mode: shared\n  path: agents/ann"
    )
    assert found.declared == Declared(
        name="Ann",
        model="gpt-5",
        variant="fast",
        steps=3,
        temperature=0.2,
        top_p=0.9,
        mode="subagent",
        hidden=True,
        expose_to_user=False,
        tools=("Read", "Grep"),
        skills=("a", "b"),
        workspace_mode="shared",
        workspace_path="agents/ann",
    )
    assert found.extra == {}


def test_other_spellings_mean_the_same() -> None:
    found = only("maxIters: 4\ntopP: 0.5\nexposeToUser: true").declared
    assert (found.steps, found.top_p, found.expose_to_user) == (4, 0.5, True)


def test_unknown_keys_are_kept() -> None:
    found = only("colour: red\nhooks:\n  start: rm -rf .")
    assert found.extra == {"colour": "red", "hooks": {"start": "rm -rf ."}}


@pytest.mark.parametrize(
    "line",
    ["steps: 0", "steps: many", "steps: true", "top_p: 2", "mode: boss", "hidden: perhaps", "tools: {a: b}",
     "tools: [1, 2]", "model: [x]", "temperature: hot", "workspace: here", "workspace:\n  mode: odd"],
)  # fmt: skip
def test_a_value_without_sense_has_its_default_and_is_reported(line: str) -> None:
    found = subagents({"subagents/a.md": f"---\ndescription: d\n{line}\n---\nBody\n"})
    assert [subagent.declared for subagent in found.loaded] == [Declared()]
    (finding,) = found.findings
    assert (finding.code, finding.path) == ("subagent_value", "subagents/a.md")


def test_they_are_found_in_sorted_order_and_only_in_the_folder_itself() -> None:
    files = {f"subagents/{name}.md": GOOD for name in ("b", "a", "Z", "c/d")} | {"subagents/notes.txt": "x"}
    assert [subagent.id for subagent in subagents(files).loaded] == ["Z", "a", "b"]


def test_a_colon_inside_a_value_is_read_as_it_is_meant_and_reported() -> None:
    found = subagents({"subagents/a.md": "---\ndescription: Use when: late\n---\nBody"})
    assert found.loaded[0].description == "Use when: late"
    assert [finding.code for finding in found.findings] == ["subagent_unquoted"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Only prose.", "subagent_front_matter"),
        ("", "subagent_front_matter"),
        ("---\ndescription: [dead\n---\nBody", "subagent_front_matter"),
        ("---\ndescription: endless", "subagent_front_matter"),
        ("---\na: &a [x]\nb: [*a, *a]\n---\n", "subagent_front_matter"),
        ("---\nname: a\n---\nBody", "subagent_description"),
        ("---\ndescription: ''\n---\nBody", "subagent_description"),
        ("---\ndescription: [a]\n---\nBody", "subagent_description"),
        ("---\nid: b\ndescription: d\n---\nBody", "subagent_id_differs"),
        ("---\ndescription: d\nworkspace: {path: ../../home}\n---\nBody", "subagent_path"),
        ("---\ndescription: d\nworkspace: {path: /etc}\n---\nBody", "subagent_path"),
        ("---\ndescription: d\nworkspace: {path: [x]}\n---\nBody", "subagent_path"),
        (b"\xff\xfe", "unreadable"),
    ],
)
def test_a_declaration_that_cannot_be_relied_on_is_reported_and_not_loaded(
    text: str | bytes, code: str
) -> None:
    assert refused({"subagents/a.md": text}) == [(code, "subagents/a.md")]


def test_an_id_key_that_repeats_the_file_name_is_fine() -> None:
    assert only("id: a").extra == {}


@pytest.mark.parametrize("name", ["a b", "-a", "é", "a" * 129, "con", "a\x1b[31m", "a\nb", "{{x}}", "a."])
def test_a_file_name_that_is_no_id_is_reported(name: str) -> None:
    assert refused({f"subagents/{name}.md": GOOD}) == [("subagent_id", f"subagents/{name}.md")]


def test_of_two_ids_that_differ_only_by_case_neither_is_loaded() -> None:
    found = refused({"subagents/Bob.md": GOOD, "subagents/bob.md": GOOD})
    assert found == [("subagent_twins", "subagents/Bob.md"), ("subagent_twins", "subagents/bob.md")]


def test_an_id_that_a_configured_agent_has_is_not_loaded() -> None:
    assert refused({"subagents/bob.md": GOOD}, taken=["Bob"]) == [("subagent_taken", "subagents/bob.md")]


def test_a_readme_is_documentation_unless_it_declares_something() -> None:
    assert subagents({"subagents/README.md": "How to."}) == Subagents()
    assert [subagent.id for subagent in subagents({"subagents/README.md": GOOD}).loaded] == ["README"]


def test_a_file_where_the_folder_should_be_is_reported() -> None:
    assert refused({"subagents": "x"}) == [("subagents_not_a_folder", "subagents")]


def test_directories_pipes_and_links_outside_are_reported_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(GOOD)
    folder = tmp_path / "root" / "subagents"
    (folder / "dir.md").mkdir(parents=True)
    os.mkfifo(folder / "fifo.md")
    (folder / "link.md").symlink_to(outside)
    reading = Documents(LocalFiles(tmp_path / "root")).reading()
    found = find_subagents(reading, "subagents", ignored=ignore_rules(None))
    assert found.loaded == ()
    assert [finding.code for finding in found.findings] == ["unreadable"] * 3


def test_what_is_hidden_shows_in_no_finding_and_makes_no_twin() -> None:
    files = {
        "subagents/Bob.md": GOOD.replace("---\nAns", "scope: private\n---\nAns"),
        "subagents/bob.md": GOOD,
    }
    files["subagents/dead.md"] = "---\nscope: private\nx: [\n---\n"
    found = subagents(files, hidden=lambda document: document.meta.private)
    assert [subagent.id for subagent in found.loaded] == ["bob"]
    assert (found.findings, found.withheld) == ((), 2)


def test_a_thousand_load_soon_and_more_than_the_most_are_counted() -> None:
    began = time.process_time()
    found = subagents({f"subagents/s{i:04}.md": GOOD for i in range(2_001)})
    assert time.process_time() - began < 20
    assert len(found.loaded) == 2_000
    assert [finding.code for finding in found.findings] == ["too_many_subagents"]


def test_the_list_has_agents_first_and_says_where_each_is_declared() -> None:
    agents = [
        AgentSettings(id="kate", display_name="Kate", domain="law", system_prompt_template="You are it")
    ]
    loaded = subagents({"subagents/a.md": GOOD}).loaded
    rows = list_agents(agents, {"agents.kate.id": "carrel.yaml"}, loaded, lambda text: len(text.split()))
    assert [(row.id, row.kind, row.name, row.description, row.declared, row.tokens) for row in rows] == [
        ("kate", "agent", "Kate", "law", "carrel.yaml", 3),
        ("a", "subagent", None, "Looks things up", "subagents/a.md", 3),
    ]


@pytest.mark.parametrize("name", LAYOUTS)
def test_health_hears_of_the_bad_ones_in_every_layout(name: str) -> None:
    layout = load_layout(name)
    files = EphemeralFiles(
        {f"{subagents_folder(layout)}/a.md": "x", f"{subagents_folder(layout)}/b.md": GOOD}
    )
    reading = Documents(files).reading()
    found = find_subagents(reading, subagents_folder(layout), ignored=lambda _: False, taken=["b"]).findings
    assert [finding.code for finding in found] == ["subagent_front_matter", "subagent_taken"]
