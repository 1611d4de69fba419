from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from carrel.context.budget import Budget, fit
from carrel.context.section import Section

LEAST = 3  # a marker and one character


def shorten(section: Section, limit: int) -> Section | None:
    """Cuts to at most the limit, as a good place may be a little before it."""
    size = limit - (section.size % 3 if limit > LEAST + 2 else 0)
    return replace(section, text="x" * size, size=size) if size >= LEAST else None


@st.composite
def section(draw, name: str) -> Section:
    size = draw(st.integers(1, 40))
    made = Section(
        name=name,
        kind="document",
        text="x" * size,
        size=size,
        pinned=draw(st.booleans()),
        counted=draw(st.integers(0, 3)) > 0,
        unlimited=draw(st.integers(0, 5)) == 0,
    )
    return made.out("excluded", "empty") if draw(st.integers(0, 6)) == 0 else made


many = st.integers(0, 8).flatmap(lambda count: st.tuples(*(section(f"s{n}") for n in range(count))))
limits = st.none() | st.integers(0, 120)
overflows = st.sampled_from(["exclude", "truncate"])


def kept(fitted):
    return {s.name: s for s in fitted if s.kept}


@given(many, limits, limits, overflows)
@settings(max_examples=120, deadline=None)
def test_every_section_comes_back_once_in_the_same_order_with_a_reason(sections, file, total, overflow):
    fitted = fit(sections, Budget(file=file, total=total), overflow, shorten)
    assert [s.name for s in fitted] == [s.name for s in sections]
    for before, after in zip(sections, fitted, strict=True):
        assert after.state in ("included", "truncated", "excluded")
        assert (after.state == "included") == (not after.reason)
        assert after.size == len(after.text)
        assert after.state != "included" or after.text == before.text
        assert after.state != "truncated" or after.size < before.size
        assert before.kept or after.state == before.state


@given(many, limits, limits, overflows)
@settings(max_examples=120, deadline=None)
def test_no_section_takes_more_than_its_limit(sections, file, total, overflow):
    fitted = fit(sections, Budget(file=file, total=total), overflow, shorten)
    assert all(s.size <= file for s in fitted if file is not None and s.kept and not s.unlimited)


@given(many, limits, st.integers(0, 120))
@settings(max_examples=120, deadline=None)
def test_the_total_is_exceeded_by_pinned_sections_alone(sections, file, total):
    for overflow in ("exclude", "truncate"):
        fitted = fit(sections, Budget(file=file, total=total), overflow, shorten)
        counted = [s for s in fitted if s.kept and s.counted]
        pinned = sum(s.size for s in counted if s.pinned) if overflow == "exclude" else 0
        assert sum(s.size for s in counted) <= max(total, pinned)


@given(many, limits, st.integers(0, 120))
@settings(max_examples=120, deadline=None)
def test_excluding_never_loses_a_pinned_section_to_the_total(sections, file, total):
    limited = fit(sections, Budget(file=file, total=None), "exclude", shorten)
    fitted = kept(fit(sections, Budget(file=file, total=total), "exclude", shorten))
    assert all(fitted.get(s.name) == s for s in limited if s.pinned and s.kept)


@given(many, limits, st.integers(0, 120), st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_excluding_with_a_larger_total_never_loses_a_section_or_a_character(sections, file, total, more):
    small = kept(fit(sections, Budget(file=file, total=total), "exclude", shorten))
    large = kept(fit(sections, Budget(file=file, total=total + more), "exclude", shorten))
    assert small.items() <= large.items()


@given(many, st.integers(0, 50), st.integers(0, 50), overflows)
@settings(max_examples=120, deadline=None)
def test_a_larger_limit_alone_never_loses_a_section(sections, file, more, overflow):
    """With a total it may: what is cut less leaves less room for those after it."""
    small = kept(fit(sections, Budget(file=file, total=None), overflow, shorten))
    large = kept(fit(sections, Budget(file=file + more, total=None), overflow, shorten))
    assert small.keys() <= large.keys()


@given(many, limits, st.integers(0, 120))
@settings(max_examples=120, deadline=None)
def test_excluding_keeps_the_sections_before_the_first_that_does_not_fit_and_none_after(
    sections, file, total
):
    fitted = fit(sections, Budget(file=file, total=total), "exclude", shorten)
    competing = [s for s in fitted if s.counted and not s.pinned and (s.kept or s.reason == "total")]
    states = [s.kept for s in competing]
    assert states == sorted(states, reverse=True)


@given(many, limits, st.integers(0, 120))
@settings(max_examples=120, deadline=None)
def test_truncating_keeps_nothing_counted_after_what_the_total_cut_or_refused(sections, file, total):
    fitted = [s for s in fit(sections, Budget(file=file, total=total), "truncate", shorten) if s.counted]
    closed = next((n for n, s in enumerate(fitted) if s.reason == "total"), None)
    if closed is not None:
        assert not any(s.kept for s in fitted[closed + 1 :])
