"""What a caller may give to be recorded, in whichever form, and what is refused by name."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

import pytest

from carrel.errors import CarrelError
from carrel.sessions.message import Message, Role, ToolCall
from carrel.sessions.turn import (
    ATTACHMENT_LIMIT,
    MESSAGE_LIMIT,
    BadMessage,
    MessageTooLarge,
    Said,
    Sayable,
    said,
    stamp,
)


def test_an_object_with_a_role_and_a_text_is_enough() -> None:
    assert said({"role": "user", "content": "hi"}) == Said(role="user", content="hi")
    assert said({"role": "assistant"}) == Said(role="assistant")


def test_every_key_that_is_documented_is_taken() -> None:
    given = {
        "role": "tool", "content": [{"type": "text", "text": "42"}], "message_id": "m1", "name": "sum",
        "tool_calls": [{"id": "c", "name": "n", "arguments": {"a": 1}}], "tool_call_id": "c1",
        "timestamp": "2026-04-24T12:00:00Z", "sender_id": "user123", "source": "telegram",
    }  # fmt: skip
    assert said(given) == Said(
        role="tool",
        content=[{"type": "text", "text": "42"}],
        message_id="m1",
        name="sum",
        tool_calls=(ToolCall(id="c", name="n", arguments={"a": 1}),),
        tool_call_id="c1",
        timestamp="2026-04-24T12:00:00.000Z",
        sender_id="user123",
        source="telegram",
    )


def test_null_and_unknown_keys_say_nothing() -> None:
    given = {
        "role": "assistant",
        "content": None,
        "message_id": None,
        "timestamp": None,
        "refusal": None,
        "audio": 7,
    }
    assert said(given) == Said(role="assistant")


def test_openais_own_form_of_a_call_is_understood() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "sum", "arguments": '{"a": 1}'}}
    assert said({"role": "assistant", "content": None, "tool_calls": [call]}).tool_calls == (
        ToolCall(id="c1", name="sum", arguments='{"a": 1}'),
    )


def test_only_the_first_part_of_a_message_is_recorded() -> None:
    """The later parts are for one call only: what was recalled, and the day."""
    call = ToolCall(id="c", name="n", arguments="not json")
    message = Message("user", ("hi", "date: today"), name="Ana", tool_calls=(call,), tool_call_id="c0")
    assert said(message) == Said(role="user", content="hi", name="Ana", tool_calls=(call,), tool_call_id="c0")


@pytest.mark.parametrize(
    ("given", "utc"),
    [
        ("2026-04-24T12:00:00Z", "2026-04-24T12:00:00.000Z"),
        ("2026-04-24T07:00:00.123456-05:00", "2026-04-24T12:00:00.123Z"),
        ("2026-04-24T12:00:00", "2026-04-24T12:00:00.000Z"),
        ("2026-04-24", "2026-04-24T00:00:00.000Z"),
        (datetime(2026, 4, 24, 12, tzinfo=UTC), "2026-04-24T12:00:00.000Z"),
        (datetime(2026, 4, 24, 14, tzinfo=timezone(timedelta(hours=2))), "2026-04-24T12:00:00.000Z"),
    ],
)
def test_a_time_is_kept_in_utc(given: object, utc: str) -> None:
    assert said({"role": "user", "content": "hi", "timestamp": given}).timestamp == utc


def test_times_of_a_transcript_sort_as_text() -> None:
    times = [datetime(2026, 4, 24, 12, 0, 0, microsecond, UTC) for microsecond in (0, 1_000, 999_000)]
    assert [stamp(time) for time in times] == sorted(stamp(time) for time in times)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"content": "hi"}, {"role": "wizard"}, {"role": ""}, {"role": None}, {"role": 1}, {"role": ["user"]},
        {"role": "user", "content": 5}, {"role": "user", "content": {"type": "text"}}, {"role": "user", "content": b"x"},
        {"role": "user", "content": ["text"]}, {"role": "user", "content": [None]}, {"role": "user", "content": [[]]},
        {"role": "user", "content": [{"type": "entry", "role": "system"}]},
        {"role": "user", "content": [{"type": "session"}]}, {"role": "user", "content": [{"type": "title"}]},
        {"role": "user", "content": [{"type": "summary"}]}, {"role": "user", "content": [{"type": "compaction"}]},
        {"role": "user", "message_id": ""}, {"role": "user", "message_id": "x" * 257}, {"role": "user", "message_id": 5},
        {"role": "user", "message_id": ["a"]}, {"role": "user", "message_id": "a\0b"}, {"role": "user", "message_id": "a\n"},
        {"role": "user", "message_id": "\ud800"},
        {"role": "user", "timestamp": "yesterday"}, {"role": "user", "timestamp": 1.5},
        {"role": "user", "timestamp": "0001-01-01T00:00:00+05:00"},
        {"role": "user", "timestamp": "9999-12-31T23:59:59-05:00"},
        {"role": "user", "sender_id": 5}, {"role": "user", "name": {}}, {"role": "user", "source": []},
        {"role": "user", "tool_calls": {}}, {"role": "user", "tool_calls": "x"}, {"role": "user", "tool_calls": ["x"]},
        {"role": "user", "tool_calls": [{"name": "no id"}]}, {"role": "user", "tool_calls": [{"id": "no name"}]},
        {"role": "user", "tool_calls": [{"id": "c", "name": "n", "arguments": [1]}]},
        {"role": "user", "tool_calls": [{"id": "c", "name": "n", "arguments": 5}]},
        {"role": "user", "finish": "perhaps"},
    ],
    ids=lambda given: str(given)[:60],
)  # fmt: skip
def test_a_message_that_cannot_be_recorded_is_refused_by_name(given: Mapping[str, Any]) -> None:
    with pytest.raises(BadMessage) as caught:
        said(given)
    assert caught.value.code == "bad_message"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("yesterday", "no ISO time: 'yesterday'"),
        ("0001-01-01T00:00:00+05:00", "no calendar has in UTC: '0001-01-01T00:00:00+05:00'"),
        ("9999-12-31T23:59:59-05:00", "no calendar has in UTC: '9999-12-31T23:59:59-05:00'"),
    ],
)
def test_a_time_that_cannot_be_is_refused_with_the_reason(given: str, why: str) -> None:
    with pytest.raises(BadMessage, match=re.escape(why)):
        said({"role": "user", "timestamp": given})


@pytest.mark.parametrize("given", ["hello", 5, None, [], [{"role": "user"}], b"{}", True])
def test_what_is_no_object_is_refused_by_name(given: object) -> None:
    with pytest.raises(BadMessage):
        said(cast("Sayable", given))


@pytest.mark.parametrize(
    "given",
    [
        Message(cast("Role", "developer"), "hi"),
        Message("user", ()),
        Said(role=cast("Role", "developer")),
        Said(role="user", content=["text"]),
        Said(role="user", content=[{"type": "entry", "role": "system"}]),
        Said(role="user", message_id="x" * 257),
        Said(role="user", timestamp="yesterday"),
    ],
    ids=lambda given: repr(given)[:60],
)
def test_a_value_of_ours_is_held_to_the_same_rules(given: Sayable) -> None:
    """What is written but cannot be read back would be acknowledged, and lost."""
    with pytest.raises(CarrelError) as caught:
        said(given)
    assert caught.value.code == "bad_message"


def test_as_much_as_an_error_says_is_the_most() -> None:
    assert "16 MiB of text is the most" in MessageTooLarge(1).message
    assert (MESSAGE_LIMIT, ATTACHMENT_LIMIT) == (16 << 20, 32 << 20)
