# ruff: noqa: RUF001 - letters that look alike are what this is about

import pytest

from carrel.screen.injection import suspicious, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pass\u200bword", r"pass\u{200b}word"),
        ("a\u202eb", r"a\u{202e}b"),
        ("hi\U000e0041\U000e0042", r"hi\u{e0041}\u{e0042}"),
        ("a\ufe01\ufe02", r"a\u{fe01}\u{fe02}"),
        ("a\x08b\x1b[8mc", r"a\u{8}b\u{1b}[8mc"),
        ("a\rb\r\nc\r", "a\\u{d}b\r\nc\r"),
        ("nul\0", r"nul\u{0}"),
        ("half \ud83d a character", r"half \u{d83d} a character"),
        ("word\u00adbreak", r"word\u{ad}break"),
        ("\ufefftext\ufeff", "\ufefftext\\u{feff}"),
        ("x\u3164y", r"x\u{3164}y"),
    ],
)
def test_what_hides_is_written_out(text, expected):
    assert visible(text) == expected
    assert visible(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text\twith a tab\nand lines\r\n",
        "👨\u200d👩\u200d👧 👩🏽\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 ☕\ufe0e 🏳\ufe0f\u200d🌈",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "क्\u200dष",
        "คำ\u200bไทย",
        "葛\U000e0100城 神\ufe00",
        "שלום\u200f, \u2067שלום\u2069",
        "\x1b[1;31mred\x1b[0m",
        "page\x0cbreak",
        "naïve — “quoted” … 20\u00a0€",
    ],
)
def test_honest_characters_stay_and_raise_no_suspicion(text):
    assert visible(text) is text
    assert suspicious(text) == ()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("one\u200b two", ()),
        ("one\u200btwo", ("zero_width",)),
        ("one \u200b\u200b two", ("zero_width",)),
        (" \u200b".join("abcdefg"), ("zero_width",)),
        ("Donau\u00addampfer", ()),
        ("a \u2066b\u2069 c", ("bidi",)),
        ("שלום \u2066b\u2069", ()),
        ("שלום \u2066b", ("bidi",)),
        ("שלום \u202eb\u202c", ("bidi",)),
        ("🏴\U000e0067", ("tag_characters",)),
        ("❤\ufe0f\ufe0f", ("variation_selectors",)),
        ("\x1b[8mgone", ("control_characters",)),
    ],
)
def test_an_accident_of_copying_is_told_from_a_message(text, kinds):
    assert suspicious(text) == kinds


@pytest.mark.parametrize("text", ["20 μs", "Δt", "α-test", "IT-отдел", "κόσμος and world", "Москва Moscow"])
def test_two_alphabets_beside_each_other_are_fine(text):
    assert suspicious(text) == ()


@pytest.mark.parametrize("text", ["p\u0430ypal", "\u0410pple", "G\u03bf\u03bfgle"])
def test_two_alphabets_within_a_word_are_not(text):
    assert suspicious(text) == ("homoglyphs",)
