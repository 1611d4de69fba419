"""YAML is read as plain data, and nothing in it can cost more than its length."""

import time

import pytest

from carrel.plainyaml import BadYaml, load, load_with_lines


def test_mappings_lists_and_scalars_become_plain_data() -> None:
    text = "a: 1\nb:\n  - x\n  - 2.5\n  - true\n  - null\n  - 'true'\nc: {d: [e]}\n"
    assert load(text) == {"a": 1, "b": ["x", 2.5, True, None, "true"], "c": {"d": ["e"]}}


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_document_is_none(text: str) -> None:
    assert load(text) is None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2026-04-24", "2026-04-24"),
        ("2026-04-24T09:00:00Z", "2026-04-24T09:00:00Z"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-7", -7),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("True", True),
        ("~", None),
        ("1e3", 1000.0),
        ("1e309", "1e309"),
        (".nan", ".nan"),
        ("9" * 18, 10**18 - 1),
        ("9" * 30, "9" * 30),
        ("9" * 5000, "9" * 5000),
        ("<<", "<<"),
    ],
)
def test_a_plain_scalar_means_what_it_says(written: str, value: object) -> None:
    assert load(f"key: {written}") == {"key": value}


def test_keys_stay_the_text_that_was_written() -> None:
    assert load("1: a\ntrue: b\n2026-04-24: c\n") == {"1": "a", "true": "b", "2026-04-24": "c"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: &x 2\n", 2, "anchors"),
        ("a: &x [1]\nb: *x\n", 1, "anchors"),
        ("a: 1\nb: *x\n", 2, "aliases"),
        ("a: !!python/object:os.system x\n", 1, "tags"),
        ("a: 1\n\nb: !custom 2\n", 3, "tags"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 1\nb: 2\na: 3\n", 3, "given twice"),
        ("a:\n  b: 1\n  'b': 2\n", 3, "given twice"),
        ("? [a]\n: b\n", 1, "key"),
        ("? {a: 1}\n: b\n", 1, "key"),
        ("a: [1\n", 2, "expected"),
        ("a: 1\n\tb: 2\n", 2, ""),
        ("a: 1\nb: \x01\n", 2, "character"),
        ("a: 1\n\nb: \ud800\n", 3, "character"),
    ],
)
def test_what_is_refused_is_named_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadYaml) as caught:
        load(text, source="carrel.yaml")
    assert caught.value.code == "bad_yaml"
    assert caught.value.line == line
    assert words in caught.value.message
    assert caught.value.message.startswith(f"carrel.yaml, line {line}: ")


def test_a_text_over_the_limit_is_refused_unread() -> None:
    with pytest.raises(BadYaml, match="longer than 10 characters"):
        load("a" * 11, limit=10)


def test_sixteen_levels_are_read_and_seventeen_are_not() -> None:
    assert load("[" * 16 + "]" * 16) is not None
    with pytest.raises(BadYaml, match="16 deep"):
        load("[" * 17 + "]" * 17)


@pytest.mark.parametrize("unit", ["[", "{a: ", "- ", "? "])
def test_twenty_thousand_levels_are_refused_soon(unit: str) -> None:
    load("warm: up")
    start = time.process_time()
    with pytest.raises(BadYaml):
        load(unit * 20_000, limit=1_000_000)
    assert time.process_time() - start < 2


def test_the_line_of_every_value_is_known() -> None:
    _, lines = load_with_lines("a: 1\nb:\n  - x: 1\n    y: 2\n  - z\n")
    assert lines["a",] == 1
    assert lines["b",] == 2
    assert lines["b", 0, "y"] == 4
    assert lines["b", 1] == 5
