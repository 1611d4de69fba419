"""Sections of notebooks: found by their names, and edited one at a time."""

import pytest

from carrel.markdown.sections import (
    AmbiguousSection,
    BadHeading,
    BadMove,
    BadSectionText,
    SectionNotFound,
    address_of,
    addresses_of,
    append,
    find,
    move,
    read,
    remove_line,
    rename,
    replace,
    replace_line,
    sections,
)
from carrel.markdown.structure import MOST_MARKS, TooManyHeadings

NOTEBOOK = """\
# Memory

Kept by Kate.

## People

- Luis prefers Spanish.
- Ana uses a Samsung.

## Project

We build a bridge.

### Decisions

- Steel, not wood.

## Notes

- one

## Notes

- two
"""


def headings(text):
    return [(part.level, part.heading) for part in sections(text)]


def test_a_section_knows_where_it_stands():
    part = find(NOTEBOOK, "Project")
    assert (part.heading, part.level, part.line) == ("Project", 2, 10)
    assert part.path == ("Memory", "Project")
    assert NOTEBOOK[part.start : part.body] == "## Project\n"
    assert NOTEBOOK[part.body : part.own_end] == "\nWe build a bridge.\n\n"
    assert NOTEBOOK[part.own_end : part.end] == "### Decisions\n\n- Steel, not wood.\n\n"


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("Memory", 1),
        ("People", 5),
        ("people", 5),
        ("  People ", 5),
        ("## People", 5),
        ("Project/Decisions", 14),
        ("Memory/Project/Decisions", 14),
        ("/Memory/People", 5),
        ("memory / people", 5),
        ("Notes#1", 18),
        ("Notes#2", 22),
        ("/Memory/Notes#2", 22),
        ("NOTES#2", 22),
    ],
)
def test_a_section_is_found_by_heading_path_or_position(address, line):
    assert find(NOTEBOOK, address).line == line


@pytest.mark.parametrize(
    "address", ["Nobody", "/People", "People/Ana", "Notes#3", "People#2", "Notes#0", "#1"]
)
def test_a_section_that_is_not_there_is_an_error_that_lists_those_that_are(address):
    with pytest.raises(SectionNotFound, match="There is no section") as error:
        find(NOTEBOOK, address)
    assert "'People'" in error.value.hint


def test_a_name_of_several_sections_is_an_error_that_names_each():
    with pytest.raises(AmbiguousSection) as error:
        read(NOTEBOOK, "Notes")
    assert error.value.addresses == ("Notes#1", "Notes#2")
    assert [find(NOTEBOOK, each).line for each in error.value.addresses] == [18, 22]


def test_exact_spelling_comes_before_any_other():
    text = "# notes\n# Notes\n# NOTES\n"
    assert find(text, "Notes").line == 2
    with pytest.raises(AmbiguousSection):
        find(text, "nOTES")


@pytest.mark.parametrize("heading", ["Either/or", "C#", "Issue #12", "a\\b", "/etc/hosts", "100 %", "Übung"])
def test_a_whole_heading_is_an_address_whatever_it_holds(heading):
    assert find(f"# A\n## {heading}\n", heading).line == 2


def test_a_backslash_takes_the_meaning_from_a_mark():
    text = "# A/B\n## C\n# A\n## B\n### C\n"
    assert find(text, "A\\/B/C").line == 2
    assert find(text, "A/B/C").line == 5


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        (NOTEBOOK, ("Memory", "People", "Project", "Decisions", "Notes#1", "Notes#2")),
        ("# A\n## X\n# B\n## X\n", ("A", "A/X", "B", "B/X")),
        ("# X\n## X\n", ("/X", "X/X")),
        ("#\n##\n", ("/", "//")),
        ("# A#2\n# A\n# A\n", ("A#2", "A#1", "/A#2")),
    ],
)
def test_an_address_is_as_short_as_it_can_be(text, addresses):
    parts = sections(text)
    assert addresses_of(parts) == addresses
    assert tuple(address_of(part, parts) for part in parts) == addresses
    assert [find(text, address) for address in addresses] == list(parts)


def test_the_empty_address_is_the_text_itself():
    text = "---\ntitle: T\n---\n\nKept by Kate.\n\n# A\n"
    part = find(text, "")
    assert (part.level, part.path) == (0, ())
    assert text[part.body : part.own_end] == "Kept by Kate.\n\n"
    assert read(text, "") == "Kept by Kate.\n\n# A\n"


