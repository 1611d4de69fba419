"""Text found as it was typed, and patterns that cannot run away."""

import pytest

from carrel.errors import UsageError
from carrel.index.literal import MOST_LINES, SHOWN, scan
from carrel.index.literal.needles import (
    LONGEST_PATTERN,
    LONGEST_SUBSTRING,
    BadPattern,
    pattern,
    substring,
)
from carrel.sessions.search import MOST_RANGES


def found(text, needle, **options):
    """The hits in one text: line, and what the ranges point at."""
    scanned = scan([("notes.md", text)], needle, **options)
    return [(hit.line, [hit.text[a:b] for a, b in hit.ranges]) for hit in scanned.hits]


def test_a_substring_is_found_with_its_line_and_place():
    (hit,) = scan([("notes.md", "one\ntwo gpt-4o three\n")], substring("gpt-4o")).hits
    assert (hit.path, hit.line, hit.end_line, hit.text) == ("notes.md", 2, 2, "two gpt-4o three")
    assert (hit.ranges, hit.matching) == (((4, 10),), (2,))


def test_case_matters_only_when_asked_for():
    text = "Error\nERROR\nerror\n"
    assert [line for line, _ in found(text, substring("error"))] == [1, 2, 3]
    assert [line for line, _ in found(text, substring("error", case=True))] == [3]
    assert [line for line, _ in found(text, pattern("err.r"))] == [1, 2, 3]
    assert [line for line, _ in found(text, pattern("err.r", case=True))] == [3]


