"""Whether what was said supports a fact: half of its words, and every name and number."""

from datetime import date

import pytest

from carrel.memory.support import supports

DAY = {date(2026, 4, 24)}


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("The user's name is Ana.", "My name is Ana."),
        ("The user prefers short replies on WhatsApp.", "please keep replies short on whatsapp"),
        ("The team decided to use Postgres 16.", "ok, let's go with Postgres 16 then"),
        ("The user gets up at 7:00.", "I get up at seven"),
        ("Ana uses a Samsung.", "Ana's phone is a samsung, she uses it daily"),
        ("El usuario prefiere respuestas cortas.", "Prefiero respuestas cortas"),
        ("Der Nutzer wohnt in Köln.", "Ich wohne in Köln."),
        ("用户喜欢喝绿茶。", "我喜欢喝绿茶"),
        ("The config lives in src/app.toml.", "look at src/app.toml, the config is there"),
    ],
)
def test_what_was_said_supports_it_in_other_words(fact, said):
    assert supports(fact, [said])


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("The user lives in Paris.", "I live in Lisbon."),
        ("The team uses Postgres 17.", "We use Postgres 16."),
        ("The user has three dogs.", "What is the weather like?"),
        ("The user's sister is called Marta.", "My sister visited us."),
        ("The launch is on 2026-05-01.", "The launch is soon."),
        ("The.", "The launch is soon."),
        ("", "The launch is soon."),
        ("The user prefers tea.", ""),
    ],
)
def test_what_was_made_up_is_not_supported(fact, said):
    assert not supports(fact, [said])


def test_several_messages_support_it_together():
    said = ["Which database do we take for the invoices?", "Postgres."]
    assert supports("Postgres is the database for the invoices.", said)
    assert not supports("Postgres is the database for the invoices.", said[1:])


def test_a_day_may_be_worked_out_from_what_was_said_and_when():
    assert supports("The launch is on 2026-05-01.", ["The launch is next Friday."], DAY)
    assert supports("The launch is on 3 May 2026.", ["The launch is on 3 May."], DAY)
    assert not supports("The launch is on 2031-05-01.", ["The launch is next Friday."], DAY)
    assert not supports("The launch is on 2026-05-01.", ["The launch is soon."], DAY)


def test_nouns_with_capitals_are_no_names_where_all_of_them_have_one():
    said = "Ich trinke am Morgen immer gerne Tee mit etwas Honig und Zitrone."
    assert supports("Der Nutzer trinkt morgens Tee mit Honig.", [said])


def test_a_huge_message_costs_little_and_its_end_counts():
    said = "word " * 1_000_000 + "My name is Ana."
    assert supports("The user's name is Ana.", [said])