def test_front_matter_and_fences_hold_no_sections():
    text = "---\n# a comment\ntags: [a]\n---\n# A\n```sh\n# no\n```\n## B\n"
    assert headings(text) == [(1, "A"), (2, "B")]
    assert headings("\ufeff# A\r\n~~~\r\n# no\r\n~~~\r\n") == [(1, "A")]


def test_more_headings_than_anybody_writes_are_refused():
    with pytest.raises(TooManyHeadings):
        sections("# a\n" * (MOST_MARKS + 1))


@pytest.mark.parametrize(
    ("text", "address", "addition", "expected"),
    [
        ("## A\n\n- a\n\n## B\n", "A", "- b", "## A\n\n- a\n- b\n\n## B\n"),
        ("## A\n\n- a\n\n## B\n", "B", "- b", "## A\n\n- a\n\n## B\n\n- b\n"),
        ("## A\n- a\n## B\n", "A", "- b\n\n", "## A\n- a\n- b\n## B\n"),
        ("## A\n## B\n", "A", "- b", "## A\n\n- b\n\n## B\n"),
        ("## A\n\n## B\n", "A", "- b", "## A\n\n- b\n\n## B\n"),
        ("## A\n\n\n\n## B\n", "A", "- b", "## A\n\n- b\n\n\n## B\n"),
        ("## A\n\nProse.\n", "A", "- b", "## A\n\nProse.\n\n- b\n"),
        ("## A\n\n- a\n", "A", "Prose.", "## A\n\n- a\n\nProse.\n"),
        ("## A\n\n- a\n  goes on\n", "A", "- b", "## A\n\n- a\n  goes on\n- b\n"),
        ("## A\n\n- a\n### N\n- n\n", "A", "- b", "## A\n\n- a\n- b\n### N\n- n\n"),
        ("## A\n- a", "A", "- b", "## A\n- a\n- b\n"),
        ("## A", "A", "- b", "## A\n\n- b\n"),
        ("## A\r\n\r\n- a\r\n\r\n## B\r\n", "A", "- b\n- c", "## A\r\n\r\n- a\r\n- b\r\n- c\r\n\r\n## B\r\n"),
        ("", "", "- b", "- b\n"),
        ("\ufeff", "", "- b", "\ufeff- b\n"),
        ("- a\n\n## A\n", "", "- b", "- a\n- b\n\n## A\n"),
        ("## A\n", "", "- b", "- b\n\n## A\n"),
        ("---\ntitle: T\n---\n", "", "- b", "---\ntitle: T\n---\n\n- b\n"),
        ("---\ntitle: T\n---", "", "- b", "---\ntitle: T\n---\n\n- b\n"),
        ("---\ntitle: T\n---\n\n- a\n", "", "- b", "---\ntitle: T\n---\n\n- a\n- b\n"),
        ("## A\n", "A", "```\n# code\n```", "## A\n\n```\n# code\n```\n"),
        ("## A\n", "A", " \n\n", "## A\n"),
    ],
)
def test_an_addition_stands_at_the_end_of_the_own_text(text, address, addition, expected):
    assert append(text, address, addition) == expected


@pytest.mark.parametrize(
    ("text", "address", "expected"),
    [
        ("", "Insights", "## Insights\n\n- b\n"),
        ("Prose", "Insights", "Prose\n\n## Insights\n\n- b\n"),
        ("# Kate\n", "Insights", "# Kate\n\n## Insights\n\n- b\n"),
        ("# A\n\n# B\n\n- a\n", "Insights", "# A\n\n# B\n\n- a\n\n# Insights\n\n- b\n"),
        ("# A\n\n### C\n\n\n", "Insights", "# A\n\n### C\n\n\n## Insights\n\n- b\n"),
        ("# A\r\n- a", "Insights", "# A\r\n- a\r\n\r\n## Insights\r\n\r\n- b\r\n"),
        ("# A\n", "## Insights", "# A\n\n## Insights\n\n- b\n"),
        ("# A\n", "/Insights", "# A\n\n# Insights\n\n- b\n"),
        ("", "Project/Decisions", "## Project\n\n### Decisions\n\n- b\n"),
        ("## P\n- a\n\n## Q\n", "p/D", "## P\n- a\n\n### D\n\n- b\n\n## Q\n"),
        ("---\ntitle: T\n---\n", "I", "---\ntitle: T\n---\n\n## I\n\n- b\n"),
    ],
)
def test_a_missing_section_is_made(text, address, expected):
    assert append(text, address, "- b") == expected
    assert replace(text, address, "- b") == expected
    assert read(expected, address).strip() == "- b"


