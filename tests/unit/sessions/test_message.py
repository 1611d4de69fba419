"""A message as every provider's format is made from it."""

from typing import Any

import pytest

from carrel.sessions.message import Message, ToolCall


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("{}", {}),
        ("[1]", None),
        ('"text"', None),
        ('{"a": ', None),
        ("[" * 100_000, None),
    ],
)
def test_arguments_are_an_object_or_none_whatever_the_model_wrote(arguments: Any, parsed: Any) -> None:
    assert ToolCall(id="1", name="read", arguments=arguments).parsed() == parsed


def test_a_call_without_arguments_has_an_empty_object_of_them() -> None:
    call = ToolCall(id="1", name="read")
    assert call.to_json() == {"id": "1", "name": "read", "arguments": {}}
    assert call.parsed() == {}


def test_a_message_says_only_what_it_has() -> None:
    assert Message("user", "hi").to_json() == {"role": "user", "content": "hi"}
    call = ToolCall(id="1", name="read", arguments="{")
    assert Message("assistant", "", name="kate", tool_calls=(call,)).to_json() == {
        "role": "assistant",
        "content": "",
        "name": "kate",
        "tool_calls": [{"id": "1", "name": "read", "arguments": "{"}],
    }
    assert Message("tool", "done", tool_call_id="1").to_json() == {
        "role": "tool",
        "content": "done",
        "tool_call_id": "1",
    }


def test_the_parts_of_a_message_are_a_list_for_a_model_and_one_text_for_a_person() -> None:
    message = Message("user", ("one", "two"))
    assert message.to_json()["content"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert message.to_text() == "one\ntwo"
    assert Message("user", "one").to_text() == "one"
