"""Notes of people: basic-memory becomes the graph, a vault becomes knowledge and days of the journal."""

import json
import os
import time
from datetime import date

import pytest
from tests.unit.importing.desks import rows_of, write

from carrel.importing import bring_in
from carrel.importing.notes import graphed
from carrel.memory.graph import build, walk
from carrel.memory.graph.pages import read_page

ANA = """---
title: Ana Martínez
type: person
permalink: people/ana-martinez
tags: [friend, design]
created: 2026-01-05
modified: 2026-03-02
---
# Ana Martínez

## Observations
- [preference] Drinks jasmine tea #tea (told in March)

## Relations
- works_with [[Luis]]
- part of [[Team Blue]] (since 2024)
- [[Harbour]]

```
- not_a_relation [[X]]
```
"""


@pytest.fixture
def notes(tmp_path):
    root = tmp_path / "notes"
    write(root, "people/ana.md", ANA)
    write(root, "luis.md", "---\ntitle: Luis\npermalink: luis\n---\n- manages [[Harbour]]\n")
    write(root, "map.png", b"\x89PNG\xff")
    return root


@pytest.fixture
def vault(tmp_path):
    root = tmp_path / "vault"
    write(root, ".obsidian/app.json", "{}")
    write(root, "2026-04-23.md", "# Thursday\n\nmet [[Ana]]\n")
    write(root, "Projects/Tea shop.md", "---\ntags: [x]\n---\nSee [[Ana]] and ![[pic.png]].\n")
    write(root, "pic.png", b"img\xff")
    return root


def test_notes_of_basic_memory_are_pages_of_the_graph(desk, notes):
    done = bring_in(desk, notes)
    assert done.kind == "basic-memory"
    assert rows_of(done) == {
        "luis.md": ("new", "memory/entities/luis.md"),
        "map.png": ("new", "knowledge/map.png"),
        "people/ana.md": ("new", "memory/entities/ana-martinez.md"),
    }
    text = (desk.root / "memory/entities/ana-martinez.md").read_text()
    assert text.split("## Relations")[0] == ANA.split("## Relations", maxsplit=1)[0]
    links = {(link.relation, link.target, link.day) for link in read_page("a.md", text).links}
    assert {("works_with", "Luis", "2026-03-02"), ("part_of", "Team Blue", "2026-03-02")} <= links
    assert "- not_a_relation [[X]]\n" in text
    assert "(since 2024)" in text


def test_relations_are_walked_from_a_question(desk, notes):
    bring_in(desk, notes)
    pages = [read_page(str(path), path.read_text()) for path in (desk.root / "memory/entities").iterdir()]
    reached = {
        each.name: each.hops
        for each in walk(build(pages), "Where is Ana Martínez?", date(2026, 3, 3)).entities
    }
    assert reached["Luis"] == 1
    assert reached["Team Blue"] == 1


def test_a_relation_without_a_date_of_its_own_has_that_of_its_file(desk, notes):
    os.utime(notes / "luis.md", (1_770_000_000, 1_770_000_000))
    bring_in(desk, notes)
    assert "- manages: [[Harbour]] (2026-02-02)" in (desk.root / "memory/entities/luis.md").read_text()


def test_two_notes_of_one_title_are_both_kept(desk, notes):
    write(notes, "cats/luis.md", "---\ntitle: Luis\npermalink: cats/luis\n---\nA cat.\n")
    actions = [row.action for row in bring_in(desk, notes).rows]
    assert sorted(actions) == ["beside", "new", "new", "new"]
    assert {row.action for row in bring_in(desk, notes).rows} == {"same"}
    assert desk.search("cat", mode="lexical").hits


@pytest.mark.parametrize(
    ("line", "graph"),
    [
        ("- uses [[Kettle]]", "- uses: [[Kettle]] (2026-01-01)"),
        ("  * is friend of [[Ana|A]] (x)", "  * is_friend_of: [[Ana|A]] (2026-01-01) (x)"),
        ("- uses: [[Kettle]]", "- uses: [[Kettle]]"),
        ("- [fact] has [[Kettle]]", "- [fact] has [[Kettle]]"),
        ("He uses [[Kettle]]", "He uses [[Kettle]]"),
        ("- [[Kettle]]", "- [[Kettle]]"),
    ],
)
def test_only_relations_are_put_into_the_form_of_the_graph(line, graph):
    assert graphed(line, "2026-01-01") == graph
    assert graphed(graph, "2026-01-01") == graph


