"""A session's title: what the user said first, short enough for a list, and in their own words."""

import pytest

from carrel.sessions.titles import TITLE_CHARACTERS, title_from


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Plan the trip to Bogota", "Plan the trip to Bogota"),
        ("plan the trip to Bogota", "Plan the trip to Bogota"),
        ("Hi there, can you plan the trip?", "Can you plan the trip?"),
        ("Good morning! What is due today?", "What is due today?"),
        ("Hello!\n\nWhat is due today?", "What is due today?"),
        ("Hi", "Hi"),
        ("Highlight the risks", "Highlight the risks"),
        ("Heyday of jazz", "Heyday of jazz"),
        ("# Release notes\n\nWrite them.", "Release notes"),
        ("> quoted\n", "Quoted"),
        ("**Important:** renew the *passport*", "Important: renew the passport"),
        ("Run `make test`, please", "Run make test, please"),
        ("```python\nprint(1)\n```\nWhy does this fail?", "Print(1)"),
        ("\n\n   \n  Where is the key?  \n", "Where is the key?"),
        ("¿Dónde está la llave?", "¿Dónde está la llave?"),
        ("鍵はどこですか", "鍵はどこですか"),
        ("a\tb\x00c\x1b[31md", "A b c [31md"),
        ("one\u2028two", "One"),
        ("\u202egnp.exe", "Gnp.exe"),
        ("line one\r\nline two", "Line one"),
        ("", ""),
        (" \n\t\n", ""),
        ("\0\0", ""),
        ("```\n```", ""),
    ],
)
def test_a_title_is_the_first_line_that_says_something(text: str, title: str) -> None:
    assert title_from(text) == title


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Why does read_file fail on my_notes.md?", "Why does read_file fail on my_notes.md?"),
        ("Rename __init__ to setup", "Rename __init__ to setup"),
        ("What is 2 * 3 * 4?", "What is 2 * 3 * 4?"),
    ],
)
def test_names_and_sums_are_not_taken_for_markup(text: str, words: str) -> None:
    assert title_from(text) == words


def test_a_long_line_is_cut_at_a_word_and_says_so() -> None:
    title = title_from(
        "Please compare the three offers for the new office, with prices and dates of delivery"
    )
    assert title == "Compare the three offers for the new office, with prices…"
    assert len(title) <= TITLE_CHARACTERS


def test_a_long_word_is_cut_where_the_room_ends() -> None:
    title = title_from("x" * 5_000_000)
    assert title == "X" + "x" * (TITLE_CHARACTERS - 2) + "…"


@pytest.mark.parametrize(
    "text", ["ß" * 100, "ŉ " * 60, "ﬃ" * 60, "🐙" * 100, "a " * 60, "," * 100, "#" * 100_000]
)
def test_no_title_has_more_than_sixty_characters(text: str) -> None:
    assert len(title_from(text)) <= TITLE_CHARACTERS == 60
