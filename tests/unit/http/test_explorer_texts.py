"""How texts are cut to a page: by lines with numbers, and around what was found; nothing is lost or doubled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.http.explorer.dreams import in_words
from carrel.http.explorer.snippets import LONGEST, excerpt
from carrel.http.explorer.source import CHARACTERS, LINES, beginning, page_of
from carrel.http.explorer.words import many

texts = st.lists(st.text(st.sampled_from("ab \r<&é\ud800"), max_size=30), min_size=1, max_size=1_500).map(
    "\n".join
)


@given(texts, st.integers(-5, 2_000))
def test_a_line_is_on_the_page_that_is_asked_for_it(text: str, line: int) -> None:
    shown = page_of(text, line)
    numbers = [each.number for each in shown.lines]
    assert min(max(line, 1), shown.total) in numbers
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert len(numbers) <= LINES


@given(texts)
def test_the_pages_of_a_text_are_the_whole_text(text: str) -> None:
    lines: list[str] = []
    at: int | None = 1
    while at is not None:
        shown = page_of(text, at)
        assert shown.before == (None if not lines else page_of(text, at - 1).lines[0].number)
        lines += [each.text for each in shown.lines]
        at = shown.after
    whole = [line.removesuffix("\r") for line in text.split("\n")]
    assert lines == (whole[:-1] if len(whole) > 1 and text.endswith("\n") else whole)


def test_a_line_that_is_a_whole_file_is_cut_and_says_so() -> None:
    shown = page_of("x" * 1_000_000 + "\n" + "y", 1).lines
    assert len(shown[0].text) + shown[0].left_out == 1_000_000
    assert sum(len(each.text) for each in shown) <= CHARACTERS


@given(texts, st.integers(1, 100))
def test_a_beginning_is_at_least_half_of_what_it_may_be(text: str, limit: int) -> None:
    begun = beginning(text, limit)
    assert text.startswith(begun)
    assert len(begun) <= limit
    assert begun == text or len(begun) * 2 >= limit


@given(texts, st.lists(st.tuples(st.integers(0, 500), st.integers(1, 40)), max_size=8), st.integers(0, 3))
def test_what_was_found_is_marked_and_nothing_else_is(
    text: str, found: list[tuple[int, int]], around: int
) -> None:
    ranges = [(start, min(start + size, len(text))) for start, size in found if start < len(text)]
    lines = text.split("\n")
    for line in excerpt(text, ranges, around):
        assert "".join(piece.text for piece in line.pieces) == lines[line.number].removesuffix("\r")
        offset = sum(len(each) + 1 for each in lines[: line.number])
        at = offset
        for piece in line.pieces:
            marked = {any(a <= n < b for a, b in ranges) for n in range(at, at + len(piece.text))}
            assert marked == {piece.is_found}
            at += len(piece.text)


def test_a_long_line_is_shown_around_what_was_found() -> None:
    text = "a" * 5_000 + "needle" + "b" * 5_000
    (line,) = excerpt(text, [(5_000, 5_006)], 1)
    assert [piece.text for piece in line.pieces if piece.is_found] == ["needle"]
    assert sum(len(piece.text) for piece in line.pieces) <= LONGEST + 4


def test_why_a_dream_promoted_nothing_is_told_without_codes() -> None:
    told = in_words(
        "8 of 20 candidates pass the gates, and none may be promoted: 5 agents_words, 3 question."
    )
    assert told == (
        "8 of 20 candidates pass the gates, and none may be promoted: 5 (the agent said so, and not you), "
        "3 (it asks, and states nothing)."
    )
    assert in_words("Nothing was recalled yet.") == "Nothing was recalled yet."


@pytest.mark.parametrize(("count", "told"), [(0, "0 notes"), (1, "1 note"), (1_200, "1,200 notes")])
def test_so_many_of_something(count: int, told: str) -> None:
    assert many(count, "note") == told
