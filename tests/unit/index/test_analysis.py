"""Texts as they are searched: folded, in stems, in pairs of characters, and found again where they stand."""

import pytest

from carrel.index.analysis import GRAMS, PLAIN, find_words, fold, grams, part_scripts, unfold, words
from carrel.index.analysis.languages import ENGLISH, STEMMED, STOP_WORDS, tell_language


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Café", "Cafe"),
        ("Cafe\u0301", "Cafe"),
        ("Ελληνικά", "Ελληνικα"),
        ("ёлка", "елка"),
        ("\uff47\uff50\uff54", "gpt"),
        ("が", "が"),
        ("한국", "한국"),
        ("a\ud800b", "a\ufffdb"),
        ("a\0b", "a\0b"),
    ],
)
def test_accents_and_odd_forms_are_folded_and_letters_stay(text, folded):
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("typed", "written", "language"),
    [
        ("running", "runs", "english"),
        ("Häuser", "hauses", "german"),
        ("électriques", "electrique", "french"),
        ("canciones", "canción", "spanish"),
        ("книгами", "книги", "russian"),
    ],
)
def test_forms_of_a_word_are_one_word_with_and_without_accents(typed, written, language):
    assert words(fold(typed), language) == words(fold(written), language)


def test_words_that_ask_or_bind_are_left_out():
    assert words("When did Caroline go to the support group?", ENGLISH) == [
        "carolin",
        "go",
        "support",
        "group",
    ]


def test_no_month_is_taken_for_a_word_that_binds():
    assert words("8 May 2023, March", ENGLISH) == ["8", "may", "2023", "march"]


def test_every_language_has_words_that_survive_their_own_folding():
    for language in STEMMED:
        assert words(fold("test 123"), language)[-1] == "123"
    for language, small in STOP_WORDS.items():
        assert all(fold(word) == word.lower() == word for word in small), language


def test_what_is_typed_stays_as_it_is_but_for_case_and_accents():
    assert words("The GPT-4o reads Src/Lib/api.ts", PLAIN) == [
        "the",
        "gpt",
        "4o",
        "reads",
        "src",
        "lib",
        "api",
        "ts",
    ]


def test_scripts_without_spaces_are_parted_from_words():
    assert part_scripts(fold("東京タワーでgpt-4oを使う")) == (" gpt-4o ", "東京タワーで\nを使う")
    assert part_scripts("plain") == ("plain", "")


def test_runs_become_pairs_and_a_single_character_stays_one():
    assert grams("東京都\n犬") == ["東京", "京都", "犬"]
    assert set(words("東京", GRAMS)) == {"東", "東京", "京"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("We restarted the server and the database was slow after that", "english"),
        ("Wir haben den Server neu gestartet und die Datenbank war danach langsam", "german"),
        ("le serveur est tombe en panne et nous ne savons pas pourquoi", "french"),
        ("el servidor se cayo y no hay copia de la base de datos", "spanish"),
        ("o servidor caiu e nao temos uma copia do banco de dados", "portuguese"),
        ("Мы перезапустили сервер вчера", "russian"),
        ("επανεκκινησαμε τον διακομιστη", "greek"),
        ("gpt-4o", "english"),
        ("", "english"),
        ("\0\ufffd", "english"),
    ],
)
def test_the_language_is_told_by_script_and_small_words(text, language):
    assert tell_language(text) == language


def test_matches_are_found_where_they_stand_in_the_text_itself():
    text = "Die CAFE\u0301S von Straße und 東京タワー"
    wanted = frozenset([*words("cafes", "german"), *words("strasse", "german"), "京タ"])
    found = find_words(text, wanted, ["german"])
    assert [text[start:end] for start, end in found] == ["CAFE\u0301S", "Straße", "京タ"]


def test_neighbouring_matches_are_one_range():
    assert find_words("東京都", frozenset(["東京", "京都"]), [ENGLISH]) == ((0, 3),)


def test_ranges_of_a_folded_text_are_those_of_the_text():
    text = "e\u0301a\u0300b"
    assert list(unfold(text, [(0, 1), (1, 2), (2, 3)])) == [(0, 2), (2, 4), (4, 5)]
    assert list(unfold("abc", [(0, 2)])) == [(0, 2)]