def test_a_vault_is_knowledge_and_its_daily_notes_are_days(desk, vault):
    done = bring_in(desk, vault)
    assert done.kind == "obsidian"
    assert rows_of(done) == {
        "2026-04-23.md": ("proposal", "memory/2026-04-23.md"),
        "Projects/Tea shop.md": ("new", "knowledge/Projects/Tea shop.md"),
        "pic.png": ("new", "knowledge/pic.png"),
    }
    for path in ("Projects/Tea shop.md", "pic.png"):
        assert (desk.root / "knowledge" / path).read_bytes() == (vault / path).read_bytes()
    assert [finding.code for finding in done.findings] == ["imported_in_sight"]


def test_daily_notes_are_known_by_the_vaults_own_settings(desk, vault):
    write(vault, ".obsidian/daily-notes.json", '{"folder":"Days","format":"YYYY/DD.MM.YYYY"}')
    write(vault, "Days/2026/24.04.2026.md", "slept\n")
    rows = rows_of(bring_in(desk, vault, mine=True))
    assert rows["Days/2026/24.04.2026.md"] == ("new", "memory/2026-04-24.md")
    assert rows["2026-04-23.md"] == ("new", "knowledge/2026-04-23.md")


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("dddd, MMMM Do YYYY", "Friday, April 24th 2026"),
        ("YYYY/MM-MMMM/DD", "2026/04-April/24"),
        ("[Journal] D MMM YYYY", "Journal 24 Apr 2026"),
        ("YYYYMMDD", "20260424"),
        ("gggg-[W]ww/M-D-YYYY", "2026-W17/4-24-2026"),
    ],
)
def test_days_are_known_in_whatever_form_a_vault_names_them(desk, vault, form, name):
    write(vault, ".obsidian/daily-notes.json", json.dumps({"folder": "Days", "format": form}))
    write(vault, f"Days/{name}.md", "slept\n")
    write(vault, "Days/no day.md", "slept\n")
    rows = rows_of(bring_in(desk, vault, mine=True))
    assert rows[f"Days/{name}.md"] == ("new", "memory/2026-04-24.md")
    assert rows["Days/no day.md"] == ("new", "knowledge/Days/no day.md")


@pytest.mark.parametrize("form", ["w" * 100, "D" * 100, "dddd" * 25, "[" * 100, "MMMM" * 25, "(((", "\\"])
def test_no_form_of_a_strangers_vault_takes_long(desk, vault, form):
    write(vault, ".obsidian/daily-notes.json", json.dumps({"format": form}))
    write(vault, f"{'1' * 200}.md", "x")
    write(vault, f"{'a' * 200}.md", "x")
    began = time.monotonic()
    bring_in(desk, vault, dry_run=True)
    assert time.monotonic() - began < 5


def test_names_that_differ_by_case_or_cannot_be_everywhere_are_all_kept(desk, vault):
    write(vault, "Tea.md", "one")
    write(vault, "tea.md", "two")
    write(vault, "Why?.md", "three")
    bring_in(desk, vault)
    for word in ("one", "two", "three"):
        assert any(path.read_bytes() == word.encode() for path in desk.root.rglob("*.md")), word
    assert {row.action for row in bring_in(desk, vault).rows} == {"same"}


def test_a_note_that_changed_on_both_sides_is_kept_beside(desk, vault):
    bring_in(desk, vault)
    write(desk.root, "knowledge/Projects/Tea shop.md", "Mine.\n")
    assert {row.action for row in bring_in(desk, vault).rows} == {"same"}, (
        "an old version does not come again"
    )
    write(vault, "Projects/Tea shop.md", "Theirs.\n")
    rows = rows_of(bring_in(desk, vault))
    assert rows["Projects/Tea shop.md"] == ("beside", "memory/imported/obsidian/Projects/Tea shop.md")
    write(vault, "Projects/Tea shop.md", "Theirs again.\n")
    action, target = rows_of(bring_in(desk, vault))["Projects/Tea shop.md"]
    assert action == "beside"
    assert (desk.root / target).read_text() == "Theirs again.\n"
    assert (desk.root / "knowledge/Projects/Tea shop.md").read_text() == "Mine.\n"
    assert (desk.root / "memory/imported/obsidian/Projects/Tea shop.md").read_text() == "Theirs.\n"


def test_a_file_that_was_removed_comes_again(desk, vault):
    bring_in(desk, vault)
    (desk.root / "knowledge/pic.png").unlink()
    assert rows_of(bring_in(desk, vault))["pic.png"][0] == "new"
