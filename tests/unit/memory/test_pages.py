"""The pages that memory begins: their names, and lines that the graph reads back."""

import pytest

from carrel.files.paths import clean_new
from carrel.memory import pages
from carrel.memory.graph.pages import read_page


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Ana Martínez", "ana-martinez"),
        ("Ana O'Neil", "ana-o-neil"),
        ("  Team Blue ", "team-blue"),
        ("Мария", "мария"),
        ("北京", "北京"),
        ("src_api.ts", "src-api-ts"),
    ],
)
def test_a_name_becomes_a_file_name_that_people_recognise(name, slug):
    assert pages.slug_of(name) == slug


@pytest.mark.parametrize(
    "name",
    ["C++", "C#", "C", "../../etc/passwd", "a/b", "NUL", "con", "…", "🐙", "x" * 500, "\ud800", "कि", "क"],
)
def test_any_name_is_a_file_that_may_be_made_and_no_other_names_file(name):
    path = pages.page_path(pages.ENTITIES, name)
    assert clean_new(path) == path
    others = {"C++", "C#", "C", "a/b", "ab", "कि", "क"} - {name}
    assert path not in {pages.page_path(pages.ENTITIES, other) for other in others}


def test_a_relation_is_read_back_by_the_graph():
    line = pages.relation_line("Works with", "Luis", "2026-04-24")
    assert line == "- works_with: [[Luis]] (2026-04-24)"
    page = read_page("memory/entities/ana.md", f"{pages.opening('Ana')}\n{line}\n")
    assert page.names[0] == "Ana"
    (link,) = page.links
    assert (link.target, link.relation, link.weight, link.day) == ("Luis", "works_with", 1.0, "2026-04-24")


@pytest.mark.parametrize(
    ("relation", "target"),
    [("", "Luis"), ("uses", "C#"), ("uses", "a|b"), ("uses", ""), ("…", "x"), ("is", "[[x]]")],
)
def test_a_relation_that_the_graph_would_read_otherwise_is_none(relation, target):
    assert pages.relation_line(relation, target, "2026-04-24") == ""


def test_a_relation_is_the_same_on_another_day_and_newer_on_a_later_one():
    old, new = (pages.relation_line("knows", "Luis", day) for day in ("2026-04-01", "2026-04-24"))
    assert pages.without_day(old) == pages.without_day(new)
    assert pages.is_newer(new, old)
    assert not pages.is_newer(old, new)
    assert not pages.is_newer("- knows Luis", "- knows Luis")


def test_a_text_without_links_reads_the_same():
    assert pages.without_links("knows [[Luis|her brother]] and [[Ana]]") == "knows her brother and Ana"
    assert read_page("x", f"- ~~{pages.without_links('knows: [[Luis]] (2026-04-01)')}~~").links == ()


def test_a_title_is_one_line_and_no_heading_of_its_own():
    assert pages.opening("## Ana\n# Bob") == "# Ana # Bob\n"
    assert pages.opening("###") == "# Untitled\n"
