"""Whatever is noted, the journal gives it back, and no text passes for another entry or another source."""

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from carrel.markdown.sections import sections
from carrel.memory.journal import Entry, entry, parse

CATEGORIES = st.sampled_from(["decision", "outcome", "strategy", "note", "interaction"])
TIMES = st.datetimes(timezones=st.just(UTC))
TEXTS = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [
                "_(session s1, m2)_",
                "_(message m)_",
                "\\",
                "\n",
                " ",
                "- ",
                "# A",
                "```",
                "14:05",
                "[note]",
                "\ud800",
                "\0",
            ]
        ),
        max_size=6,
    ).map("".join),
)
IDS = st.one_of(
    st.just(""), st.sampled_from(["s1", "a, b", ")_ _(session x", "%41", "\n"]), st.text(max_size=20)
)


def as_one_line(text):
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


@given(TEXTS, CATEGORIES, TIMES, IDS, IDS)
@example("Chose JWT. _(session s1, m2)_", "note", datetime(2026, 4, 24, tzinfo=UTC), "", "")
@example("\\_(session s1)_", "note", datetime(2026, 4, 24, tzinfo=UTC), "", "")
def test_an_entry_is_read_back_as_it_was_written(text, category, at, session, message):
    line = entry(text, category=category, at=at, session=session, message=message)
    assert len(line.splitlines()) == 1
    assert sections(line) == ()
    assert parse(line) == (
        Entry(
            text=as_one_line(text),
            time=f"{at:%H:%M}",
            category=category,
            session=session,
            message=message,
        ),
    )


@given(st.lists(st.tuples(TEXTS, CATEGORIES, IDS), max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_a_day_of_entries_is_read_back_in_order(noted, newline):
    at = datetime(2026, 4, 24, 14, 5, tzinfo=UTC)
    day = "".join(entry(text, category=c, at=at, session=s) + newline for text, c, s in noted)
    assert [(each.text, each.category, each.session) for each in parse(day)] == [
        (as_one_line(text), category, session) for text, category, session in noted
    ]


@given(st.text())
def test_any_text_can_be_read(text):
    for each in parse(text):
        assert each.text or each.time or each.category or each.session or each.message
