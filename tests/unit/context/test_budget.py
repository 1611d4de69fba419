import pytest
from msgspec.structs import replace

from carrel.context.budget import Budget, fit
from carrel.context.section import Section


def section(name: str, size: int, **options: object) -> Section:
    return Section(name=name, kind="document", text="x" * size, size=size, **options)


def shorten(given: Section, limit: int) -> Section | None:
    """Cuts to exactly the limit, if two characters fit."""
    return replace(given, text="x" * limit, size=limit) if limit >= 2 else None


def outcome(sections, *, file=None, total=None, overflow="exclude"):
    fitted = fit(sections, Budget(file=file, total=total), overflow, shorten)
    return [(s.name, s.state, s.reason, s.size) for s in fitted]


@pytest.mark.parametrize("overflow", ["exclude", "truncate"])
def test_without_limits_everything_is_included(overflow):
    sections = [section("a", 10), section("b", 20, pinned=True)]
    assert outcome(sections, overflow=overflow) == [("a", "included", "", 10), ("b", "included", "", 20)]


@pytest.mark.parametrize("overflow", ["exclude", "truncate"])
def test_a_section_over_its_limit_is_cut_and_one_at_its_limit_is_not(overflow):
    sections = [section("a", 11), section("b", 10), section("c", 12, pinned=True)]
    assert outcome(sections, file=10, overflow=overflow) == [
        ("a", "truncated", "limit", 10),
        ("b", "included", "", 10),
        ("c", "truncated", "limit", 10),
    ]


@pytest.mark.parametrize("overflow", ["exclude", "truncate"])
def test_where_not_even_a_character_fits_the_section_is_excluded_and_others_are_not(overflow):
    sections = [section("a", 5), section("b", 1)]
    assert outcome(sections, file=1, overflow=overflow) == [
        ("a", "excluded", "no_room", 0),
        ("b", "included", "", 1),
    ]


@pytest.mark.parametrize("overflow", ["exclude", "truncate"])
def test_an_unlimited_section_is_not_cut_and_one_that_is_not_counted_takes_no_room(overflow):
    sections = [
        section("a", 50, unlimited=True, counted=False),
        section("b", 10),
        section("c", 9, counted=False),
    ]
    assert outcome(sections, file=10, total=10, overflow=overflow) == [
        ("a", "included", "", 50),
        ("b", "included", "", 10),
        ("c", "included", "", 9),
    ]


@pytest.mark.parametrize("overflow", ["exclude", "truncate"])
def test_a_section_that_is_already_out_stays_as_it_is_and_takes_no_room(overflow):
    sections = [section("a", 50).out("unreadable", "not_utf8"), section("b", 10)]
    assert outcome(sections, total=10, overflow=overflow) == [
        ("a", "unreadable", "not_utf8", 0),
        ("b", "included", "", 10),
    ]


@pytest.mark.parametrize("overflow", ["exclude", "truncate"])
def test_the_limit_in_force_is_noted(overflow):
    sections = [section("a", 5), section("b", 5, unlimited=True)]
    fitted = fit(sections, Budget(file=10, total=None), overflow, shorten)
    assert [s.limit for s in fitted] == [10, None]


def test_excluding_stops_at_the_first_that_does_not_fit_and_skips_to_no_smaller_one():
    sections = [section("a", 6), section("b", 5), section("c", 1)]
    assert outcome(sections, total=10) == [
        ("a", "included", "", 6),
        ("b", "excluded", "total", 0),
        ("c", "excluded", "total", 0),
    ]


def test_excluding_includes_what_exactly_fills_the_total():
    assert outcome([section("a", 6), section("b", 4)], total=10)[1] == ("b", "included", "", 4)


def test_excluding_takes_pinned_sections_off_first_after_their_own_cut():
    sections = [section("a", 4), section("b", 90, pinned=True), section("c", 3)]
    assert outcome(sections, file=5, total=10) == [
        ("a", "included", "", 4),
        ("b", "truncated", "limit", 5),
        ("c", "excluded", "total", 0),
    ]


def test_pinned_sections_survive_an_empty_budget():
    sections = [section("a", 4, pinned=True), section("b", 1), section("c", 9, pinned=True)]
    assert [row[1] for row in outcome(sections, total=0)] == ["included", "excluded", "included"]


def test_truncating_cuts_the_one_that_the_total_reaches_and_excludes_all_later_ones():
    sections = [section("a", 6), section("b", 6), section("c", 1)]
    assert outcome(sections, total=10, overflow="truncate") == [
        ("a", "included", "", 6),
        ("b", "truncated", "total", 4),
        ("c", "excluded", "total", 0),
    ]


def test_truncating_cuts_to_the_smaller_of_the_two_limits():
    sections = [section("a", 20), section("b", 20), section("c", 20)]
    assert outcome(sections, file=8, total=12, overflow="truncate") == [
        ("a", "truncated", "limit", 8),
        ("b", "truncated", "total", 4),
        ("c", "excluded", "total", 0),
    ]


def test_truncating_excludes_what_the_total_leaves_no_room_for_and_all_later_ones():
    sections = [section("a", 9), section("b", 5), section("c", 1)]
    assert [(name, state) for name, state, _, _ in outcome(sections, total=10, overflow="truncate")] == [
        ("a", "included"),
        ("b", "excluded"),
        ("c", "excluded"),
    ]


def test_truncating_a_total_that_is_exactly_used_up_excludes_the_rest():
    sections = [section("a", 10), section("b", 1), section("c", 1)]
    assert [row[1] for row in outcome(sections, total=10, overflow="truncate")] == [
        "included",
        "excluded",
        "excluded",
    ]


def test_truncating_goes_on_after_a_section_that_only_its_own_limit_cut():
    sections = [section("a", 20), section("b", 2)]
    assert outcome(sections, file=8, total=10, overflow="truncate") == [
        ("a", "truncated", "limit", 8),
        ("b", "included", "", 2),
    ]
