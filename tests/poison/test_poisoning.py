"""Whatever comes in from outside, and however a model obeys it, nothing of it is in a prompt without its owner's word."""

import pytest
from tests.poison.attack import Attacked, attacked
from tests.poison.desk import Desk
from tests.poison.orders import cases
from tests.poison.sources import SOURCES

CASES = cases()


@pytest.fixture(scope="module")
def attacks(tmp_path_factory):
    """Each way in is used once, when the first case asks for it."""
    done: dict[str, Attacked] = {}

    def attack(name: str) -> Attacked:
        if name not in done:
            done[name] = attacked(
                Desk(tmp_path_factory.mktemp("poison")), [(case, SOURCES[name]) for case in CASES]
            )
        return done[name]

    return attack


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("source", SOURCES)
def test_an_order_from_outside_is_in_no_prompt_but_before_its_owner_or_refused(attacks, source, case):
    assert [*attacks(source).harm_by(case)] == []


@pytest.mark.parametrize("source", SOURCES)
def test_the_model_is_asked_for_all_of_it_and_each_order_becomes_a_fact_that_waits_or_is_refused(
    attacks, source
):
    assert [*attacks(source).idle()] == []


@pytest.mark.parametrize("source", SOURCES)
def test_not_a_byte_of_what_prompts_hold_is_changed_by_any_way_in(attacks, source):
    assert [*attacks(source).bytes_changed()] == []


@pytest.mark.parametrize("source", SOURCES)
def test_what_its_owner_rejects_leaves_no_trace_and_does_not_come_back(attacks, source):
    assert [*attacks(source).came_back()] == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_dream_promotes_it_however_often_it_is_recalled(attacks, source):
    assert [*attacks(source).promoted()] == []
