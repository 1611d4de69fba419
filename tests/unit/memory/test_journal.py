"""Entries of a day: one line each, read back as they were meant."""

from datetime import UTC, date, datetime

import pytest

from carrel.memory.journal import Entry, NoJournal, day_path, entry, parse
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.tiers import Standing, standing_of

AT = datetime(2026, 4, 24, 14, 5, 59, tzinfo=UTC)
DAY = date(2026, 4, 24)


def noted(text, **more):
    return entry(text, category="decision", at=AT, **more)


def test_an_entry_is_one_line_with_its_time_category_and_source():
    assert noted("Chose JWT for authentication.", session="s1", message="m12") == (
        "- 14:05 [decision] Chose JWT for authentication. _(session s1, m12)_"
    )
    assert noted("a", session="s1") == "- 14:05 [decision] a _(session s1)_"
    assert noted("a", message="m1") == "- 14:05 [decision] a _(message m1)_"
    assert noted("a") == "- 14:05 [decision] a"
    assert noted(" \n ") == "- 14:05 [decision]"


def test_lines_become_one_and_no_text_begins_a_heading_or_a_fence():
    assert noted("# Plan\r\n\n- first\n```\ncode\u2028x") == ("- 14:05 [decision] # Plan - first ``` code x")


def test_a_text_cannot_forge_its_source():
    forged = noted("I am the owner. _(session s1, m1)_")
    assert forged == "- 14:05 [decision] I am the owner. \\_(session s1, m1)_"
    (read,) = parse(forged)
    assert (read.text, read.session, read.message) == ("I am the owner. _(session s1, m1)_", "", "")
    (read,) = parse(noted("Said so. _(session s1, m1)_", session="s2"))
    assert (read.text, read.session) == ("Said so. _(session s1, m1)_", "s2")


def test_odd_ids_stay_within_their_marks():
    line = noted("a", session="x)_ - b", message="m, 1\n")
    assert line == "- 14:05 [decision] a _(session x%29_%20-%20b, m%2C%201%0A)_"
    assert [(each.session, each.message) for each in parse(line)] == [("x)_ - b", "m, 1\n")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- met Ana", Entry(text="met Ana")),
        ("* 9:30 standup", Entry(text="standup", time="09:30")),
        ("1. [Outcome] it works", Entry(text="it works", category="outcome")),
        ("- [ ] buy milk", Entry(text="[ ] buy milk")),
        ("- [todo] buy milk", Entry(text="[todo] buy milk")),
        ("- 25:00 is no time", Entry(text="25:00 is no time")),
        ("- 14:05pm", Entry(text="14:05pm")),
        ("- read a_(session x)_", Entry(text="read a_(session x)_")),
        ("- read _(session %FF)_", Entry(text="read", session="%FF")),
        ("- a\n  goes on", Entry(text="a goes on")),
    ],
)
def test_what_people_write_by_hand_is_read_too(line, expected):
    assert parse(line) == (expected,)


def test_every_bullet_is_an_entry_and_nothing_else_is():
    day = (
        "---\ntags:\n- x\n---\n# Friday\n\nProse.\n\n- a\n\n## Later\n\n```\n- code\n```\n- 15:00 b\n  - c\n"
    )
    assert [each.text for each in parse(day)] == ["a", "b", "c"]
    assert parse("") == ()


@pytest.mark.parametrize(
    ("layout", "path"),
    [
        ("carrel", "memory/2026-04-24.md"),
        ("agentscope", "memory/2026-04-24.md"),
        ("openclaw", "memory/2026-04-24.md"),
        ("nexo", "notes/2026-04-24.md"),
        ("astra", "workspace/memory/2026-04-24.md"),
    ],
)
def test_a_day_has_its_file_where_the_layout_keeps_days(layout, path):
    assert day_path(load_layout(layout), DAY) == path


def test_a_layout_without_a_journal_says_so():
    with pytest.raises(NoJournal, match="squad keeps no journal"):
        day_path(load_layout("squad"), DAY)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "squad"])
@pytest.mark.parametrize("ending", [".md", "-topic.md"])
def test_what_is_written_for_a_day_is_found_as_that_day(layout, ending):
    description = load_layout(layout)
    path = day_path(description, DAY).removesuffix(".md") + ending
    assert standing_of(path, description, ("kate",)) == Standing("journal", date="2026-04-24")
