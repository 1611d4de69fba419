"""What Records promise of dreams, and of what they are made from."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from carrel.errors import Conflict, NotFound
from carrel.records import Records
from carrel.records.content import RecordTooLarge
from carrel.records.dreams import DreamOvertaken, UnknownDream
from carrel.records.recalls import QUARTER, WORTH
from carrel.testing.contracts.records.samples import (
    HOSTILE,
    HOUR,
    NOW,
    TIERS,
    dream,
    promotion,
    recalled,
    remembered,
    turned,
)


class DreamsContract:
    """Dreams and their promotions, each of which happens once."""

    def test_a_dream_comes_back_as_it_was(self, records: Records) -> None:
        everything = dream(
            promotion(
                trust="agent", kind="decision", subject="Ana", session="s1", evidence=("m1", "m2"), source="p"
            ),
            promotion("k2"),
            counts={"candidates": 7, "blocked": 1},
            reason="r",
            existed=True,
            mark=4,
            changes=(5, 6),
            problem="p",
            ended=NOW,
        )
        planned = records.dreams.plan(everything, after=0)
        assert planned == replace(everything, id=planned.id)
        assert records.dreams.get(planned.id) == planned
        assert records.dreams.list() == [planned]

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_dream_may_hold_any_text(self, records: Records, text: str) -> None:
        odd = promotion(text, text=text, kind=text, subject=text, session=text, evidence=(text,), source=text)
        names = {"agent": text, "path": text, "diary": text, "heading": text, "reason": text, "problem": text}
        planned = records.dreams.plan(dream(odd, **names), after=0)
        assert records.dreams.get(planned.id) == planned
        assert planned.promotions == (odd,)
        assert records.dreams.promoted(text) == {text: None}

    def test_a_dream_that_is_too_large_leaves_nothing(self, records: Records) -> None:
        with pytest.raises(RecordTooLarge):
            records.dreams.plan(dream(promotion(), promotion("k2", text="x" * 100_000)), after=0)
        assert records.dreams.list() == []
        assert records.dreams.promoted("kate") == {}

    def test_of_two_who_dream_at_once_one_is_told(self, records: Records) -> None:
        first = records.dreams.plan(dream(promotion()), after=0)
        with pytest.raises(DreamOvertaken) as refusal:
            records.dreams.plan(dream(promotion("k2")), after=0)
        assert isinstance(refusal.value, Conflict)
        assert refusal.value.code == "dream_overtaken"
        assert refusal.value.hint
        assert records.dreams.list() == [first]
        other = records.dreams.plan(dream(promotion(), agent="ana"), after=0)
        assert records.dreams.plan(dream(promotion("k2")), after=first.id).id > other.id

    def test_nothing_is_promoted_twice_until_it_was_taken_back(self, records: Records) -> None:
        first = records.dreams.plan(dream(promotion()), after=0)
        with pytest.raises(DreamOvertaken):
            records.dreams.plan(dream(promotion()), after=first.id)
        records.dreams.update(turned(first, "promoted", state="done"))
        with pytest.raises(DreamOvertaken):
            records.dreams.plan(dream(promotion()), after=first.id)
        assert records.dreams.promoted("kate") == {"k1": None}
        records.dreams.update(turned(first, "reverted", state="reverted", ended=NOW))
        assert records.dreams.promoted("kate") == {"k1": NOW}
        again = records.dreams.plan(dream(promotion()), after=first.id)
        assert records.dreams.promoted("kate") == {"k1": None}
        records.dreams.update(turned(again, "reverted", state="reverted", ended=NOW + HOUR))
        assert records.dreams.promoted("kate") == {"k1": NOW + HOUR}
        assert records.dreams.counts("kate") == {"planned": 0, "promoted": 0, "dropped": 0, "reverted": 2}

    def test_what_was_dropped_may_be_planned_again(self, records: Records) -> None:
        first = records.dreams.plan(dream(promotion(), promotion("k2")), after=0)
        kept = (replace(first.promotions[0], state="dropped"), replace(first.promotions[1], state="promoted"))
        records.dreams.update(replace(first, promotions=kept, state="done"))
        assert records.dreams.promoted("kate") == {"k2": None}
        assert records.dreams.plan(dream(promotion()), after=first.id).id > first.id

    def test_dreams_are_listed_newest_first(self, records: Records) -> None:
        ids = []
        for number in range(4):
            planned = records.dreams.plan(dream(promotion(f"k{number}")), after=ids[-1] if ids else 0)
            ids.append(planned.id)
            if number % 2:
                records.dreams.update(turned(planned, "promoted", state="done"))
        other = records.dreams.plan(dream(agent="ana"), after=0)

        def numbers(**wanted: Any) -> list[int]:
            return [each.id for each in records.dreams.list(**wanted)]

        assert numbers() == [other.id, *ids[::-1]]
        assert numbers(agent="kate") == ids[::-1]
        assert numbers(agent="kate", states=("planned",)) == [ids[2], ids[0]]
        assert numbers(states=("planned", "done"), agent="kate", before=ids[2]) == [ids[1], ids[0]]
        assert numbers(agent="kate", limit=1) == [ids[3]]
        assert numbers(limit=0) == numbers(agent="nobody") == numbers(limit=-(2**80)) == []

    @pytest.mark.parametrize("number", [0, -1, 7, 2**63, -(2**80)])
    def test_a_dream_that_nobody_knows_is_not_found(self, records: Records, number: int) -> None:
        with pytest.raises(UnknownDream) as refusal:
            records.dreams.get(number)
        assert isinstance(refusal.value, NotFound)
        assert refusal.value.code == "unknown_dream"
        assert refusal.value.hint
        with pytest.raises(UnknownDream):
            records.dreams.update(dream(id=number))

    def test_a_dream_belongs_to_the_transaction_it_is_planned_in(self, records: Records) -> None:
        def fail() -> None:
            with records.transaction():
                records.dreams.plan(dream(promotion()), after=0)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert records.dreams.list() == []
        assert records.dreams.promoted("kate") == {}


class RememberedContract:
    """Recalls of one text in one place, added up."""

    def test_recalls_of_one_text_in_one_place_are_one(self, records: Records) -> None:
        records.recalls.add(
            [
                recalled(score=0.25),
                recalled(score=0.5, at=NOW - HOUR, query="other"),
                recalled(score=1.0, at=NOW - 2 * HOUR, session="s2", who="tool"),
            ]
        )
        (found,) = remembered(records)
        assert (found.tier, found.path, found.line, found.text) == (
            "profile", "memory/kate.md", 3, "- Ana uses a Samsung.",
        )  # fmt: skip
        assert (found.hits, found.worth, found.last, found.odd) == (3, 1.75 * WORTH, NOW, 0)
        assert len(found.queries) == 2
        micro = timedelta(microseconds=1)
        moments = [(NOW - n * HOUR - datetime(1970, 1, 1, tzinfo=UTC)) // micro for n in range(3)]
        assert found.quarters == {moment // QUARTER for moment in moments}

    def test_another_place_another_text_and_another_tier_are_another(self, records: Records) -> None:
        events = [
            recalled(),
            recalled(line=4),
            recalled(path="p"),
            recalled(text="t"),
            recalled(tier="journal"),
            recalled(),
        ]
        records.recalls.add(events)
        records.recalls.add([recalled(agent="ana"), recalled(tier="document"), recalled(tier="knowledge")])
        found = remembered(records)
        assert [each.hits for each in found] == [2, 1, 1, 1, 1]
        assert len(remembered(records, tiers=("journal",))) == 1
        assert remembered(records, tiers=()) == []
        assert len(remembered(records, limit=2)) == 2
        assert remembered(records, limit=-1) == []

    def test_equal_queries_have_one_number_wherever_they_led(self, records: Records) -> None:
        records.recalls.add([recalled(), recalled(text="t")])
        records.recalls.add([recalled(query="Q"), recalled(text="t")])
        found = {each.text: each.queries for each in remembered(records)}
        assert found["t"] < found["- Ana uses a Samsung."]
        assert len(found["- Ana uses a Samsung."]) == 2

    def test_what_was_recalled_later_or_before_does_not_count(self, records: Records) -> None:
        micro = timedelta(microseconds=1)
        records.recalls.add([recalled(at=NOW + micro), recalled(at=NOW), recalled(at=NOW - HOUR)])
        assert [each.hits for each in remembered(records)] == [2]
        assert [each.hits for each in remembered(records, after=NOW - HOUR)] == [1]
        assert remembered(records, after=NOW) == []
        assert remembered(records, until=NOW - 2 * HOUR) == []

    @pytest.mark.parametrize(("score", "worth"), [(-0.5, 0), (1.5, WORTH), (1e300, WORTH), (-1e300, 0)])
    def test_a_score_counts_from_0_to_1_and_is_told_where_it_was_none(
        self, records: Records, score: float, worth: int
    ) -> None:
        records.recalls.add([recalled(score=score), recalled(score=1.0)])
        (found,) = remembered(records)
        assert (found.worth, found.odd, found.hits) == (worth + WORTH, 1, 2)

    def test_the_order_in_which_recalls_were_added_changes_nothing(self, records: Records) -> None:
        events = [recalled(score=n / 7, query=f"q{n % 3}", at=NOW - n * HOUR) for n in range(8)]
        records.recalls.add(events)
        (one,) = remembered(records)
        records.recalls.add(replace(event, path="p") for event in events[::-1])
        other = next(each for each in remembered(records) if each.path == "p")
        assert other == replace(one, path="p")

    @pytest.mark.parametrize("text", HOSTILE)
    def test_what_is_remembered_may_be_any_text(self, records: Records, text: str) -> None:
        event = recalled(agent=text, query=text, path=text, text=text)
        records.recalls.add([event, event])
        (found,) = records.recalls.remembered(text, tiers=TIERS, until=NOW)
        assert (found.path, found.text, found.hits) == (text, text, 2)

    def test_promotions_that_are_purged_say_nothing_any_more(self, records: Records) -> None:
        number = records.dreams.plan(dream(promotion(subject="Ana"), promotion("k2")), after=0).id
        keys = [each.key for each in records.dreams.get(number).promotions]
        assert records.dreams.purge(keys[:1]) == 1
        first, *others = records.dreams.get(number).promotions
        assert (first.text, first.subject, first.state) == ("", "", "dropped")
        assert first.key not in keys
        assert [each.key for each in others] == keys[1:]
        assert records.dreams.purge(keys[:1]) == 0
