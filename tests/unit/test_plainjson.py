"""JSON of any text, in both directions, and a plain error for what is none."""

import json

import pytest

from carrel import plainjson


def test_unicode_is_written_as_itself() -> None:
    assert plainjson.dumps({"a": "né 🐙"}) == '{"a":"né 🐙"}'.encode()


@pytest.mark.parametrize("text", ["a\ud800", "\udfff b", "\udce9t\udce9", "🐙\ud83d", "\udc00\ud800"])
def test_a_lone_surrogate_comes_back_as_it_was(text: str) -> None:
    written = plainjson.dumps({"content": text, text: 1})
    assert written.isascii()
    assert plainjson.loads(written) == {"content": text, text: 1}


def test_a_value_is_one_line_whatever_its_text() -> None:
    text = "a\nb\r\nc\x0b\x0c\x1c\x85\u2028\u2029\0"
    for value in (text, text + "\ud800"):
        written = plainjson.dumps([value])
        assert b"\n" not in written
        assert b"\r" not in written
        assert plainjson.loads(written) == [value]


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**30, 123456789012345678901234567890])
def test_a_number_of_any_size_is_exact(number: int) -> None:
    assert plainjson.loads(plainjson.dumps({"n": number})) == {"n": number}
    assert json.loads(plainjson.dumps({"n": number, "s": "\ud800"})) == {"n": number, "s": "\ud800"}


@pytest.mark.parametrize(
    "data",
    [
        b"", b" ", b"{", b'{"a":', b"nul", b"{}{}", b"{} x", b'"\xff"', b'"\xed\xa0\x80', b'"a\nb"', b"\0", b"\xff\xfe",
        b'{"a":"\\ud8', b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    ],
    ids=lambda data: str(data[:12]),
)  # fmt: skip
def test_what_is_not_json_or_too_deep_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        plainjson.loads(data)
