"""Headings and bullets of notebooks, as people and agents write them."""

import pytest

from carrel.markdown.outline import Section, outline


def bullets(text):
    return [bullet for section in outline(text) for bullet in section.bullets]


def headings(text):
    return [(section.level, section.heading) for section in outline(text)]


def test_a_notebook_is_sections_of_bullets():
    text = "# Memory\n\n## People\n\n- Luis\n- Ana\n\n## Open questions\n"
    assert outline(text) == (
        Section(heading="Memory", level=1, line=1, path=("Memory",)),
        Section(heading="People", level=2, line=3, path=("Memory", "People"), bullets=("Luis", "Ana")),
        Section(heading="Open questions", level=2, line=8, path=("Memory", "Open questions")),
    )


def test_a_bullet_belongs_to_the_nearest_heading_of_any_level():
    text = "## A\n- a\n#### B\n- b\n###### C\n- c\n# D\n- d\n"
    assert [(s.heading, s.bullets, s.path) for s in outline(text)] == [
        ("A", ("a",), ("A",)),
        ("B", ("b",), ("A", "B")),
        ("C", ("c",), ("A", "B", "C")),
        ("D", ("d",), ("D",)),
    ]


def test_bullets_before_any_heading_have_a_section_without_one():
    assert outline("- a\n## B\n")[0] == Section(heading="", level=0, line=1, bullets=("a",))


@pytest.mark.parametrize("text", ["", "\n\n", "just prose\nand more", "---\n", "```\n- a\n```\n"])
def test_text_without_headings_and_bullets_has_no_sections(text):
    assert outline(text) == ()


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# A", (1, "A")),
        ("###### A ######", (6, "A")),
        ("   ## A", (2, "A")),
        ("##\tA\r", (2, "A")),
        ("## A #b#", (2, "A #b#")),
        ("## C#", (2, "C#")),
        ("#", (1, "")),
        ("## ##", (2, "")),
    ],
)
def test_headings_are_read_as_markdown_has_them(line, heading):
    assert headings(line) == [heading]


@pytest.mark.parametrize("line", ["#hashtag", "####### seven", "    # code", "a # b", "\\# no"])
def test_what_only_looks_like_a_heading_is_none(line):
    assert headings(line) == []


@pytest.mark.parametrize(
    "line", ["- a", "* a", "+ a", "1. a", "12) a", "  - a", "\t- a", "        * a", "-\ta", "- a\r", "-    a"]
)
def test_bullets_of_every_kind_are_read(line):
    assert bullets(line) == ["a"]


@pytest.mark.parametrize(
    "line",
    ["-a", "*a*", "**a**", "-5 degrees", "+1", "1.5 litres", "- - -", "***", "* * *", "_ _ _", "---", "-"],
)
def test_what_only_looks_like_a_bullet_is_none(line):
    assert bullets(line) == []


def test_nested_bullets_stand_among_the_others():
    assert bullets("- a\n  - b\n    1. c\n- d\n") == ["a", "b", "c", "d"]


def test_the_lines_of_a_bullet_are_joined():
    assert bullets("- Luis prefers\n  Spanish\n- Ana\nis lazy\n") == ["Luis prefers Spanish", "Ana is lazy"]


def test_a_paragraph_inside_a_bullet_belongs_to_it_and_one_behind_it_does_not():
    text = "- a\n\n  still a\n\nno longer\n- b\n  - c\n\n  b again\n"
    assert bullets(text) == ["a still a", "b b again", "c"]


def test_a_bullet_may_begin_on_the_next_line():
    assert bullets("-\n  late\n-\nnot this\n") == ["late"]


def test_a_year_at_the_beginning_of_a_line_is_no_bullet():
    assert bullets("- born in\n  1986. That is long ago\n- b\n") == ["born in 1986. That is long ago", "b"]
    assert bullets("It was\n1986. A good year\n") == []
    assert bullets("1. a\n2. b\n10. c\n") == ["a", "b", "c"]


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "```python"])
def test_a_fence_holds_neither_headings_nor_bullets(fence):
    close = fence.rstrip("python")
    text = f"## A\n- a\n{fence}\n## B\n- b\n{close}\n- c\n"
    assert headings(text) == [(2, "A")]
    assert bullets(text) == ["a", "c"]


def test_a_fence_ends_with_as_many_marks_of_its_own_kind():
    assert bullets("````\n```\n- a\n~~~~\n````\n- b\n") == ["b"]
    assert bullets("```\n- a\n``` not the end\n- b\n```\n- c\n") == ["c"]


def test_a_fence_inside_a_bullet_ends_with_the_bullet():
    assert bullets("- a\n  ```\n  - no\n  ```\n  more\n- b\n") == ["a more", "b"]
    assert bullets("- a\n  ```\n  - no\n- b\n  ```\n  - no\n  ```\n") == ["a", "b"]


def test_a_fence_that_is_never_closed_hides_nothing():
    assert bullets("- a\n\n```\n- b\n## C\n- d\n") == ["a", "b", "d"]
    assert headings("```\n## C\n") == [(2, "C")]


def test_code_inside_a_line_is_text():
    assert bullets("- use ``` here\n- `- b`\n") == ["use ``` here", "`- b`"]


def test_odd_characters_stay_what_they_are():
    assert bullets("- a\0b\u2028c\x0b\n- \ud800\n") == ["a\0b\u2028c", "\ud800"]


def test_front_matter_holds_neither_headings_nor_bullets():
    text = "---\ntags:\n- a\n# note\n---\n\n- b\n## C\n- d\n"
    assert [(s.heading, s.line, s.bullets) for s in outline(text)] == [("", 1, ("b",)), ("C", 8, ("d",))]
    assert bullets("---\n- a\n") == ["a"]


def test_a_byte_order_mark_hides_no_heading():
    assert headings("\ufeff# A\n") == [(1, "A")]


def test_lines_are_counted_from_one():
    assert [section.line for section in outline("\n# A\n\n\n## B\n")] == [2, 5]


@pytest.mark.parametrize(
    "text",
    [
        "```a\n" * 200_000,
        "".join("`" * n + "\n" for n in range(1500, 2, -1)) + "\n" * 500_000,
        "".join(" " * n + "- a\n" for n in range(1200)) + "```\n" * 300_000,
        "".join(" " * n + "- a\n" for n in range(1200)) + "     # a\n" * 200_000,
        " " * 2_000_000 + "-",
        "# " + "#" * 2_000_000 + "x",
        "- " * 1_000_000 + "x",
        "`" * 2_000_000 + "a`",
        "- a\n" + "b\n" * 500_000,
    ],
    ids=[
        "openers",
        "shrinking",
        "deep-fences",
        "deep-code",
        "indent",
        "closers",
        "marks",
        "backticks",
        "lazy",
    ],
)
def test_hostile_text_is_read_to_its_end(text):
    """Each of these would take minutes if a step looked back over what it has read."""
    assert sum(len(bullet) for bullet in bullets(text)) <= len(text)
