import pytest
from msgspec.structs import replace

from carrel.context.budget import BadBudget, Budget, fit, split
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


@pytest.mark.parametrize(
    ("total", "shares"),
    [
        (-3, (0, 0)),
        (0, (0, 0)),
        (1, (1, 0)),
        (2, (1, 1)),
        (3, (2, 1)),
        (4, (3, 1)),
        (5, (3, 2)),
        (7, (5, 2)),
        (10, (6, 4)),
        (8_000, (4_800, 3_200)),
    ],
)
def test_memory_is_shared_60_to_40_and_from_two_on_neither_gets_nothing(total, shares):
    assert split(total) == shares


@pytest.mark.parametrize("name", ["file", "total", "memory"])
@pytest.mark.parametrize("value", [-1, 1.5, "8", True])
def test_a_limit_that_is_no_whole_number_is_refused_by_its_name(name, value):
    with pytest.raises(BadBudget, match=f"{name}="):
        Budget(**{name: value})
    assert getattr(Budget(**{name: 0}), name) == 0


def test_a_share_of_memory_is_the_limit_of_its_section_whatever_a_file_may_have():
    sections = [section("a", 9, share=1), section("b", 9, share=2), section("c", 9)]
    fitted = fit(sections, Budget(file=8, total=None, memory=10), "exclude", shorten)
    assert [(s.limit, s.size, s.reason) for s in fitted] == [
        (6, 6, "limit"),
        (4, 4, "limit"),
        (8, 8, "limit"),
    ]
    fitted = fit(sections, Budget(file=8, memory=None), "exclude", shorten)
    assert [s.limit for s in fitted] == [8, 8, 8]


def test_the_rest_is_what_the_counted_sections_leave():
    sections = [
        section("a", 4),
        section("b", 50, rest=True),
        section("c", 5),
        section("d", 9, counted=False),
        section("e", 7).out("unreadable", "not_utf8"),
    ]
    assert outcome(sections, total=20, overflow="rest") == [
        ("a", "included", "", 4),
        ("b", "truncated", "total", 11),
        ("c", "included", "", 5),
        ("d", "included", "", 9),
        ("e", "unreadable", "not_utf8", 0),
    ]
    fitted = fit(sections, Budget(file=2, total=20), "rest", shorten)
    assert [s.limit for s in fitted] == [2, 11, 2, 2, 2]


def test_the_rest_is_whole_where_it_fits_and_out_where_nothing_is_left():
    sections = [section("a", 4), section("b", 6, rest=True)]
    assert outcome(sections, total=10, overflow="rest")[1] == ("b", "included", "", 6)
    assert outcome(sections, total=9, overflow="rest")[1] == ("b", "truncated", "total", 5)
    assert outcome(sections, total=3, overflow="rest")[1] == ("b", "excluded", "no_room", 0)
    assert outcome(sections, total=None, overflow="rest")[1] == ("b", "included", "", 6)
    empty = [section("a", 4), section("b", 0, rest=True)]
    assert outcome(empty, total=3, overflow="rest")[1] == ("b", "excluded", "no_room", 0)


def test_a_section_that_is_kept_is_what_the_model_will_read():
    made = section("a", 4)
    assert made.kept
    assert replace(made, state="truncated").kept
    out = made.out("hidden", "scope")
    assert not out.kept
    assert (out.text, out.size, out.state, out.reason) == ("", 0, "hidden", "scope")


def test_excluding_counts_a_section_that_was_cut_by_what_is_left_of_it():
    sections = [section("a", 90), section("b", 5), section("c", 1)]
    assert [row[1:] for row in outcome(sections, file=5, total=10)] == [
        ("truncated", "limit", 5),
        ("included", "", 5),
        ("excluded", "total", 0),
    ]


def test_a_pinned_section_that_is_not_counted_takes_no_room():
    sections = [section("a", 8, pinned=True, counted=False), section("b", 10)]
    assert outcome(sections, total=10)[1] == ("b", "included", "", 10)
