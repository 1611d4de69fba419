"""What all Records promise of facts, changes and proposals; conftest.py says which are held to it."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier
from typing import Any

import pytest
from msgspec.structs import replace

from carrel.errors import Conflict, NotFound, UsageError
from carrel.records import Records
from carrel.records.changes import PAGE_BYTES, SPLICE_BYTES, Change, Splice, UnknownChange
from carrel.records.content import NAME_CHARACTERS, PROSE_CHARACTERS, RecordTooLarge
from carrel.records.facts import Fact, UnknownFact, buried
from carrel.records.proposals import TEXT_CHARACTERS, AlreadyDecided, Proposal, UnknownProposal
from carrel.records.recalls import RecallEvent

NOW = datetime(2026, 4, 24, 12, 0, 0, 123_456, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
HOSTILE = [
    "", " ", "a\0b", "\udcff not Unicode", "é 🐙 \u202e", "'; DROP TABLE facts; --", "%_\\", "12", "\r\n"
]  # fmt: skip
ODD = [0, -1, 7, 2**63, -(2**80)]


def fact(name: str = "f1", **changes: Any) -> Fact:
    first = {"agent": "kate", "layer": "project", "kind": "note", "text": "T", "key": "t", "at": NOW}
    return Fact(id=name, **(first | changes))


def change(**changes: Any) -> Change:
    first = {
        "at": NOW, "actor": "kate", "action": "append", "path": "memory/kate.md", "before": None, "after": "d1",
        "splice": Splice(0, b"", b"- Ana uses a Samsung.\n"),
    }  # fmt: skip
    return Change(**(first | changes))


def proposal(key: str = "k1", **changes: Any) -> Proposal:
    first = {
        "at": NOW, "agent": "kate", "actor": "extraction", "action": "append", "why": "external_source",
        "reason": "A page said so.", "path": "memory/kate.md", "new": "- Ana uses a Samsung.",
    }  # fmt: skip
    return Proposal(key=key, **(first | changes))


def ids(facts: list[Fact]) -> list[str]:
    return [each.id for each in facts]


def numbers(changes: list[Change]) -> list[int]:
    return [each.id for each in changes]


# Facts

EVERYTHING = fact(
    layer="experience", kind="preference", session="s1", evidence=("m1", "m2"), trust="tool", subject="Ana",
    valid_from="2026-04", valid_until="2026-05", state="written", reason="said so", store="namespaces",
    path="agents/kate.md", section="Insights", line="- T", superseded_by="f2", replaces="f0", seen=3, pinned=True,
    change=12,
)  # fmt: skip


def test_a_fact_comes_back_as_it_was(records: Records) -> None:
    assert records.facts.add([EVERYTHING, fact("f2")]) == 2
    assert records.facts.get("f1") == EVERYTHING
    assert records.facts.find() == [EVERYTHING, fact("f2")]


def test_what_is_known_already_is_not_added_again(records: Records) -> None:
    records.facts.add([fact("f1", text="first")])
    assert records.facts.add([fact("f1", text="second"), fact("f2"), fact("f2")]) == 1
    assert records.facts.add(iter([fact("f1"), fact("f2")])) == 0
    assert records.facts.add([]) == 0
    assert records.facts.get("f1").text == "first"
    assert ids(records.facts.find()) == ["f1", "f2"]


def test_facts_are_added_all_or_none(records: Records) -> None:
    with pytest.raises(TypeError):
        records.facts.add([fact("f1"), fact("f2", at=NOW.replace(tzinfo=None))])
    with pytest.raises(RecordTooLarge):
        records.facts.add([fact("f1"), fact("f2", text="x" * (PROSE_CHARACTERS + 1))])
    assert records.facts.find() == []


def test_a_fact_that_changed_is_kept_in_its_place(records: Records) -> None:
    records.facts.add([fact("f1"), fact("f2")])
    now = replace(EVERYTHING, state="superseded", seen=9)
    records.facts.update(now)
    assert records.facts.find() == [now, fact("f2")]
    assert ids(records.facts.find(key="t", states=["superseded"])) == ["f1"]
    assert ids(records.facts.find(states=["planned"])) == ["f2"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_fact_that_nobody_knows_is_not_found(records: Records, name: str) -> None:
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
    records: Records, wanted: dict[str, Any], found: list[str]
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


def test_pages_show_each_fact_once_in_the_order_they_were_added(records: Records) -> None:
    names = ["g", "c", "\udcff", "a", "f", "12", "b"]
    records.facts.add([fact(name, at=NOW - position * timedelta(1)) for position, name in enumerate(names)])
    seen: list[str] = []
    while page := records.facts.find(limit=3, after=seen[-1] if seen else ""):
        assert len(page) <= 3
        seen += ids(page)
        records.facts.update(replace(page[0], text="touched"))
    assert seen == names
    assert records.facts.find(limit=0) == records.facts.find(limit=-1) == []
    assert len(records.facts.find(limit=2**70)) == 7


def test_to_begin_after_a_fact_that_nobody_knows_is_a_mistake(records: Records) -> None:
    records.facts.add([fact("f1")])
    with pytest.raises(UnknownFact):
        records.facts.find(after="f2")


def test_facts_are_counted_by_state(records: Records) -> None:
    none = dict.fromkeys(("planned", "written", "waiting", "superseded", "refused", "undone", "forgotten"), 0)
    assert records.facts.counts() == none
    records.facts.add([fact("1"), fact("2", state="written"), fact("3", state="written", agent="ana")])
    assert records.facts.counts() == none | {"planned": 1, "written": 2}
    assert records.facts.counts("ana") == none | {"written": 1}
    assert records.facts.counts("bob") == none


@pytest.mark.parametrize("text", HOSTILE)
def test_a_fact_may_hold_any_text(records: Records, text: str) -> None:
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
def test_a_fact_with_too_long_a_text_is_refused_and_not_cut(records: Records, field: str, most: int) -> None:
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


def test_evidence_without_end_is_refused(records: Records) -> None:
    with pytest.raises(RecordTooLarge):
        records.facts.add([fact(evidence=("m" * 1_000,) * 1_001)])
    assert records.facts.find() == []


def test_figures_beyond_all_reason_are_kept_within_it(records: Records) -> None:
    records.facts.add([fact(seen=2**80, change=-(2**80))])
    kept = records.facts.get("f1")
    assert kept.seen > 2**60
    assert kept.change < -(2**60)


def test_a_moment_comes_back_in_utc_to_the_microsecond(records: Records) -> None:
    records.facts.add([fact(at=NOW.astimezone(timezone(timedelta(hours=-5))))])
    assert records.facts.get("f1").at == NOW
    assert records.facts.get("f1").at.tzinfo is UTC


# Cursors


def test_a_cursor_begins_at_nothing_and_moves_from_where_it_was_seen(records: Records) -> None:
    assert records.facts.cursor("kate", "s1") == 0
    assert records.facts.advance("kate", "s1", expect=0, to=4)
    assert not records.facts.advance("kate", "s1", expect=0, to=9)
    assert not records.facts.advance("kate", "s1", expect=3, to=9)
    assert records.facts.cursor("kate", "s1") == 4
    assert records.facts.advance("kate", "s1", expect=4, to=9)
    assert records.facts.cursor("kate", "s1") == 9


def test_a_cursor_that_never_moved_stands_at_nothing_else(records: Records) -> None:
    assert not records.facts.advance("kate", "s1", expect=3, to=9)
    assert records.facts.cursor("kate", "s1") == 0
    assert records.facts.advance("kate", "s1", expect=0, to=0)
    assert records.facts.advance("kate", "s1", expect=0, to=2)
    assert records.facts.cursor("kate", "s1") == 2


@pytest.mark.parametrize("text", HOSTILE)
def test_each_session_of_each_agent_has_a_cursor(records: Records, text: str) -> None:
    assert records.facts.advance("kate", text, expect=0, to=1)
    assert records.facts.advance(text, "s1", expect=0, to=2)
    assert records.facts.cursor("kate", text) == 1
    assert records.facts.cursor(text, "s1") == 2
    assert records.facts.cursor(text, text) == 0


def test_a_cursor_of_too_long_a_name_is_refused(records: Records) -> None:
    with pytest.raises(RecordTooLarge):
        records.facts.advance("kate", "s" * (NAME_CHARACTERS + 1), expect=0, to=1)


def test_of_many_that_advance_at_once_one_does(records: Records) -> None:
    ready = Barrier(4, timeout=30)

    def advance(number: int) -> list[bool]:
        ready.wait()
        return [records.facts.advance("kate", "s1", expect=step, to=step + 1) for step in range(20)]

    with ThreadPoolExecutor(4) as threads:
        moved = list(threads.map(advance, range(4)))
    assert records.facts.cursor("kate", "s1") == sum(map(sum, moved)) <= 20


def test_facts_and_cursor_are_kept_together_or_not_at_all(records: Records) -> None:
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


# Changes


def test_a_change_comes_back_as_it_was_begun_with_its_number(records: Records) -> None:
    given = change(
        id=99, store="namespaces", before="d0", after=None, splice=Splice(2**40, b"old\0\xff", b"", 2**20), agent="kate",
        session="s1", reason="said so", undoes=3, commit="c1",
    )  # fmt: skip
    begun = records.changes.begin(given)
    assert begun == replace(given, id=begun.id)
    assert begun.id != 99
    assert records.changes.get(begun.id) == begun
    assert records.changes.list() == [begun]


@pytest.mark.parametrize(
    "side", [b"", b"x", bytes(range(256)), b"- one line\n" * 50_000, b"\0" * SPLICE_BYTES]
)
def test_both_sides_of_a_splice_come_back_byte_for_byte(records: Records, side: bytes) -> None:
    noise = random.Random(7).randbytes(10_000)
    for splice in (Splice(3, side, noise), Splice(0, noise, side)):
        begun = records.changes.begin(change(splice=splice))
        assert begun.splice == splice
        assert records.changes.get(begun.id).splice == splice


def test_a_change_of_more_than_a_file_may_have_is_refused(records: Records) -> None:
    for splice in (Splice(0, b"", b"x" * (SPLICE_BYTES + 1)), Splice(0, b"x" * (SPLICE_BYTES + 1), b"")):
        with pytest.raises(RecordTooLarge) as refusal:
            records.changes.begin(change(splice=splice))
        assert refusal.value.code == "record_too_large"
        assert "bytes" in refusal.value.message
        assert refusal.value.hint
    assert records.changes.list() == []


def test_a_change_is_settled_and_taken_back(records: Records) -> None:
    number = records.changes.begin(change()).id
    for state in ("done", "done", "undone", "done"):
        records.changes.settle(number, state)
        assert records.changes.get(number) == change(id=number, state=state)


def test_a_change_that_came_to_nothing_is_gone_and_its_number_with_it(records: Records) -> None:
    records.changes.begin(change())
    number = records.changes.begin(change()).id
    records.changes.settle(number, None)
    records.changes.settle(number, None)
    with pytest.raises(UnknownChange):
        records.changes.get(number)
    assert len(records.changes.list()) == 1
    assert records.changes.begin(change()).id > number


@pytest.mark.parametrize("state", ["done", "undone"])
def test_what_was_settled_before_stays_when_another_says_it_came_to_nothing(
    records: Records, state: Any
) -> None:
    number = records.changes.begin(change()).id
    records.changes.settle(number, state)
    records.changes.settle(number, None)
    assert records.changes.get(number).state == state


@pytest.mark.parametrize("number", ODD)
def test_a_number_that_no_change_has_is_not_found(records: Records, number: int) -> None:
    records.changes.begin(change())
    for call in (
        lambda: records.changes.get(number),
        lambda: records.changes.settle(number, "done"),
        lambda: records.changes.keep_commit(number, "c1"),
    ):
        with pytest.raises(UnknownChange) as refusal:
            call()
        assert isinstance(refusal.value, NotFound)
        assert str(number) in refusal.value.message
        assert refusal.value.hint
    records.changes.settle(number, None)
    assert len(records.changes.list()) == 1


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [4, 3, 2, 1]),
        ({"path": "p"}, [3, 2, 1]),
        ({"path": "p", "store": "workspace"}, [2, 1]),
        ({"path": "p", "state": "done"}, [3, 2]),
        ({"store": "namespaces"}, [3]),
        ({"state": "begun"}, [4, 1]),
        ({"committed": True}, [2]),
        ({"committed": False}, [4, 3, 1]),
        ({"committed": False, "state": "done"}, [3]),
        ({"committed": False, "state": "done", "path": "p"}, [3]),
        ({"path": ""}, []),
    ],
)
def test_changes_are_listed_by_all_that_is_asked_the_newest_first(
    records: Records, wanted: dict[str, Any], found: list[int]
) -> None:
    begun = [
        records.changes.begin(each).id
        for each in (
            change(path="p", at=LATER),
            change(path="p", state="done"),
            change(path="p", state="done", store="namespaces"),
            change(path="q"),
        )
    ]
    records.changes.keep_commit(begun[1], "c1")
    found = [begun[position - 1] for position in found]
    assert numbers(records.changes.list(**wanted)) == found
    assert numbers(records.changes.list(**wanted, limit=1)) == found[:1]
    if found:
        assert numbers(records.changes.list(**wanted, before=found[0])) == found[1:]


def test_odd_bounds_of_a_page_are_answered(records: Records) -> None:
    begun = records.changes.begin(change())
    assert records.changes.list(limit=0) == records.changes.list(limit=-1) == []
    assert records.changes.list(limit=2**70, before=2**70) == [begun]
    assert records.changes.list(before=-(2**70)) == []


def test_a_page_of_large_changes_is_short_and_the_next_goes_on(records: Records) -> None:
    large = Splice(0, b"\0" * SPLICE_BYTES, b"\0" * SPLICE_BYTES)
    begun = [records.changes.begin(change(splice=large)).id for _ in range(5)]
    begun.append(records.changes.begin(change()).id)
    pages: list[list[int]] = []
    while page := records.changes.list(before=pages[-1][-1] if pages else None):
        assert sum(len(each.splice.old + each.splice.new) for each in page[:-1]) <= PAGE_BYTES
        pages.append(numbers(page))
    assert [number for page in pages for number in page] == begun[::-1]
    assert len(pages) > 1


def test_a_commit_is_kept_with_its_change(records: Records) -> None:
    number = records.changes.begin(change()).id
    records.changes.keep_commit(number, "c1")
    assert records.changes.get(number) == change(id=number, commit="c1")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_change_may_hold_any_text(records: Records, text: str) -> None:
    given = change(
        actor=text, action=text, path=text, before=text, after=text, agent=text, session=text, reason=text
    )
    begun = records.changes.begin(given)
    assert begun == replace(given, id=begun.id)
    assert records.changes.list(path=text) == [begun]
    records.changes.keep_commit(begun.id, text)
    assert records.changes.get(begun.id).commit == text


@pytest.mark.parametrize(
    "field", ["actor", "action", "path", "before", "after", "agent", "session", "commit"]
)
def test_a_change_with_too_long_a_name_is_refused(records: Records, field: str) -> None:
    with pytest.raises(RecordTooLarge):
        records.changes.begin(change(**{field: "x" * (NAME_CHARACTERS + 1)}))
    with pytest.raises(RecordTooLarge):
        records.changes.begin(change(reason="x" * (PROSE_CHARACTERS + 1)))
    assert records.changes.list() == []


# Proposals


def test_a_proposal_comes_back_as_it_was_made_with_its_number(records: Records) -> None:
    given = proposal(
        id=99, store="namespaces", section="Insights", old="- Ana uses a Nokia.", trust="tool", session="s1",
        evidence=("m1", "m2"), facts=("f1", "f2"),
    )  # fmt: skip
    made = records.proposals.add(given)
    assert made == replace(given, id=made.id)
    assert made.id != 99
    assert records.proposals.get(made.id) == made
    assert records.proposals.list() == [made]


def test_the_same_is_proposed_once_even_when_it_was_decided(records: Records) -> None:
    made = records.proposals.add(proposal(new="first"))
    assert records.proposals.add(proposal(new="second")) == made
    decided = records.proposals.decide(made.id, "rejected", at=LATER, by="owner")
    assert records.proposals.add(proposal(new="third")) == decided
    assert records.proposals.list(()) == [decided]
    assert records.proposals.add(proposal("k2")).id > made.id


@pytest.mark.parametrize("state", ["approved", "rejected"])
def test_a_proposal_is_decided_once(records: Records, state: Any) -> None:
    made = records.proposals.add(proposal())
    decided = records.proposals.decide(made.id, state, at=LATER, by="owner")
    assert decided == replace(made, state=state, decided_at=LATER, decided_by="owner")
    for again in ("approved", "rejected"):
        with pytest.raises(AlreadyDecided) as refusal:
            records.proposals.decide(made.id, again, at=NOW, by="another", new="other")
        assert isinstance(refusal.value, Conflict)
        assert state in refusal.value.message
        assert refusal.value.hint
    assert records.proposals.get(made.id) == decided


@pytest.mark.parametrize("text", HOSTILE)
def test_a_proposal_may_be_approved_with_another_text(records: Records, text: str) -> None:
    made = records.proposals.add(proposal())
    decided = records.proposals.decide(made.id, "approved", at=LATER, by=text, new=text)
    assert (decided.new, decided.decided_by) == (text, text)
    assert records.proposals.get(made.id) == decided


@pytest.mark.parametrize("number", ODD)
def test_a_number_that_no_proposal_has_is_not_found(records: Records, number: int) -> None:
    made = records.proposals.add(proposal())
    for call in (
        lambda: records.proposals.get(number),
        lambda: records.proposals.decide(number, "approved", at=NOW, by="owner"),
    ):
        with pytest.raises(UnknownProposal) as refusal:
            call()
        assert isinstance(refusal.value, NotFound)
        assert str(number) in refusal.value.message
        assert refusal.value.hint
    assert records.proposals.list() == [made]


@pytest.mark.parametrize(
    ("states", "agent", "found"),
    [
        (("waiting",), None, "acf"),
        (("approved",), None, "b"),
        (["approved", "rejected"], None, "bde"),
        ({"waiting", "rejected"}, "kate", "ade"),
        (("waiting",), "ana", "cf"),
        (("rejected",), "ana", ""),
        ((), None, "abcdef"),
        ((), "kate", "abde"),
    ],
)
def test_proposals_are_listed_by_state_and_agent(
    records: Records, states: Any, agent: str | None, found: str
) -> None:
    made = [records.proposals.add(proposal(key, agent="ana" if key in "cf" else "kate")) for key in "abcdef"]
    records.proposals.decide(made[1].id, "approved", at=NOW, by="owner")
    for each in made[3:5]:
        records.proposals.decide(each.id, "rejected", at=NOW, by="owner")
    listed = records.proposals.list(states, agent=agent)
    assert [each.key for each in listed] == list(found)
    assert records.proposals.list(states, agent=agent, limit=1) == listed[:1]
    if listed:
        assert records.proposals.list(states, agent=agent, after=listed[0].id) == listed[1:]
    assert records.proposals.counts() == {"waiting": 3, "approved": 1, "rejected": 2}


def test_odd_bounds_of_a_list_are_answered(records: Records) -> None:
    assert records.proposals.counts() == {"waiting": 0, "approved": 0, "rejected": 0}
    made = records.proposals.add(proposal())
    assert records.proposals.list(limit=0) == records.proposals.list(limit=-1) == []
    assert records.proposals.list(limit=2**70, after=-(2**70)) == [made]
    assert records.proposals.list(after=2**70) == []


def test_of_many_that_decide_at_once_one_has_the_word(records: Records) -> None:
    made = [records.proposals.add(proposal(str(n))).id for n in range(20)]
    ready = Barrier(4, timeout=30)

    def decide(judge: int) -> list[tuple[int, str]]:
        ready.wait()
        words: list[tuple[int, str]] = []
        for number in made:
            try:
                records.proposals.decide(number, "approved", at=NOW, by=f"judge {judge}")
            except AlreadyDecided:
                continue
            words.append((number, f"judge {judge}"))
        return words

    with ThreadPoolExecutor(4) as threads:
        words = [word for each in threads.map(decide, range(4)) for word in each]
    assert sorted(words) == [(each.id, each.decided_by) for each in records.proposals.list(["approved"])]
    assert len(words) == 20


@pytest.mark.parametrize("text", HOSTILE)
def test_a_proposal_may_hold_any_text(records: Records, text: str) -> None:
    given = proposal(
        text, agent=text, actor=text, why=text, reason=text, path=text, section=text, old=text, new=text,
        session=text, evidence=(text,), facts=(text, text),
    )  # fmt: skip
    made = records.proposals.add(given)
    assert made == replace(given, id=made.id)
    assert records.proposals.add(given) == made
    assert records.proposals.list(agent=text) == [made]


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("key", NAME_CHARACTERS),
        ("agent", NAME_CHARACTERS),
        ("actor", NAME_CHARACTERS),
        ("path", NAME_CHARACTERS),
        ("section", NAME_CHARACTERS),
        ("reason", PROSE_CHARACTERS),
        ("old", TEXT_CHARACTERS),
        ("new", TEXT_CHARACTERS),
    ],
)
def test_a_proposal_with_too_long_a_text_is_refused_and_not_cut(
    records: Records, field: str, most: int
) -> None:
    with pytest.raises(RecordTooLarge):
        records.proposals.add(replace(proposal(), **{field: "x" * (most + 1)}))
    assert records.proposals.list() == []
    longest = replace(proposal(), **{field: "x" * most})
    assert records.proposals.add(longest) == replace(longest, id=records.proposals.list()[0].id)


def test_a_decision_that_is_refused_leaves_the_proposal_waiting(records: Records) -> None:
    made = records.proposals.add(proposal())
    with pytest.raises(RecordTooLarge):
        records.proposals.decide(made.id, "approved", at=NOW, by="owner", new="x" * (TEXT_CHARACTERS + 1))
    with pytest.raises(TypeError):
        records.proposals.decide(made.id, "approved", at=NOW.replace(tzinfo=None), by="owner")
    assert records.proposals.list() == [made]


# What is forgotten for good


def test_a_key_finds_what_is_left_of_a_fact_that_was_purged(records: Records) -> None:
    records.facts.add(
        [fact(key="ana uses a samsung"), fact("f2", key=buried("ana uses a samsung")), fact("f3")]
    )
    assert ids(records.facts.find(key="ana uses a samsung")) == ["f1", "f2"]
    assert ids(records.facts.find(key="ana uses a samsung", agent="kate", limit=1)) == ["f1"]
    assert buried(buried("x")) == buried("x")


def test_a_purged_change_keeps_who_did_it_when_and_none_of_its_bytes(records: Records) -> None:
    number = records.changes.begin(change()).id
    records.changes.settle(number, "done")
    records.changes.purge(number)
    records.changes.purge(number)
    left = records.changes.get(number)
    assert left.splice.is_purged
    assert (left.splice.old, left.splice.new) == (b"", b"")
    assert replace(left, splice=change().splice, id=0, state="begun", commit="") == change()
    assert records.changes.list(committed=False) == []
    with pytest.raises(UnknownChange):
        records.changes.purge(number + 1)


def test_a_purged_proposal_says_nothing_any_more(records: Records) -> None:
    number = records.proposals.add(proposal(old="a", section="People")).id
    records.proposals.purge(number)
    left = records.proposals.get(number)
    assert (left.old, left.new, left.section, left.state) == ("", "", "", "waiting")
    with pytest.raises(UnknownProposal):
        records.proposals.purge(number + 1)


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_what_was_kept_for_calls_and_holds_a_text_goes(records: Records, text: str) -> None:
    said = {"text": f"before {text} after"}
    records.keep_assembly("kate", "s1", "main", assembly=said, frozen=said)
    records.keep_assembly("kate", "s2", "main", assembly={"text": "else"}, frozen={"text": "else"})
    assert records.forget([text, ""]) == 2
    assert records.frozen("kate", "s1", "main") is None
    assert records.last_assembly("kate", "s1") is None
    assert records.frozen("kate", "s2", "main") is not None


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_recalls_of_a_text_and_by_a_query_that_holds_it_go(records: Records, text: str) -> None:
    event = RecallEvent(
        agent="kate", session="s1", at=NOW, query="q", path="p", line=1, tier="journal", rank=1, score=0.5,
        text="else", who="tool",
    )  # fmt: skip
    records.recalls.add([event, replace(event, text=f"<{text}>"), replace(event, query=f"<{text}>")])
    assert records.recalls.forget([text, ""]) == 2
    assert records.recalls.since("kate", NOW) == [event]
    assert records.recalls.forget([text]) == 0