@pytest.mark.parametrize("edit", [append, replace])
def test_a_section_with_a_position_is_not_made(edit):
    with pytest.raises(SectionNotFound):
        edit("## Notes\n", "Notes#2", "- b")


@pytest.mark.parametrize(
    "address", ["A/B/C/D/E/F/G", "A/", "A\nB", "A #", "###### A/x" + "/x" * 9, "Deep/x"], ids=repr
)
def test_a_section_that_could_not_be_read_back_is_not_made(address):
    with pytest.raises(BadHeading):
        append("###### Deep\n", address, "- b")


@pytest.mark.parametrize(
    ("addition", "why"),
    [
        ("- b\n## C\n", "a ## in it is a heading"),
        ("- b\n\n  # C", "a # in it is a heading"),
        ("- b\r# C", "a # in it is a heading"),
        ("```\ncode", "a code fence in it is not closed"),
        ("~~~ x\n```\n~~", "a code fence in it is not closed"),
    ],
)
def test_an_addition_that_would_begin_or_swallow_a_section_is_refused(addition, why):
    with pytest.raises(BadSectionText) as error:
        append("## A\n- a\n## B\n- b\n", "A", addition)
    assert why in error.value.message


def test_a_fence_that_somebody_forgot_to_close_is_not_closed_by_an_addition_elsewhere():
    text = "## A\n```\ncode\n\n## B\n\n## C\n"
    with pytest.raises(BadSectionText, match="other headings"):
        append(text, "C", "```\ncode\n```")
    assert append(text, "C", "- c") == text + "\n- c\n"
    assert append(text, "A", "- a") == "## A\n```\ncode\n\n- a\n\n## B\n\n## C\n"


@pytest.mark.parametrize("text", ["", "\ufeff", "\n# A\n"])
@pytest.mark.parametrize("addition", ["<!-- scope: shared -->", "---\nscope: shared\n---\nx"])
def test_no_addition_becomes_front_matter(text, addition):
    with pytest.raises(BadSectionText, match="front matter"):
        append(text, "", addition)


@pytest.mark.parametrize(
    "edit", [remove_line, lambda text, line: replace_line(text, line, "<!-- scope: shared -->")]
)
def test_no_edit_of_a_line_makes_front_matter(edit):
    with pytest.raises(BadSectionText, match="front matter"):
        edit("- a\n<!-- scope: shared -->\n", "- a")


@pytest.mark.parametrize(
    ("address", "body", "expected"),
    [
        ("A", "- x", "# T\n\n## A\n\n- x\n\n## B\n\n- b\n"),
        ("A", "\n\n- x\n\n\n", "# T\n\n## A\n\n- x\n\n## B\n\n- b\n"),
        ("A", "- x\n### C\n#### D", "# T\n\n## A\n\n- x\n### C\n#### D\n\n## B\n\n- b\n"),
        ("A", "", "# T\n\n## A\n\n## B\n\n- b\n"),
        ("B", "- x", "# T\n\n## A\n\n- a\n### N\n- n\n\n## B\n\n- x\n"),
        ("T", "- x", "# T\n\n- x\n"),
        ("", "- x", "- x\n"),
    ],
)
def test_a_section_is_replaced_with_what_is_nested_in_it(address, body, expected):
    text = "# T\n\n## A\n\n- a\n### N\n- n\n\n## B\n\n- b\n"
    assert replace(text, address, body) == expected


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("- x\n## C\n", "a ## in it is not below the section's own ##"),
        ("# C\n", "a # in it is not below the section's own ##"),
        ("### C\n```\n", "a code fence in it is not closed"),
    ],
)
def test_a_body_that_would_not_stay_in_its_section_is_refused(body, why):
    with pytest.raises(BadSectionText) as error:
        replace("## A\n- a\n## B\n", "A", body)
    assert why in error.value.message


