"""What Records promise of facts, and of how far sessions were read for them."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta, timezone
from threading import Barrier
from typing import Any

import pytest
from msgspec.structs import replace

from carrel.errors import NotFound, UsageError
from carrel.records import Records
from carrel.records.content import NAME_CHARACTERS, PROSE_CHARACTERS, RecordTooLarge
from carrel.records.facts import Fact, UnknownFact
from carrel.testing.contracts.records.samples import (
    EVERYTHING,
    HOSTILE,
    NOW,
    fact,
    ids,
)


class FactsContract:
    """Facts as they were learnt, found by all that is asked."""

    def test_a_fact_comes_back_as_it_was(self, records: Records) -> None:
        assert records.facts.add([EVERYTHING, fact("f2")]) == 2
        assert records.facts.get("f1") == EVERYTHING
        assert records.facts.find() == [EVERYTHING, fact("f2")]

    def test_what_is_known_already_is_not_added_again(self, records: Records) -> None:
        records.facts.add([fact("f1", text="first")])
        assert records.facts.add([fact("f1", text="second"), fact("f2"), fact("f2")]) == 1
        assert records.facts.add(iter([fact("f1"), fact("f2")])) == 0
        assert records.facts.add([]) == 0
        assert records.facts.get("f1").text == "first"
        assert ids(records.facts.find()) == ["f1", "f2"]

    def test_facts_are_added_all_or_none(self, records: Records) -> None:
        with pytest.raises(TypeError):
            records.facts.add([fact("f1"), fact("f2", at=NOW.replace(tzinfo=None))])
        with pytest.raises(RecordTooLarge):
            records.facts.add([fact("f1"), fact("f2", text="x" * (PROSE_CHARACTERS + 1))])
        assert records.facts.find() == []

    def test_a_fact_that_changed_is_kept_in_its_place(self, records: Records) -> None:
        records.facts.add([fact("f1"), fact("f2")])
        now = replace(EVERYTHING, state="superseded", seen=9)
        records.facts.update(now)
        assert records.facts.find() == [now, fact("f2")]
        assert ids(records.facts.find(key="t", states=["superseded"])) == ["f1"]
        assert ids(records.facts.find(states=["planned"])) == ["f2"]

    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_fact_that_nobody_knows_is_not_found(self, records: Records, name: str) -> None:
        records.facts.add([fact("f1")])
        with pytest.raises(UnknownFact) as refusal:
            records.facts.get(name)
        assert isinstance(refusal.value, NotFound)
        assert refusal.value.code == "unknown_fact"
        assert refusal.value.hint
        with pytest.raises(UnknownFact):
            records.facts.update(fact(name))
        assert records.facts.find() == [fact("f1")]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ({}, ["1", "2", "3", "4"]),
            ({"agent": "ana"}, ["3"]),
            ({"states": ["planned"]}, ["1", "3"]),
            ({"states": ("waiting", "written")}, ["2", "4"]),
            ({"agent": "kate", "states": ["written"]}, ["2"]),
            ({"agent": "kate", "states": {"planned", "waiting"}}, ["1", "4"]),
            ({"key": "b"}, ["2", "3"]),
            ({"key": "b", "agent": "kate"}, ["2"]),
            ({"key": "b", "agent": "kate", "states": ["planned"]}, []),
            ({"subject": "Ana"}, ["4"]),
            ({"session": "s1"}, ["1", "2"]),
            ({"path": "p"}, ["1", "2", "3"]),
            ({"path": "p", "store": "namespaces"}, ["3"]),
            ({"store": "workspace"}, ["1", "2", "4"]),
            ({"line": "- b"}, ["2", "4"]),
            ({"line": "- b", "path": "p"}, ["2"]),
            ({"change": 5}, ["2", "3"]),
            ({"change": 5, "path": "p", "session": "s1", "key": "b", "line": "- b"}, ["2"]),
            ({"change": 2**70}, []),
            ({"session": ""}, ["3", "4"]),
            ({"agent": "kat"}, []),
        ],
    )
    def test_facts_are_found_by_all_that_is_asked(
        self, records: Records, wanted: dict[str, Any], found: list[str]
    ) -> None:
        records.facts.add(
            [
                fact("1", key="a", session="s1", path="p"),
                fact("2", key="b", session="s1", path="p", state="written", line="- b", change=5),
                fact("3", key="b", agent="ana", path="p", store="namespaces", change=5),
                fact("4", key="c", subject="Ana", path="q", state="waiting", line="- b"),
            ]
        )
        assert ids(records.facts.find(**wanted)) == found
        assert ids(records.facts.find(**wanted, limit=1)) == found[:1]
        if found:
            assert ids(records.facts.find(**wanted, after=found[0])) == found[1:]

    def test_pages_show_each_fact_once_in_the_order_they_were_added(self, records: Records) -> None:
        names = ["g", "c", "\udcff", "a", "f", "12", "b"]
        records.facts.add(
            [fact(name, at=NOW - position * timedelta(1)) for position, name in enumerate(names)]
        )
        seen: list[str] = []
        while page := records.facts.find(limit=3, after=seen[-1] if seen else ""):
            assert len(page) <= 3
            seen += ids(page)
            records.facts.update(replace(page[0], text="touched"))
        assert seen == names
        assert records.facts.find(limit=0) == records.facts.find(limit=-1) == []
        assert len(records.facts.find(limit=2**70)) == 7

    def test_to_begin_after_a_fact_that_nobody_knows_is_a_mistake(self, records: Records) -> None:
        records.facts.add([fact("f1")])
        with pytest.raises(UnknownFact):
            records.facts.find(after="f2")

    def test_facts_are_counted_by_state(self, records: Records) -> None:
        none = dict.fromkeys(
            ("planned", "written", "waiting", "superseded", "refused", "undone", "forgotten"), 0
        )
        assert records.facts.counts() == none
        records.facts.add([fact("1"), fact("2", state="written"), fact("3", state="written", agent="ana")])
        assert records.facts.counts() == none | {"planned": 1, "written": 2}
        assert records.facts.counts("ana") == none | {"written": 1}
        assert records.facts.counts("bob") == none

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_fact_may_hold_any_text(self, records: Records, text: str) -> None:
        one = fact(
            text, agent=text, kind=text, text=text, key=text, session=text, evidence=(text, text), subject=text,
            valid_from=text, valid_until=text, reason=text, path=text, section=text, line=text, superseded_by=text,
            replaces=text,
        )  # fmt: skip
        records.facts.add([one, one])
        assert records.facts.get(text) == one
        names = {"agent": text, "key": text, "subject": text, "session": text, "path": text, "line": text}
        for name, value in names.items():
            assert records.facts.find(**{name: value}) == [one]
        records.facts.update(replace(one, seen=2))
        assert records.facts.find(**names) == [replace(one, seen=2)]

    @pytest.mark.parametrize(
        ("field", "most"),
        [
            ("id", NAME_CHARACTERS),
            ("agent", NAME_CHARACTERS),
            ("kind", NAME_CHARACTERS),
            ("session", NAME_CHARACTERS),
            ("subject", NAME_CHARACTERS),
            ("path", NAME_CHARACTERS),
            ("section", NAME_CHARACTERS),
            ("text", PROSE_CHARACTERS),
            ("key", PROSE_CHARACTERS),
            ("line", PROSE_CHARACTERS),
            ("reason", PROSE_CHARACTERS),
        ],
    )
    def test_a_fact_with_too_long_a_text_is_refused_and_not_cut(
        self, records: Records, field: str, most: int
    ) -> None:
        records.facts.add([fact("f1")])
        for write in (lambda one: records.facts.add([one]), records.facts.update):
            with pytest.raises(RecordTooLarge) as refusal:
                write(replace(fact("f1"), **{field: "x" * (most + 1)}))
            assert isinstance(refusal.value, UsageError)
            assert refusal.value.limit == most
        assert records.facts.find() == [fact("f1")]
        longest = replace(fact("f2"), **{field: "é" * most})
        records.facts.add([longest])
        assert records.facts.get(longest.id) == longest

    def test_evidence_without_end_is_refused(self, records: Records) -> None:
        with pytest.raises(RecordTooLarge):
            records.facts.add([fact(evidence=("m" * 1_000,) * 1_001)])
        assert records.facts.find() == []

    def test_figures_beyond_all_reason_are_kept_within_it(self, records: Records) -> None:
        records.facts.add([fact(seen=2**80, change=-(2**80))])
        kept = records.facts.get("f1")
        assert kept.seen > 2**60
        assert kept.change < -(2**60)

    def test_a_moment_comes_back_in_utc_to_the_microsecond(self, records: Records) -> None:
        records.facts.add([fact(at=NOW.astimezone(timezone(timedelta(hours=-5))))])
        assert records.facts.get("f1").at == NOW
        assert records.facts.get("f1").at.tzinfo is UTC


class CursorsContract:
    """How far a session was read, moved by one at a time."""

    def test_a_cursor_begins_at_nothing_and_moves_from_where_it_was_seen(self, records: Records) -> None:
        assert records.facts.cursor("kate", "s1") == 0
        assert records.facts.advance("kate", "s1", expect=0, to=4)
        assert not records.facts.advance("kate", "s1", expect=0, to=9)
        assert not records.facts.advance("kate", "s1", expect=3, to=9)
        assert records.facts.cursor("kate", "s1") == 4
        assert records.facts.advance("kate", "s1", expect=4, to=9)
        assert records.facts.cursor("kate", "s1") == 9

    def test_a_cursor_that_never_moved_stands_at_nothing_else(self, records: Records) -> None:
        assert not records.facts.advance("kate", "s1", expect=3, to=9)
        assert records.facts.cursor("kate", "s1") == 0
        assert records.facts.advance("kate", "s1", expect=0, to=0)
        assert records.facts.advance("kate", "s1", expect=0, to=2)
        assert records.facts.cursor("kate", "s1") == 2

    @pytest.mark.parametrize("text", HOSTILE)
    def test_each_session_of_each_agent_has_a_cursor(self, records: Records, text: str) -> None:
        assert records.facts.advance("kate", text, expect=0, to=1)
        assert records.facts.advance(text, "s1", expect=0, to=2)
        assert records.facts.cursor("kate", text) == 1
        assert records.facts.cursor(text, "s1") == 2
        assert records.facts.cursor(text, text) == 0

    def test_a_cursor_of_too_long_a_name_is_refused(self, records: Records) -> None:
        with pytest.raises(RecordTooLarge):
            records.facts.advance("kate", "s" * (NAME_CHARACTERS + 1), expect=0, to=1)

    def test_of_many_that_advance_at_once_one_does(self, records: Records) -> None:
        ready = Barrier(4, timeout=30)

        def advance(number: int) -> list[bool]:
            ready.wait()
            return [records.facts.advance("kate", "s1", expect=step, to=step + 1) for step in range(20)]

        with ThreadPoolExecutor(4) as threads:
            moved = list(threads.map(advance, range(4)))
        assert records.facts.cursor("kate", "s1") == sum(map(sum, moved)) <= 20

    def test_facts_and_cursor_are_kept_together_or_not_at_all(self, records: Records) -> None:
        def take(facts: list[Fact], *, expect: int, to: int) -> None:
            with records.transaction():
                records.facts.add(facts)
                if not records.facts.advance("kate", "s1", expect=expect, to=to):
                    raise KeyError

        take([fact("f1")], expect=0, to=5)
        with pytest.raises(KeyError):
            take([fact("f2")], expect=0, to=7)
        assert records.facts.find() == [fact("f1")]
        assert records.facts.cursor("kate", "s1") == 5
