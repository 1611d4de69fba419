import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from carrel.index.literal import scan
from carrel.index.literal.needles import pattern, substring

pieces = st.sampled_from(
    [
        "a",
        "A",
        "b",
        "ß",
        "s",
        "S",
        "ss",
        "ﬁ",
        "f",
        "i",
        "İ",
        "\u0131",
        "\n",
        "\r\n",
        " ",
        "é",
        "日本",
        "😀",
        "\ud800",
        "\x00",
    ]
)
texts = st.lists(pieces, max_size=40).map("".join)
needles = st.lists(pieces, min_size=1, max_size=3).map("".join)
around = st.integers(0, 3)


def lines_of(text):
    return text.replace("\r\n", "\n").split("\n")


def check_places(text, hits):
    """Every hit shows its own lines, and the hits come in order."""
    lines = lines_of(text)
    for hit in hits:
        assert hit.text == "\n".join(lines[hit.line - 1 : hit.end_line])
        assert all(hit.line <= line <= hit.end_line for line in hit.matching)
    starts = [hit.matching[0] for hit in hits]
    assert starts == sorted(starts)


@given(texts, needles, around, st.booleans())
@example(text="ßs", wanted="ss", lines=0, case=False)
def test_every_range_of_a_substring_is_a_match_and_no_matching_line_is_missed(text, wanted, lines, case):
    hits = scan([("a", text)], substring(wanted, case=case), lines=lines, limit=1_000).hits
    check_places(text, hits)
    wanted = wanted.replace("\r\n", "\n")
    for hit in hits:
        for start, stop in hit.ranges:
            shown = hit.text[start:stop]
            assert shown == wanted or (not case and shown.casefold() == wanted.casefold())
    if case and "\n" not in wanted:
        expected = [number for number, line in enumerate(lines_of(text), 1) if wanted in line]
        assert [line for hit in hits for line in hit.matching] == expected


@given(
    texts, st.sampled_from(["a+", "[ab]b?", "s{2}|é", "日.", "^a", "a$", r"\S+", "b.*", r"[^a]\b"]), around
)
@settings(deadline=None)
def test_every_range_of_a_pattern_is_what_pythons_own_engine_finds(text, wanted, lines):
    hits = scan([("a", text)], pattern(wanted, case=True), lines=lines, limit=1_000).hits
    check_places(text, hits)
    found = [
        (hit.line + hit.text.count("\n", 0, start), hit.text[start:stop])
        for hit in hits
        for start, stop in hit.ranges
    ]
    expected = [
        (number, match[0])
        for number, line in enumerate(lines_of(text), 1)
        for match in re.finditer(wanted, line, re.ASCII)
    ]
    assert found == expected
