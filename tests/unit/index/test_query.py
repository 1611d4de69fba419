"""What a question is looked up by; any string is one."""

import pytest

from carrel.index.query import LONGEST_QUERY, MOST_WORDS, plan


def test_a_question_is_its_words_without_those_that_only_ask():
    made = plan("What did they decide about the deploys?")
    assert made.words == {"english": ("decid", "deploy")}


def test_each_language_that_occurs_reads_the_question_its_own_way():
    made = plan("die Häuser", languages=("english", "german"))
    assert made.words == {"english": ("die", "hauser"), "german": ("haus",)}


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("use gpt-4o here", ("gpt", "4o")),
        ("see src/lib/api.ts", ("src", "lib", "api", "ts")),
        ("ERR_CONNECTION_REFUSED again", ("err", "connection", "refused")),
        ('he said "to be or not"', ("to", "be", "or", "not")),
        ("the “quick fox” there", ("quick", "fox")),
        ("call `index.sync` now", ("index", "sync")),
        ('only "one" word', ("one",)),
        ("ana@example.org", ("ana", "example", "org")),
    ],
)
def test_what_is_quoted_or_typed_with_signs_is_looked_for_as_it_stands(text, phrase):
    assert phrase in plan(text).phrases


@pytest.mark.parametrize("text", ["", "   ", "?!…", '"', '""', "()[]{}", "\n\n", "-/-"])
def test_a_question_of_nothing_looks_up_nothing(text):
    assert plan(text).is_empty
    assert plan(text).wanted == frozenset()


@pytest.mark.parametrize("text", ["who are you", "to be or not to be", "the"])
def test_a_question_of_small_words_is_looked_up_as_it_is_typed(text):
    made = plan(text)
    assert not made.is_empty
    assert made.wanted == frozenset(text.split())


@pytest.mark.parametrize(
    "text", ["a\0b", "\ud800", "x\udfff y", "AND OR NOT", "field:value", "a^2 ~b*", "[a TO b]"]
)
def test_nothing_in_a_question_is_a_command_or_an_error(text):
    assert plan(text) == plan(text)


def test_a_huge_question_is_looked_at_only_so_far():
    made = plan(" ".join(f"word{number}" for number in range(200_000)))
    assert len(made.plain) == MOST_WORDS
    assert len(made.meaning) <= LONGEST_QUERY


def test_speakers_are_known_by_their_full_or_first_name():
    speakers = ("Caroline", "Ben Miller", "Zoë", "user", "assistant", "Al", "")
    assert plan("When did caroline's group meet?", speakers=speakers).speakers == ("Caroline",)
    assert plan("what BEN said", speakers=speakers).speakers == ("Ben Miller",)
    assert plan("did zoe call", speakers=speakers).speakers == ("Zoë",)
    assert plan("what did the user say", speakers=speakers).speakers == ()
    assert plan("ask Miller", speakers=speakers).speakers == ()


def test_a_secret_keeps_the_words_that_it_is_known_by():
    asked = "mysql -u root --password=07j2LK3mBTzOYBOPW7ze shop"
    assert plan(asked, speakers=("Root Password",)).meaning == asked


def test_the_names_of_speakers_are_no_part_of_the_meaning():
    assert plan("When did Caroline's group meet?", speakers=("Caroline",)).meaning.split() == [
        "When", "did", "group", "meet?",
    ]  # fmt: skip
    assert plan("Caroline", speakers=("Caroline",)).meaning == "Caroline"


def test_scripts_without_spaces_are_looked_up_in_pairs():
    made = plan("東京タワー gpt")
    assert made.grams == ("東京", "京タ", "タワ", "ワー")
    assert made.words == {"english": ("gpt",)}
