"""How a fact stands in its file: as a line, found again by what it says."""

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.memory.kept import fact

from carrel.memory.written import (
    anchor_of,
    bullets,
    holds,
    line_of,
    section_at,
    sense_of,
    struck_out,
    with_fact,
)

NOTES = """\
---
title: x
---
- first
# People

* Ana uses a Samsung.
  1. nested point
- ~~gone~~ _(until 2026-01-01; now: here)_
```
- fenced
```
text - no bullet
## More\r
+ last one\r
- no end"""


def test_bullets_are_single_lines_outside_of_fences_and_what_is_struck_out_is_none():
    assert [each.text for each in bullets(NOTES)] == [
        "first",
        "Ana uses a Samsung.",
        "nested point",
        "last one",
        "no end",
    ]
    assert all(NOTES.startswith(each.line, each.start) for each in bullets(NOTES))


def test_only_lines_with_some_words_are_looked_at_where_these_are_given():
    assert [each.text for each in bullets(NOTES, ["SAMS", "fenced", "last"])] == [
        "Ana uses a Samsung.",
        "last one",
    ]
    assert list(bullets(NOTES, ["nothing"])) == []


@given(
    st.lists(
        st.sampled_from(["- a", "a", "\n", "\r\n", "* b c", "```", " - d", "", "# e", "- ~~f~~"]), max_size=30
    ),
    st.booleans(),
)
def test_lines_with_a_word_are_all_lines_but_those_without(pieces, has_end):
    text = "\n".join(pieces) + ("\n" if has_end else "")
    for word in "abcd":
        assert list(bullets(text, [word])) == [each for each in bullets(text) if word in each.line]


def test_a_place_is_in_the_section_whose_own_text_it_is():
    places = {each.text: section_at(NOTES, each.start) for each in bullets(NOTES)}
    assert places == {
        "first": "",
        "Ana uses a Samsung.": "People",
        "nested point": "People",
        "last one": "More",
        "no end": "More",
    }


@pytest.mark.parametrize(
    ("line", "struck"),
    [
        ("- The port is 80.", "- ~~The port is 80.~~ _(until 2026-04-24; now: The port is 8080.)_"),
        ("  * a ~~b~~ c", "  * ~~a ~b~ c~~ _(until 2026-04-24; now: The port is 8080.)_"),
        (
            "- knows: [[Luis]] (2026-01-01)",
            "- ~~knows: Luis (2026-01-01)~~ _(until 2026-04-24; now: The port is 8080.)_",
        ),
    ],
)
def test_what_is_no_longer_true_keeps_its_mark_and_says_until_when(line, struck):
    assert struck_out(line, until="2026-04-24", now="The port is 8080.") == struck


def test_a_line_is_there_as_a_whole_or_not_at_all():
    assert holds("x\n- a\n", "- a")
    assert not holds("- ab\n  - a", "- a")
    assert not holds("```\n- a\n```\n", "- a")


@pytest.mark.parametrize(
    "text", ["", "\n", "# T\n", "# T\n\n## Insights\n", "- x", "---\na: 1\n---\n", "\ufeff# T\r\n"]
)
def test_a_line_is_added_once_whatever_the_text(text):
    own = fact("The gate closes at nine.", section="Insights", line="- The gate closes at nine.")
    once = with_fact(text, own)
    assert with_fact(once, own) == once
    assert once.startswith(text.rstrip())
    assert [each.text for each in bullets(once)].count("The gate closes at nine.") == 1


def test_an_event_is_an_entry_of_the_journal_with_its_source():
    own = fact("Shipped it.", kind="event", section="outcome")
    assert line_of(own, "journal", UTC) == "- 12:00 [outcome] Shipped it. _(session s1, u1)_"
    assert "[note]" in line_of(fact("Shipped it.", kind="event", section="party"), "journal", UTC)


def test_lines_that_say_the_same_make_the_same_sense_and_share_a_word():
    assert sense_of("- Gates close at nine.") == sense_of("* the gate closes at nine")
    assert sense_of("- knows: [[Luis]] (2026-01-01)") == sense_of("- knows: [[Luis]] (2026-04-24)")
    assert sense_of("- X]] (0)") != sense_of("- X")
    assert anchor_of("- Gates close at nine.") in "the gate closes at nine"
