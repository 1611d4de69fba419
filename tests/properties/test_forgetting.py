"""Whatever a text holds, only what is to be forgotten goes from it, and doing it twice is as doing it once."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from carrel.memory.fact import key_of
from carrel.memory.forget.blotting import FORGOTTEN, blotted, blotted_line, told_of
from carrel.memory.forget.sayings import sayings_of, without
from carrel.records.facts import Fact
from carrel.sessions.rewriting import rewritten

SAMSUNG = "Ana uses a Samsung phone."
NOW = datetime(2026, 4, 24, tzinfo=UTC)
PLACE = ("workspace", "memory/kate.md")
WAYS = (
    f"- {SAMSUNG}",
    f"* {SAMSUNG.upper()}",
    f"1. {SAMSUNG}",
    SAMSUNG,
    f"- 14:05 [note] {SAMSUNG} _(session s1, m1)_",
    f"- {SAMSUNG} _(score=0.62, hits=3, days=3)_",
    f"- ~~{SAMSUNG}~~ _(until 2026-01-01; now: Ana has none.)_",
)
OTHERS = st.sampled_from(
    (
        "",
        "# Ana",
        "- Ana uses a Nokia.",
        "```",
        "---",
        "title: x",
        "  more of it",
        "Text.",
        "- ~~old~~",
        "> quote",
        "\r",
    )
) | st.text(max_size=30).filter(lambda line: "\n" not in line)


def fact(text=SAMSUNG, **more):
    return Fact(
        id="f",
        agent="kate",
        layer="project",
        kind="note",
        text=text,
        key=key_of(text),
        at=NOW,
        evidence=("m1",),
        **more,
    )


def clear(text, facts=None):
    sayings = sayings_of(facts or [fact()])
    return without(text, sayings.at(PLACE, is_day=False), sayings.anchors)


@given(st.lists(OTHERS), st.sampled_from(["\n", "\r\n"]))
def test_a_text_that_says_nothing_of_it_stays_byte_for_byte(lines, end):
    text = end.join(lines)
    assert clear(text).text == text or "samsung" in text.casefold()


@given(st.lists(OTHERS | st.sampled_from(WAYS)))
def test_what_stays_is_what_was_there_in_its_order_and_twice_is_as_once(lines):
    text = "\n".join(lines)
    cleared = clear(text)
    left = iter(text.split("\n"))
    kept = cleared.text.split("\n") if len(cleared.taken) < text.count("\n") + 1 else []
    assert all(line in left for line in kept)
    assert clear(cleared.text).text == cleared.text


@given(st.sampled_from(WAYS), st.lists(st.sampled_from(("- Ana uses a Nokia.", "- Bo.", "## People"))))
def test_however_it_is_written_down_it_goes(way, others):
    text = "\n".join((*others, "", way, "", *others))
    assert "samsung" not in clear(text).text.casefold()
    assert clear(text).text.replace("\n", "") == "".join((*others, *others))


def test_an_event_is_forgotten_on_its_own_day_and_where_it_was_told_again():
    event = fact(
        "Deployed the server.", path="memory/2026-04-20.md", line="- 09:00 [note] Deployed the server."
    )
    sayings = sayings_of([replace(event, kind="event")])
    text = "- 09:00 [note] Deployed the server.\n"
    other = sayings.at(("workspace", "memory/2026-04-21.md"), is_day=True)
    assert without(text, other, sayings.anchors).text == text
    for place, is_day in ((("workspace", "memory/2026-04-20.md"), True), (("workspace", "MEMORY.md"), False)):
        assert without(text, sayings.at(place, is_day=is_day), sayings.anchors).text == ""


@given(
    st.lists(
        st.text(max_size=40) | st.sampled_from((SAMSUNG, "The Samsung phone is what Ana uses!")), max_size=6
    )
)
def test_what_is_blotted_out_is_gone_and_stays_so(parts):
    told = told_of([fact()])
    for message in ("", "m1", "m2"):
        once = blotted("\n".join(parts), told, message)
        assert "samsung phone" not in once.casefold()
        assert blotted(once, told, message) == once


@given(st.lists(st.binary(max_size=60).filter(lambda raw: b"\n" not in raw)))
def test_lines_of_a_log_that_say_nothing_of_it_stay_byte_for_byte(lines):
    told = told_of([fact()])
    entry = b'{"type":"entry","role":"user","content":"' + SAMSUNG.encode() + b'","message_id":"m7","x":1}'
    data = b"\n".join((*lines, entry, *lines))
    new, count = rewritten(data, lambda value: blotted_line(value, told))
    assert count == 1
    assert new == data.replace(SAMSUNG.encode(), FORGOTTEN.encode())
