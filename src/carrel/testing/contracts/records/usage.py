"""What Records promise of what models took."""

import math
from datetime import timedelta

import pytest

from carrel.records import Records
from carrel.records.usage import MOST_TOKENS, Total
from carrel.testing.contracts.records.samples import (
    HOSTILE,
    LATER,
    LEASE,
    NOW,
    spent,
)


class UsageContract:
    """Figures of turns, once each, added up as asked."""

    def test_what_a_turn_took_comes_back(self, records: Records) -> None:
        assert records.usage.last("kate", "s1") is None
        took = spent(cost=0.25, purpose="background", counted=93)
        records.usage.add(took, turn="t1")
        assert records.usage.last("kate", "s1") == took

    def test_the_same_turn_counts_once(self, records: Records) -> None:
        records.usage.add(spent(input=100), turn="t1")
        records.usage.add(spent(input=999), turn="t1")
        assert records.usage.total().input == 100
        records.usage.add(spent(input=10), turn="t2")
        records.usage.add(spent(input=10, session="s2"), turn="t1")
        records.usage.add(spent(input=10, agent="ana"), turn="t1")
        assert records.usage.total().input == 130
        assert records.usage.total().turns == 4

    def test_the_last_is_what_was_added_last_for_that_session(self, records: Records) -> None:
        records.usage.add(spent(output=1), turn="t9")
        records.usage.add(spent(output=2, at=NOW - LEASE), turn="t1")
        records.usage.add(spent(output=3, session="s2"), turn="t2")
        records.usage.add(spent(output=4, agent="ana"), turn="t3")
        last = records.usage.last("kate", "s1")
        assert last is not None
        assert last.output == 2

    def test_the_last_of_one_purpose_is_not_that_of_the_other(self, records: Records) -> None:
        records.usage.add(spent(output=1, counted=90), turn="t1")
        records.usage.add(spent(output=2, purpose="background"), turn="summary")
        turn, background = (records.usage.last("kate", "s1", purpose=own) for own in ("turn", "background"))
        assert turn == spent(output=1, counted=90)
        assert background == spent(output=2, purpose="background")
        assert records.usage.last("kate", "s1") == background
        assert records.usage.last("kate", "s2", purpose="turn") is None

    def test_nothing_adds_up_to_nothing(self, records: Records) -> None:
        assert records.usage.total() == Total(turns=0, input=0, cached=0, output=0, cost=None, unpriced=0)

    def test_sums_cover_what_is_asked_for(self, records: Records) -> None:
        records.usage.add(spent(cost=0.5), turn="1")
        records.usage.add(spent(cost=0.25, agent="ana", purpose="background"), turn="2")
        records.usage.add(spent(session="s2", at=LATER), turn="3")
        assert records.usage.total() == Total(
            turns=3, input=300, cached=240, output=21, cost=0.75, unpriced=1
        )
        assert records.usage.total(agent="kate").turns == 2
        assert records.usage.total(session="s1").turns == 2
        assert records.usage.total(purpose="background").cost == 0.25
        assert records.usage.total(since=LATER).turns == 1
        assert records.usage.total(since=LATER + timedelta(microseconds=1)).turns == 0
        assert records.usage.total(agent="kate", session="s2", purpose="turn", since=NOW).cost is None
        assert records.usage.total(agent="").turns == 0

    @pytest.mark.parametrize(
        ("told", "believed"),
        [
            ({"input": -5, "cached": -5, "output": -1}, (0, 0, 0, None)),
            ({"input": 10**30, "cached": 10**30, "output": 10**400}, (MOST_TOKENS, MOST_TOKENS, MOST_TOKENS, None)),
            ({"input": 10, "cached": 50}, (10, 10, 7, None)),
            ({"input": math.nan, "output": math.inf, "cost": math.nan}, (0, 0, 0, None)),
            ({"input": None, "output": "many", "cost": "free"}, (0, 0, 0, None)),
            ({"input": 12.7, "cached": True, "output": "7"}, (12, 1, 7, None)),
            ({"cost": -0.01}, (100, 80, 7, None)),
            ({"cost": math.inf}, (100, 80, 7, None)),
            ({"cost": 10**400}, (100, 80, 7, None)),
            ({"cost": 0}, (100, 80, 7, 0.0)),
        ],
    )  # fmt: skip
    def test_a_provider_that_lies_is_believed_within_reason(
        self, records: Records, told: dict[str, object], believed: tuple[int, int, int, float | None]
    ) -> None:
        records.usage.add(spent(**told), turn="t1")
        last = records.usage.last("kate", "s1")
        assert last is not None
        assert (last.input, last.cached, last.output, last.cost) == believed

    @pytest.mark.parametrize("text", HOSTILE)
    def test_names_may_be_any_text(self, records: Records, text: str) -> None:
        records.usage.add(spent(agent=text, session=text, model=text), turn=text)
        records.usage.add(spent(agent=text, session=text, model=text), turn=text)
        last = records.usage.last(text, text)
        assert last == spent(agent=text, session=text, model=text)
        assert records.usage.total(agent=text, session=text).turns == 1

    def test_of_a_long_model_name_the_beginning_is_kept(self, records: Records) -> None:
        records.usage.add(spent(model="m" * 10_000), turn="t1")
        last = records.usage.last("kate", "s1")
        assert last is not None
        assert 0 < len(last.model) < 1_000
