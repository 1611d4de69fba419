"""Whatever stands in MEMORY.md and whatever is new: its owner's lines stay, and a region is read as written."""

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.memory.ledger import MEMORY, ledger, words

from carrel.errors import CarrelError
from carrel.markdown.sections import sections
from carrel.memory.consolidate.answer import judge
from carrel.memory.consolidate.pieces import Bullet, Material, Piece, size_of
from carrel.memory.consolidate.region import HEADING, composed, outside_of, region_of, topics_of, with_region
from carrel.memory.consolidate.rules import pick
from carrel.memory.consolidate.state import read_state
from carrel.opening import time_zone

UTC = time_zone("UTC")
SAID = st.sampled_from(
    [
        "Ana uses a Samsung.",
        "Luis lives in Bonn.",
        "The server is in Rome.",
        "Deploys happen on Friday.",
        "Tea.",
    ]
)
LINES = st.sampled_from(
    [
        "",
        "",
        "plain words",
        "- mine",
        "  more of it",
        "### Own",
        "#### Deep",
        "```",
        "---",
        "> quoted",
        "| a | b |",
        "- Ana uses a Samsung.",
        "- The server is in Rome.",
        "## Consolidated",
        "## Other",
        "# Top",
        "\ttabbed",
        "~~~",
    ]
)
TEXTS = st.lists(LINES, max_size=14).map("\n".join) | st.text(max_size=60)
TOPICS = st.sampled_from(["", "Notes", "Decisions", "Own"])


def piece(text: str, day: str = "2026-04-20") -> Piece:
    return Piece(text=text, day=day, topic="Notes")


def without_end(text: str) -> str:
    """A text without the newline at its end, which a last heading may lack."""
    return text.removesuffix("\n").removesuffix("\r")


@given(
    TEXTS, st.lists(st.tuples(SAID, TOPICS), unique_by=lambda each: each[0]), st.sampled_from(["\n", "\r\n"])
)
def test_a_region_is_read_as_it_was_written_and_nothing_around_it_changes(text, said, newline):
    text = text.replace("\n", newline)
    bullets = [Bullet(text=each, topic=topic, sources=(piece(each),)) for each, topic in said]
    body = composed(topics_of(region_of(text), {"- Ana uses a Samsung."}, {"Notes"}), bullets)
    try:
        new = with_region(text, body)
    except CarrelError:  # as where a fence is never closed
        return
    if new is None:
        return
    if any(part.heading == HEADING for part in sections(text)):
        assert without_end(outside_of(new)) == without_end(outside_of(text))
    else:
        assert new.startswith(text)
    assert region_of(new) == body
    lines = {line.strip() for line in body.split("\n")}
    assert all(bullet.line in lines for bullet in bullets)


@given(TEXTS, st.sets(SAID, max_size=2))
def test_what_is_not_carrels_own_stays_in_the_region(text, said):
    ours = {"- Ana uses a Samsung."}
    body = composed(
        topics_of(text, ours, {"Notes"}),
        [Bullet(text=each, topic="Notes", sources=(piece(each),)) for each in said],
    )
    kept = [
        line for line in text.split("\n") if line.strip() and line not in ours and line.strip() != "### Notes"
    ]
    left = body.split("\n")
    assert all(left.count(line) >= kept.count(line) for line in kept)


@given(st.lists(SAID, max_size=8), st.lists(SAID, max_size=8), st.integers(0, 60))
def test_rules_say_everything_once_and_stay_within_the_room(known, new, room):
    material = Material(known=tuple(map(piece, known)), new=tuple(map(piece, new)), room=room)
    found = pick(material, count=words)
    assert size_of(found, words) <= room
    assert len({bullet.text for bullet in found}) == len(found)
    if room == 60:
        assert {bullet.text for bullet in found} == {*known, *new}


@given(st.text() | st.lists(LINES).map("\n".join), st.lists(SAID, min_size=1, max_size=4))
def test_no_answer_breaks_the_judge_and_what_it_lets_pass_is_supported(text, said):
    material = Material(known=(), new=tuple(map(piece, said)), room=200)
    judged = judge(text, material, count=words)
    assert bool(judged.problem) != bool(judged.bullets)
    assert all(bullet.sources for bullet in judged.bullets)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_state_or_none(data):
    state, _ = read_state(data, UTC)
    assert state.version == 1


@given(TEXTS, st.lists(SAID, max_size=4, unique=True))
def test_a_second_run_changes_nothing(text, entries):
    room = ledger(None)
    try:
        data = text.encode("utf-8", "surrogatepass")
        room.work.write(MEMORY, data, expect=None)
        room.journal("2026-04-23", *entries)
        try:
            room.run()
        except CarrelError:
            assert room.work.read(MEMORY).data == data
            return
        once = room.texts()
        assert room.run().reason == "nothing_new"
        assert room.texts() == once
    finally:
        room.close()
