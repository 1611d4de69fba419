"""Whatever is told and wherever somebody is killed: each fact is kept once, and keeping it again changes nothing."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.memory.kept import EXTRACTION, NOTEBOOK, OWNER, Killed, Room, fact

from carrel.memory.fact import KINDS, normalise
from carrel.memory.graph.pages import read_page
from carrel.memory.pages import relation_line
from carrel.memory.written import holds
from carrel.records.facts import Fact

OLD = fact("The port is 80.", evidence=("u0",))
FACTS = [
    fact("The gate closes at nine."),
    fact("Gates close at nine.", evidence=("u2",)),
    fact("The user prefers tea.", layer="experience", kind="preference"),
    fact("The user lives in Quito.", kind="user"),
    fact(
        "Ana works with Luis.",
        kind="relation",
        subject="Ana",
        line=relation_line("works with", "Luis", "2026-04-24"),
    ),
    fact("Shipped version 2.", kind="event", section="outcome"),
    fact("The page says that the office is closed.", trust="tool"),
    fact("The key is AKIAIOSFODNN7EXAMPLQ."),
    fact("The port is 8080.", evidence=("u3",), replaces=OLD.id),
]
STATES = {
    "The port is 80.": "superseded",
    "The gate closes at nine.": "written",
    "The user prefers tea.": "written",
    "The user lives in Quito.": "written",
    "Ana works with Luis.": "written",
    "Shipped version 2.": "written",
    "The page says that the office is closed.": "waiting",
    "The key is [REDACTED:AWS_ACCESS_KEY].": "refused",
    "The port is 8080.": "written",
}


def begun() -> Room:
    """A workspace in which one thing is known, and its owner has written something."""
    room = Room()
    room.put(NOTEBOOK, "# Kate\r\n\r\nMine.\r\n")
    room.keeper.keep([OLD], EXTRACTION)
    return room


def outcome(room: Room) -> Any:
    """All that is known of facts but how often they were seen, which a kill may have counted twice."""
    room.pen.recover()
    room.keeper.finish(EXTRACTION)
    room.keeper.keep(FACTS, EXTRACTION)
    facts = room.records.facts.find(limit=1000)
    known = {
        (each.id, each.state, each.path, each.line, each.superseded_by, each.valid_until) for each in facts
    }
    return room.texts(), known, [proposal.key for proposal in room.records.proposals.list()]


def test_a_kill_at_any_point_of_keeping_is_made_good_by_who_comes_after():
    whole = begun()
    expected = outcome(whole)
    assert whole.states() == STATES
    for point in range(1, 1_000):
        room, fuse = begun(), [point]
        try:
            room.again(fuse).keeper.keep(FACTS, EXTRACTION)
        except Killed:
            assert outcome(room) == expected, point
            assert room.records.changes.list(state="begun") == []
        else:
            assert point > 50
            return
    pytest.fail("it never came to its end")


def test_a_kill_while_what_was_approved_is_written_is_made_good_by_approving_again():
    for point in range(1, 1_000):
        room, fuse = begun(), [point]
        (waiting,) = room.keeper.keep(
            [fact("The port is 8080.", trust="tool", replaces=OLD.id)], EXTRACTION
        ).waiting
        try:
            room.again(fuse).keeper.write(waiting, OWNER)
        except Killed:
            room.pen.recover()
            room.keeper.write(waiting, OWNER)
        assert room.text().count("- The port is 8080.") == 1
        assert room.text().count("~~The port is 80.~~") == 1
        assert room.states() == {"The port is 80.": "superseded", "The port is 8080.": "written"}
        if fuse[0] > 0:
            assert point > 5
            return
    pytest.fail("it never came to its end")


TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "The gate closes at nine.",
            "the gate closes at nine",
            "# x",
            "- ~~y~~",
            "```",
            "a\n## b",
            "[[x]] (2026-01-01)",
        ]
    ),
)
DRAWN = st.builds(
    lambda text, kind, layer, trust, subject, evidence: fact(
        text, kind=kind, layer=layer, trust=trust, subject=subject, evidence=(evidence,)
    ),
    TEXTS,
    st.sampled_from(KINDS),
    st.sampled_from(["project", "experience"]),
    st.sampled_from(["owner", "agent", "tool"]),
    st.one_of(st.just(""), st.text(max_size=20)),
    st.sampled_from(["u1", "u2"]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(DRAWN, max_size=5), TEXTS)
def test_keeping_twice_is_keeping_once_and_what_was_there_stays(facts: list[Fact], before: str):
    room = Room()
    old = before.encode("utf-8", "replace").decode()
    room.put(NOTEBOOK, old)
    kept = room.keeper.keep(facts, EXTRACTION)
    texts, known = room.texts(), room.records.facts.find(limit=100)
    again = room.keeper.keep(facts, EXTRACTION)
    assert (again.written, again.waiting, again.refused) == ((), (), ())
    assert (room.texts(), room.records.facts.find(limit=100)) == (texts, known)
    assert all(holds(room.text(each.path, each.store), each.line) for each in kept.written)
    now = room.text().splitlines()
    assert all(line in now for line in old.splitlines() if line.strip())


@given(st.text(max_size=80), st.text(max_size=80))
def test_every_line_of_a_relation_is_read_back_as_it_was_meant(relation: str, target: str):
    line = relation_line(relation, target, "2026-04-24")
    links = [(link.target, link.day) for link in read_page("x.md", line).links]
    assert links == ([(normalise(target), "2026-04-24")] if line else [])
