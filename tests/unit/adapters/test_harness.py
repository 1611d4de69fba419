"""The parts of hooks: payloads, words to recall, kept answers, and one member of a JSON object."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.adapters.harness import kept, quick, recall, splice, wire
from carrel.adapters.harness.transcripts import lines_of, messages_of
from carrel.config import user_directories

WORDS = st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def told(call, given):
    """What a call returns, else its reason not to."""
    try:
        return call(given)
    except (wire.BadHook, splice.NoPlainObject) as error:
        return str(error) or pytest.fail("a reason says something")


# --------------------------------------------------------------------------------------------------- payloads


@given(
    st.lists(
        st.sampled_from(
            [
                "hook",
                "stop",
                "prompt",
                "--harness",
                "claude",
                "-C",
                "--scope",
                "main",
                "--x",
                "",
                "--scope=all",
            ]
        )
    )
)
def test_words_are_a_call_or_a_reason(words):
    wire.is_hook(words)
    asked = told(wire.parse, ["hook", *words])
    if not isinstance(asked, str):
        assert asked.event in wire.EVENTS
        assert asked.harness in wire.HARNESSES
        assert asked.scope in ("main", "shared")


@given(st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_payload_or_a_reason(data):
    payload = told(quick.read, data)
    if not isinstance(payload, str):
        for ask in (wire.session_of, wire.folder_of, wire.prompt_of, wire.reply_of):
            assert isinstance(ask(payload), str)


@given(
    st.dictionaries(
        st.sampled_from(["session_id", "cwd", "workspace_roots", "prompt", "transcript_path"]), VALUES
    )
)
def test_a_payload_of_wrong_types_says_nothing(payload):
    for harness in wire.HARNESSES:
        assert isinstance(wire.transcript_of(harness, payload), str)
    assert isinstance(wire.folder_of(payload), str)


# ----------------------------------------------------------------------------------------------------- recall


@given(st.lists(st.tuples(WORDS, st.integers(1, 9), st.text(max_size=80)), max_size=30), st.text(max_size=80))
def test_recall_stays_within_its_room_whatever_it_is_made_of(lines, prompt):
    found = recall.find(prompt, *recall.build(lines), 500)
    shown = [each.shown() for each in found]
    assert sum(len(line.encode("utf-8", "replace")) + 1 for line in shown) <= 500
    assert not any("\n" in line for line in shown)
    assert all(0 < each.score <= 1.000_001 for each in found)


def test_the_line_with_most_of_the_rare_words_comes_first():
    lines = [("a.md", n, f"The harbour has boat number {n}.") for n in range(40)]
    lines.append(("b.md", 7, "Ana keeps the red boat in the harbour of Lima."))
    found = recall.find("Where is Ana's red boat?", *recall.build(lines), 2_000)
    assert found[0].shown() == "- Ana keeps the red boat in the harbour of Lima. (b.md:7)"


def test_words_of_scripts_without_spaces_are_found():
    found = recall.find("港のボートはどこ", *recall.build([("a.md", 1, "赤いボートは港にある。")]), 2_000)
    assert len(found) == 1


# ------------------------------------------------------------------------------------------------- transcripts


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["type", "message", "payload", "uuid", "isMeta"]),
            VALUES
            | st.sampled_from(
                [
                    "user",
                    "assistant",
                    "response_item",
                    {"role": "user", "content": [{"type": "text", "text": "x"}]},
                    {"type": "message", "role": "user", "content": "x"},
                ]
            ),
        )
    )
)
def test_any_line_is_a_message_or_passed_over(lines):
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    found, bad = lines_of(data, 0)
    assert len(found) + bad == len(lines)
    for harness in ("claude", "codex"):
        for message in messages_of(harness, "s1", found):
            assert message["role"] in ("user", "assistant", "tool")
            assert message["message_id"]


# ------------------------------------------------------------------------------------------------ kept answers


@pytest.mark.parametrize(
    "environ",
    [
        {"CARREL_HOME": "/x/home"},
        {"CARREL_HOME": "rel/home"},
        {"HOME": "/home/me"},
        {"HOME": "/home/me", "XDG_CACHE_HOME": "/var/c"},
        {"HOME": "/home/me", "XDG_CACHE_HOME": "rel"},
    ],
)
def test_the_cache_is_where_everybody_else_has_it(environ):
    assert kept.cache_of(environ, "linux") == str(user_directories(environ).cache)


def test_stamps_tell_absent_from_unreadable(tmp_path):
    assert kept.stamp_of(str(tmp_path / "none")) is None
    (tmp_path / "a").write_text("x")
    assert kept.stamp_of(str(tmp_path / "a/b")) is None
    assert kept.stamp_of("a\0b") is not None
    (tmp_path / "loop").symlink_to("loop")
    assert kept.stamp_of(str(tmp_path / "loop")) is not None


def test_what_changed_just_now_is_not_settled():
    assert kept.are_settled([None, [1, 1, 1, 1]], 10**12)
    assert not kept.are_settled([[1, 1, 1, 10**12 - 1]], 10**12)


# ------------------------------------------------------------------------------------------------------ splices


@given(
    st.dictionaries(WORDS.filter(lambda key: key != "hooks"), VALUES, max_size=4),
    VALUES,
    st.sampled_from([None, 1, 2, "\t"]),
    st.booleans(),
)
def test_a_member_is_put_in_and_taken_out_to_the_byte(others, value, indent, ascii_only):
    text = json.dumps(others, indent=indent, ensure_ascii=ascii_only) + "\n"
    put = splice.put(text, "hooks", value)
    assert splice.parse(put) == {**others, "hooks": value}
    assert splice.put(put, "hooks", value) == put
    assert splice.drop(put, "hooks") == text


@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=4), st.data())
def test_a_member_is_taken_out_wherever_it_stands(members, data):
    key = data.draw(st.sampled_from(sorted(members)))
    for indent in (None, 2):
        text = json.dumps(members, indent=indent)
        assert splice.parse(splice.drop(text, key)) == {
            name: value for name, value in members.items() if name != key
        }


@given(st.text(max_size=60))
def test_any_text_is_an_object_or_a_reason(text):
    assert told(splice.parse, text) != ""
