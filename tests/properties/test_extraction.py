"""Whatever a model answers and whatever was said: nothing raises, and no more is believed than was said."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.memory.kept import NOW, fact

from carrel.memory.claims import MOST_FACTS, read_answer
from carrel.memory.extract import question, stretch_of
from carrel.memory.fact import LONGEST, key_of, normalise
from carrel.memory.judging import facts_of
from carrel.memory.sameness import corrected_by, form_of
from carrel.memory.support import supports
from carrel.sessions.message import ToolCall
from carrel.sessions.placed import Placed
from carrel.sessions.transcript import Entry

ANY = st.text(st.characters(), max_size=200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | ANY,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["facts", "text", "evidence", "kind", "layer", "subject", "replaces", "x"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)
ENTRIES = st.builds(
    lambda role, text, scope, sender, calls: Entry(
        role=role,
        content=text,
        scope=scope,
        sender_id=sender,
        tool_call_id="c1" if role == "tool" else "",
        tool_calls=(ToolCall(id="c1", name="t", arguments={}),) if calls and role == "assistant" else (),
    ),
    st.sampled_from(["user", "assistant", "tool", "system"]),
    ANY,
    st.sampled_from(["", "main", "shared"]),
    st.sampled_from([None, "ana", "bob"]),
    st.booleans(),
)


def count(text: str) -> int:
    return len(text) // 4 + 1


@given(ANY, st.booleans())
def test_reading_an_answer_never_raises(text: str, is_cut: bool):
    found = read_answer(text, is_cut=is_cut)
    assert len(found.claims) <= MOST_FACTS


@given(JSON, ANY, ANY)
def test_reading_any_json_within_any_prose_never_raises(value, before: str, after: str):
    found = read_answer(f"{before}{json.dumps({'facts': value})}{after}")
    assert all(claim.text and claim.text == normalise(claim.text) for claim in found.claims)
    assert len(found.claims) <= MOST_FACTS


@given(st.lists(JSON, max_size=30))
def test_a_list_of_facts_is_always_an_answer_and_every_item_is_accounted_for(values: list[object]):
    found = read_answer(json.dumps({"facts": values}))
    assert not found.problem
    assert len(found.claims) + found.cut + found.odd == len(values)


@given(ANY)
def test_a_text_is_normalised_once_and_its_key_is_that_of_the_normal_text(text: str):
    line = normalise(text)
    assert normalise(line) == line
    assert len(line.splitlines()) <= 1
    assert key_of(text) == key_of(line)
    assert line.encode().decode() == line
    assert form_of(text) == form_of(line)


@given(st.lists(st.sampled_from(["tea", "gate", "Ana", "Postgres", "16", "closes", "nine"]), min_size=1), ANY)
def test_what_was_said_word_for_word_is_supported_and_by_nothing_it_is_not(words: list[str], noise: str):
    text = " ".join(words)
    assert supports(text, [noise, text])
    assert not supports(text, [])


@given(ANY, st.lists(ANY, max_size=3))
def test_nothing_corrects_itself(text: str, others: list[str]):
    assert corrected_by(text, [text, *others]) != 0


@settings(max_examples=60, deadline=None)
@given(st.lists(ENTRIES, max_size=12), st.lists(JSON, max_size=4), st.integers(50, 3_000), st.booleans())
def test_any_talk_makes_a_question_within_its_room_and_facts_of_it_only(entries, values, room, is_open):
    placed = [Placed(n, entry) for n, entry in enumerate(entries, 1)]
    stretch = stretch_of(placed, after=0, at=NOW, count=count, room=room, owners=("ana",), is_open=is_open)
    if stretch is None:
        return
    assert 0 < stretch.through <= len(entries)
    asked = question(stretch, [fact("The port is 80.")], count=count, room=room)
    assert asked == question(stretch, [fact("The port is 80.")], count=count, room=room)
    claims = read_answer(json.dumps({"facts": values})).claims
    facts = facts_of(claims, stretch, agent="kate", session="s1") if stretch.messages else ()
    told = {each.message_id for each in stretch.messages}
    assert all(set(each.evidence) <= told and len(each.text) <= LONGEST for each in facts)
    assert all(each.evidence for each in facts if each.state == "planned")
