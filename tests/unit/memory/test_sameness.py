"""Whether two texts say the same: in doubt they do not, since a false duplicate loses what was learnt."""

import pytest

from carrel.memory.sameness import corrected_by, is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user prefers short replies.", "User prefer short reply"),
        ("The team uses Postgres.", "team uses the Postgres"),
        ("The user's favourite colour is green.", "Green is the user's favourite colour."),
        ("Ana ist die Chefin.", "Die Chefin ist Ana"),
        ("The user now also lives in Quito.", "The user lives in Quito."),
    ],
)
def test_order_around_is_articles_and_plurals_do_not_matter(one, other):
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana reports to Luis.", "Luis reports to Ana."),
        ("Prefers tea over coffee.", "Prefers coffee over tea."),
        ("The user likes tea.", "The user does not like tea."),
        ("The port is 8080.", "The port is 8081."),
        ("The user works at Acme.", "The user worked at Acme."),
        ("Ana is under Luis.", "Luis is under Ana."),
        ("Build, test and deploy.", "Deploy, test and build."),
        ("Tea is better than coffee.", "Coffee is better than tea."),
        ("Uses C.", "Uses C++."),
        ("The team uses Postgres.", "The team uses Postgres 16."),
        ("Always deploy on Fridays.", "Never deploy on Fridays."),
    ],
)
def test_who_whom_numbers_tense_and_negation_matter(one, other):
    assert not is_same(one, other)


def test_a_correction_is_of_what_begins_alike_and_ends_otherwise():
    known = [
        "The server is slow.",
        "The server is in Rome.",
        "The user's name is Ana.",
        "The team's port: 80.",
    ]
    assert corrected_by("The server is in Bonn.", known) == 1
    assert corrected_by("The server is fast.", known) == 0
    assert corrected_by("The user's name is Anna.", known) == 2
    assert corrected_by("The team's port: 8080.", known) == 3


@pytest.mark.parametrize(
    "text", ["The gate is closed.", "The server is in Rome.", "The user's dog is Rex.", "", "The"]
)
def test_what_is_known_or_about_something_else_corrects_nothing(text):
    assert corrected_by(text, ["The server is in Rome.", "The user's name is Ana."]) is None
