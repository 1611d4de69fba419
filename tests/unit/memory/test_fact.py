"""The text of a fact: on one line, and folded as two of them are compared."""

import pytest

from carrel.memory.fact import fact_id, key_of, normalise


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("- The user prefers tea.", "The user prefers tea."),
        ("# Heading\nand more", "Heading and more"),
        ("> * quoted", "quoted"),
        ("  two\t spaces\r\nand lines ", "two spaces and lines"),
        ("```\nrm -rf\n```", "` rm -rf `"),
        ("a\x00b\x1b[31mc\u202ed\u2028e\ufefff", "a b [31mc d e f"),
        ("half \ud800 a character", "half ? a character"),
        ("e\u0301", "é"),
        ("#5 is the first issue", "#5 is the first issue"),
        ("-5 degrees", "-5 degrees"),
        ("", ""),
    ],
)
def test_a_fact_is_one_line_without_marks_of_its_own(given, line):
    assert normalise(given) == line
    assert normalise(line) == line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user prefers tea.", "the  USER prefers tea"),
        ("“Ana” uses a Samsung!", "Ana uses a Samsung"),
        ("Caf\u00e9 at 9", "Cafe\u0301 at 9."),
        ("The **gate** is `closed`.", "the gate is closed"),
        ("Straße", "STRASSE"),
        ("It\u2019s late", "It's late"),
    ],
)
def test_the_same_words_have_the_same_key(one, other):
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Uses C++", "Uses C"),
        ("Uses C#", "Uses C"),
        ("Costs 1.5", "Costs 15"),
        ("Reads .env", "Reads env"),
        ("It is -5", "It is 5"),
        ("x > 5", "x < 5"),
        ("Is it Friday?", "It is Friday"),
        ("likes 👍", "likes 👎"),
        ("años", "anos"),
        ("a_b", "a b"),
    ],
)
def test_what_means_something_else_has_another_key(one, other):
    assert key_of(one) != key_of(other)


def test_a_key_is_never_empty_where_there_is_text():
    assert key_of("...") == "..."
    assert key_of("!?") == "?"


def test_an_id_is_the_same_for_the_same_words_of_the_same_messages_in_any_order():
    own = fact_id("kate", "s1", ("m1", "m2"), "The user prefers tea.")
    assert own == fact_id("kate", "s1", ["m2", "m1"], "- The user prefers  tea.")
    assert (
        len(
            {
                own,
                fact_id("bob", "s1", ("m1", "m2"), "The user prefers tea."),
                fact_id("kate", "s2", ("m1", "m2"), "The user prefers tea."),
                fact_id("kate", "s1", ("m1",), "The user prefers tea."),
                fact_id("kate", "s1", ("m1", "m2"), "The user prefers tea"),
            }
        )
        == 5
    )
