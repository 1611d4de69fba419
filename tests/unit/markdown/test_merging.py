"""Two versions of a notebook become one where they changed different sections."""

import pytest

from carrel.markdown.sections import SectionConflict, append, merge, move, rename

BASE = "# Memory\n\n## A\n\n- a\n\n## B\n\n- b\n\n### N\n\n- n\n"


def both_ways(one, other):
    merged = {merge(BASE, one, other), merge(BASE, other, one)}
    assert len(merged) == 1
    return merged.pop()


def test_a_version_that_nobody_changed_gives_way():
    changed = append(BASE, "A", "- x")
    assert both_ways(BASE, changed) == changed
    assert both_ways(changed, changed) == changed
    assert both_ways(BASE, "") == ""


def test_edits_of_different_sections_are_both_there():
    one, other = append(BASE, "A", "- x"), append(BASE, "N", "- y")
    assert both_ways(one, other) == append(one, "N", "- y")


def test_an_edit_and_a_new_section_are_both_there():
    one, other = append(BASE, "N", "- x"), append(BASE, "Insights", "- y")
    assert both_ways(one, other) == append(one, "Insights", "- y")


def test_new_sections_at_one_place_are_both_there_the_deeper_first():
    one, other = append(BASE, "B/Deep", "- x"), append(BASE, "Insights", "- y")
    assert both_ways(one, other) == append(one, "Insights", "- y")
    assert merge(BASE, append(BASE, "X", "- x"), append(BASE, "Y", "- y")).endswith(
        "## Y\n\n- y\n\n## X\n\n- x\n"
    )


def test_a_moved_section_takes_its_edit_along():
    one, other = move(BASE, "A", "B"), append(BASE, "A", "- x")
    assert both_ways(one, other) == move(other, "A", "B")


def test_one_order_is_kept_and_two_are_a_conflict():
    base = "# A\n- a\n# B\n- b\n# C\n- c\n"
    moved = move(base, "A", "C")
    assert merge(base, moved, moved.replace("- b", "- x")) == moved.replace("- b", "- x")
    with pytest.raises(SectionConflict):
        merge(base, moved, move(base, "C", ""))


def test_a_removed_section_stays_removed():
    one = BASE.replace("## A\n\n- a\n\n", "")
    assert both_ways(one, append(BASE, "B", "- x")) == append(one, "B", "- x")


def test_front_matter_is_of_the_text_before_the_first_heading():
    base = "---\ntags: [a]\n---\n# A\n"
    one, other = base.replace("[a]", "[b]"), append(base, "A", "- x")
    assert merge(base, one, other) == append(one, "A", "- x")
    with pytest.raises(SectionConflict, match="before the first heading"):
        merge(base, one, append(base, "", "- y"))


def test_two_edits_of_one_section_are_a_conflict_that_keeps_both():
    with pytest.raises(SectionConflict) as conflict:
        merge(BASE, append(BASE, "A", "- mine"), append(BASE, "A", "- theirs"))
    assert conflict.value.section == "A"
    assert conflict.value.mine == "\n- a\n- mine\n\n"
    assert conflict.value.theirs == "\n- a\n- theirs\n\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BASE.replace("## A\n\n- a\n\n", ""), append(BASE, "A", "- x")),
        (rename(BASE, "A", "X"), append(BASE, "A", "- x")),
        (rename(BASE, "A", "X"), rename(BASE, "A", "Y")),
        (append(BASE, "Insights", "- x"), append(BASE, "Insights", "- y")),
        (BASE[: BASE.index("## B")], append(BASE, "B/Deep", "- x")),
        (append(BASE, "A", "x") + "\n```\n", append(BASE, "A", "x").replace("## A", "```\n## A")),
    ],
    ids=["gone", "renamed", "renamed twice", "made twice", "parent gone", "one fence"],
)
def test_what_does_not_add_up_is_a_conflict(one, other):
    for mine, theirs in ((one, other), (other, one)):
        with pytest.raises(SectionConflict):
            merge(BASE, mine, theirs)


def test_equal_headings_are_not_taken_for_each_other():
    base = "## N\n- a\n## N\n- b\n## N\n- c\n"
    without = "## N\n- b\n## N\n- c\n"
    with pytest.raises(SectionConflict):
        merge(base, without, base.replace("- b", "- x"))
    assert merge(base, append(base, "N#1", "- x"), append(base, "N#3", "- y")) == (
        "## N\n- a\n- x\n## N\n- b\n## N\n- c\n- y\n"
    )


def test_of_the_blank_lines_that_both_changed_the_more_are_kept():
    one = BASE.replace("- a\n\n", "- a\n\n\n")
    other = BASE.replace("- a\n\n", "- a\n\n\n\n")
    assert both_ways(one, other) == other
    assert both_ways(one, append(BASE, "B", "- x")) == append(one, "B", "- x")
