"""What a statement is about, as tags."""

import pytest

from carrel.memory.concepts import LONGEST_TAG, concept_tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("Luis prefers Spanish but is fine", ("luis", "prefers", "spanish", "fine")),
        ("User's timezone is America/Bogota", ("user", "timezone", "america", "bogota")),
        ("El usuario no quiere que se le llame por teléfono", ("usuario", "quiere", "llame", "teléfono")),
        (
            "Der Nutzer möchte nicht mit dem Telefon angerufen werden",
            ("nutzer", "möchte", "telefon", "angerufen"),
        ),
        ("L'homme n'aime pas les réunions d\u2019équipe", ("homme", "aime", "réunions", "équipe")),
        ("O usuário não gosta de reuniões", ("usuário", "gosta", "reuniões")),
        ("They're sure we don't", ("sure",)),
    ],
)
def test_words_that_say_something_are_kept_in_five_languages(text, tags):
    assert concept_tags(text) == tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("update_session_index in src/app.py", ("update_session_index", "src", "app.py")),
        ("C++, C# and node.js on gpt-4o", ("c++", "c#", "node.js", "gpt-4o")),
        ("`MEMORY.md` **is** _full_", ("memory.md", "full")),
        ("AI on a TV", ("ai", "tv")),
    ],
)
def test_identifiers_stay_whole(text, tags):
    assert concept_tags(text) == tags


def test_numbers_dates_and_encoded_data_are_no_concepts():
    assert concept_tags(f"2026-04-23 12345 3.14 7 {'a1' * LONGEST_TAG} x") == ()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("向量数据库", ("向量", "量数", "数据", "据库")),
        ("我们的项目", ("项目",)),
        ("東京で働いています", ("東京", "働")),
        ("서울에 산다", ("서울", "울에", "산다")),
        ("मुझे हिन्दी पसंद है", ("मुझे", "हिन्दी", "पसंद", "है")),
    ],
)
def test_scripts_of_all_kinds_have_tags(text, tags):
    assert concept_tags(text) == tags


def test_there_are_at_most_eight_each_once_and_in_order():
    assert concept_tags("h g f e d1 c1 b1 a1 a1 z1 y1 x1 w1 v1") == (
        "d1",
        "c1",
        "b1",
        "a1",
        "z1",
        "y1",
        "x1",
        "w1",
    )


def test_case_and_form_make_no_difference():
    assert concept_tags("PYTHON \uff30\uff59\uff54\uff48\uff4f\uff4e python Cafe\u0301 café") == (
        "python",
        "café",
    )


@pytest.mark.parametrize("text", ["", "\0\ud800", "the of and", "...", "'" * 1000, "🐙"])
def test_text_that_says_nothing_has_no_tags(text):
    assert concept_tags(text) == ()


def test_of_a_very_long_text_the_beginning_is_read():
    assert concept_tags("the " * 10_000_000 + "end") == ()
    assert concept_tags("start " + "x" * 10_000_000) == ("start",)
