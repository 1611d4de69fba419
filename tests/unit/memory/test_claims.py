"""A model's answer: read as far as it can be, whatever it is."""

import json

import pytest

from carrel.memory.claims import MOST_FACTS, Answer, Claim, read_answer

FACT = {"text": "The user prefers tea.", "layer": "experience", "kind": "preference", "evidence": ["m1"]}
CLAIM = Claim(text="The user prefers tea.", layer="experience", kind="preference", evidence=("m1",))


def answer(*facts):
    return json.dumps({"facts": list(facts)})


@pytest.mark.parametrize(
    "text",
    [
        answer(FACT),
        f"```json\n{answer(FACT)}\n```",
        f"Here is what I found [as asked]:\n\n{answer(FACT)}\n\nLet me know!",
        json.dumps([FACT]),
        f"<think>Maybe {{this}} or {{that}}?</think>{answer(FACT)}",
        f"A draft: {answer()}\n\nThe answer: {answer(FACT)}",
    ],
)
def test_the_json_is_found_in_whatever_stands_around_it(text):
    assert read_answer(text) == Answer(claims=(CLAIM,))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("The user prefers tea.", "holds no JSON object with a list of facts"),
        ('{"facts": [{"text": "The user', "holds no JSON object with a list of facts"),
        ('{"facts": [{"text": "a",}]}', "holds no JSON object with a list of facts"),
        ('{"facts": "none"}', "holds no JSON object with a list of facts"),
        ("null", "holds no JSON object with a list of facts"),
        ("[" * 100_000, "holds no JSON object with a list of facts"),
        ("{" * 100_000, "holds no JSON object with a list of facts"),
    ],
)
def test_what_is_no_list_of_facts_is_no_answer(text, problem):
    assert read_answer(text) == Answer(problem=problem)


def test_nothing_to_remember_is_an_answer():
    assert read_answer('{"facts": []}') == Answer()


def test_ten_thousand_facts_are_cut_and_counted():
    many = read_answer(answer(*({**FACT, "text": f"Fact {n}."} for n in range(10_000))))
    assert len(many.claims) == MOST_FACTS
    assert many.cut == 10_000 - MOST_FACTS
    assert many.claims[0].text == "Fact 0."


def test_of_an_answer_that_was_cut_short_the_whole_facts_count():
    text = answer(FACT, {**FACT, "text": "The user lives in"})[:-20]
    assert read_answer(text, is_cut=True) == Answer(claims=(CLAIM,))
    assert read_answer(text).problem
    assert read_answer('{"facts": [{"te', is_cut=True).problem


def test_what_is_no_fact_is_counted():
    odd = read_answer(answer(FACT, "tea", 5, None, {}, {"text": 7}, {"text": "  "}, ["a"]))
    assert odd == Answer(claims=(CLAIM,), odd=7)


def test_fields_of_the_wrong_kind_are_as_if_they_were_not_there():
    given = {
        "text": "- The gate\ncloses at nine.",
        "layer": 3,
        "kind": ["x"],
        "subject": {},
        "evidence": {"a": 1},
        "valid_from": "soon",
        "valid_until": 2026,
        "replaces": None,
    }
    assert read_answer(answer(given)).claims == (Claim(text="The gate closes at nine."),)


@pytest.mark.parametrize(
    ("given", "kind", "layer"),
    [
        ({}, "note", "project"),
        ({"kind": "Preference"}, "preference", "experience"),
        ({"kind": "user"}, "user", "experience"),
        ({"kind": "skill", "layer": "B"}, "skill", "project"),
        ({"kind": "workflow", "layer": "A"}, "procedure", "experience"),
        ({"kind": "person"}, "entity", "project"),
        ({"kind": "nonsense"}, "note", "project"),
    ],
)
def test_kinds_and_layers_are_understood_in_other_words(given, kind, layer):
    (claim,) = read_answer(answer({"text": "x1", **given})).claims
    assert (claim.kind, claim.layer) == (kind, layer)


def test_an_event_has_a_category_by_its_kind_or_by_its_own_word():
    said = [
        {"text": "x1", "kind": "outcome"},
        {"text": "x2", "kind": "event", "category": "Decision"},
        {"text": "x3", "kind": "event"},
    ]
    assert [(c.kind, c.category) for c in read_answer(answer(*said)).claims] == [
        ("event", "outcome"),
        ("event", "decision"),
        ("event", ""),
    ]


def test_evidence_may_be_numbers_or_one_text():
    said = [{"text": "x1", "evidence": [1, "m2", "m2", None]}, {"text": "x2", "evidence": "m1, m3"}]
    assert [c.evidence for c in read_answer(answer(*said)).claims] == [("m1", "m2"), ("m1", "m3")]


def test_days_are_read_and_anything_else_is_no_day():
    said = {"text": "x1", "valid_from": "2026-05-01T10:00:00Z", "valid_until": "2026-13-01"}
    (claim,) = read_answer(answer(said)).claims
    assert (claim.valid_from, claim.valid_until) == ("2026-05-01", "")


def test_odd_characters_survive():
    (claim,) = read_answer('{"facts": [{"text": "half \\ud800 of \\u0000 it"}]}').claims
    assert claim.text == "half ? of it"