@pytest.mark.parametrize(
    ("text", "wanted", "matches"),
    [
        ("die Straße und die STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("ß ß Ort", "ORT", ["Ort"]),
        ("ßßß", "s", []),
        ("ßs", "SSS", ["ßs"]),
        ("xﬁle ﬁ", "FI", ["ﬁ", "ﬁ"]),
        ("İzmir in İZMİR", "İzmir", ["İzmir"]),
        ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφος", ["ΣΊΣΥΦΟΣ", "σίσυφος"]),
        ("日本語とＡ", "日本語", ["日本語"]),
        ("😀 Tea 😀 TEA", "tea", ["Tea", "TEA"]),
        ("a\ud800B\x00c", "B\x00C", ["B\x00c"]),
    ],
)
def test_letters_that_fold_to_several_move_no_range(text, wanted, matches):
    assert found(text, substring(wanted)) == ([(1, matches)] if matches else [])


def test_lines_around_a_match_are_shown_and_those_that_overlap_are_one_hit():
    text = "\n".join(f"line {number}" + " HIT" * (number in (3, 5, 12)) for number in range(1, 16)) + "\n"
    near, far = scan([("a.md", text)], substring("HIT"), lines=1).hits
    assert (near.line, near.end_line, near.matching) == (2, 6, (3, 5))
    assert near.text.split("\n") == text.split("\n")[1:6]
    assert [near.text[a:b] for a, b in near.ranges] == ["HIT", "HIT"]
    assert (far.line, far.end_line, far.matching) == (11, 13, (12,))


def test_there_are_no_lines_beyond_the_ends_of_a_text():
    (hit,) = scan([("a.md", "first\nlast\n")], substring("last"), lines=5).hits
    assert (hit.line, hit.end_line, hit.text) == (1, 2, "first\nlast")


def test_a_match_may_go_over_several_lines_whatever_their_ends():
    (hit,) = scan([("a.md", "zero\r\none\r\ntwo\r\nthree")], substring("one\ntwo\n")).hits
    assert (hit.line, hit.end_line, hit.text) == (2, 4, "one\ntwo\nthree")
    assert [hit.text[a:b] for a, b in hit.ranges] == ["one\ntwo\n"]


def test_a_text_that_matches_everywhere_is_divided_into_hits_of_a_size_to_be_shown():
    hits = scan([("a.md", "x\n" * 200)], substring("x"), lines=2).hits
    assert all(hit.end_line - hit.line < MOST_LINES for hit in hits)
    assert [line for hit in hits for line in hit.matching] == list(range(1, 201))


def test_of_a_very_long_line_the_part_around_the_match_is_shown():
    line = "é" * 400_000 + "needle" + "ü" * 600_000
    for needle in (substring("NEEDLE"), pattern("n[e]+dle")):
        (hit,) = scan([("a.md", f"before\n{line}\nafter")], needle, lines=1).hits
        assert [hit.text[a:b] for a, b in hit.ranges] == ["needle"]
        assert len(hit.text) <= SHOWN + len("before\n\nafter")
        assert (hit.line, hit.end_line) == (1, 3)


def test_so_many_matches_in_a_line_are_pointed_at_and_the_next_line_is_searched_all_the_same():
    text = "a" * 5_000 + "\n" + "ba\n"
    for needle in (substring("a"), pattern("a"), pattern("a.*z|a")):
        (_, many), (line, few) = found(text, needle)
        assert 0 < len(many) <= MOST_RANGES
        assert (line, few) == (2, ["a"])


def test_reading_stops_at_the_limit_and_says_that_there_is_more():
    opened = []

    def texts():
        for number in range(10):
            opened.append(number)
            yield f"{number}.md", "tea\ntea\n"

    scanned = scan(texts(), substring("tea"), limit=3)
    assert len(scanned.hits) == 3
    assert scanned.more
    assert opened == [0, 1]
    assert not scan([("a.md", "tea\ntea")], substring("tea"), limit=2).more


def test_nothing_is_found_by_nothing():
    assert scan([("a.md", "text")], substring("")).hits == ()
    assert scan([], substring("text")).hits == ()


def test_a_pattern_sees_the_ends_of_lines_and_stays_in_one():
    text = "alpha one\r\nbeta\r\n\r\nalpha two"
    assert found(text, pattern("^alpha")) == [(1, ["alpha"]), (4, ["alpha"])]
    assert found(text, pattern("one$")) == [(1, ["one"])]
    assert found(text, pattern(r"one[\s\S]*")) == [(1, ["one"])]
    assert found("aaa", pattern("^a")) == [(1, ["a"])]


def test_a_pattern_finds_characters_of_any_kind():
    assert found("😀é\ud800日本 x", pattern(r"日\p{Han} .")) == [(1, ["日本 x"])]
    assert found("a\ud800b", pattern("a.b")) == [(1, ["a\ud800b"])]


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ("(", "missing )"),
        ("[z-a]", "z-a"),
        ("(?=look)", "(?="),
        ("(?<!look)x", "(?<!"),
        (r"(a)\1", r"\1"),
        ("a**", "**"),
        ("a*", "empty"),
        ("^", "empty"),
        (".{0,900}a", "large"),
        ("((a{100}){100}){100}", ""),
        ("x" * (LONGEST_PATTERN + 1), "1,001 characters"),
        ("\ud800(", ""),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_a_hint(wanted, problem):
    with pytest.raises(BadPattern) as caught:
        pattern(wanted)
    assert isinstance(caught.value, UsageError)
    assert caught.value.code == "bad_pattern"
    assert problem in caught.value.message
    assert "(?m)" not in caught.value.message
    assert caught.value.hint


def test_a_pattern_is_quoted_without_the_secret_in_it():
    key = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    with pytest.raises(BadPattern, match="REDACTED") as caught:
        pattern(f"({key}")
    assert key not in caught.value.message


def test_a_substring_that_is_too_long_is_refused():
    with pytest.raises(BadPattern, match="10,001"):
        substring("x" * (LONGEST_SUBSTRING + 1))


@pytest.mark.parametrize("bomb", ["(a+)+$", "(a|a)*b", "(a|aa)+c", "(.*)*x", "(a?){30}a{30}"])
def test_what_makes_other_engines_run_away_ends(bomb):
    scanned = scan([("a.md", "a" * 50_000 + "!")], pattern(bomb + "!?z"))
    assert (scanned.hits, scanned.unfinished) == ((), ())


def test_a_text_that_is_given_up_on_is_named_and_its_hits_are_kept():
    scanned = scan([("bad.md", "tea\n" + "a b " * 20_000), ("good.md", "tea")], pattern(r"tea|\b"))
    assert [hit.path for hit in scanned.hits] == ["bad.md", "good.md"]
    assert scanned.unfinished == ("bad.md",)
    assert scanned.more


def test_halves_of_characters_are_given_up_on_too():
    scanned = scan([("bad.md", "ß" * 30_000)], substring("s" * 101))
    assert (scanned.hits, scanned.unfinished, scanned.more) == ((), ("bad.md",), True)


def test_without_time_nothing_is_searched_and_that_is_said():
    scanned = scan([("a.md", "tea")], substring("tea"), seconds=-1)
    assert (scanned.hits, scanned.more) == ((), True)
