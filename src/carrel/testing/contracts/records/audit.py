"""What Records promise of what was done, and of what was recalled."""

import math
from datetime import timedelta

import pytest

from carrel.records import Records
from carrel.records.content import NAME_CHARACTERS, PAYLOAD_CHARACTERS, RecordTooLarge
from carrel.records.queue import AT_ONCE
from carrel.records.recalls import QUERY_CHARACTERS, TEXT_CHARACTERS
from carrel.testing.contracts.records.samples import (
    HOSTILE,
    LATER,
    LEASE,
    MUCH_LATER,
    NOW,
    recall,
)


class AuditContract:
    """Events as they were noted."""

    def test_an_event_comes_back_as_it_was_noted(self, records: Records) -> None:
        event = records.audit.note(
            at=NOW, actor="kate", action="write", target="MEMORY.md", session="s1", detail={"bytes": 3}
        )
        assert records.audit.events() == [event]
        assert (event.at, event.actor, event.action) == (NOW, "kate", "write")
        assert (event.target, event.session, event.detail) == ("MEMORY.md", "s1", {"bytes": 3})

    def test_the_same_event_twice_happened_twice(self, records: Records) -> None:
        one = records.audit.note(at=NOW, actor="kate", action="write")
        two = records.audit.note(at=NOW, actor="kate", action="write")
        assert records.audit.events() == [two, one]

    def test_the_newest_is_what_was_noted_last_whatever_the_clock_said(self, records: Records) -> None:
        records.audit.note(at=LATER, actor="kate", action="first")
        records.audit.note(at=NOW, actor="kate", action="second")
        assert [event.action for event in records.audit.events()] == ["second", "first"]

    def test_pages_lead_down_and_up_again_over_every_event(self, records: Records) -> None:
        everything = [records.audit.note(at=NOW, actor="kate", action=str(n)) for n in range(7)][::-1]
        down = [records.audit.events(limit=3)]
        while page := records.audit.events(limit=3, before=down[-1][-1].id):
            down.append(page)
        assert [event for page in down for event in page] == everything
        up = [down[-1]]
        while page := records.audit.events(limit=3, after=up[0][0].id):
            up.insert(0, page)
        assert [event for page in up for event in page] == everything
        assert records.audit.events(after=everything[4].id, before=everything[0].id) == everything[1:4]

    def test_events_are_found_by_action_and_target(self, records: Records) -> None:
        for action, target in [("write", "a"), ("write", "b"), ("trash", "a"), ("write", "a")]:
            records.audit.note(at=NOW, actor="kate", action=action, target=target)
        assert [event.target for event in records.audit.events(action="write")] == ["a", "b", "a"]
        assert [event.action for event in records.audit.events(target="a")] == ["write", "trash", "write"]
        assert len(records.audit.events(action="write", target="a", limit=1)) == 1
        assert records.audit.events(action="") == []

    def test_odd_bounds_are_answered(self, records: Records) -> None:
        event = records.audit.note(at=NOW, actor="kate", action="write")
        assert records.audit.events(limit=0) == records.audit.events(limit=-1) == []
        assert records.audit.events(before=2**70, after=-(2**70), limit=2**70) == [event]

    @pytest.mark.parametrize("text", HOSTILE)
    def test_what_is_noted_may_be_any_text(self, records: Records, text: str) -> None:
        records.audit.note(at=NOW, actor=text, action=text, target=text, session=text, detail={text: text})
        (event,) = records.audit.events(action=text, target=text)
        assert (event.actor, event.session, event.detail) == (text, text, {text: text})

    def test_more_than_an_event_may_hold_is_refused(self, records: Records) -> None:
        with pytest.raises(RecordTooLarge):
            records.audit.note(at=NOW, actor="k", action="a", detail={"text": "x" * PAYLOAD_CHARACTERS})
        with pytest.raises(RecordTooLarge):
            records.audit.note(at=NOW, actor="k", action="a", target="x" * (NAME_CHARACTERS + 1))
        assert records.audit.events() == []


class RecallsContract:
    """Recalls, all of a question or none."""

    def test_recalls_come_back_newest_first(self, records: Records) -> None:
        events = [recall(rank=1), recall(rank=2, who="tool"), recall(rank=3, at=LATER, who="chat")]
        records.recalls.add(events)
        assert records.recalls.since("kate", NOW) == events[::-1]
        assert records.recalls.since("kate", NOW, 2) == [events[2], events[1]]

    def test_recalls_are_counted_from_a_moment_on(self, records: Records) -> None:
        records.recalls.add([recall(), recall(), recall(at=LATER), recall(agent="ana")])
        assert records.recalls.count("kate", NOW) == 3
        assert records.recalls.count("kate", NOW + timedelta(microseconds=1)) == 1
        assert records.recalls.count("kate", MUCH_LATER) == 0
        assert records.recalls.count("ana", NOW) == 1
        assert records.recalls.since("kate", LATER) == [recall(at=LATER)]

    def test_recalls_are_added_all_or_none(self, records: Records) -> None:
        with pytest.raises(TypeError):
            records.recalls.add([recall(), recall(at=NOW.replace(tzinfo=None))])
        with pytest.raises(RecordTooLarge):
            records.recalls.add([recall(), recall(path="x" * (NAME_CHARACTERS + 1))])
        assert records.recalls.count("kate", NOW - LEASE) == 0

    def test_nothing_recalled_is_nothing_added(self, records: Records) -> None:
        records.recalls.add([])
        assert records.recalls.since("kate", AT_ONCE) == []

    def test_of_long_texts_the_beginning_is_kept(self, records: Records) -> None:
        records.recalls.add([recall(query="q" * 100_000, text="t" * 100_000)])
        (event,) = records.recalls.since("kate", NOW)
        assert event.query == "q" * QUERY_CHARACTERS
        assert event.text == "t" * TEXT_CHARACTERS

    @pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
    def test_a_score_that_is_no_number_counts_nothing(self, records: Records, score: float) -> None:
        records.recalls.add([recall(score=score, line=2**80, rank=-(2**80))])
        (event,) = records.recalls.since("kate", NOW)
        assert (event.score, event.rank) == (0.0, 0)
        assert event.line > 1_000_000

    @pytest.mark.parametrize("text", HOSTILE)
    def test_what_was_recalled_may_be_any_text(self, records: Records, text: str) -> None:
        event = recall(agent=text, session=text, query=text, path=text, tier=text, text=text)
        records.recalls.add([event])
        assert records.recalls.since(text, NOW) == [event]
        assert records.recalls.count(text, NOW) == 1
