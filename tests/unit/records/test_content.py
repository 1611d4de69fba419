"""What a record may hold, and how it stands in a column."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from carrel.records.content import (
    NAME_CHARACTERS,
    PAYLOAD_CHARACTERS,
    PROSE_CHARACTERS,
    RecordTooLarge,
    named,
    pack,
    sayings,
    unpack,
    whole,
)
from carrel.records.rows.columns import from_moment, from_texts, from_whole, to_moment, to_text, to_texts
from carrel.records.sqlite.columns import among, from_text, where


@pytest.mark.parametrize(("check", "limit"), [(named, NAME_CHARACTERS), (whole, PROSE_CHARACTERS)])
def test_a_text_is_taken_whole_up_to_its_limit_and_refused_beyond(check, limit):
    assert check("x" * limit) == "x" * limit
    with pytest.raises(RecordTooLarge) as caught:
        check("x" * (limit + 1))
    assert (caught.value.size, caught.value.limit) == (limit + 1, limit)
    assert whole("abc", 3) == "abc"
    with pytest.raises(RecordTooLarge):
        whole("abcd", 3)


def test_a_payload_is_json_up_to_its_limit_unless_it_has_none():
    assert unpack(pack({"a": [1, "é", None]})) == {"a": [1, "é", None]}
    fits = {"a": "x" * (PAYLOAD_CHARACTERS - len('{"a":""}'))}
    assert len(pack(fits)) == PAYLOAD_CHARACTERS
    larger = {"a": fits["a"] + "x"}
    with pytest.raises(RecordTooLarge):
        pack(larger)
    assert len(pack(larger, limit=None)) == PAYLOAD_CHARACTERS + 1
    with pytest.raises(TypeError):
        pack({"a": object()})


def test_a_text_is_looked_for_in_every_way_in_which_json_may_say_it():
    assert sayings(["plain", ""]) == [("plain", "plain")]
    ways = sayings(['é"'])
    assert {text for text, _ in ways} == {'é"'}
    assert {said for _, said in ways} == {'é\\"', '\\u00e9\\"'}
    assert all(said in pack({"a": text}) or "\\u00e9" in said for text, said in ways)


def test_a_moment_is_the_same_one_again_to_the_microsecond():
    moment = datetime(2026, 4, 24, 12, 30, 1, 234_567, tzinfo=UTC)
    assert to_moment(from_moment(moment)) == moment
    assert from_moment(moment, timedelta(seconds=2)) - from_moment(moment) == 2_000_000
    elsewhere = moment.astimezone(timezone(timedelta(hours=-5)))
    assert from_moment(elsewhere) == from_moment(moment)
    with pytest.raises(TypeError):
        from_moment(datetime(2026, 4, 24))  # noqa: DTZ001 - which is the point


def test_a_moment_before_or_after_all_time_is_the_first_or_the_last():
    last, first = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    assert to_moment(from_moment(last, timedelta.max)) == last
    assert to_moment(from_moment(first, timedelta.min)) == first
    assert to_moment(from_moment(last)) == last
    assert to_moment(from_moment(first)) == first


def test_a_number_that_no_column_holds_is_the_last_that_one_does():
    most = 2**63 - 1
    assert [from_whole(n) for n in (0, 7, most, most + 1, 10**40, -most, -most - 1, -(10**40))] == [
        0, 7, most, most, most, -most, -most, -most,
    ]  # fmt: skip


def test_a_text_that_is_no_unicode_comes_back_from_its_bytes():
    for text in ("", "né", "a\0b", "\ud800x"):
        assert to_text(from_text(text)) == text
    assert isinstance(from_text("\ud800"), bytes)
    assert isinstance(from_text("né"), str)
    assert to_texts(from_texts(["a", "né"])) == ("a", "né")


def test_conditions_are_those_that_have_a_value():
    assert where(("a = ?", 1), ("b = ?", None), ("c = ?", "")) == ("a = ? AND c = ?", [1, ""])
    assert where(("a = ?", None)) == ("true", [])
    assert where() == ("true", [])
    assert among("kind", []) == "true"
    assert among("kind", ["a"]) == "kind = ?"
    assert among("kind", ["a", "b"]) == "kind IN (?, ?)"