def test_what_a_section_says_can_be_put_back_whatever_it_holds():
    text = "## A\r\n```\n- a\n\r\n\n## B"
    assert replace(text, "A", read(text, "A")) == text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("## A", "## New"),
        ("   ##\tA  ##  \r", "   ##\tNew  ##  \r"),
        ("###### A B #", "###### New #"),
        ("#", "# New"),
        ("## ##", "## New"),
        ("# # A", "# New"),
    ],
)
def test_a_renamed_heading_keeps_its_form(line, expected):
    text = f"- a\n{line}\n- b\n"
    (part,) = sections(text)
    assert rename(text, address_of(part, [part]), "New") == f"- a\n{expected}\n- b\n"


@pytest.mark.parametrize("heading", ["", " ", "A\nB", "A\rB", "A\u2028B", "A #", "#"])
def test_a_heading_that_would_not_be_read_back_is_refused(heading):
    with pytest.raises(BadHeading):
        rename("# Old\n", "Old", heading)


@pytest.mark.parametrize("edit", [lambda text: rename(text, "", "New"), lambda text: move(text, "", "A")])
def test_the_text_itself_has_no_heading_and_no_other_place(edit):
    with pytest.raises(SectionNotFound):
        edit("- a\n# A\n")


@pytest.mark.parametrize(
    ("address", "after", "expected"),
    [
        ("A", "B", "# T\n\n## B\n- b\n### N\n\n\n## A\n- a\n\n## C\n- c"),
        ("A", "C", "# T\n\n## B\n- b\n### N\n\n\n## C\n- c\n\n## A\n- a"),
        ("A", "T", "# T\n\n## B\n- b\n### N\n\n\n## C\n- c\n\n## A\n- a"),
        ("C", "A", "# T\n\n## A\n- a\n\n## C\n- c\n\n\n## B\n- b\n### N"),
        ("C", "", "# T\n\n## C\n- c\n\n\n## A\n- a\n\n## B\n- b\n### N"),
        ("N", "A", "# T\n\n## A\n- a\n\n### N\n\n\n## B\n- b\n## C\n- c"),
    ],
)
def test_a_section_moves_with_what_is_nested_in_it(address, after, expected):
    text = "# T\n\n## A\n- a\n\n## B\n- b\n### N\n\n\n## C\n- c"
    assert move(text, address, after) == expected


@pytest.mark.parametrize(
    ("address", "after"), [("A", ""), ("B", "A"), ("C", "B"), ("C", "T"), ("N", ""), ("T", "")]
)
def test_a_section_that_is_there_already_stays(address, after):
    text = "# T\n\n## A\n- a\n\n## B\n- b\n### N\n\n\n## C\n- c"
    assert move(text, address, after) == text


@pytest.mark.parametrize(("address", "after"), [("A", "A"), ("T", "A"), ("B", "N")])
def test_a_section_does_not_move_behind_itself(address, after):
    with pytest.raises(BadMove, match="behind itself"):
        move("# T\n## A\n## B\n### N\n", address, after)


def test_a_section_does_not_move_where_it_would_take_others_in():
    text = "# A\n### a\n### b\n## X\n"
    with pytest.raises(BadMove, match="what follows would become part of it"):
        move(text, "X", "a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b\n- a\n", "- b\n- a\n"),
        ("x\r\n- a\r\ny\r\n", "x\r\ny\r\n"),
        ("x\n- a", "x\n"),
        ("\ufeff- a\n", "\ufeff"),
        ("```\n- a\n```\n- a\n", "```\n- a\n```\n"),
        ("---\ntags:\n- a\n---\n- a\n", "---\ntags:\n- a\n---\n"),
        ("```\n- a\n", "```\n"),
        (" - a\n- ab\nx - a\n", None),
        ("", None),
    ],
)
def test_the_first_line_that_says_just_this_is_removed(text, expected):
    assert remove_line(text, "- a") == expected


@pytest.mark.parametrize("line", ["", " ", "# A", "- a\n- b"])
def test_blank_lines_and_headings_are_no_lines_to_remove(line):
    assert remove_line("# A\n\n \n- a\n- b\n", line) is None


def test_a_line_is_replaced_where_it_stands():
    assert replace_line("## A\r\n- a\r\n- b\r\n", "- a", "- ~~a~~") == "## A\r\n- ~~a~~\r\n- b\r\n"
    assert replace_line("- b\n", "- a", "- c") is None


@pytest.mark.parametrize("new", ["- b\n- c", "- b\r", "# B", "```"])
def test_a_line_is_not_replaced_by_more_than_a_line(new):
    with pytest.raises(BadSectionText):
        replace_line("- a\n", "- a", new)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000,
        " " * 1_000_000,
        "- a\n" * 250_000,
        "a" * 1_000_000,
        "# " + "a" * 1_000_000,
        "---\n" + "x: y\n" * 200_000,
        "<!-- tags: a -->\n" * 60_000,
        "    # a\n" * 40_000,
        "- a\n" + "  ```\n" * 40_000,
    ],
    ids=["newlines", "spaces", "bullets", "letters", "heading", "yaml", "comments", "code", "fences"],
)
def test_a_hostile_text_is_edited_in_a_few_passes(text):
    """Each of these would take minutes if a step looked back over what it has read."""
    result = append(text, "Insights", "- b")
    assert read(result, "Insights").strip() == "- b"
    assert remove_line(result, "- b") is not None
    assert remove_line(text, text[:300_000] + "!") is None
    with pytest.raises(SectionNotFound):
        find(text, "x/" * 100_000)


@pytest.mark.parametrize(
    "text",
    [
        "## A\n\n- one\n\n      ## no heading, but code\n\n## B\n\n- two\n",
        "## A\n\n- one\n\n        ```\n        code\n        ```\n\n## B\n\n- two\n",
        "## A\n\n- one\n    - deep\n\n      ```\n      ## in a fence\n      ```\n\n## B\n\n- two\n",
    ],
)
def test_what_stands_deep_inside_of_a_bullet_is_read_line_by_line(text):
    assert headings(text) == [(2, "A"), (2, "B")]
    assert read(text, "B").strip() == "- two"
    assert [part.line for part in sections(text)] == [1, text[: text.index("## B")].count("\n") + 1]
    assert append(text, "B", "- three") == f"{text}- three\n"
    assert append(text, "A", "- more").endswith("- more\n\n## B\n\n- two\n")


def test_a_heading_may_stand_in_a_bullet_as_far_in_as_the_bullet_reaches():
    text = "## A\n\n- one\n\n    ## inside\n\n- two\n\n      ## code\n\n## B\n"
    assert headings(text) == [(2, "A"), (2, "inside"), (2, "B")]
    deep = "- a\n  - b\n\n       ## deepest\n\n        ## code\n"
    assert headings(deep) == [(2, "deepest")]


def test_the_text_itself_begins_with_its_first_line():
    part = find(f"---\ntags: a\n---\n{NOTEBOOK}", "")
    assert (part.line, part.level, part.position, part.path) == (1, 0, 1, ())


def test_a_section_that_says_nothing_is_filled():
    text = "# Memory\n\n## A\n\n## B\n\n- b\n"
    assert replace(text, "A", "- new") == "# Memory\n\n## A\n\n- new\n\n## B\n\n- b\n"
    assert replace("## A", "A", "- new") == "## A\n\n- new\n"
    assert replace(text, "A", "") == text


def test_a_heading_that_stays_as_it_is_changes_nothing():
    assert rename(NOTEBOOK, "People", "People") == NOTEBOOK


def test_a_new_section_below_one_of_two_equal_ones_is_refused_with_both_named():
    with pytest.raises(AmbiguousSection) as caught:
        append(NOTEBOOK, "Notes/Deep", "- x")
    assert len(caught.value.addresses) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\r\n\r\n- a\r\n", "# A\r\n\r\n- a\r\n- b\r\n"),
        ("# A\n\n- a\n", "# A\n\n- a\n- b\n"),
        ("- z\r\n# A\n\n- a\n", "- z\r\n# A\n\n- a\n- b\n"),
        ("- z\n# A\r\n\r\n- a", "- z\n# A\r\n\r\n- a\r\n- b\r\n"),
    ],
    ids=repr,
)
def test_what_is_added_ends_its_lines_as_those_before_it_do(text, expected):
    assert append(text, "A", "- b") == expected


def test_a_list_of_sections_too_long_to_show_says_how_many_more_there_are_and_never_none():
    with pytest.raises(SectionNotFound) as caught:
        read("".join(f"# S{number}\n" for number in range(10)), "Missing")
    assert "more" not in f"{caught.value.message} {caught.value.hint}"
    with pytest.raises(SectionNotFound) as caught:
        read("".join(f"# S{number}\n" for number in range(11)), "Missing")
    assert "and 1 more" in f"{caught.value.message} {caught.value.hint}"
